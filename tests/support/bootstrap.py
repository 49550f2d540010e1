"""The stream-cluster bootstrap once more, in plain NumPy, on the same draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eccdata.analysis.bootstrap import weights


def interval(replicates: NDArray[np.float64]) -> dict[str, float]:
    """The middle 95 % of the replicates that are defined."""
    low, high = np.nanquantile(replicates, [0.025, 0.975])
    return {"low": float(low), "high": float(high)}


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
