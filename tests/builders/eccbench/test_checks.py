"""Each claim of a row, changed by itself, is named; rows as built give no problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from eccdata import catalog
from eccdata.builder import Builder

Row = dict[str, Any]

SETTINGS: dict[str, Row] = {
    "text": {"lengths": (16, 64), "streams": 3},
    "easyhuman-text": {"lengths": (64,), "streams": 3},
    "tokens": {"sequences": 40, "test_lengths": (64,), "test_streams": 2, "max_length": 64},
}


def made(config: str, tmp: object, **settings: Any) -> Builder:
    return catalog.builder("eccbench", config).create(cache_dir=str(tmp), **{**SETTINGS[config], **settings})


@pytest.mark.parametrize(
    ("config", "settings"),
    [
        ("text", {}),
        ("text", {"negatives": "hard"}),
        ("text", {"alphabet_size": 5, "candidate_lengths": (2, 4), "queries": 6}),
        ("easyhuman-text", {}),
        ("tokens", {}),
    ],
)
def test_rows_as_built_give_no_problem(config: str, settings: Row, tmp_path: object) -> None:
    builder = made(config, tmp_path, **settings)
    for cell in builder.cells():
        assert builder.check(builder.table(cell)) == []


def problems(config: str, tmp: object, edit: Callable[[list[Row]], object], cell: int = 0) -> list[str]:
    builder = made(config, tmp)
    table = builder.table(builder.cells()[cell])
    rows = table.to_pylist()
    edit(rows)
    return builder.check(pa.Table.from_pylist(rows, schema=table.schema))


def put(name: str, value: Any, row: int = 0) -> Callable[[list[Row]], object]:
    """Put a value, or what a function of the row gives, in one column of one row."""
    return lambda rows: rows[row].update({name: value(rows[row]) if callable(value) else value})


QUESTION = "text-L0016-low-s00-q00: "
STREAM = "text-L0016-low-s00: "
EDITS = [
    (put("answer", lambda r: 1 - r["answer"]), QUESTION + "the answer is"),
    (put("answer", None), QUESTION + "the answer is None"),
    (put("answer", 7), QUESTION + "the answer is 7"),
    (put("position", lambda r: r["position"] + 1), QUESTION + "position is"),
    (put("negative_kind", lambda r: "uniform" if r["answer"] == 0 else None), QUESTION + "negative_kind is"),
    (put("candidate", [1, 2]), QUESTION + "the candidate has 2 symbols, not 3 to 6"),
    (put("stream", lambda r: r["stream"][::-1]), "has the same stream_id"),
    (put("lz_rate", 0.5), STREAM + "lz_rate is 0.5"),
    (put("lz_rate", None), STREAM + "lz_rate is missing"),
    (put("band", "high"), STREAM + "there is no band 'high'"),
    (put("length", 15), STREAM + "length is 15, and the stream has 16 symbols"),
    (put("alphabet_size", 15), STREAM + "alphabet_size is 15"),
    (lambda rows: rows.pop(0), STREAM + "15 questions, and the setting is 16"),
]


@pytest.mark.parametrize(("edit", "said"), EDITS)
def test_one_changed_value_is_named(edit: Callable[[list[Row]], object], said: str, tmp_path: object) -> None:
    assert any(said in problem for problem in problems("text", tmp_path, edit))


def test_a_max_entropy_stream_called_low_is_found(tmp_path: object) -> None:
    def edit(rows: list[Row]) -> None:
        for row in rows:
            row["band"] = "low"

    found = problems("text", tmp_path, edit, cell=1)
    assert any("is outside the low band, 0.3 to 1.0" in problem for problem in found)


def test_a_symbol_outside_the_alphabet_is_found(tmp_path: object) -> None:
    def edit(rows: list[Row]) -> None:
        for row in rows[:16]:
            row["stream"][0] = 16

    assert any("symbol 16 is not below 16" in problem for problem in problems("text", tmp_path, edit))


def test_candidate_lengths_that_tell_the_answer_are_found(tmp_path: object) -> None:
    def edit(rows: list[Row]) -> None:
        row = next(row for row in rows if row["answer"] == 0 and len(row["candidate"]) > 3)
        row["candidate"] = row["candidate"][:3]
        row["position"] = bytes(row["stream"]).find(bytes(row["candidate"]))

    assert problems("text", tmp_path, edit) == [
        "text-L0016-low-s00: positives and negatives differ in the lengths of their candidates"
    ]


def test_a_deviation_that_does_not_stand_there_is_found(tmp_path: object) -> None:
    def edit(rows: list[Row]) -> None:
        for row in rows[:16]:
            row["deviations"][0]["position"] += 1

    found = problems("easyhuman-text", tmp_path, edit)
    assert len(found) == 1
    assert "the deviation at" in found[0]


def test_a_changed_query_of_a_sequence_is_named(tmp_path: object) -> None:
    def edit(rows: list[Row]) -> None:
        query = rows[2]["queries"][5]
        query["answer"] = 1 - query["answer"]

    found = problems("tokens", tmp_path, edit)
    assert any("tokens-train-s000002 query 5: the answer is" in problem for problem in found)
    assert any("tokens-train-s000002: 17 questions are positive" in p or "15 questions" in p for p in found)


def test_test_streams_need_a_rate_and_training_sequences_do_not(tmp_path: object) -> None:
    builder = made("tokens", tmp_path)
    low = next(i for i, c in enumerate(builder.cells()) if c.key == {"length": 64, "band": "low"})
    found = problems("tokens", tmp_path, put("lz_rate", None), cell=low)
    assert found == ["tokens-L0064-low-s00: lz_rate is missing"]
