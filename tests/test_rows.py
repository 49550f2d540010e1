from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest

from eccdata import rows
from eccdata.errors import EccdataError
from support.questions import questions

NESTED = datasets.Features(
    {
        "name": datasets.Value("string"),
        "queries": datasets.List(
            {
                "candidate": datasets.List(datasets.Value("uint8")),
                "answer": datasets.ClassLabel(names=["yes", "no"]),
            }
        ),
        "one": {"answer": datasets.ClassLabel(names=["a", "b"]), "x": datasets.Value("float64")},
    }
)
ROWS: list[dict[str, Any]] = [
    {"name": "a", "queries": [{"candidate": [1, 2], "answer": "no"}], "one": {"answer": "a", "x": 0.5}},
    {"name": None, "queries": [], "one": {"answer": "b", "x": None}},
    {"name": "ü", "queries": [{"candidate": [], "answer": "yes"}] * 3, "one": {"answer": "a", "x": 1.5}},
]


@pytest.fixture
def nested() -> datasets.Dataset:
    return datasets.Dataset.from_list(ROWS, features=NESTED)


def test_rows_are_plain_and_labels_are_names(nested: datasets.Dataset) -> None:
    assert list(rows.iterate(nested)) == ROWS
    assert list(rows.iterate(nested.select([2, 0]))) == [ROWS[2], ROWS[0]]


def test_rows_agree_with_datasets_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BATCH_ROWS", 7)
    dataset = questions(40)
    expected = [{**row, "answer": ("yes", "no")[row["answer"]]} for row in dataset]
    assert list(rows.iterate(dataset)) == expected


def test_digest_is_of_the_content_alone(nested: datasets.Dataset, tmp_path: Path) -> None:
    digest = rows.digest(nested)
    nested.to_parquet(tmp_path / "x.parquet")
    parts = [nested.select([0]), nested.select([1, 2])]
    for same in (
        nested.select(range(3)),
        datasets.concatenate_datasets(parts),
        nested.select_columns(["queries", "one", "name"]),
        nested.select([2, 1, 0]).select([2, 1, 0]),
        datasets.Dataset.from_parquet(str(tmp_path / "x.parquet"), cache_dir=str(tmp_path)),
    ):
        assert rows.digest(same) == digest


def test_digest_sees_every_change(nested: datasets.Dataset) -> None:
    def changed(index: int, **columns: object) -> datasets.Dataset:
        new: list[dict[str, Any]] = [*ROWS]
        new[index] = new[index] | columns
        return datasets.Dataset.from_list(new, features=NESTED)

    others = [
        nested,
        nested.select([1, 0, 2]),
        nested.select([0, 1]),
        nested.rename_column("name", "nom"),
        changed(0, name="b"),
        changed(1, name=""),
        changed(0, queries=[{"candidate": [1, 2], "answer": "yes"}]),
        changed(0, queries=[{"candidate": [1], "answer": "no"}, {"candidate": [2], "answer": "no"}]),
        changed(1, one={"answer": "b", "x": 0.0}),
    ]
    assert len({rows.digest(dataset) for dataset in others}) == len(others)


def test_where_sees_labels_as_names_and_keeps_the_order() -> None:
    dataset = questions(64)
    chosen = rows.where(dataset, "answer = 'yes' and question_id < 'text-L0032-max-s02'")
    assert chosen["question_id"][:] == [
        row["question_id"]
        for row in dataset
        if row["answer"] == 0 and row["question_id"] < "text-L0032-max-s02"
    ]
    assert len(rows.where(chosen, "position = (select max(position) from rows)")) >= 1
    assert len(rows.where(dataset, "list_contains(candidate, 3) -- a comment")) > 0
    assert np.all(np.array(rows.where(dataset, "position < 0")["answer"][:]) == 1)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("lenght = 8", "lenght"),
        ("length =", "syntax error"),
        ("true); drop table rows; select (1", "syntax error"),
        ("true) union all (select 1", "syntax error"),
        ("length = 32, length = 8", "."),
        ("exists (from read_csv('/etc/passwd'))", "disabled"),
        ("exists (from read_parquet('*.parquet'))", "disabled"),
        ("question_id", "BOOL"),
    ],
)
def test_a_bad_expression_is_told_with_the_columns(expression: str, said: str) -> None:
    with pytest.raises(EccdataError) as caught:
        rows.where(questions(16), expression)
    assert said in str(caught.value)
