from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eccdata.analysis import tables
from support.results import cell, write_run
from support.tables import row, table


def human(right: int, length: int) -> list[dict[str, Any]]:
    """Make the 224 questions of a length, 7 streams of 16 for each structure, of which the first `right` are right."""
    letters = "r" * right + "w" * (224 - right)
    streams = [letters[i : i + 16] for i in range(0, 224, 16)]
    return cell(streams[:7], length=length, band=None, structure="repeating-pattern") + cell(
        streams[7:], length=length, band=None, structure="counting-disruption"
    )


# Table 1, text, the rows of which both percentages are multiples of 1/224
TABLE_1 = {
    "GLM-4.5V": (76.3, 70.5),
    "InternVL3.5 (8B)": (72.3, 66.1),
    "Phi-4-MM": (62.5, 59.4),
    "Qwen3-VL": (62.1, 54.9),
    "Qwen3-VL Thinking": (11.6, 9.8),
    "MIMO-VL": (41.1, 37.1),
}


def test_table_1(tmp_path: Path) -> None:
    for index, (model, percents) in enumerate(TABLE_1.items()):
        questions = [
            q for p, length in zip(percents, (256, 1024), strict=True) for q in human(round(p * 2.24), length)
        ]
        write_run(tmp_path / str(index), questions, model=model, config="easyhuman-text")
    tables([tmp_path], names=["easyhuman"], out=tmp_path / "tables")
    lines = (tmp_path / "tables" / "eccbench" / "easyhuman.md").read_text().splitlines()
    for model, (at_256, at_1024) in TABLE_1.items():
        (line,) = [line for line in lines if line.startswith(f"| {model} |")]
        _, _, shown_256, _, shown_1024, _, failed, _ = (part.strip() for part in line.split("|"))
        assert (shown_256, shown_1024, failed) == (f"{at_256:.1f}", f"{at_1024:.1f}", "0")


def test_structures(tmp_path: Path) -> None:
    write_run(tmp_path / "run", human(150, 256), config="easyhuman-text")
    counting = row(tmp_path, "easyhuman-structures", structure="counting-disruption")
    repeating = row(tmp_path, "easyhuman-structures", structure="repeating-pattern")
    assert (repeating["n"], repeating["accuracy"], repeating["streams"]) == (112, 1.0, 7)
    assert (counting["n"], counting["accuracy"]) == (112, 38 / 112)
    assert repeating["accuracy_bootstrap"] == {"low": 1.0, "high": 1.0}
    assert counting["accuracy_bootstrap"]["low"] < 38 / 112 < counting["accuracy_bootstrap"]["high"]


def test_abstentions_are_wrong_and_failures_left_out(tmp_path: Path) -> None:
    questions = cell(["rr-m", "owxx"], length=256, band=None, structure="repeating-pattern")
    write_run(tmp_path / "run", questions, config="easyhuman-text")
    (one,) = table(tmp_path, "easyhuman")
    assert (one["n_256"], one["failed"], one["n_1024"]) == (6, 2, 0)
    assert one["accuracy_256"] == pytest.approx(2 / 6)
    assert one["accuracy_1024"] is None
