"""The paper's printed values, held against what the paper says of them elsewhere and what follows from them."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from importlib.resources import files
from statistics import fmean

import pytest

TOP = ("Claude Opus 4.7", "Gemini 3.1 Pro", "GPT-5.4 Pro")
LENGTHS = (64, 128, 512, 1024)


def printed(table: int) -> list[dict[str, str]]:
    """Give the rows of a table as they are printed; a dash is nothing."""
    file = files("eccdata.queries") / "eccbench" / "reference" / f"table{table}.csv"
    return list(csv.DictReader(file.read_text("utf-8").splitlines()))


def numbers(rows: Iterable[dict[str, str]], *columns: str) -> list[float]:
    return [float(row[column]) for row in rows for column in columns if row[column]]


@pytest.mark.parametrize(("table", "rows", "cells"), [(1, 10, 30), (5, 16, 124), (6, 17, 51), (8, 12, 55)])
def test_every_cell_is_there_once(table: int, rows: int, cells: int) -> None:
    found = printed(table)
    columns = [name for name in found[0] if name not in ("label", "under_5_percent")]
    assert len(found) == len({row["label"] for row in found}) == rows
    assert len(numbers(found, *columns)) == cells


def test_table_1_beside_the_text() -> None:
    rows = printed(1)
    frontier = [row for row in rows if row["label"] in TOP]
    open_weights = [row for row in rows if row["label"] not in TOP]
    assert min(numbers(frontier, "text_256", "text_1024")) > 90
    assert max(numbers(open_weights, "text_256", "text_1024")) < 77
    lead = {
        length: max(numbers(frontier, f"text_{length}")) - max(numbers(open_weights, f"text_{length}"))
        for length in (256, 1024)
    }
    assert {length: round(points) for length, points in lead.items()} == {256: 17, 1024: 21}
    # 224 questions a cell: of an accuracy at chance, 95 % lie within 6.6 points of it
    assert max(abs(percent - 50) for percent in numbers(rows, "video_256")) < 6.6


def test_table_1_counts_whole_questions() -> None:
    """Its accuracies are multiples of 1/224, but for the frontier models, of which fewer were asked."""
    for row in printed(1):
        whole = [
            f"{100 * round(float(row[column]) * 2.24) / 224:.1f}" == row[column]
            for column in ("text_256", "text_1024", "video_256")
            if row[column]
        ]
        assert all(whole) or row["label"] in TOP or row["label"] == "InternVL3.5 Thinking (30B, A3B)", row


def test_table_5_beside_the_text() -> None:
    rows = printed(5)
    above_chance = {
        row["label"]
        for row in rows
        if min(
            numbers([row], *(f"text_{length}_{band}" for length in (512, 1024) for band in ("low", "max")))
        )
        >= 60
    }
    assert above_chance == {"InternVL3.5 (30B, A3B)", "InternVL3.5 (38B)", "Qwen3-VL (8B)"}
    assert [row["label"] for row in rows if numbers([row], "video_64_low") > [70]] == [
        "GLM-4.5V (104B, A12B)"
    ]
    assert [row["label"] for row in rows if numbers([row], "video_64_max") > [70]] == [
        "GLM-4.5V (104B, A12B)"
    ]
    gaps = {
        row["label"]: float(row["video_16_low"]) - float(row["video_16_max"])
        for row in rows
        if row["video_16_low"]
    }
    assert [label for label, gap in gaps.items() if gap > 10] == ["InternVL3.5 Thinking (30B, A3B)"]


def test_table_6_has_the_means_that_it_prints() -> None:
    *models, cohort = printed(6)
    assert cohort["label"] == "Cohort mean"
    for column in ("text", "video_sequential", "video_spatial"):
        assert f"{fmean(numbers(models, column)):.1f}" == cohort[column]
    assert [cohort[c] for c in ("text", "video_sequential", "video_spatial")] == ["86.8", "71.0", "65.1"]


def test_table_7_adds_up() -> None:
    *lengths, total = printed(7)
    for band, questions in (("low", 264), ("high", 521)):
        assert sum(numbers(lengths, f"questions_{band}")) == numbers([total], f"questions_{band}")[0]
        assert numbers([total], f"questions_{band}") == [questions]
        for row in lengths:
            # a whole number of yes answers gives the yes rate that is printed
            asked, percent = int(row[f"questions_{band}"]), int(row[f"yes_rate_{band}"])
            assert round(100 * round(asked * percent / 100) / asked) == percent
            # the bands lie on either side of the cutoff
            assert (float(row[f"distortion_{band}"]) < 0.0401) == (band == "low")


def test_table_8_has_the_means_that_it_prints() -> None:
    *rows, mean = printed(8)
    assert (mean["contrast_mean"], mean["balanced_mean"]) == ("+0.45", "+1.34")
    cells = numbers(rows, *(f"contrast_{length}" for length in LENGTHS))
    assert len(cells) == 41
    # each cell is rounded to a tenth: their mean is good to a few hundredths
    assert fmean(cells) == pytest.approx(0.45, abs=0.02)
    for row in rows:
        floor = row["under_5_percent"].split(", ")
        counted = [f"contrast_{length}" for length in LENGTHS if str(length) not in floor]
        assert fmean(numbers([row], *counted)) == pytest.approx(float(row["contrast_mean"]), abs=0.1)
    daggers = {row["label"]: row["under_5_percent"] for row in rows if row["under_5_percent"]}
    assert daggers == dict.fromkeys(["InternVL3.5 (30B, A3B)", "InternVL3.5 Thinking (8B)"], "512, 1024")
