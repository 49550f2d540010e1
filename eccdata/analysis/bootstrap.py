"""The stream-cluster bootstrap (eccbench.txt, B.8), as functions that queries call where they group.

Questions about one stream succeed or fail together, so it is streams that are redrawn: as many as a cell has, with
replacement and with all their questions, 4,000 times. Every statistic here is made of ratios of sums over streams.

In SQL (`bootstrap.sql`), over rows of which each is a stream (such as `stream_counts`), grouped into cells::

    SELECT label, length, band, sum(correct) / sum(n) AS accuracy, bootstrap_share(correct, n) AS accuracy_bootstrap
    FROM stream_counts WHERE … AND n > 0 GROUP BY label, length, band

Each is an aggregate and gives STRUCT(low DOUBLE, high DOUBLE), the middle 95 % of the redraws. The arguments are counts
(or any sums) of one stream; Σ sums over a redraw's streams.

bootstrap_share(num, den)                        Σnum / Σden: accuracy, coverage, payoff a question, responsiveness
bootstrap_difference(num1, den1, num2, den2)     Σnum1/Σden1 − Σnum2/Σden2 of the same streams: the gap
bootstrap_mean(num1, den1, num2, den2)           (Σnum1/Σden1 + Σnum2/Σden2) / 2: balanced accuracy
bootstrap_contrast(num, den, first, second)      the share of the streams in which `first` is true minus that of those
                                                 in which `second` is, each redrawn by itself: compression
bootstrap_mean_contrast(num1, den1, num2, den2, first, second)    the same of the mean of two shares
bootstrap_chance(num1, den1, num2, den2)         STRUCT(not_positive DOUBLE, undefined BIGINT): the share of the redraws
                                                 in which `bootstrap_difference` is at most 0, and the number of those
                                                 in which it is undefined

Beyond ratios, as a scalar function: `bootstrap_totals(counts DOUBLE[][], key INTEGER) -> DOUBLE[][]` gives for each
count its total in each of the 4,000 redraws (`bootstrap_totals(list([a, b, c]::DOUBLE[]), 0)[1]` is that of `a`).
Redraws of two cells with one key and as many streams are the same; with two keys they are independent.

What to mind:

- A row is a stream. Rows with nothing in them are streams too, and are drawn: leave them out (`WHERE n > 0`).
- Neither order of rows nor number of threads matters: streams are put in the order of their counts.
- Redraws in which the statistic is undefined (a denominator of 0) are left out. A cell of fewer than two streams has
  no interval (NULL), nor has one with a NULL among its counts.
- Memory is bounded: a quarter of a gigabyte at most beside the counts themselves, however many cells or streams.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from importlib.resources import files
from threading import Lock

import duckdb
import numpy as np
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType
from numpy.typing import NDArray

from eccdata.streams.seeding import generator

REPLICATES = 4000
MIDDLE = (0.025, 0.975)

_COUNTS = "STRUCT(n1 DOUBLE, d1 DOUBLE, n2 DOUBLE, d2 DOUBLE)[]"
_COUNTS_A_STREAM = 4
_RESULT = {"low": "DOUBLE", "high": "DOUBLE", "not_positive": "DOUBLE", "undefined": "BIGINT"}
_AT_ONCE = 1 << 22
"""How many numbers a matrix may have: of weights, of counts, of totals."""
_KEPT = 1 << 25
"""Weights of at most so many numbers, a byte each, are kept for the next call."""
_DEARER = 8
"""How much more it takes to draw how often a kind of stream comes than to draw one stream."""
_ROOM = 1 << 27
"""How many of those are kept in all."""
_EXACT = 1 << 24
"""Up to here single precision holds every whole number."""

Floats = NDArray[np.float64]
Group = tuple[NDArray[np.int64], Floats]
"""How many streams each cell has, and the counts [streams of all cells, counts a stream] in order."""


def add_bootstrap(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the functions of `bootstrap.sql` known to a connection."""
    ratios = f"STRUCT({', '.join(f'{name} {kind}' for name, kind in _RESULT.items())})"
    for name, function, takes, gives in (
        ("bootstrap_ratios", _ratios, [_COUNTS, _COUNTS, "DOUBLE", "DOUBLE"], ratios),
        ("bootstrap_totals", _totals, ["DOUBLE[][]", "INTEGER"], "DOUBLE[][]"),
    ):
        connection.create_function(
            name,
            function,
            [duckdb.dtype(kind) for kind in takes],
            duckdb.dtype(gives),
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
        )
    connection.execute((files("eccdata.analysis") / "bootstrap.sql").read_text("utf-8"))


