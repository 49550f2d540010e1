"""Clips cut out of long videos: frames at given times, and local files of them at one frame a second."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from eccdata.errors import EccdataError
from eccdata.video.sources import Source, open_video, source_name

WIDTH, HEIGHT = 640, 360
"""Size of natural frames in pixels (eccbench.txt, tables 2 and 3)."""

Frame = NDArray[np.uint8]
"""One picture as H.264 takes it: planar YUV 4:2:0, uint8 [height × 3 / 2, width]."""

# Not made for measuring, but for being watched and sent: nearly without loss, and in the order of presentation,
# so that every reader finds frame i at second i.
ENCODER = {"preset": "medium", "crf": "16", "x264-params": "bframes=0:keyint=16"}


def clip_times(start_s: float, end_s: float, length: int) -> list[float]:
    """Times of `length` frames spread evenly over a clip from its start: seconds in the video, ascending.

    At native speed, where a clip lasts `length` seconds, that is one frame a second; a clip that lasts less is
    slowed down by being shown as many.

    Source:
        eccbench.txt, B.6.1 (frame extraction at 1 fps, slowdown).

    """
    step = (end_s - start_s) / length
    return [start_s + index * step for index in range(length)]


def frames_at(
    path: Source, times_s: Sequence[float], *, width: int = WIDTH, height: int = HEIGHT
) -> Iterator[Frame]:
    """Decode what is on the screen at given times.

    Goes forward from the last keyframe before the first time and holds one frame. Frames are found by their own
    times, so that a variable frame rate or B-frames do no harm.

    Args:
        path: A video file, or its bytes.
        times_s: Seconds from the start of the video, ascending; two may show the same frame.
        width: Frames are scaled to this width, in pixels.
        height: And to this height.

    Raises:
        EccdataError: The file cannot be read, or ends before a time. Names it and the last good time.

    """
    name = source_name(path)
    done = 0
    with open_video(path) as (container, stream):
        if stream.time_base is None:
            raise EccdataError(f"{name}: its video has no clock.")
        origin = stream.start_time or 0
        tick_s = stream.time_base
        stream.thread_type = "AUTO"
        stream.codec_context.options = {"err_detect": "explode"}
        shown: av.VideoFrame | None = None
        end = 0.0
        try:
            container.seek(origin + int(times_s[0] / tick_s), stream=stream, backward=True)
            for frame in container.decode(stream):
                if frame.pts is None:
                    continue
                at_s = float((frame.pts - origin) * tick_s)
                while done < len(times_s) and times_s[done] < at_s:
                    # before the very first picture there is only that one to be seen
                    yield _scaled(shown or frame, width, height)
                    done += 1
                if done == len(times_s):
                    return
                shown = frame
                end = at_s + float((frame.duration or 0) * tick_s)
        except (av.FFmpegError, OSError) as error:
            raise EccdataError(
                f"{name} cannot be decoded{_after(times_s, done)}: {error.strerror}."
            ) from error
        rate = stream.average_rate
        end += 0.0 if end or not rate else float(1 / rate)
        while shown is not None and done < len(times_s) and times_s[done] <= end:
            yield _scaled(shown, width, height)
            done += 1
    if done < len(times_s):
        raise EccdataError(
            f"{name} ends at {end:.2f} s, and a clip of it needs a frame at {times_s[done]:.2f} s"
            f"{_after(times_s, done)}."
        )


def write_clip(path: str | Path, frames: Iterable[Frame]) -> None:
    """Write frames as an MP4 file, frame i at second i; it appears whole or not at all.

    Args:
        path: The file; its folder is made.
        frames: All of one size.

    Raises:
        EccdataError: There is no frame, or the file cannot be written.

    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".clip-", dir=target.parent) as folder:
            made = Path(folder) / "clip.mp4"
            if not _encode(made, frames):
                raise EccdataError(f"{target}: there is no frame to write.")
            made.replace(target)
    except OSError as error:
        raise EccdataError(f"{target} cannot be written: {error.strerror}.") from error


def _encode(path: Path, frames: Iterable[Frame]) -> int:
    index = -1
    with av.open(str(path), "w", options={"movflags": "+faststart"}) as output:
        stream = output.add_stream("libx264", rate=1, options=dict(ENCODER))
        stream.pix_fmt = "yuv420p"
        stream.codec_context.thread_count = 1
        for index, frame in enumerate(frames):
            if index == 0:
                stream.width, stream.height = frame.shape[1], frame.shape[0] * 2 // 3
            output.mux(stream.encode(picture(frame, index)))
        if index >= 0:
            output.mux(stream.encode())
    return index + 1


def planes(frame: av.VideoFrame) -> Frame:
    """Give a decoded frame as arrays."""
    return np.asarray(frame.to_ndarray(format="yuv420p"), np.uint8)


def picture(luma_and_chroma: Frame, index: int) -> av.VideoFrame:
    """Make frame `index` of a stream at one frame a second."""
    frame = av.VideoFrame.from_ndarray(luma_and_chroma, format="yuv420p")
    frame.pts, frame.time_base = index, Fraction(1)
    return frame


def _scaled(frame: av.VideoFrame, width: int, height: int) -> Frame:
    turns = round(frame.rotation / 90) % 4
    if turns:
        upright = np.rot90(np.asarray(frame.to_ndarray(format="rgb24"), np.uint8), turns)
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(upright), format="rgb24")
    return planes(frame.reformat(width, height, "yuv420p", interpolation="AREA"))


def _after(times_s: Sequence[float], done: int) -> str:
    return f" after {times_s[done - 1]:.2f} s" if done else ""
