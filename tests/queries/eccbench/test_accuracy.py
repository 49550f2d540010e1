from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import binomtest

from support.bootstrap import interval, redraw
from support.results import cell, write_run
from support.tables import row, table

# 3 streams of 4, 4 and 3 scored questions: 2, 3 and 0 right, 1, 0 and 3 abstentions, one failure
LOW = ["rrw-", "rrrw", "mo-x"]


def test_a_cell_by_hand(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(LOW, length=64) + cell(["rrrr"], length=64, band="max"))
    low = row(tmp_path, "accuracy", band="low")
    assert {
        key: low[key] for key in ("label", "length", "streams", "n", "failed", "abstained", "correct")
    } == {
        "label": "model",
        "length": 64,
        "streams": 3,
        "n": 11,
        "failed": 1,
        "abstained": 4,
        "correct": 5,
    }
    assert low["accuracy"] == 5 / 11
    wilson = binomtest(5, 11).proportion_ci(method="wilson")
    assert (low["accuracy_wilson"]["low"], low["accuracy_wilson"]["high"]) == pytest.approx(
        (wilson.low, wilson.high)
    )
    expected = interval(redraw(lambda totals: totals[0] / totals[1], [2, 3, 0], [4, 4, 3]))
    assert low["accuracy_bootstrap"] == pytest.approx(expected, abs=1e-12)
    one_stream = row(tmp_path, "accuracy", band="max")
    assert one_stream["accuracy"] == 1
    assert one_stream["accuracy_bootstrap"] is None


def test_a_stream_of_failures_is_no_stream(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(["rw", "xx", "rr", "ww"]))
    one = row(tmp_path, "accuracy")
    assert (one["streams"], one["n"], one["failed"]) == (3, 6, 2)
    expected = interval(redraw(lambda totals: totals[0] / totals[1], [1, 2, 0], [2, 2, 2]))
    assert one["accuracy_bootstrap"] == pytest.approx(expected, abs=1e-12)


def test_a_cell_of_failures_has_no_accuracy(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(["xx", "xx"]))
    one = row(tmp_path, "accuracy")
    assert (one["n"], one["failed"], one["accuracy"], one["accuracy_bootstrap"]) == (0, 4, None, None)


def test_streams_count_in_the_order_of_their_names_whatever_the_files(tmp_path: Path) -> None:
    questions = cell([*LOW, "rwrw", "wwww", "rrrr"])
    write_run(tmp_path / "one", questions)
    write_run(tmp_path / "two", questions[::-1], parts=5, model="backwards")
    backwards, model = table(tmp_path, "accuracy")
    assert {**backwards, "label": "model"} == model


def test_what_is_not_of_the_table_is_not_in_it(tmp_path: Path) -> None:
    write_run(tmp_path / "a", cell(["rr"]), arm="a")
    write_run(
        tmp_path / "human", cell(["rr"], band=None, structure="repeating-pattern"), config="easyhuman-text"
    )
    assert table(tmp_path, "accuracy") == []
