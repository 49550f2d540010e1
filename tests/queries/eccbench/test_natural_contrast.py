from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from eccdata.analysis import tables
from support.bootstrap import interval, replicates
from support.results import clip_cell, write_run
from support.tables import table

NATURAL: dict[str, Any] = {"config": "natural", "protocol": "natural"}
LENGTHS = (64, 128, 512, 1024)


def test_by_hand(tmp_path: Path) -> None:
    questions = (
        clip_cell(["rr", "rw", "wx"], band="low", length=64)
        + clip_cell(["rw", "ww", "r"], band="high", length=64)
        # under 5 % in both bands: shown, and left out of the model's mean
        + clip_cell(["ww", "w-"], band="low", length=512)
        + clip_cell(["w" * 20, "r" + "w" * 19], band="high", length=512)
        + clip_cell(["rr", "rr"], band="low", length=1024)
        + clip_cell(["rr", "ww"], band="high", length=1024)
        # no band to set it against
        + clip_cell(["rr"], band="low", length=128)
    )
    write_run(tmp_path / "one", questions, **NATURAL)
    (made,) = tables([tmp_path], names=["natural-contrast"])
    (one,) = made.rows
    assert one["contrast_64"] == pytest.approx(3 / 5 - 2 / 5)
    assert (one["contrast_128"], one["contrast_1024"]) == (None, 0.5)
    assert (one["contrast_512"], one["under_5_percent"]) == (-1 / 40, "512")
    assert one["contrast_mean"] == pytest.approx((1 / 5 + 1 / 2) / 2)
    assert (one["cells"], one["positive"], one["n"], one["failed"]) == (3, 2, 62, 1)
    # of yes 1 of 2 and 0 of 2, of no 2 of 3 and 2 of 3
    assert one["balanced_64"] == pytest.approx((1 / 2 + 2 / 3) / 2 - (0 / 2 + 2 / 3) / 2)

    def redrawn(right: list[int], asked: list[int], length: int, low: bool) -> NDArray[np.float64]:
        return replicates(lambda t: t[0] / t[1], right, asked, key=2 * length + low)

    at_64 = redrawn([2, 1, 0], [2, 2, 1], 64, True) - redrawn([1, 0, 1], [2, 2, 1], 64, False)
    at_1024 = redrawn([2, 2], [2, 2], 1024, True) - redrawn([2, 0], [2, 2], 1024, False)
    assert one["contrast_64_bootstrap"] == pytest.approx(interval(at_64), abs=1e-12)
    assert one["contrast_mean_bootstrap"] == pytest.approx(interval((at_64 + at_1024) / 2), abs=1e-12)
    assert made.missing == (
        "model was not asked: length 128, density_band high.",
        "model: 1 of 65 responses are failures and are left out.",
    )


def test_no_interval_of_other_lengths_than_the_mean_is_of(tmp_path: Path) -> None:
    questions = [
        question
        for length, low in ((64, ["rr", "rw"]), (128, ["rr"]))
        for band, clips in (("low", low), ("high", ["rw", "ww"]))
        for question in clip_cell(clips, band=band, length=length)
    ]
    write_run(tmp_path / "one", questions, **NATURAL)
    (one,) = table(tmp_path, "natural-contrast")
    assert one["contrast_mean"] == pytest.approx((1 / 2 + 3 / 4) / 2)
    # a single clip cannot be redrawn
    assert one["contrast_64_bootstrap"] is not None
    assert (
        one["contrast_128_bootstrap"]
        is one["contrast_mean_bootstrap"]
        is one["balanced_mean_bootstrap"]
        is None
    )


def test_table_8(tmp_path: Path) -> None:
    reference = files("eccdata.queries") / "eccbench" / "reference" / "table8.csv"
    *printed, all_cells = csv.DictReader(reference.read_text("utf-8").splitlines())
    for index, model in enumerate(printed):
        questions = []
        for length in LENGTHS:
            if not (percent := model[f"contrast_{length}"]):
                continue
            # 1,000 questions of low density; of high density 1,000 under 5 %, or two of which one is right
            floor = str(length) in model["under_5_percent"]
            high, asked = (40, 1000) if floor else (1, 2)
            low = 1000 * high // asked + round(10 * float(percent))
            for band, right, of in (("low", low, 1000), ("high", high, asked)):
                streams = ["r" * right + "w" * (of - right)]
                questions += clip_cell(streams, band=band, length=length, answers="y")
        write_run(tmp_path / str(index), questions, model=model["label"], **NATURAL)
    *models, mean = table(tmp_path, "natural-contrast")
    by_label = {one["label"]: one for one in models}
    for model in printed:
        one = by_label[model["label"]]
        assert (one["under_5_percent"] or "") == model["under_5_percent"]
        for length in LENGTHS:
            percent = model[f"contrast_{length}"]
            assert one[f"contrast_{length}"] == (pytest.approx(float(percent) / 100) if percent else None)
        assert 100 * one["contrast_mean"] == pytest.approx(float(model["contrast_mean"]), abs=0.1)
    assert (mean["label"], mean["cells"], mean["n"]) == (all_cells["label"], 41, 41_000 + 4 * 1000 + 37 * 2)
    assert 100 * mean["contrast_mean"] == pytest.approx(float(all_cells["contrast_mean"]), abs=0.01)
