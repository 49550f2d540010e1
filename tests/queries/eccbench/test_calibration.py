from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import fisher_exact

from eccdata.analysis import tables
from support.bootstrap import interval, redraw
from support.results import cell, write_run
from support.tables import row, table

# arm A's and arm B's outcomes of four streams of eight questions, question by question
ARM_A = ["rrrrwwr-", "rrwwwwr-", "rrrrrrrx", "wwwwrrr-"]
ARM_B = ["rrrr--r-", "rr-w--rr", "rrrrrrr-", "--wwr--m"]


def pair(folder: Path, a: list[str], b: list[str], *, length: int = 512, model: str = "model") -> None:
    write_run(folder / f"{model}-a", cell(a, length=length), arm="a", model=model)
    write_run(folder / f"{model}-b", cell(b, length=length), arm="b", model=model)


def test_by_hand(tmp_path: Path) -> None:
    pair(tmp_path, ARM_A, ARM_B)
    one = row(tmp_path, "calibration")
    assert (one["lengths"], one["streams"], one["n"], one["failed"], one["unmatched"]) == ("512", 4, 31, 1, 0)
    # of 31 questions A answered 28, 18 of them right, and B 20, 17 of them right
    assert one["coverage_a"] == 28 / 31
    assert one["coverage_b"] == 20 / 31
    assert one["accuracy_a"] == 18 / 28
    assert one["accuracy_b"] == 17 / 20
    assert one["responsiveness"] == pytest.approx(8 / 31)
    # B kept 19 of the 28, of which A had 16 right, and declined 9, of which A had 2 right
    assert (one["kept"], one["kept_right"], one["declined"], one["declined_right"]) == (19, 16, 9, 2)
    assert one["gap"] == pytest.approx(16 / 19 - 2 / 9)
    p = fisher_exact([[16, 3], [2, 7]], alternative="greater").pvalue
    assert one["gap_p"] == pytest.approx(p, abs=1e-12)


def test_intervals_are_numpys(tmp_path: Path) -> None:
    pair(tmp_path, ARM_A, ARM_B)
    one = row(tmp_path, "calibration")
    n, dropped = [8, 8, 7, 8], [2, 2, 0, 4]
    responsiveness = redraw(lambda totals: totals[1] / totals[0], n, dropped)
    assert one["responsiveness_bootstrap"] == pytest.approx(interval(responsiveness), abs=1e-12)
    kept, kept_right, declined, declined_right = [5, 4, 7, 3], [5, 3, 7, 1], [2, 3, 0, 4], [0, 0, 0, 2]
    gap = redraw(lambda t: t[1] / t[0] - t[3] / t[2], kept, kept_right, declined, declined_right)
    assert one["gap_bootstrap"] == pytest.approx(interval(gap), abs=1e-12)
    defined = gap[~np.isnan(gap)]
    assert one["gap_undefined"] == len(gap) - len(defined) > 0
    assert one["gap_not_positive"] == pytest.approx(np.mean(defined <= 0))


def test_a_row_of_table_10(tmp_path: Path) -> None:
    """InternVL3.5 38B: its n, coverage, accuracies, gap and p leave one split of arm A's answers.

    Kept and right 543, kept and wrong 87, declined and right 7, declined and wrong 2; arm B answered 634, 4 of them
    declined by arm A, 518 right.
    """
    a = "r" * 543 + "w" * 87 + "r" * 7 + "w" * 2 + "-" * 5
    b = "r" * 514 + "w" * 116 + "-" * 9 + "r" * 4 + "-"
    streams = [slice(i, i + 16) for i in range(0, 644, 16)]
    for arm, letters in (("a", a), ("b", b)):
        parts = [letters[part] for part in streams]
        questions = cell(parts[:20], length=512) + cell(parts[20:], length=1024)
        write_run(tmp_path / arm, questions, arm=arm, model="InternVL3.5 38B")
    tables([tmp_path], names=["calibration"], out=tmp_path / "tables")
    lines = (tmp_path / "tables" / "eccbench" / "calibration.md").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("| InternVL3.5 38B | 512, 1024 |")]
    cells = [part.strip() for part in line.split("|")[1:-1]]
    assert cells[:7] == ["InternVL3.5 38B", "512, 1024", "0.992", "0.984", "86.1", "81.7", "+0.084"]
    assert cells[8] == "0.363"
    assert cells[11:] == ["644", "9", "0", "0"]