def weights(streams: int, key: int) -> NDArray[np.uint8]:
    """How often each stream is drawn, [replicates, streams]; different keys give independent redraws."""
    return np.concatenate(list(_weights(streams, key)))


def redrawn_totals(counts: Floats, key: int) -> Floats:
    """Work out the totals of counts in every redraw.

    Args:
        counts: [streams, k], in any fixed order of the streams.
        key: As in `weights`.

    Returns:
        [replicates, k].

    """
    streams = len(counts)
    whole = bool(np.isfinite(counts).all() and (counts == np.rint(counts)).all())
    exact = whole and np.abs(counts).max(initial=0) * streams < _EXACT
    found = np.empty((REPLICATES, counts.shape[1]), np.float64)
    single = counts.astype(np.float32) if exact else None
    start = 0
    for part in _some_weights(streams, key):
        rows = slice(start, start + len(part))
        if single is None:
            found[rows] = part.astype(np.float64) @ counts
        else:
            found[rows] = part.astype(np.float32) @ single
        start += len(part)
    return found


def _some_weights(streams: int, key: int) -> Iterator[NDArray[np.uint8]]:
    if streams * REPLICATES > _KEPT:
        yield from _weights(streams, key)
        return
    step = max(1, _AT_ONCE // streams)
    whole = _kept_weights(streams, key)
    yield from (whole[start : start + step] for start in range(0, REPLICATES, step))


class _Kept:
    """The weights that were asked for last, as many as there is room for."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[int, int], NDArray[np.uint8]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, streams: int, key: int) -> NDArray[np.uint8]:
        with self._lock:
            found = self._found.pop((streams, key), None)
            if found is None:
                found = weights(streams, key)
            self._found[streams, key] = found
            while sum(each.size for each in self._found.values()) > _ROOM:
                self._found.popitem(last=False)
            return found


_kept_weights = _Kept()


def _weights(streams: int, key: int) -> Iterator[NDArray[np.uint8]]:
    """The weights in parts: those of all replicates may be more than memory holds."""
    rng = generator(0, "analysis", "bootstrap", streams, key)
    step = max(1, min(REPLICATES, (_AT_ONCE // 4) // streams))
    for start in range(0, REPLICATES, step):
        replicates = min(step, REPLICATES - start)
        drawn = rng.integers(0, streams, size=(replicates, streams))
        drawn += np.arange(0, replicates * streams, streams)[:, None]
        times = np.bincount(drawn.ravel(), minlength=replicates * streams)
        # one stream 256 times over: once in 10^500 draws, if they are random
        yield times.astype(np.uint8).reshape(replicates, streams)


def _ratios(
    first: pa.ChunkedArray, second: pa.ChunkedArray, factor_1: pa.ChunkedArray, factor_2: pa.ChunkedArray
) -> pa.Array:
    """Σn1/Σd1 × factor_1 + Σn2/Σd2 × factor_2 of the first streams, less that of the second, where there are any."""
    cells = len(first)
    alone = second.null_count == cells
    groups = [_streams(first)] if alone else [_streams(first), _streams(second)]
    factors = np.stack([factor.to_numpy() for factor in (factor_1, factor_2)])
    summary = np.full((4, cells), np.nan)
    for chosen in _blocks(groups):
        statistic = _statistic(groups[0], chosen, 0 if alone else 1, factors[:, chosen])
        if not alone:
            statistic -= _statistic(groups[1], chosen, 2, factors[:, chosen])
        summary[:, chosen] = _summary(statistic)
    columns = [pa.array(values, pa.float64(), mask=np.isnan(values)) for values in summary[:3]]
    undefined = pa.array(np.nan_to_num(summary[3]).astype(np.int64), mask=np.isnan(summary[3]))
    missing = pa.array(np.isnan(summary[0]) & ~(summary[3] == REPLICATES))
    return pa.StructArray.from_arrays([*columns, undefined], names=list(_RESULT), mask=missing)


def _statistic(group: Group, chosen: NDArray[np.int64], key: int, factors: Floats) -> Floats:
    """The statistic of cells with the same number of streams, [replicates, cells]."""
    sizes, counts = group
    ends = np.cumsum(sizes)
    streams = int(sizes[chosen[0]])
    rows = (ends[chosen] - streams)[None, :] + np.arange(streams)[:, None]
    used = 2 if not factors[1].any() else _COUNTS_A_STREAM
    totals = _redrawn_cells(counts[rows][:, :, :used], key)
    found: Floats = factors[0] * _divided(totals[:, :, 0], totals[:, :, 1])
    if used > 2:
        found += factors[1] * _divided(totals[:, :, 2], totals[:, :, 3])
    return found


def _redrawn_cells(counts: Floats, key: int) -> Floats:
    """Totals [replicates, cells, k] of counts [streams, cells, k], of which each cell's streams are in order."""
    streams, cells, k = counts.shape
    if streams * REPLICATES <= _KEPT:
        return redrawn_totals(counts.reshape(streams, -1), key).reshape(REPLICATES, cells, k)
    found = np.empty((REPLICATES, cells, k))
    for cell in range(cells):
        # many streams, few kinds of them: how often a kind is drawn has a distribution of its own
        changes = np.flatnonzero((np.diff(counts[:, cell], axis=0) != 0).any(axis=1)) + 1
        starts = np.concatenate([[0], changes])
        if len(starts) * _DEARER > streams:
            found[:, cell] = redrawn_totals(counts[:, cell], key)
            continue
        shares = np.diff(np.append(starts, streams)) / streams
        rng = generator(0, "analysis", "bootstrap kinds", streams, key)
        found[:, cell] = rng.multinomial(streams, shares, size=REPLICATES) @ counts[starts, cell]
    return found


def _divided(upper: Floats, lower: Floats) -> Floats:
    found = np.full(upper.shape, np.nan)
    np.divide(upper, lower, out=found, where=lower != 0)
    return found


def _summary(statistic: Floats) -> Floats:
    """Low, high, the share at most 0 and the number undefined, [4, cells], of [replicates, cells]."""
    ordered = np.sort(statistic, axis=0)  # what is undefined goes to the end
    defined = REPLICATES - np.isnan(ordered).sum(axis=0)
    last = np.maximum(defined - 1, 0)
    found = np.empty((4, statistic.shape[1]))
    for row, quantile in enumerate(MIDDLE):
        place = quantile * last
        below = np.floor(place).astype(np.int64)
        above = np.minimum(below + 1, last)
        low, high = (np.take_along_axis(ordered, at[None, :], axis=0)[0] for at in (below, above))
        found[row] = low + (place - below) * (high - low)
    with np.errstate(invalid="ignore"):
        found[2] = (ordered <= 0).sum(axis=0) / np.where(defined, defined, np.nan)
    found[3] = REPLICATES - defined
    return found


def _blocks(groups: list[Group]) -> Iterator[NDArray[np.int64]]:
    """Cells that have the same numbers of streams and no unknown count, as many together as memory allows."""
    sizes = np.stack([sizes for sizes, _ in groups])
    usable = (sizes >= 2).all(axis=0)
    for held, counts in groups:
        unknown = np.concatenate([[0], np.cumsum(np.isnan(counts).any(axis=1))])
        ends = np.cumsum(held)
        usable &= unknown[ends] == unknown[ends - held]
    for size in np.unique(sizes[:, usable], axis=1).T:
        same = np.flatnonzero((sizes == size[:, None]).all(axis=0) & usable)
        step = max(1, _AT_ONCE // (_COUNTS_A_STREAM * max(REPLICATES, int(size.max()))))
        yield from (same[start : start + step] for start in range(0, len(same), step))


def _streams(lists: pa.ChunkedArray) -> Group:
    """Take lists of streams apart, and put the streams of each cell in the order of their counts."""
    whole = _one_array(lists)
    sizes = np.diff(whole.offsets.to_numpy()).astype(np.int64)
    values = whole.flatten()
    sizes[whole.is_null().to_numpy(zero_copy_only=False)] = 0
    counts = np.stack([column.to_numpy(zero_copy_only=False) for column in values.flatten()], axis=1)
    return sizes, _in_order(np.repeat(np.arange(len(sizes)), sizes), counts)


def _in_order(cells: NDArray[np.int64], counts: Floats) -> Floats:
    """Order rows by cell, then by their counts."""
    if not len(counts):
        return counts
    lowest, highest = counts.min(axis=0), counts.max(axis=0)
    whole = np.isfinite(lowest).all() and (counts == np.rint(counts)).all()
    spans = highest - lowest + 1 if whole else np.full(counts.shape[1], np.inf)
    if np.prod(spans) * (float(cells[-1]) + 1) < 2**62:  # all of a row in one number: a tenth of the time
        packed = cells.copy()
        for column, low, span in zip(counts.T, lowest, spans, strict=True):
            packed = packed * int(span) + (column - low).astype(np.int64)
        return counts[np.argsort(packed, kind="stable")]
    return counts[np.lexsort((*counts.T[::-1], cells))]


def _totals(lists: pa.ChunkedArray, keys: pa.ChunkedArray) -> pa.Array:
    whole = _one_array(lists)
    lengths = whole.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    rows = whole.flatten()
    widths = rows.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    values = rows.flatten().to_numpy(zero_copy_only=False)
    alike: dict[tuple[int, int, int], dict[int, Floats]] = {}
    row, value = 0, 0
    for cell, (length, key) in enumerate(zip(lengths.tolist(), keys.to_numpy().tolist(), strict=True)):
        width = int(widths[row]) if length else 0
        even = (widths[row : row + length] == width).all()
        held = int(widths[row : row + length].sum())
        counts = values[value : value + held]
        row, value = row + length, value + held
        if length > 1 and even and not np.isnan(counts).any():
            ordered = _in_order(np.zeros(length, np.int64), counts.reshape(length, width))
            alike.setdefault((length, width, key), {})[cell] = ordered
    totals: list[Floats | None] = [None] * len(lengths)
    for (length, width, key), cells in alike.items():
        step = max(1, _AT_ONCE // (max(REPLICATES, length) * width))
        numbers = list(cells)
        for some in (numbers[start : start + step] for start in range(0, len(numbers), step)):
            found = redrawn_totals(np.concatenate([cells[cell] for cell in some], axis=1), key).T
            for place, cell in enumerate(some):
                totals[cell] = found[place * width : (place + 1) * width]
    sizes = [0 if found is None else len(found) for found in totals]
    inner = pa.ListArray.from_arrays(
        pa.array(np.arange(0, (sum(sizes) + 1) * REPLICATES, REPLICATES, dtype=np.int32)),
        pa.array(np.concatenate([found.ravel() for found in totals if found is not None] or [np.empty(0)])),
    )
    ends = pa.array(np.cumsum([0, *sizes]).astype(np.int32))
    return pa.ListArray.from_arrays(
        ends, inner, mask=pa.array([found is None for found in totals], pa.bool_())
    )


def _one_array(chunked: pa.ChunkedArray) -> pa.Array:
    whole = chunked.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
