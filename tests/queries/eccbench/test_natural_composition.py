from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.results import clip_cell, write_run
from support.tables import table


def test_table_7_by_hand(tmp_path: Path) -> None:
    questions = (
        clip_cell(["rrw", "w"], band="low", length=128, scores=[0.03, 0.036], answers="ynn")
        + clip_cell(["x"], band="high", length=128, scores=[0.0501], answers="y")
        + clip_cell(["r", "r"], band="high", length=512, scores=[0.06, 0.08], answers="n")
        + [{**q, "density_band": None} for q in clip_cell(["rr"], band="none", length=8)]
    )
    # a question counts once, whoever was asked it and whatever became of it
    for index, (model, arm) in enumerate((("one", "none"), ("one", "a"), ("two", "none"))):
        natural: dict[str, Any] = {"model": model, "arm": arm, "config": "natural", "protocol": "natural"}
        write_run(tmp_path / str(index), questions[index:], dataset="sha256:0123456789", **natural)
    other = clip_cell(["r"], band="low", length=64, scores=[0.01], answers="y")
    write_run(
        tmp_path / "other",
        other,
        model="three",
        config="natural",
        protocol="natural",
        dataset="sha256:another",
    )
    at_128, at_512, total, at_64, other_total = table(tmp_path, "natural-composition")
    assert at_128 == {
        "dataset": "23456789",
        "length": "128",
        "videos_low": 2,
        "videos_high": 1,
        "questions_low": 4,
        "questions_high": 1,
        "distortion_low": pytest.approx(0.033),  # over videos, not questions
        "distortion_high": 0.0501,
        "yes_rate_low": 2 / 4,
        "yes_rate_high": 1.0,
        "missed_target": 0,
    }
    assert (at_512["videos_low"], at_512["distortion_low"], at_512["yes_rate_low"]) == (0, None, None)
    assert (at_512["videos_high"], at_512["distortion_high"], at_512["yes_rate_high"]) == (2, 0.07, 0.0)
    assert {
        name: total[name] for name in ("length", "questions_low", "questions_high", "distortion_low")
    } == {
        "length": "Total",
        "questions_low": 4,
        "questions_high": 3,
        "distortion_low": None,
    }
    assert (at_64["dataset"], at_64["length"], at_64["questions_low"]) == (":another", "64", 1)
    assert other_total["questions_high"] == 0
