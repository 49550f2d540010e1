"""Decoding with decord2, where it is installed (its module is called `decord`)."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eccdata.errors import EccdataError
from eccdata.video.decoders.base import Frame, frame_label
from eccdata.video.sampling import FrameSelection
from eccdata.video.sources import Source, open_video, source_name

# Its times are single precision.
SAME_TIME = 1e-6

LOSES_THE_START = frozenset({"mpegts", "mpeg"})


class Decord2:
    """Goes through the file from its start, and holds each frame's place against decord's own list of times.

    It decodes every frame up to the last that is wanted: behind a leap decord gives wrong frames without a word where
    groups of pictures lean on the one before (open GOP, usual in HEVC), and so it does where it is told to skip some.
    It turns pictures upright itself.
    """

    name = "decord2"

    def __init__(self) -> None:
        import decord

        self._decord: Any = decord

    def version(self) -> str:
        """Decord2's version."""
        return str(self._decord.__version__)

    def frames(self, source: Source, selection: FrameSelection) -> Iterator[Frame]:
        """See `Decoder.frames`."""
        name = source_name(source)
        with open_video(source) as (container, stream):
            if container.format.name in LOSES_THE_START:
                raise EccdataError(
                    f"{name}: decord2 loses the first frames of such files; decode it with pyav."
                )
            start_s = float((stream.start_time or 0) * (stream.time_base or 0))
        try:
            video = self._decord.VideoReader(
                io.BytesIO(source) if isinstance(source, bytes) else os.fspath(source),
                ctx=self._decord.cpu(0),
                num_threads=1,
            )
            times_s = np.asarray(video.get_frame_timestamp(range(len(video))), np.float64)[:, 0] + start_s
        except (self._decord.DECORDError, RuntimeError, IndexError) as error:
            raise EccdataError(f"{name} cannot be read by decord2: {_last_line(error)}.") from error
        self._check(name, selection, times_s)
        good, done = "no frame before it was asked for", 0
        for index, time_s in zip(selection.indices.tolist(), selection.times_s.tolist(), strict=True):
            label = frame_label(index, time_s)
            try:
                while done < index:
                    video.next()
                    done += 1
                frame = video.next().asnumpy()
            except (self._decord.DECORDError, RuntimeError, IndexError) as error:
                raise EccdataError(
                    f"{name}: {label} cannot be decoded by decord2: {_last_line(error)}; {good}."
                ) from error
            good = f"the last good frame asked for is {label}"
            done = index + 1
            yield frame

    def _check(self, name: str, selection: FrameSelection, times_s: NDArray[np.float64]) -> None:
        for index, time_s in zip(selection.indices.tolist(), selection.times_s.tolist(), strict=True):
            got = f"has one at {times_s[index]:.6f} s" if index < len(times_s) else "has none"
            if index >= len(times_s) or abs(times_s[index] - time_s) > SAME_TIME * max(1.0, abs(time_s)):
                raise EccdataError(
                    f"{name}: where {frame_label(index, time_s)} should be, decord2 {got}; decode it with pyav."
                )


def _last_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[-1].rstrip(".")
