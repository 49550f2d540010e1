"""Decoding with torchcodec, where it is installed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from eccdata.errors import EccdataError
from eccdata.video.decoders.base import SAME_TIME_S, Frame, frame_label
from eccdata.video.sampling import FrameSelection
from eccdata.video.sources import Source, open_video, source_name

BATCH = 8


class TorchCodec:
    """Scans the file (`seek_mode="exact"`), takes frames by their place, and holds each against its time."""

    name = "torchcodec"

    def __init__(self) -> None:
        import torchcodec
        from torchcodec.decoders import VideoDecoder

        self._version = str(torchcodec.__version__)
        self._video_decoder: Any = VideoDecoder

    def version(self) -> str:
        """Torchcodec's version."""
        return self._version

    def frames(self, source: Source, selection: FrameSelection) -> Iterator[Frame]:
        """See `Decoder.frames`."""
        name = source_name(source)
        with open_video(source) as (_, stream):
            stream_index = stream.index
        try:
            video = self._video_decoder(
                source if isinstance(source, bytes) else os.fspath(source),
                stream_index=stream_index,
                dimension_order="NHWC",
                seek_mode="exact",
                num_ffmpeg_threads=1,
            )
        except (RuntimeError, ValueError) as error:
            raise EccdataError(f"{name} cannot be read by torchcodec: {_first_line(error)}") from error
        good = "no frame before it was asked for"
        wanted = list(zip(selection.indices.tolist(), selection.times_s.tolist(), strict=True))
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            for index, time_s, frame, got_s in self._batch(video, batch, name, good):
                if abs(got_s - time_s) > SAME_TIME_S:
                    raise EccdataError(
                        f"{name}: where {frame_label(index, time_s)} should be, torchcodec has one at {got_s:.6f} s; "
                        "decode it with pyav."
                    )
                good = f"the last good frame asked for is {frame_label(index, time_s)}"
                yield frame

    def _batch(
        self, video: Any, batch: list[tuple[int, float]], name: str, good: str
    ) -> Iterator[tuple[int, float, Frame, float]]:
        try:
            found = video.get_frames_at([index for index, _ in batch])
            for (index, time_s), frame, got_s in zip(
                batch, found.data.numpy(), found.pts_seconds.tolist(), strict=True
            ):
                yield index, time_s, np.ascontiguousarray(frame), got_s
            return
        except (RuntimeError, ValueError, IndexError):
            pass  # one of them cannot be had: which, the next lines tell
        for index, time_s in batch:
            try:
                one = video.get_frame_at(index)
            except (RuntimeError, ValueError, IndexError) as error:
                raise EccdataError(
                    f"{name}: {frame_label(index, time_s)} cannot be decoded by torchcodec: {_first_line(error)}; "
                    f"{good}."
                ) from error
            good = f"the last good frame asked for is {frame_label(index, time_s)}"
            yield index, time_s, np.ascontiguousarray(one.data.numpy()), one.pts_seconds


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
