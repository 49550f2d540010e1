"""Windows of a video, and which of them are nearest to what is looked for: exact search, no approximation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eccdata.video.cutting import Span


def windows(frames: int, size: int, stride: int) -> tuple[Span, ...]:
    """Cut a video into windows of `size` frames, one every `stride` frames, so that every frame is in one.

    Where the last of them would leave frames over, one more stands at the very end, nearer to the one before it than
    a stride. A video of `size` frames or fewer is one window.

    Args:
        frames: Of the video, 1 or more.
        size: Of a window.
        stride: From one window's first frame to the next one's; `size` at most.

    Returns:
        First frame and number of frames of each, ascending.

    Source:
        eccbench.txt, B.7: 16 frames at stride 4, 13 windows of 64 frames, 29 of 128, 125 of 512 (Table 9's index).

    """
    if frames <= size:
        return ((0, frames),)
    last = frames - size
    return tuple((first, size) for first in (*range(0, last, stride), last))


def nearest(points: NDArray[np.float32], query: NDArray[np.float32], count: int) -> list[tuple[int, float]]:
    """Find the windows nearest to a query by cosine similarity; of equal ones the earlier.

    Args:
        points: float32 [windows, dimensions], rows of length one.
        query: float32 [dimensions], of length one.
        count: How many; as many as there are at most.

    Returns:
        Row and similarity, the highest first.

    """
    # Added up in double precision and then rounded: the order in which a library adds the products up, which differs
    # from one machine to the next and even from row to row, makes no difference between equal windows.
    similar = (points.astype(np.float64) @ query.astype(np.float64)).astype(np.float32)
    order = np.argsort(-similar, kind="stable")[:count]
    return [(row, float(similar[row])) for row in order.tolist()]


def merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Join windows that overlap or touch, in the video's order."""
    joined: list[Span] = []
    for first, count in sorted(spans):
        if joined and first <= sum(joined[-1]):
            start, before = joined[-1]
            joined[-1] = (start, max(start + before, first + count) - start)
        else:
            joined.append((first, count))
    return tuple(joined)
