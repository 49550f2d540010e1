from __future__ import annotations

from pathlib import Path

import pytest

from support.results import cell, write_run
from support.tables import table

# Table 6, text: accuracy in percent at L = 8 and the mean over the cohort
TABLE_6 = [
    100.0,
    49.5,
    84.8,
    62.0,
    16.3,
    83.2,
    100.0,
    99.5,
    100.0,
    100.0,
    98.9,
    99.5,
    100.0,
    96.7,
    98.4,
    100.0,
]


def test_the_cohort_mean_of_table_6(tmp_path: Path) -> None:
    for index, percent in enumerate(TABLE_6):
        # the paper's accuracies are multiples of 1/184
        right = round(percent / 100 * 184)
        assert f"{100 * right / 184:.1f}" == f"{percent:.1f}"
        letters = "r" * right + "w" * (184 - right)
        write_run(tmp_path / f"m{index:02d}", cell([letters], length=8), model=f"m{index:02d}")
    *models, mean = table(tmp_path, "short-length")
    assert [f"{100 * model['accuracy']:.1f}" for model in models] == [f"{percent:.1f}" for percent in TABLE_6]
    assert mean["label"] == "Cohort mean"
    assert f"{100 * mean['accuracy']:.1f}" == "86.8"
    assert mean["n"] == 16 * 184
    assert models[4]["accuracy_swapped"] == pytest.approx(1 - models[4]["accuracy"])


def test_swapped_markers_and_abstentions(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(["rwww", "w-mo", "xrrw"], length=8) + cell(["rr"], length=8, band="max"))
    (one,) = table(tmp_path, "short-length")
    assert (one["n"], one["failed"], one["correct"]) == (11, 1, 3)
    assert one["accuracy"] == 3 / 11
    assert one["accuracy_swapped"] == 5 / 11
