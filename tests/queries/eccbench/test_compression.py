from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from support.bootstrap import interval, replicates
from support.results import cell, clip_cell, video_cell, write_run
from support.tables import row, table


def share(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.divide(totals[0], totals[1])
    return found


def mean(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.add(share(totals[:2]), share(totals[2:])) / 2


def test_by_hand(tmp_path: Path) -> None:
    low, high = ["rrrr", "rrrw", "rr-w"], ["rwww", "r-ox", "wwwr", "wwrr"]
    write_run(tmp_path / "run", cell(low, length=512) + cell(high, length=512, band="max"))
    one = row(tmp_path, "compression", length=512)
    assert (one["n_low"], one["n_max"], one["failed"]) == (12, 15, 1)
    assert (one["streams_low"], one["streams_max"]) == (3, 4)
    assert (one["accuracy_low"], one["accuracy_max"]) == (9 / 12, 5 / 15)
    assert one["compression"] == pytest.approx(9 / 12 - 5 / 15)
    lows = replicates(share, [4, 3, 2], [4, 4, 4], key=1)
    maxes = replicates(share, [1, 1, 1, 2], [4, 3, 4, 4], key=2)
    assert one["compression_bootstrap"] == pytest.approx(interval(lows - maxes), abs=1e-12)
    # of yes, the second and fourth of each stream, 4 of 6 and 2 of 7 are right; of no, 5 of 6 and 3 of 8
    assert one["balanced"] == pytest.approx((4 / 6 + 5 / 6) / 2 - (2 / 7 + 3 / 8) / 2)
    lows = replicates(mean, [2, 1, 1], [2, 2, 2], [2, 2, 1], [2, 2, 2], key=1)
    maxes = replicates(mean, [0, 0, 1, 1], [2, 1, 2, 2], [1, 1, 0, 1], [2, 2, 2, 2], key=2)
    assert one["balanced_bootstrap"] == pytest.approx(interval(lows - maxes), abs=1e-12)


def test_the_bands_are_redrawn_independently(tmp_path: Path) -> None:
    """Were the same streams drawn in both bands, equal bands would have an interval of nothing."""
    streams = ["rrrr", "wwww", "rrww", "rwww", "rrrw"]
    write_run(tmp_path / "run", cell(streams) + cell(streams, band="max"))
    one = row(tmp_path, "compression")
    assert one["compression"] == 0
    assert one["compression_bootstrap"]["low"] < -0.2
    assert one["compression_bootstrap"]["high"] > 0.2


def test_it_takes_both_bands(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(["rr", "rw"], length=8) + cell(["rr", "rw"], length=16, band="max"))
    assert table(tmp_path, "compression") == []


def test_on_video_the_variants_weigh_the_same(tmp_path: Path) -> None:
    for variant, low, high in (
        ("sequential", ["rrrr", "rrww"], ["rwww", "wwww"]),
        ("spatial", ["rrww", "rr"], ["rrww", "wwww"]),
    ):
        questions = video_cell(low, variant=variant, length=16)
        questions += video_cell(high, variant=variant, length=16, band="max")
        write_run(tmp_path / variant, questions, config=f"video-{variant}", protocol="membership-video")
    one = row(tmp_path, "compression", subset="synthetic video")
    assert (one["accuracy_low"], one["accuracy_max"]) == ((6 / 8 + 4 / 6) / 2, (1 / 8 + 2 / 8) / 2)
    lows = replicates(mean, [4, 2], [4, 4], [2, 2], [4, 2], key=1)
    maxes = replicates(mean, [1, 0], [4, 4], [2, 0], [4, 4], key=2)
    assert one["compression_bootstrap"] == pytest.approx(interval(lows - maxes), abs=1e-12)
    sequential = row(tmp_path, "compression", subset="synthetic video, sequential")
    assert sequential["compression"] == 6 / 8 - 1 / 8


def test_on_natural_video_it_is_the_low_band_less_the_high(tmp_path: Path) -> None:
    questions = clip_cell(["rr", "w"], band="low", length=128) + clip_cell(
        ["rw", "rw"], band="high", length=128
    )
    write_run(tmp_path / "run", questions, config="natural", protocol="natural")
    (one,) = table(tmp_path, "compression")
    assert (one["subset"], one["streams_low"], one["compression"]) == ("natural video", 2, 2 / 3 - 2 / 4)
