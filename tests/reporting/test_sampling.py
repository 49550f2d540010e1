"""Which single responses a report holds, and what of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eccdata.analysis import connect
from eccdata.reporting.sampling import KEPT, VERDICTS, Sample, commitment, sample, shorten
from support.results import cell, write_run


def chosen(folder: Path, *, per_cell: int = 4, most: int = 100, threads: int | None = None) -> Sample:
    connection = connect([folder], threads=threads)
    try:
        return sample(connection, per_cell=per_cell, most=most)
    finally:
        connection.close()


@pytest.fixture
def results(tmp_path: Path) -> Path:
    rare = ["r" * 16] * 30 + ["r" * 15 + "w", "r" * 15 + "-", "r" * 15 + "x"]
    for arm in ("a", "b"):
        write_run(tmp_path / arm, cell(rare) + cell(["rw"], band="max"), arm=arm)
    return tmp_path


def test_every_verdict_of_a_cell_is_there_however_rare(results: Path) -> None:
    found = chosen(results)
    assert (found.responses, found.cells) == (2 * (33 * 16 + 2), 4)
    low = [row for row in found.rows if row["cell"]["band"] == "low" and row["run"] == "a"]
    assert Counter(row["verdict"] for row in low) == dict.fromkeys(
        ("right", "wrong", "abstained", "failed"), 1
    )
    assert {row["verdict"] for row in found.rows} <= set(VERDICTS)


def test_first_of_every_cell_comes_before_the_second_of_any(results: Path) -> None:
    first = [(row["run"], row["cell"]["band"]) for row in chosen(results, most=4).rows]
    assert sorted(first) == [("a", "low"), ("a", "max"), ("b", "low"), ("b", "max")]


def test_sample_is_the_same_every_time_and_no_larger_than_asked(results: Path) -> None:
    once, again = (
        chosen(results, per_cell=3, most=9, threads=1),
        chosen(results, per_cell=3, most=9, threads=2),
    )
    assert once == again
    assert len(once.rows) == 9
    assert max(Counter((row["run"], row["cell"]["band"]) for row in once.rows).values()) <= 3


def test_same_questions_are_chosen_for_every_run_that_fares_alike(tmp_path: Path) -> None:
    for model in ("one", "two", "three"):
        write_run(tmp_path / model, cell(["rrrr"] * 20), model=model)
    rows = chosen(tmp_path).rows
    assert len({row["question_id"] for row in rows}) == len(rows) / 3


@pytest.mark.parametrize(
    ("reply", "start", "marked"),
    [
        ("so {0}.", 3, "{0}"),
        ("{ **1** } then", 0, "{ **1** }"),
        (r"\{2\}", 0, r"\{2\}"),
        ("❴1❵", 0, "❴1❵"),
        ("no end {0", 7, "{"),
    ],
)
def test_commitment_is_the_marker_and_nothing_else(reply: str, start: int, marked: str) -> None:
    where = commitment(reply, start)
    assert where is not None
    assert reply[slice(*where)] == marked


def test_nothing_is_committed_to_where_no_marker_is_told() -> None:
    assert commitment("{0}", None) is None
    assert commitment("short", 99) is None


@given(st.integers(0, 3 * KEPT), st.integers(0, 3 * KEPT))
def test_a_long_reply_keeps_its_ends_and_what_it_commits_to(before: int, after: int) -> None:
    text = "a" * before + "{0}" + "b" * after
    pieces = shorten(text, (before, before + 3))
    assert [piece for piece, marked in pieces if marked] == ["{0}"]
    whole = "".join(piece for piece, _ in pieces)
    assert len(whole) <= 4 * KEPT + 200
    assert whole[0] == text[0]
    assert whole[-1] == text[-1]
    if max(before, after) <= 2 * KEPT:
        assert whole == text
    else:
        assert "characters left out" in whole
