from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eccdata.analysis import tables
from support.results import cell, write_run
from support.tables import row, table

STRUCTURES = ("repeating-pattern", "counting-disruption")
VIDEO: dict[str, Any] = {"config": "easyhuman-video", "protocol": "membership-video"}


def human(right: int, length: int, **columns: Any) -> list[dict[str, Any]]:
    """Make the 224 questions of a length, 7 streams of 16 for each structure, of which the first `right` are right."""
    letters = "r" * right + "w" * (224 - right)
    streams = [letters[i : i + 16] for i in range(0, 224, 16)]
    return [
        question
        for part, structure in zip((streams[:7], streams[7:]), STRUCTURES, strict=True)
        for question in cell(part, length=length, band=None, structure=structure, **columns)
    ]


# Table 1, the rows of which all percentages are multiples of 1/224
TABLE_1 = {
    "GLM-4.5V": (76.3, 70.5, 49.1),
    "InternVL3.5 (8B)": (72.3, 66.1, 47.8),
    "Phi-4-MM": (62.5, 59.4, 56.2),
    "Qwen3-VL": (62.1, 54.9, 49.6),
    "Qwen3-VL Thinking": (11.6, 9.8, 53.1),
    "MIMO-VL": (41.1, 37.1, 52.7),
}
VARIANTS = (["sequential"] * 2 + ["spatial"] * 2) * 28


def test_table_1(tmp_path: Path) -> None:
    for index, (model, percents) in enumerate(TABLE_1.items()):
        right_256, right_1024, right_video = (round(percent * 2.24) for percent in percents)
        questions = human(right_256, 256) + human(right_1024, 1024)
        write_run(tmp_path / f"{index}-text", questions, model=model, config="easyhuman-text")
        shown = human(right_video, 256, variant=VARIANTS)
        write_run(tmp_path / f"{index}-video", shown, model=model, **VIDEO)
    (made,) = tables([tmp_path], names=["easyhuman"])
    shown_table = {one["label"]: one for one in made.rows}
    for model, (at_256, at_1024, video) in TABLE_1.items():
        one = shown_table[model]
        assert (f"{100 * one['text_256']:.1f}", f"{100 * one['text_1024']:.1f}") == (
            str(at_256),
            str(at_1024),
        )
        # half of the questions are of each variant, so that the mean of both is the accuracy on all, to a question
        assert 100 * one["video_256"] == pytest.approx(video, abs=0.9)
        assert (one["n_text_256"], one["n_video_256"], one["failed"]) == (224, 224, 0)
        assert one["text_256_bootstrap"]["low"] < one["text_256"] < one["text_256_bootstrap"]["high"]


def test_abstentions_are_wrong_and_failures_left_out(tmp_path: Path) -> None:
    questions = cell(["rr-m", "owxx"], length=256, band=None, structure=STRUCTURES[0])
    write_run(tmp_path / "run", questions, config="easyhuman-text")
    one_variant = cell(["rrrr"], length=256, band=None, structure=STRUCTURES[1], variant="spatial")
    write_run(tmp_path / "video", one_variant, **VIDEO)
    (made,) = tables([tmp_path], names=["easyhuman"])
    (one,) = made.rows
    assert (one["n_text_256"], one["failed"], one["n_text_1024"]) == (6, 2, 0)
    assert (one["text_256"], one["text_1024"]) == (pytest.approx(2 / 6), None)
    # half of what video is: no number, and said so
    assert (one["n_video_256"], one["video_256"], one["video_256_wilson"]) == (4, None, None)
    assert "variant sequential" in made.missing[0]


def test_structures(tmp_path: Path) -> None:
    write_run(tmp_path / "run", human(150, 256), config="easyhuman-text")
    shown = cell(["rw", "ww"], length=256, band=None, structure=STRUCTURES[0], variant="spatial")
    write_run(tmp_path / "video", shown, **VIDEO)
    counting = row(tmp_path, "easyhuman-structures", structure="counting-disruption")
    repeating, video = (
        one for one in table(tmp_path, "easyhuman-structures") if one["structure"] == STRUCTURES[0]
    )
    assert (repeating["n"], repeating["accuracy"], repeating["streams"]) == (112, 1.0, 7)
    assert (counting["n"], counting["accuracy"]) == (112, 38 / 112)
    assert repeating["accuracy_bootstrap"] == {"low": 1.0, "high": 1.0}
    assert counting["accuracy_bootstrap"]["low"] < 38 / 112 < counting["accuracy_bootstrap"]["high"]
    assert (video["subset"], video["n"], video["accuracy"]) == ("video, spatial", 4, 0.25)
