"""The stream-cluster bootstrap once more, in NumPy: independent of the SQL, on the same draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eccdata.analysis.bootstrap import weights


def triple32(x: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Wellons' 32-bit integer hash, in arithmetic that wraps."""
    x = (x ^ (x >> np.uint32(17))) * np.uint32(0xED5AD4BB)
    x = (x ^ (x >> np.uint32(11))) * np.uint32(0xAC4C1B51)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x31848BAB)
    return x ^ (x >> np.uint32(14))


def draws(streams: int, key: int = 0, replicates: int = 4000) -> NDArray[np.int64]:
    """Indices [replicates, streams] of the streams that are drawn."""
    replicate, slot = np.meshgrid(np.arange(replicates), np.arange(streams), indexing="ij")
    counter = ((replicate << 20) + slot).astype(np.uint32)
    golden = np.uint32(key * 0x9E3779B9 % 2**32)
    hashed = triple32(triple32(counter) ^ golden).astype(np.uint64)
    return (hashed * np.uint64(streams) >> np.uint64(32)).astype(np.int64)


def interval(replicates: NDArray[np.float64]) -> dict[str, float]:
    """The middle 95 % of the replicates that are defined."""
    low, high = np.nanquantile(replicates, [0.025, 0.975])
    return {"low": float(low), "high": float(high)}


def redraw(
    statistic: Callable[[list[NDArray[np.float64]]], NDArray[np.float64]], *counts: ArrayLike, key: int = 0
) -> NDArray[np.float64]:
    """Work out a statistic of the redrawn totals, replicate by replicate.

    Args:
        statistic: From the totals [replicates] of each count to the statistic [replicates].
        counts: Counts a stream, in the order of the streams.
        key: As in the SQL.

    """
    picked = draws(len(np.asarray(counts[0])), key)
    totals = [np.asarray(count, float)[picked].sum(axis=1) for count in counts]
    with np.errstate(invalid="ignore", divide="ignore"):
        return statistic(totals)


def replicates(
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], *counts: ArrayLike, key: int = 0
) -> NDArray[np.float64]:
    """Work out a statistic of the totals of redrawn streams, as `eccdata.analysis.bootstrap` draws them.

    Args:
        statistic: From the totals [count, replicate] to the statistic [replicate].
        counts: Counts a stream, in any order of the streams.
        key: 0 of a cell alone; of a contrast, 1 of the first and 2 of the second.

    """
    ordered = np.array(sorted(zip(*(np.asarray(count, float).tolist() for count in counts), strict=True)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return statistic((weights(len(ordered), key).astype(float) @ ordered).T)
