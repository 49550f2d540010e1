from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import binomtest

from support.bootstrap import interval, replicates
from support.results import cell, clip_cell, video_cell, write_run
from support.tables import row, table


def test_by_hand(tmp_path: Path) -> None:
    write_run(tmp_path / "b", cell(["rw-m", "rwox", "rrww"]), arm="b")
    one = row(tmp_path, "coverage")
    assert (one["arm"], one["n"], one["failed"], one["answered"]) == ("b", 11, 1, 8)
    assert one["coverage"] == 8 / 11
    wilson = binomtest(8, 11).proportion_ci(method="wilson")
    assert (one["coverage_wilson"]["low"], one["coverage_wilson"]["high"]) == pytest.approx(
        (wilson.low, wilson.high)
    )
    expected = interval(replicates(lambda totals: totals[0] / totals[1], [2, 2, 4], [4, 3, 4]))
    assert one["coverage_bootstrap"] == pytest.approx(expected, abs=1e-12)


def test_arms_and_lengths_in_order(tmp_path: Path) -> None:
    for arm in ("b", "none", "a"):
        write_run(tmp_path / arm, cell(["rr"], length=1024) + cell(["r-"], length=512), arm=arm)
    rows = [(one["lengths"], one["arm"], one["coverage"]) for one in table(tmp_path, "coverage")]
    assert rows == [
        (lengths, arm, coverage)
        for lengths, coverage in (("512", 0.5), ("1024", 1.0), ("512, 1024", 0.75))
        for arm in ("none", "a", "b")
    ]


def test_all_three_subsets(tmp_path: Path) -> None:
    write_run(tmp_path / "text", cell(["r-"]), arm="a")
    for variant, letters in (("sequential", "rr--"), ("spatial", "r---")):
        questions = video_cell([letters], variant=variant, length=8)
        write_run(
            tmp_path / variant, questions, arm="a", config=f"video-{variant}", protocol="membership-video"
        )
    write_run(
        tmp_path / "natural",
        clip_cell(["rx", "-r"], band="low", length=64),
        arm="a",
        config="natural",
        protocol="natural",
    )
    names = ("subset", "lengths", "streams", "n", "failed", "answered")
    assert [tuple(one[name] for name in names) for one in table(tmp_path, "coverage")] == [
        ("synthetic text", "512", 1, 2, 0, 1),
        ("synthetic video", "8", 1, 8, 0, 3),
        ("natural video", "64", 2, 3, 1, 2),
    ]
