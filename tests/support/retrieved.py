"""Result folders of retrieval, made from a few numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eccdata import catalog, results
from eccdata.settings import make
from eccdata.systems.retrieval import Retrieval
from support.results import write_run

TF = 1e12


def costs(index: float, query: float, answer: float) -> dict[str, Any]:
    """What retrieval states of a response, in TF."""
    return {
        "flops_index": index * TF,
        "flops_query": query * TF,
        "flops_answer": answer * TF,
        "flops_write": index * TF,
        "flops_read": (query + answer) * TF,
    }


def write_retrieval(
    folder: Path, questions: list[dict[str, Any]], *, answerer: str, protocol: str, **options: Any
) -> Path:
    """Write a run folder of retrieval, see `write_run`; `questions` may have the system's columns."""
    columns = Retrieval.columns
    told = [
        # of a failure nothing is told
        question
        | (
            dict.fromkeys(columns.names)
            if question["letter"] == "x"
            else {"answerer": answerer, "embedder": "embedder"}
        )
        for question in questions
    ]
    return write_run(
        folder,
        told,
        protocol=protocol,
        system="retrieval",
        model=f"retrieval({answerer}, embedder)",
        schema=results.schema(make(catalog.evaluator("eccbench", protocol), {}), columns),
        **options,
    )
