"""Membership on rows as the builders make them, asked of a memory that knows the answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from eccdata import catalog, rows
from eccdata.evaluators.eccbench.membership import Membership
from eccdata.systems.memories import Exact

SMALL: dict[str, dict[str, Any]] = {
    "text": {"lengths": (8, 64), "streams": 2},
    "easyhuman-text": {"lengths": (64,), "streams": 2},
    "tokens": {"sequences": 40, "test_lengths": (64,), "test_streams": 2},
}


@pytest.mark.parametrize("config", SMALL)
def test_rows_of_every_configuration_can_be_asked(config: str, tmp_path: Path) -> None:
    builder = catalog.builder("eccbench", config).create(cache_dir=str(tmp_path), **SMALL[config])
    builder.download_and_prepare()
    dataset = builder.as_dataset(split="test")
    evaluator, memory = Membership(arm="b"), Exact()
    assert set(evaluator.needs()) <= set(dataset.column_names)
    asked: dict[str, str] = {}
    for row in rows.iterate(dataset):
        for question in evaluator.questions(row):
            response = asyncio.run(memory.respond(evaluator.request(question)))
            columns = evaluator.columns(question, response)
            assert (columns["correct"], columns["payoff"]) == (True, 1.0)
            asked[question["question_id"]] = columns["answer"]
    queries = 32 if config == "tokens" else 16
    per_row = queries if config == "tokens" else 1
    assert len(asked) == dataset.num_rows * per_row
    assert sorted(asked.values()) == ["no"] * (len(asked) // 2) + ["yes"] * (len(asked) // 2)
    assert all(name.rpartition("-q")[2].isdigit() for name in asked)
    # What is carried into the results are columns of the questions, where they have them.
    assert {"stream_id", "length", "alphabet_size", "position"} <= evaluator.carried.keys() & question.keys()
