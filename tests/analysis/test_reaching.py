from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from eccdata.analysis import reaching
from eccdata.analysis.bootstrap import weights
from eccdata.analysis.reaching import add_reaching, budgets

Entry = tuple[int, int, float, int, int]
"""Stream, part, FLOPs, right, asked."""

entries = st.lists(
    st.tuples(
        st.integers(0, 4), st.integers(1, 2), st.integers(1, 6).map(float), st.integers(0, 2), st.just(2)
    ),
    min_size=4,
    max_size=25,
)


def reach(cell: Sequence[Entry], targets: list[float], key: int) -> NDArray[np.float64]:
    columns: list[Any] = [np.array(values) for values in zip(*cell, strict=True)]
    return budgets(*columns, targets=np.array(targets), key=key)


def by_hand(cell: Sequence[Entry], drawn: NDArray[np.uint8], target: float) -> float:
    """The smallest budget of one redraw; `drawn` says how often each stream is in it."""
    for budget in sorted({flops for _, _, flops, _, _ in cell}):
        shares = []
        for part in sorted({part for _, part, *_ in cell}):
            of = [entry for entry in cell if entry[1] == part]
            asked = sum(int(drawn[stream]) * n for stream, _, _, _, n in of)
            right = sum(
                int(drawn[stream]) * correct for stream, _, flops, correct, _ in of if flops <= budget
            )
            shares.append(right / asked if asked else np.nan)
        if np.mean(shares) >= target - 1e-6:
            return budget
    return np.nan if np.isnan(shares).any() else np.inf


@given(entries, st.sampled_from([0.1, 0.5, 0.75]))
@settings(max_examples=40, deadline=None)
def test_each_redraw_is_read_off_its_own_curve(cell: list[Entry], target: float) -> None:
    names = sorted({stream for stream, *_ in cell})
    cell = [(names.index(stream), *rest) for stream, *rest in cell]  # type: ignore[misc]
    found = reach(cell, [target], 1)[:, 0]
    if len(names) < 2:
        assert np.isnan(found).all()
        return
    # streams are redrawn in the order of their counts
    places = np.argsort(_by_counts(cell, len(names)))
    expected = [by_hand(cell, row[places], target) for row in weights(len(names), 1)[:50]]
    assert np.array_equal(found[:50], expected, equal_nan=True)


def _by_counts(cell: Sequence[Entry], streams: int) -> list[int]:
    """Streams in the order in which the rows of the matrix of counts are put."""
    costs = sorted({flops for _, _, flops, _, _ in cell})
    rows = []
    for stream in range(streams):
        row: list[int] = []
        for part in sorted({part for _, part, *_ in cell}):
            of = [entry for entry in cell if entry[:2] == (stream, part)]
            row += [sum(correct for _, _, flops, correct, _ in of if flops <= cost) for cost in costs]
            row.append(sum(n for *_, n in of))
        rows.append(row)
    return sorted(range(streams), key=lambda stream: rows[stream])


def test_what_is_not_reached_has_no_end() -> None:
    """Two streams, one all right at 3 FLOPs and one all wrong: a target of 60 % takes two draws of the first."""
    cell: list[Entry] = [(7, 1, 3.0, 4, 4), (9, 1, 5.0, 0, 4)]
    found = reach(cell, [0.4, 0.6], 0)
    assert set(found[:, 1]) == {3.0, np.inf}
    assert np.isfinite(found[:, 1]).mean() == pytest.approx(1 / 4, abs=0.03)
    assert np.isfinite(found[:, 0]).mean() == pytest.approx(3 / 4, abs=0.03)
    assert reaching._middle(found[:, 1]) == {"low": 3.0, "high": None}
    assert reaching._middle(np.array([np.inf, np.inf])) is None
    assert reaching._middle(np.arange(1.0, 4001.0)) == {"low": 100.0, "high": 3900.0}


def test_in_sql_a_band_may_be_missing() -> None:
    with duckdb.connect() as con:
        add_reaching(con)
        query = """
            SELECT bootstrap_reach(
                list({stream: s::UBIGINT, part: 1, flops: 2.0::DOUBLE, correct: 1.0::DOUBLE, n: 1.0::DOUBLE}),
                NULL, [0.5::DOUBLE]
            ) FROM range(3) AS streams(s)
        """
        ((((one,),),)) = con.execute(query).fetchall()
    assert one == {
        "low_flops": {"low": 2.0, "high": 2.0},
        "max_flops": None,
        "saved": None,
        "low_reached": 1.0,
        "max_reached": None,
        "both_reached": None,
    }
