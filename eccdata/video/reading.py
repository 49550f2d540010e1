"""Letters and belts read back from the pixels of a video."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import BinaryIO

import av
import numpy as np
from numpy.typing import NDArray

from eccdata.errors import EccdataError, problem
from eccdata.video.frames import FRAMES, SIZE
from eccdata.video.glyphs import LETTERS
from eccdata.video.lanes import LANES
from eccdata.video.pictures import combine_digests, decoded, picture_digest, yuv_planes

Video = str | os.PathLike[str] | bytes | BinaryIO

# Side of the blocks whose means tell the frames apart; the limit is then held against all pixels.
BLOCK = 8


@dataclass(frozen=True, slots=True)
class Reading:
    """What a video shows.

    Attributes:
        events: Symbol and lane of each frame, uint8 [length, 2].
        frames_digest: Of its decoded pictures; equal to `mp4.frames_digest(events)` exactly if every pixel is right.

    """

    events: NDArray[np.uint8]
    frames_digest: str


def read_events(video: Video) -> NDArray[np.uint8]:
    """Read the events of a video from its pixels (see `read_video`): uint8 [length, 2]."""
    return read_video(video).events


def read_video(video: Video) -> Reading:
    """Decode a video of letters on belts and read from the pixels which letter lies on which belt.

    A frame is taken for the one of the 48 that it is nearest to, in luma, if it is nearer to it than half the
    distance between the two most similar of them: then no other is nearer. That leaves room for another encoder; that
    every pixel is right, the digest tells. (A decoder may fill what is lost of a damaged picture from an earlier one:
    such a frame can be near that one, and the digest tells.)

    Args:
        video: A path, the bytes of a file, or an open binary file.

    Raises:
        EccdataError: Not a video, cut short, of another size; a frame that is none of the 48, a frame i that does not
            stand at second i, a duration that is not one second a frame. Names the file and the frames.

    """
    name = _name(video)
    digests: list[bytes] = []
    numbers: list[int] = []
    faults: list[str] = []
    try:
        with av.open(io.BytesIO(video) if isinstance(video, bytes) else video, "r") as container:
            if not container.streams.video:
                raise EccdataError(f"{name} has no video in it.")
            stream = container.streams.video[0]
            # a decoder's habit is to paint over what is damaged
            stream.codec_context.options = {"err_detect": "explode"}
            for frame in container.decode(stream):
                if (frame.height, frame.width) != (SIZE, SIZE):
                    raise EccdataError(
                        f"{name}: frame {len(digests)} has {frame.width}×{frame.height} pixels, not {SIZE}×{SIZE}."
                    )
                planes = yuv_planes(frame)
                digests.append(picture_digest(planes))
                faults += _misplaced(len(digests) - 1, frame)
                number, fault = _recognise(digests[-1], planes[0])
                numbers.append(number)
                if fault:
                    faults.append(f"frame {len(digests) - 1} {fault}")
            expected = stream.frames
            duration_s = _seconds(stream.duration, stream.time_base)
    except (av.FFmpegError, OSError) as error:
        after = f" after frame {len(digests) - 1}" if digests else ""
        raise EccdataError(f"{name} cannot be read{after}: {error.strerror}.") from error
    if len(digests) < max(expected, 1):
        raise EccdataError(
            f"{name} is cut short: frame {len(digests)} cannot be decoded, and it says that it has {expected} frames."
        )
    if duration_s is not None and duration_s != len(digests):
        faults.append(f"{len(digests)} frames last {float(duration_s):g} s, not 1 s each")
    if faults:
        raise problem(f"{name} is not a video of letters on belts, one a second:", faults)
    events = np.stack(np.divmod(np.array(numbers), LANES), axis=1).astype(np.uint8)
    return Reading(events, combine_digests(digests))


@dataclass(frozen=True, slots=True)
class _References:
    number: dict[bytes, int]
    means: NDArray[np.float64]
    limit: float


@cache
def _references() -> _References:
    frames = decoded()
    pixels = frames.luma.reshape(FRAMES, -1).astype(np.float64)
    squares = (pixels**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * pixels @ pixels.T
    np.fill_diagonal(distances, np.inf)
    nearest = np.sqrt(distances.min() / pixels.shape[1])
    return _References(
        {digest: number for number, digest in enumerate(frames.digests)},
        np.stack([_block_means(luma) for luma in frames.luma]),
        float(nearest) / 2,
    )


def _recognise(digest: bytes, luma: NDArray[np.uint8]) -> tuple[int, str]:
    """Find the nearest of the 48 frames, and say what is wrong if it is not near."""
    references = _references()
    exact = references.number.get(digest)
    if exact is not None:
        return exact, ""
    means = _block_means(luma)
    number = int(((references.means - means) ** 2).sum(axis=1).argmin())
    difference = luma.astype(np.float64) - decoded().luma[number]
    away = float(np.sqrt((difference**2).mean()))
    if away < references.limit:
        return number, ""
    symbol, lane = divmod(number, LANES)
    return number, (
        f"shows none of the letters on a belt (nearest is {LETTERS[symbol]} on belt {lane + 1}, {away:.1f} grey levels "
        f"away, where {references.limit:.1f} is the limit)"
    )


def _misplaced(index: int, frame: av.VideoFrame) -> list[str]:
    pts_s = _seconds(frame.pts, frame.time_base)
    if pts_s is None:
        return [f"frame {index} has no time"]
    return [] if pts_s == index else [f"frame {index} stands at {float(pts_s):g} s"]


def _seconds(ticks: int | None, time_base: Fraction | None) -> Fraction | None:
    return None if ticks is None or time_base is None else ticks * time_base


def _block_means(luma: NDArray[np.uint8]) -> NDArray[np.float64]:
    blocks = luma.reshape(SIZE // BLOCK, BLOCK, SIZE // BLOCK, BLOCK)
    return np.asarray(blocks.mean(axis=(1, 3)), np.float64).ravel()


def _name(video: Video) -> str:
    if isinstance(video, bytes):
        return f"The video ({len(video)} bytes)"
    if isinstance(video, str | os.PathLike):
        return os.fspath(video)
    return str(getattr(video, "name", "The video"))
