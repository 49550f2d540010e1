"""Streams of letters on belts as MP4 files, at the speed of copying bytes."""

from __future__ import annotations

import os
from typing import BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eccdata.errors import EccdataError, problem
from eccdata.video.container import mp4_head
from eccdata.video.frames import FRAMES, SIZE
from eccdata.video.glyphs import LETTERS
from eccdata.video.lanes import LANES
from eccdata.video.pictures import coded, combine_digests, decoded


def mp4_bytes(events: ArrayLike) -> bytes:
    """Make the video of a sequence of events: a frame for each, one a second.

    448×448 pixels, H.264, every frame a keyframe, frame i shown from second i to second i + 1 exactly, the index
    before the pictures. The same events give the same bytes on every machine.

    Args:
        events: Symbol (0 … 15) and lane (0 … 2) of each frame, integers of shape [length, 2], length at least 1.

    Returns:
        The MP4 file.

    Raises:
        EccdataError: Events of another shape or type, out of range, or none.

    Source:
        Appendix A.3.

    """
    numbers = _frame_numbers(events)
    pictures = coded()
    chosen = numbers + FRAMES * (np.arange(len(numbers)) % 2)
    head = mp4_head(pictures.sizes[chosen], pictures.configuration, SIZE, SIZE)
    return b"".join([head, *(pictures.packets[index] for index in chosen.tolist())])


def write_mp4(events: ArrayLike, target: str | os.PathLike[str] | BinaryIO) -> None:
    """Write the video of a sequence of events (see `mp4_bytes`) to a path or an open binary file.

    Raises:
        EccdataError: As for `mp4_bytes`, or the file cannot be written.

    """
    data = mp4_bytes(events)
    if not isinstance(target, str | os.PathLike):
        target.write(data)
        return
    try:
        with open(target, "wb") as file:  # noqa: PTH123
            file.write(data)
    except OSError as error:
        raise EccdataError(f"{os.fspath(target)} cannot be written: {error.strerror}.") from error


def frames_digest(events: ArrayLike) -> str:
    """Tell what the video of a sequence of events looks like, decoded: the identity of a video.

    It is the digest of the digests of the decoded pictures (see `pictures.picture_digest`), and is found again from
    any video of the same pixels by `reading.read_video`, whatever wrote the file.

    Args:
        events: As for `mp4_bytes`.

    Returns:
        64 hexadecimal digits.

    Raises:
        EccdataError: As for `mp4_bytes`.

    """
    digests = decoded().digests
    return combine_digests([digests[number] for number in _frame_numbers(events).tolist()])


def _frame_numbers(events: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(events)
    if given.ndim != 2 or given.shape[1] != 2 or len(given) == 0:
        raise EccdataError(
            f"Events are one or more pairs of symbol and lane, of shape [length, 2]; these have shape "
            f"{list(given.shape)}."
        )
    if given.dtype.kind not in "iu":
        raise EccdataError(f"Events are pairs of integers; these are of type {given.dtype}.")
    wrong = np.flatnonzero(((given < 0) | (given >= (len(LETTERS), LANES))).any(axis=1))
    if len(wrong):
        raise problem(
            f"{len(wrong)} of {len(given)} events have a symbol that is not among 0 … {len(LETTERS) - 1} or a lane "
            f"that is not among 0 … {LANES - 1}:",
            [f"symbol {given[i, 0]} on lane {given[i, 1]} at frame {i}" for i in wrong.tolist()],
        )
    symbols, lanes = given.astype(np.int64).T
    return np.asarray(symbols * LANES + lanes)
