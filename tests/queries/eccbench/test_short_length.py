from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

import pytest

from support.results import cell, video_cell, write_run
from support.tables import table

COLUMNS = ("text", "video_sequential", "video_spatial")
# how many questions make the paper's percentages whole numbers of right ones
QUESTIONS = {"text": 184, "video_sequential": 159, "video_spatial": 161}


def test_table_6(tmp_path: Path) -> None:
    reference = files("eccdata.queries") / "eccbench" / "reference" / "table6.csv"
    *printed, cohort = csv.DictReader(reference.read_text("utf-8").splitlines())
    for index, model in enumerate(printed):
        for column in COLUMNS:
            right = round(float(model[column]) / 100 * QUESTIONS[column])
            letters = "r" * right + "w" * (QUESTIONS[column] - right)
            folder, name = tmp_path / f"{index}-{column}", model["label"]
            if column == "text":
                write_run(folder, cell([letters], length=8), model=name)
            else:
                variant = column.removeprefix("video_")
                shown = video_cell([letters], variant=variant, length=8)
                write_run(folder, shown, model=name, config=f"video-{variant}", protocol="membership-video")
    *models, mean = table(tmp_path, "short-length")
    assert {one["label"]: [f"{100 * one[column]:.1f}" for column in COLUMNS] for one in models} == {
        one["label"]: [one[column] for column in COLUMNS] for one in printed
    }
    assert mean["label"] == cohort["label"] == "Cohort mean"
    assert [f"{100 * mean[column]:.1f}" for column in COLUMNS] == [cohort[column] for column in COLUMNS]
    assert mean["n"] == 16 * sum(QUESTIONS.values())
    (swapped,) = [one for one in models if one["label"] == "Qwen2.5-VL (7B)"]
    assert swapped["text_swapped"] == pytest.approx(1 - 30 / 184)


def test_swapped_markers_and_abstentions(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(["rwww", "w-mo", "xrrw"], length=8) + cell(["rr"], length=8, band="max"))
    (one,) = table(tmp_path, "short-length")
    assert (one["n"], one["failed"], one["video_spatial"]) == (11, 1, None)
    assert (one["text"], one["text_swapped"]) == (3 / 11, 5 / 11)
