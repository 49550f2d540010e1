from __future__ import annotations

from pathlib import Path

import pytest

from support.bootstrap import interval, redraw
from support.results import cell, write_run
from support.tables import row, table


def test_by_hand(tmp_path: Path) -> None:
    low, high = ["rrrr", "rrrw", "rr-w"], ["rwww", "r-ox", "wwwr", "wwrr"]
    write_run(tmp_path / "run", cell(low, length=512) + cell(high, length=512, band="max"))
    one = row(tmp_path, "compression", length=512)
    assert (one["n_low"], one["n_max"], one["failed"]) == (12, 15, 1)
    assert (one["accuracy_low"], one["accuracy_max"]) == (9 / 12, 5 / 15)
    assert one["compression"] == pytest.approx(9 / 12 - 5 / 15)
    lows = redraw(lambda totals: totals[0] / totals[1], [4, 3, 2], [4, 4, 4], key=1)
    maxes = redraw(lambda totals: totals[0] / totals[1], [1, 1, 1, 2], [4, 3, 4, 4], key=2)
    assert one["compression_bootstrap"] == pytest.approx(interval(lows - maxes), abs=1e-12)


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
