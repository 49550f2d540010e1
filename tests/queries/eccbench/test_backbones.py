"""Coverage against accuracy on `tokens`: worked out by hand on a few questions, and by another way on many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eccdata.analysis import tables
from support.results import cell, write_run
from support.tables import row, table


def backbone(
    folder: Path,
    model: str,
    streams: dict[tuple[int, str], list[list[tuple[float, bool]]]],
    *,
    system: str = "backbone",
    flops: float | None = 1e9,
) -> Path:
    """Write a run: of each length and band streams of (confidence, right), where the answers are no, yes, no, …"""
    questions: list[dict[str, Any]] = []
    for (length, band), some in streams.items():
        yes = [
            confidence if (place % 2 == 1) == is_right else 1 - confidence
            for stream in some
            for place, (confidence, is_right) in enumerate(stream)
        ]
        priced: dict[str, Any] = (
            {} if flops is None else {"flops_write": flops * 0.75, "flops_read": flops * 0.25}
        )
        letters = ["".join("r" if is_right else "w" for _, is_right in stream) for stream in some]
        questions += cell(letters, length=length, band=band, prefix="tokens", probability=yes, **priced)
    return write_run(folder, questions, model=model, system=system, config="tokens")


SURE = [(0.9, True), (0.9, True), (0.8, True), (0.6, False)]
VAIN = [(0.9, False), (0.8, True), (0.7, True), (0.6, True)]


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A backbone whose confidence is right and a cheaper one whose is not, on both bands; and a bag."""
    for name, model, low, high, flops in (
        ("one", "RetNet, D=64", SURE, [*SURE[:2], (0.7, False), (0.6, False)], 2e9),
        ("two", "Transformer (RoPE), D=128", VAIN, VAIN, 1e9),
    ):
        backbone(
            tmp_path / name, model, {(2048, "low"): [low, low], (2048, "max"): [high, high]}, flops=flops
        )
    backbone(
        tmp_path / "bag", "bag(k=2)", {(2048, "low"): [SURE], (2048, "max"): [VAIN]}, system="bag", flops=None
    )
    return tmp_path


def test_a_curve_has_a_point_a_threshold_and_ties_share_one(two: Path) -> None:
    found = [line for line in table(two, "backbone-curves") if line["label"] == "RetNet, D=64"]
    low = [(line["coverage"], line["accuracy"], line["answered"]) for line in found if line["band"] == "low"]
    assert low == [(0.5, 1.0, 4), (0.75, 1.0, 6), (1.0, 0.75, 8)]
    assert {(line["legend"], line["shape"], line["width"], line["place"]) for line in found} == {
        ("RetNet", "D = 64", 64, 10)
    }


def test_legend_and_marker_are_the_papers(two: Path, tmp_path: Path) -> None:
    backbone(tmp_path / "odd", "GRU, D=32, layers=2", {(64, "low"): [SURE]})
    told = {(line["label"], line["legend"], line["shape"]) for line in table(two, "backbone-curves")}
    assert told == {
        ("RetNet, D=64", "RetNet", "D = 64"),
        ("Transformer (RoPE), D=128", "Transf. RoPE", "D = 128"),
        ("GRU, D=32, layers=2", "GRU", "other D"),
        ("bag(k=2)", "bag(k=2)", "no backbone"),
    }


def test_the_summary_is_what_can_be_worked_out_by_hand(two: Path) -> None:
    found = row(two, "backbones", label="RetNet, D=64")
    assert (found["accuracy_low"], found["accuracy_max"]) == (0.75, 0.5)
    assert found["compression"] == 0.25
    assert (found["peak_low"], found["peak_max"], found["compression_peak"]) == (1.0, 1.0, 0.0)
    # right up to three quarters, and from there on half of what is lost by the end
    assert found["area_low"] == pytest.approx(0.75 + 0.25 * (1 + 0.75) / 2)
    assert found["area_max"] == pytest.approx(0.5 + 0.25 * (1 + 2 / 3) / 2 + 0.25 * (2 / 3 + 0.5) / 2)
    assert (found["flops"], found["n"]) == (2e9, 16)
    vain = row(two, "backbones", label="Transformer (RoPE), D=128")
    assert vain["accuracy_low"] == vain["peak_low"] == 0.75
    assert vain["area_low"] < vain["accuracy_low"], "where confidence is vain, coverage buys nothing"
    bag = row(two, "backbones", label="bag(k=2)")
    assert bag["flops"] is None
    assert [line["label"] for line in table(two, "backbones")] == [
        "RetNet, D=64",
        "Transformer (RoPE), D=128",
        "bag(k=2)",
    ], "in the order of Table 12, and the bags beside them"


