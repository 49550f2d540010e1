"""Accuracy against FLOPs: Figures 3 to 5, compression at equal FLOPs, FLOPs at equal accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from eccdata.analysis import TableResult, tables
from eccdata.analysis.bootstrap import weights
from support.bootstrap import interval, replicates
from support.results import cell, clip_cell, video_cell, write_run

TABLES = ["efficiency", "flops-compression", "natural-flops", "text-flops", "video-flops"]
THICK = {"low": 1000, "max": 300}
"""Questions of as many different costs."""


def costing(tflops: list[float | None]) -> dict[str, Any]:
    """Split costs into what writing and what reading takes."""
    return {
        "flops_write": [None if cost is None else 1e12 * (cost - 0.5) for cost in tflops],
        "flops_read": 0.5e12,
    }


def thick_costs(band: str) -> NDArray[np.int64]:
    """Different costs in no order, those of the max band the higher ones."""
    rng = np.random.default_rng(THICK[band])
    return rng.permutation(THICK[band]) * 2 + (1 if band == "low" else 1000)


def thick_answers(band: str) -> str:
    rng = np.random.default_rng([1, THICK[band]])
    return "".join(rng.choice(["r", "w"], THICK[band]))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, TableResult]:
    folder = tmp_path_factory.mktemp("results")
    by_hand = cell(["rrw-", "rwrx"], **costing([3, 1, 2, 9, 5, 1, 4, 2])) + cell(
        ["ww", "rrr"], band="max", **costing([2, 7, 6, 12, None])
    )
    thick = [
        question
        for band in THICK
        for question in cell(
            [thick_answers(band)], length=1024, band=band, **costing(thick_costs(band).tolist())
        )
    ]
    write_run(folder / "text", by_hand + thick, model="M")
    for variant, streams, costs in (
        ("sequential", ["rw", "ww"], [1, 2, 2, 3]),
        ("spatial", ["rr", "r"], [1, 3, 2]),
    ):
        # at L = 64 there is one variant alone
        shown = video_cell(streams, variant=variant, length=16, **costing(list(costs)))
        if variant == "spatial":
            shown += video_cell(["rr"], variant=variant, length=64, **costing([1, 2]))
        write_run(folder / variant, shown, model="M", config=f"video-{variant}", protocol="membership-video")
    natural = clip_cell(["r", "w"], band="low", length=64, **costing([2, 1])) + clip_cell(
        ["w", "r"], band="high", length=64, **costing([1, 4])
    )
    write_run(folder / "natural", natural, model="M", config="natural", protocol="natural")
    write_run(folder / "unpriced", cell(["rr"]), model="nobody's")
    write_run(folder / "untold", cell(["rr"]), model="Qwen3-VL (8B)")
    return {table.name: table for table in tables([folder], names=TABLES)}


def curve(table: TableResult, **where: Any) -> list[tuple[float, float]]:
    return [
        (row["flops"] / 1e12, row["accuracy"])
        for row in table.rows
        if all(row[name] == value for name, value in where.items())
    ]


def test_a_curve_by_hand(made: Mapping[str, TableResult]) -> None:
    table = made["text-flops"]
    low = [(1, 1 / 7), (2, 1 / 7), (3, 2 / 7), (4, 3 / 7), (5, 4 / 7), (9, 4 / 7)]
    assert curve(table, length=512, band="low") == low
    assert curve(table, length=512, band="max") == [(2, 0), (6, 1 / 4), (7, 1 / 4), (12, 2 / 4)]
    rows = [row for row in table.rows if (row["length"], row["band"]) == (512, "max")]
    assert [row["spent"] for row in rows] == [1 / 4, 2 / 4, 3 / 4, 1]
    assert [row["is_end"] for row in rows] == [False, False, False, True]
    assert {(row["n"], row["unpriced"]) for row in rows} == {(4, 1)}
    assert "Not in it at all: Qwen3-VL (8B) and nobody's. It needs" in " ".join(table.missing)
    assert "of a model that has a price in FLOPs." in " ".join(table.missing)


@pytest.mark.parametrize("band", THICK)
def test_a_thinned_curve_keeps_its_ends_and_is_exact(made: Mapping[str, TableResult], band: str) -> None:
    costs, right = thick_costs(band), np.array([letter == "r" for letter in thick_answers(band)])
    points = curve(made["text-flops"], length=1024, band=band)
    assert 50 < len(points) <= 200
    assert (points[0][0], points[-1][0]) == (costs.min(), costs.max())
    assert [accuracy for _, accuracy in points] == pytest.approx(
        [right[costs <= cost].sum() / len(costs) for cost, _ in points], abs=1e-12
    )


def test_variants_of_video_weigh_the_same(made: Mapping[str, TableResult]) -> None:
    points = curve(made["video-flops"])
    assert [cost for cost, _ in points] == [1, 2, 3]
    assert [accuracy for _, accuracy in points] == pytest.approx(
        [(1 / 4 + 1 / 3) / 2, (1 / 4 + 2 / 3) / 2, (1 / 4 + 3 / 3) / 2]
    )
    assert {row["length"] for row in made["video-flops"].rows} == {16}


def test_natural_video_has_a_curve_for_each_density(made: Mapping[str, TableResult]) -> None:
    assert curve(made["natural-flops"], band="low") == [(1, 0), (2, 0.5)]
    assert curve(made["natural-flops"], band="high") == [(1, 0), (4, 0.5)]


def test_compression_within_a_budget(made: Mapping[str, TableResult]) -> None:
    rows = [row for row in made["flops-compression"].rows if row["length"] == 512]
    found = {
        row["budget"] / 1e12: (row["spent"], row["accuracy_low"], row["accuracy_max"], row["reached_by"])
        for row in rows
    }
    assert list(found) == [1, 2, 3, 4, 5, 6, 7, 9, 12]
    assert found[2] == (4 / 11, 1 / 7, 0, "both")
    assert found[7] == (9 / 11, 4 / 7, 1 / 4, "both")
    assert found[9] == (10 / 11, 4 / 7, 1 / 4, "both")  # the low band's last
    assert found[12] == (1, 4 / 7, 2 / 4, "max")
    assert {(row["n_low"], row["n_max"], row["unpriced"]) for row in rows} == {(7, 4, 1)}
    (at_7,) = [row for row in rows if row["budget"] == 7e12]
    assert at_7["compression"] == pytest.approx(4 / 7 - 1 / 4)
    # within 7 TF, of the first stream of each band 2 of 4 and 0 of 2 are right, of the second 2 of 3 and 1 of 2
    lows = replicates(lambda t: np.divide(t[0], t[1]), [2, 2], [4, 3], key=1)
    highs = replicates(lambda t: np.divide(t[0], t[1]), [0, 1], [2, 2], key=2)
    assert at_7["compression_bootstrap"] == pytest.approx(interval(lows - highs), abs=1e-12)
    # of yes 2 of 3 and 0 of 2, of no 2 of 4 and 1 of 2
    assert at_7["balanced"] == pytest.approx((1 / 3 + 3 / 4) / 2 - (0 / 2 + 1 / 2) / 2)


def test_compression_within_a_budget_is_exact_where_curves_are_thinned(
    made: Mapping[str, TableResult],
) -> None:
    rows = [row for row in made["flops-compression"].rows if row["length"] == 1024]
    *tenths, both, nine, everything = rows
    assert [row["spent"] for row in (*tenths, nine)] == pytest.approx(np.arange(0.1, 0.95, 0.1), abs=0.01)
    # the max band ends at 1,598 TF, after which the low one goes on alone
    assert both["budget"] / 1e12 == pytest.approx(1598, abs=15)
    assert (both["reached_by"], both["accuracy_max"]) == ("both", thick_answers("max").count("r") / 300)
    assert (everything["reached_by"], everything["budget"], everything["spent"]) == ("low", 1999e12, 1)
    for row in rows:
        for band in THICK:
            right = np.array([letter == "r" for letter in thick_answers(band)])
            within = right[1e12 * thick_costs(band) <= row["budget"] + 1].sum()
            assert row[f"accuracy_{band}"] == pytest.approx(within / THICK[band], abs=1e-12)


def test_flops_to_reach_an_accuracy(made: Mapping[str, TableResult]) -> None:
    (row,) = [row for row in made["efficiency"].rows if row["length"] == 512]
    assert (row["target"], row["flops_low"] / 1e12, row["flops_max"] / 1e12) == (0.5, 5, 12)
    assert row["saved"] == pytest.approx(1 - 5 / 12)
    # low: the first stream is right at 1 and 3 TF of 4, the second at 4 and 5 TF of 3; two are drawn
    low = {(2, 0): 3, (1, 1): 5, (0, 2): 5}
    # max: the first is never right, the second at 6 and 12 TF of 2: half of both, or all of the second twice
    high = {(2, 0): np.inf, (1, 1): 12, (0, 2): 6}
    expected = []
    for budgets, key, right_first in ((low, 1, True), (high, 2, False)):
        # streams are drawn in the order of their counts: both times the second stream has none right at first
        drawn = weights(2, key).astype(int)
        drawn = drawn[:, ::-1] if right_first else drawn
        expected.append(np.array([budgets[int(a), int(b)] for a, b in drawn], float))
    reached = np.isfinite(expected[1])
    assert (row["low_reached"], row["max_reached"]) == (1, reached.mean())
    assert row["both_reached"] == reached.mean()
    assert row["flops_low_bootstrap"] == {"low": 3e12, "high": 5e12}
    assert row["flops_max_bootstrap"] == {
        "low": 6e12,
        "high": None,
    }  # a quarter of the redraws never get there
    saved = np.sort(1 - expected[0][reached] / expected[1][reached])
    places = [int(np.ceil(quantile * len(saved))) - 1 for quantile in (0.025, 0.975)]
    assert list(row["saved_bootstrap"].values()) == pytest.approx(saved[places].tolist())
    # nothing is saved where one band never gets there, and a row takes at least one that does
    (natural,) = [row for row in made["efficiency"].rows if row["subset"] == "natural video"]
    assert (natural["target"], natural["saved"]) == (0.5, 1 - 2 / 4)