def test_the_gap_takes_five_declined_and_one_kept(tmp_path: Path) -> None:
    pair(tmp_path, ["rrrrrrww"] * 2, ["rrrrrr--"] * 2, model="four")
    pair(tmp_path, ["rrrrrrww", "rrrrrwww"], ["rrrrrr--", "rrrrr---"], model="five")
    pair(tmp_path, ["rrrrrrww"] * 2, ["--------"] * 2, model="nothing-kept")
    assert row(tmp_path, "calibration", label="four")["declined"] == 4
    for label in ("four", "nothing-kept"):
        one = row(tmp_path, "calibration", label=label)
        shown = ("gap", "gap_p", "gap_bootstrap", "gap_not_positive", "gap_undefined")
        assert all(one[name] is None for name in shown)
    assert row(tmp_path, "calibration", label="five")["gap"] == 1
    nothing = row(tmp_path, "calibration", label="nothing-kept")
    assert (nothing["coverage_b"], nothing["accuracy_b"], nothing["accuracy_b_wilson"]) == (0, None, None)


def test_arms_are_matched_question_by_question(tmp_path: Path) -> None:
    write_run(tmp_path / "a", cell(["rrrr", "wwww", "rrrr"]), arm="a")
    write_run(tmp_path / "b", cell(["r-xr", "wwww"]), arm="b")
    one = row(tmp_path, "calibration")
    assert (one["streams"], one["n"], one["failed"], one["unmatched"]) == (2, 7, 1, 4)
    assert one["coverage_a"] == 1
    assert one["coverage_b"] == 6 / 7
    assert one["accuracy_a"] == 3 / 7


def test_pools(tmp_path: Path) -> None:
    for arm in ("a", "b"):
        questions = [q for length in (8, 512, 1024) for q in cell(["rw", "r-"], length=length)]
        write_run(tmp_path / arm, questions, arm=arm)
    rows = table(tmp_path, "calibration")
    assert [(one["lengths"], one["n"], one["streams"]) for one in rows] == [
        ("8", 4, 2),
        ("512", 4, 2),
        ("1024", 4, 2),
        ("512, 1024", 8, 4),
        ("8, 512, 1024", 12, 6),
    ]
    assert [one["coverage_a"] for one in rows] == [0.75] * 5


def test_runs_on_other_data_are_not_paired(tmp_path: Path) -> None:
    write_run(tmp_path / "a", cell(["rr"]), arm="a", dataset="data0000")
    write_run(tmp_path / "b", cell(["rr"]), arm="b", dataset="data1111")
    assert table(tmp_path, "calibration") == []


@pytest.mark.parametrize("name", ["calibration", "payoff"])
def test_one_arm_alone_is_no_row(tmp_path: Path, name: str) -> None:
    pair(tmp_path, ["rr"], ["rr"], model="both")
    write_run(tmp_path / "only-a", cell(["rr"]), arm="a", model="one")
    assert [one["label"] for one in table(tmp_path, name)] == ["both"]


def test_what_matters_comes_first_on_80_columns(tmp_path: Path) -> None:
    pair(tmp_path, ARM_A, ARM_B, model="memory(bits=1024)")
    pair(
        tmp_path, [a.replace("x", "r") for a in ARM_A], ARM_B, length=1024, model="other(bits=1024, ngram=3)"
    )
    (made,) = tables([tmp_path], names=["calibration"])
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(made)
    text = console.export_text()
    places = [
        text.index(words)
        for words in ("Coverage", "Acc. %", "Gap", "Responsiveness", "Declined by B", "Failed")
    ]
    assert places == sorted(places)
    assert max(places[:2]) < text.index("Model")  # in the headings of the first panel
    assert "In one arm only" not in text
    assert "…" not in text