def test_a_frontier_is_of_backbones_within_the_budget(two: Path) -> None:
    found = table(two, "backbone-frontiers")
    assert not [line for line in found if line["label"] == "bag(k=2)"]
    by_budget = {
        budget: [
            (line["coverage"], line["accuracy"], line["legend"])
            for line in found
            if line["budget"] == budget and line["band"] == "low"
        ]
        for budget in (1750, 10000, 30000)
    }
    # 2,000 MFLOPs are above the smallest budget; at full coverage both are as accurate, and one of them stands for it
    assert by_budget[1750] == [(1.0, 0.75, "Transf. RoPE")]
    assert by_budget[10000] == [(0.75, 1.0, "RetNet"), (1.0, 0.75, "RetNet")]
    assert by_budget[30000] == by_budget[10000]


def test_many_questions_are_counted_as_numpy_counts_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    streams: dict[tuple[int, str], list[list[tuple[float, bool]]]] = {}
    for length, band, skill in (
        (2048, "low", 2.0),
        (2048, "max", 0.7),
        (4096, "low", 1.0),
        (4096, "max", 0.5),
    ):
        confidence = 0.5 + 0.5 * rng.random((20, 32)) ** (1 / skill)
        is_right = rng.random((20, 32)) < confidence
        streams[length, band] = [
            list(zip(line.tolist(), right.tolist(), strict=True))
            for line, right in zip(confidence, is_right, strict=True)
        ]
    backbone(tmp_path / "run", "Mamba-2, D=64", streams)
    curves = table(tmp_path, "backbone-curves")
    for (length, band), some in streams.items():
        flat = sorted((pair for stream in some for pair in stream), reverse=True)
        right = np.cumsum([is_right for _, is_right in flat])
        accuracy = right / np.arange(1, 641)
        mine = [line for line in curves if (line["length"], line["band"]) == (length, band)]
        assert len(mine) <= 64
        assert mine[-1]["coverage"] == 1
        assert min(line["coverage"] for line in mine) >= 0.05
        for line in mine:
            assert line["accuracy"] == pytest.approx(accuracy[round(line["coverage"] * 640) - 1])
        found = row(tmp_path, "backbones", length=length)
        steps = np.concatenate([[accuracy[0]], (accuracy[1:] + accuracy[:-1]) / 2])
        assert found[f"area_{band}"] == pytest.approx(steps.mean())
        assert found[f"accuracy_{band}"] == pytest.approx(accuracy[-1])
        assert found[f"peak_{band}"] == pytest.approx(accuracy[31:].max())
        inside = found["compression_bootstrap"]
        assert inside["low"] < found["compression"] < inside["high"]
    # nothing beats a frontier's points at as much coverage, and each is on some curve
    for line in table(tmp_path, "backbone-frontiers"):
        rivals = [
            rival
            for rival in curves
            if (rival["length"], rival["band"]) == (line["length"], line["band"])
            and rival["coverage"] >= line["coverage"]
        ]
        assert line["accuracy"] == max(rival["accuracy"] for rival in rivals)


def test_table_12_needs_no_backbone_and_differs_nowhere(tmp_path: Path) -> None:
    write_run(tmp_path / "text", cell(["rw"]))
    (made,) = tables([tmp_path], names=["backbone-flops"])
    assert len(made.rows) == 14
    assert made.rows[0]["architecture"] == "Compressive Transformer"
    assert sum(len(cells) for cells in made.prints) == 56
    assert not [printed for cells in made.prints for printed in cells.values() if printed.differs]
    for name in ("backbones", "backbone-curves", "backbone-frontiers"):
        (empty,) = tables([tmp_path], names=[name])
        assert not empty.made
        assert empty.error is None
