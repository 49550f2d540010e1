"""What every decoder has in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eccdata.video.sampling import FrameSelection
from eccdata.video.sources import Source

Frame = NDArray[np.uint8]
"""One picture, upright: RGB uint8 [height, width, 3]."""

SAME_TIME_S = 2e-6
"""Times nearer than this are the same: finer than any common clock, coarser than rounding."""


class Decoder(Protocol):
    """A library that turns a file into pictures."""

    name: str

    def version(self) -> str:
        """Its version, and FFmpeg's where it tells."""

    def frames(self, source: Source, selection: FrameSelection) -> Iterator[Frame]:
        """Give the frames of a selection without repetitions, which is in ascending order of time.

        Holds a few frames at a time.

        Raises:
            EccdataError: A frame that cannot be had. Names the file, the frame and the last good one.

        """


def frame_label(index: int, time_s: float) -> str:
    """What messages call a frame."""
    return f"frame {index} (at {time_s:.3f} s)"
