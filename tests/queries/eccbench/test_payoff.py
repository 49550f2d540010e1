from __future__ import annotations

from pathlib import Path

import pytest

from support.bootstrap import interval, replicates
from support.results import cell, write_run
from support.tables import row


def test_by_hand(tmp_path: Path) -> None:
    write_run(tmp_path / "a", cell(["rrrw", "rww-", "rrxr"]), arm="a")
    write_run(tmp_path / "b", cell(["rrr-", "r--r", "rrrm"]), arm="b")
    one = row(tmp_path, "payoff")
    assert (one["n"], one["failed"], one["streams"]) == (11, 1, 3)
    # +1 and −4: arm A's responses earn −1, −7 and 3, arm B's 3, 2 and 2
    assert one["payoff_a"] == pytest.approx(-5 / 11)
    assert one["payoff_b"] == pytest.approx(7 / 11)
    assert one["gain"] == pytest.approx(12 / 11)
    expected = interval(replicates(lambda totals: totals[0] / totals[1], [4, 9, -1], [4, 4, 3]))
    assert one["gain_bootstrap"] == pytest.approx(expected, abs=1e-12)
    # +3 and −1: arm A's responses earn 8, 1 and 9, arm B's 9, 6 and 6
    assert one["payoff_a_under_a"] == pytest.approx(18 / 11)
    assert one["payoff_b_under_a"] == pytest.approx(21 / 11)
    assert one["gain_under_a"] == pytest.approx(-3 / 11)
    expected = interval(replicates(lambda totals: totals[0] / totals[1], [-1, -5, 3], [4, 4, 3]))
    assert one["gain_under_a_bootstrap"] == pytest.approx(expected, abs=1e-12)
    assert one["abstained_a"] == pytest.approx(1 / 11)
    assert one["abstained_b"] == pytest.approx(4 / 11)
    # of what A answered, B kept 6, all right, and declined 4, of which A had 1 right
    assert one["kept_accuracy"] == 1
    assert one["declined_accuracy"] == 1 / 4


@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [("rrrww", "rrr-w", "yes"), ("rrwww", "rrr-w", "no"), ("rrrww", "rrwww", "no"), ("-----", "rrrrr", "no")],
)
def test_the_figure_has_models_with_60_percent_on_what_they_answered(
    tmp_path: Path, a: str, b: str, shown: str
) -> None:
    write_run(tmp_path / "a", cell([a]), arm="a")
    write_run(tmp_path / "b", cell([b]), arm="b")
    assert row(tmp_path, "payoff")["in_figure"] == shown
