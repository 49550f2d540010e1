from __future__ import annotations

from pathlib import Path

import datasets
import numpy as np
import pytest

from eccdata import rows
from eccdata.errors import EccdataError
from eccdata.training.rows import MembershipRows, open_splits, right_aligned
from support.token_rows import token_release, token_rows


def test_a_batch_has_what_the_rows_say() -> None:
    dataset = token_rows()
    read = MembershipRows(dataset, name="rows")
    plain = list(rows.iterate(dataset))
    assert read.lengths.tolist() == [len(row["stream"]) for row in plain]
    assert read.alphabet_size == 16
    indices = np.flatnonzero(read.lengths == 17)[[3, 0, 5]]
    batch = read.batch(indices)
    assert batch.streams.tolist() == [plain[index]["stream"] for index in indices]
    for number, index in enumerate(indices):
        queries = plain[index]["queries"]
        assert batch.labels[number].tolist() == [int(query["answer"] == "yes") for query in queries]
        assert [
            [symbol for symbol in candidate if symbol != 16]
            for candidate in batch.candidates[number].tolist()
        ] == [query["candidate"] for query in queries]
    padding = batch.candidates == 16
    assert (np.diff(padding.astype(int), axis=-1) <= 0).all(), "padding stands in front"


def test_rows_with_fewer_questions_have_slots_that_count_nowhere() -> None:
    dataset = token_rows(min_length=18, max_length=18)
    table = dataset.with_format("arrow")[:2].to_pylist()
    table[0]["queries"] = table[0]["queries"][:3]
    read = MembershipRows(datasets.Dataset.from_list(table, features=dataset.features), name="rows")
    batch = read.batch([0, 1])
    assert (batch.labels[0, 3:] == -100).all()
    assert (batch.candidates[0, 3:] == 16).all()
    assert (batch.labels[1] >= 0).all()


def test_candidates_are_written_from_the_right() -> None:
    aligned = right_aligned(np.array([1, 2, 3, 4, 5]), np.array([3, 0, 2]), 4, 9)
    assert aligned.tolist() == [[9, 1, 2, 3], [9, 9, 9, 9], [9, 9, 4, 5]]


def test_what_cannot_be_trained_on_is_refused(tmp_path: Path) -> None:
    dataset = token_rows()
    with pytest.raises(EccdataError, match=r"these.*lacks columns|lacks columns[\s\S]*queries"):
        MembershipRows(dataset.remove_columns("queries"), name="these")
    with pytest.raises(EccdataError, match="these has no rows"):
        MembershipRows(dataset.select([]), name="these")
    with pytest.raises(EccdataError, match="candidates of 6 symbols, and the backbone reads at most 5"):
        MembershipRows(dataset, name="these", slots=5)
    with pytest.raises(EccdataError, match="There is no folder"):
        open_splits(tmp_path / "nowhere")


def test_a_release_and_the_same_rows_built_have_the_same_digests(tmp_path: Path) -> None:
    settings = {"sequences": 60, "test_lengths": (), "min_length": 16, "max_length": 17}
    release = open_splits(token_release(tmp_path / "release", **settings))
    built = open_splits(None, built={"validation_fraction": 0.1, **settings})
    assert release.facts["digests"] == built.facts["digests"]
    assert release.facts["rows"] == {"train": 54, "validation": 6}
    assert built.facts["source"] == "built"
    assert release.facts["lengths"] == [16, 17]
