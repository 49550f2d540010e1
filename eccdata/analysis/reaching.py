"""How many FLOPs it takes to reach an accuracy, redrawn: intervals of efficiency and of FLOPs saved (eccbench.txt, 3).

The smallest budget F within which a cell answers a share C of its questions is no ratio of sums over streams, so that
it has a function of its own beside those of `eccdata.analysis.bootstrap`: in every redraw of a cell's streams the whole
curve of accuracy against FLOPs is made anew, and read off where it reaches C.

In SQL, as a scalar function over what a query lists::

    bootstrap_reach(low, max, targets DOUBLE[]) -> STRUCT(…)[], one for each target

`low` and `max` list the two bands' entries, of questions of one stream and cost: STRUCT(stream UBIGINT, part INTEGER,
flops DOUBLE, correct DOUBLE, n DOUBLE). Accuracy is weighed equally over parts (the variants of synthetic video). Of
each band the result has the middle 95 % of the budgets (`low_flops`, `max_flops`, structs of low and high) and the
share of the redraws that reach the target at all (`low_reached`, `max_reached`); an end that is not reached is NULL.
`saved` is the middle 95 % of 1 − F_low / F_max over the redraws in which both do, whose share is `both_reached`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType
from numpy.typing import NDArray

from eccdata.analysis.bootstrap import MIDDLE, REPLICATES, weights

Floats = NDArray[np.float64]

SLACK = 1e-6
"""An accuracy that falls short of a target by no more than roundings in single precision do reaches it."""
EXACT = 1 << 24
"""Up to here single precision holds every whole number."""
KEPT = 1 << 12
"""Weights of at most so many streams are kept for the next cell, which mostly has as many."""
TOGETHER = 1 << 22
"""How many numbers are in memory together."""

_ENTRIES = "STRUCT(stream UBIGINT, part INTEGER, flops DOUBLE, correct DOUBLE, n DOUBLE)[]"
_INTERVALS = ("low_flops", "max_flops", "saved")
_SHARES = ("low_reached", "max_reached", "both_reached")
_RESULT = ", ".join(
    [f"{name} STRUCT(low DOUBLE, high DOUBLE)" for name in _INTERVALS]
    + [f"{name} DOUBLE" for name in _SHARES]
)
_ARROW = pa.list_(
    pa.struct(
        [(name, pa.struct([("low", pa.float64()), ("high", pa.float64())])) for name in _INTERVALS]
        + [(name, pa.float64()) for name in _SHARES]
    )
)


def add_reaching(connection: duckdb.DuckDBPyConnection) -> None:
    """Make `bootstrap_reach` known to a connection."""
    connection.create_function(
        "bootstrap_reach",
        _bootstrap_reach,
        [duckdb.dtype(_ENTRIES), duckdb.dtype(_ENTRIES), duckdb.dtype("DOUBLE[]")],
        duckdb.dtype(f"STRUCT({_RESULT})[]"),
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )


def budgets(
    streams: NDArray[np.uint64], parts: NDArray[np.int64], flops: Floats, correct: Floats, n: Floats, *,
    targets: Floats, key: int,
) -> Floats:  # fmt: skip
    """Work out the smallest budget that reaches each target, in every redraw of a cell's streams.

    Args:
        streams: [entries], whose entry it is.
        parts: [entries], 1 or 2: accuracies of parts are averaged.
        flops: [entries], what each question of the entry costs at most.
        correct: [entries], how many of its questions are answered correctly.
        n: [entries], how many there are.
        targets: [targets], shares.
        key: As in `eccdata.analysis.bootstrap.weights`.

    Returns:
        [replicates, targets] in FLOPs; infinite where the target is not reached, all NaN for fewer than two streams.

    """
    names, row = np.unique(streams, return_inverse=True)
    costs, column = np.unique(flops, return_inverse=True)
    if len(names) < 2:
        return np.full((REPLICATES, len(targets)), np.nan)
    counts = []
    for part in np.unique(parts):
        of = parts == part
        right, asked = np.zeros((len(names), len(costs))), np.zeros(len(names))
        np.add.at(right, (row[of], column[of]), correct[of])
        np.add.at(asked, row[of], n[of])
        counts += [np.cumsum(right, axis=1), asked[:, None]]
    whole = np.concatenate(counts, axis=1)
    found = _first_enough(whole[np.lexsort(whole.T[::-1])], len(costs), targets - SLACK, key)
    return np.append(costs, [np.inf, np.nan])[found]


def _first_enough(counts: Floats, width: int, targets: Floats, key: int) -> NDArray[np.int64]:
    """Find the first of `width` budgets that reaches each target: `width` if none does, one more if it is undefined.

    Args:
        counts: [streams, parts × (width + 1)], of each part what is right within each budget, and what was asked.
        width: How many budgets there are.
        targets: [targets].
        key: As in `eccdata.analysis.bootstrap.weights`.

    """
    exact = counts.max() * len(counts) < EXACT
    held = np.ascontiguousarray(counts, np.float32 if exact else np.float64)
    parts = counts.shape[1] // (width + 1)
    drawn = _kept_weights(len(counts), key) if len(counts) <= KEPT else weights(len(counts), key)
    found = np.empty((REPLICATES, len(targets)), np.int64)
    together = max(1, TOGETHER // (len(counts) + counts.shape[1]))
    for begin in range(0, REPLICATES, together):
        totals = drawn[begin : begin + together].astype(held.dtype) @ held
        found[begin : begin + len(totals)] = _first_at_least(totals, parts, targets)
    return found


def _first_at_least(totals: Floats, parts: int, targets: Floats) -> NDArray[np.int64]:
    """The same, in the redraws of which these are the totals: accuracy never falls as the budget rises."""
    width = totals.shape[1] // parts - 1
    asked = [totals[:, part * (width + 1) + width].copy() for part in range(parts)]
    flat = totals.ravel()
    firsts = [
        np.arange(part * (width + 1), totals.size, totals.shape[1], dtype=np.int64) for part in range(parts)
    ]
    found = np.empty((len(totals), len(targets)), np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        for place, target in enumerate(targets):
            # of one part, the same without a division for each budget
            wanted = float(target) * (asked[0] if parts == 1 else np.ones_like(asked[0]))
            low = np.zeros(len(totals), np.int64)
            # all budgets before `low` are too low, and of those from there on `left` are yet to be looked at
            left = width
            while left:
                half = (left + 1) // 2
                probe = np.minimum(low + (half - 1), width - 1)
                share = flat.take(firsts[0] + probe)
                if parts > 1:
                    share /= asked[0]
                    for first, whole in zip(firsts[1:], asked[1:], strict=True):
                        share += flat.take(first + probe) / whole
                    share /= parts
                low = np.where(share < wanted, probe + 1, low)
                left -= half
            found[:, place] = low
    found[np.any([whole == 0 for whole in asked], axis=0)] = width + 1
    return found


@lru_cache(maxsize=4)
def _kept_weights(streams: int, key: int) -> NDArray[np.uint8]:
    return weights(streams, key)


def _bootstrap_reach(low: pa.ChunkedArray, high: pa.ChunkedArray, targets: pa.ChunkedArray) -> pa.Array:
    rows: list[list[dict[str, Any]]] = []
    bands = zip(_entries(low), _entries(high), strict=True)
    for (low_cell, high_cell), wanted in zip(bands, targets.to_pylist(), strict=True):
        goals = np.array(wanted, np.float64)
        # two keys: which streams of one band are drawn says nothing of which streams of the other are
        cheap = budgets(*low_cell, targets=goals, key=1)
        dear = budgets(*high_cell, targets=goals, key=2)
        rows.append([_summary(cheap[:, place], dear[:, place]) for place in range(len(goals))])
    return pa.array(rows, _ARROW)


def _summary(low: Floats, high: Floats) -> dict[str, Any]:
    both = np.isfinite(low) & np.isfinite(high)
    return {
        "low_flops": _middle(low[~np.isnan(low)]),
        "max_flops": _middle(high[~np.isnan(high)]),
        "saved": _middle(1 - low[both] / high[both]),
        "low_reached": _share(low),
        "max_reached": _share(high),
        "both_reached": None if np.isnan([low, high]).all(axis=1).any() else float(both.mean()),
    }


def _middle(values: Floats) -> dict[str, float | None] | None:
    """Two of the values themselves, for there is nothing between a budget and one that is not reached."""
    if not len(values):
        return None
    places = [int(np.ceil(quantile * len(values))) - 1 for quantile in MIDDLE]
    low, high = np.partition(values, places)[places]
    if np.isinf(low):
        return None
    return {"low": float(low), "high": None if np.isinf(high) else float(high)}


def _share(values: Floats) -> float | None:
    defined = ~np.isnan(values)
    return float(np.isfinite(values).sum() / defined.sum()) if defined.any() else None


def _entries(lists: pa.ChunkedArray) -> list[list[Any]]:
    """The entries of each cell, field by field."""
    whole = lists.combine_chunks()
    whole = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    found = []
    for cell in whole:
        values = cell.values
        fields = (
            [] if values is None else [field.to_numpy(zero_copy_only=False) for field in values.flatten()]
        )
        found.append(fields or [np.empty(0, np.uint64), *[np.empty(0)] * 4])
    return found
