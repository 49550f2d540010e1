"""Whole runs on servers that say what no server should: every run ends with its results, and none holds a secret."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest

from eccdata.evaluation import evaluate
from eccdata.run import Run
from support.questions import questions
from support.scripted_server import Call, Handler, Reply, completion, models, serve

COUNTS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")


@pytest.fixture(scope="module")
def dataset() -> datasets.Dataset:
    return questions(16)


def run(dataset: datasets.Dataset, handler: Handler, out: Path) -> Run:
    with serve(handler) as url:
        return evaluate(
            dataset,
            config="text",
            split="test",
            protocol="membership",
            system="sglang",
            system_options={"base_url": url, "backoff_s": 0.001, "retries": 2},
            out=out,
            concurrency=4,
        )


def columns_of(out: Path) -> dict[str, list[Any]]:
    (path,) = (out / "responses").glob("*.parquet")
    columns: dict[str, list[Any]] = pq.read_table(path).to_pydict()
    return columns


def with_usage(usage: Any) -> Handler:
    def handler(call: Call) -> Reply:
        return models(call) or Reply({**completion("{0}"), "usage": usage})

    return handler


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 2**62, "completion_tokens": 2**40, "total_tokens": 1e300},
        {"prompt_tokens": -5, "completion_tokens": True, "reasoning_tokens": 5.7},
        [1, 2],
    ],
    ids=["huge", "odd", "list"],
)
def test_counts_that_cannot_be_leave_answers_without_counts(
    dataset: datasets.Dataset, tmp_path: Path, usage: Any
) -> None:
    assert run(dataset, with_usage(usage), tmp_path / "run").complete
    columns = columns_of(tmp_path / "run")
    assert set(columns["reply"]) == {"{0}"}
    for name in COUNTS:
        assert columns[name] == [None] * 16


def test_counts_that_cannot_be_and_are_stored_already_do_not_stop_the_results(
    dataset: datasets.Dataset, tmp_path: Path
) -> None:
    out, handler = tmp_path / "run", with_usage({"prompt_tokens": 9, "completion_tokens": 4})
    with serve(handler) as url:
        how: dict[str, Any] = {
            "config": "text",
            "split": "test",
            "protocol": "membership",
            "system": "sglang",
            "system_options": {"base_url": url},
            "out": out,
        }
        evaluate(dataset, **how)
        with sqlite3.connect(out / "store.sqlite3") as store:
            store.execute("update responses set completion_tokens = 1099511627776, cached_tokens = -1")
        store.close()
        assert evaluate(dataset, **how).complete
    columns = columns_of(out)
    assert columns["prompt_tokens"] == [9] * 16
    assert columns["completion_tokens"] == columns["cached_tokens"] == [None] * 16
