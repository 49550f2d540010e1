"""Just enough of the MP4 file format for a video of still pictures at one frame a second."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from eccdata.errors import EccdataError

TICKS_PER_SECOND = 1000
"""Time scale of the files: one frame lasts exactly one second, and a cut elsewhere can still be written down."""

LARGEST = 2**32 - 1


def mp4_head(sizes: NDArray[np.int64], configuration: bytes, width: int, height: int) -> bytes:
    """Write everything of an MP4 file but the pictures, which follow it one after another.

    Frame i is shown from second i to second i + 1, and every frame is a keyframe (there is no table of those that
    are). The index stands before the pictures, so that a player can start while the file comes in. The bytes depend
    on the arguments alone: there is no date and no version in them.

    Args:
        sizes: Bytes of each picture, shape [frames].
        configuration: The decoder configuration record (the payload of `avcC`).
        width: Pixels.
        height: Pixels.

    Raises:
        EccdataError: No frame, or more pictures than a file of this form can hold (4 GiB).

    Source:
        ISO/IEC 14496-12 (boxes), 14496-15 (`avc1`, `avcC`).

    """
    length, payload = len(sizes), int(np.sum(sizes))
    if length == 0:
        raise EccdataError("A video has at least one frame; this one has none.")
    if payload + 8 > LARGEST or length * TICKS_PER_SECOND > LARGEST:
        raise EccdataError(
            f"A video of {length} frames ({payload} bytes) is longer than an MP4 file of ours can be."
        )
    kind = _box(b"ftyp", b"isom", _u32(0x200), b"isomiso2avc1mp41")
    # the index says where the pictures start, which depends on its own length, not on what it says
    start = len(kind) + len(_movie(sizes, configuration, width, height, 0)) + 8
    return kind + _movie(sizes, configuration, width, height, start) + _u32(payload + 8) + b"mdat"


def _movie(sizes: NDArray[np.int64], configuration: bytes, width: int, height: int, start: int) -> bytes:
    duration = len(sizes) * TICKS_PER_SECOND
    upright = struct.pack(">9I", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    header = _full_box(
        b"mvhd",
        0,
        _u32(0, 0, TICKS_PER_SECOND, duration, 1 << 16),
        struct.pack(">H10x", 0x100),
        upright,
        bytes(24),
        _u32(2),
    )
    enabled_in_movie = 3
    track_header = _full_box(
        b"tkhd",
        enabled_in_movie,
        _u32(0, 0, 1, 0, duration),
        bytes(16),
        upright,
        _u32(width << 16, height << 16),
    )
    undetermined_language = 0x55C4
    media_header = _full_box(
        b"mdhd",
        0,
        _u32(0, 0, TICKS_PER_SECOND, duration),
        struct.pack(">HH", undetermined_language, 0),
    )
    handler = _full_box(b"hdlr", 0, bytes(4), b"vide", bytes(12), b"belts\0")
    same_file = _box(b"dinf", _full_box(b"dref", 0, _u32(1), _full_box(b"url ", 1)))
    media = _box(
        b"mdia",
        media_header,
        handler,
        _box(
            b"minf",
            _full_box(b"vmhd", 1, bytes(8)),
            same_file,
            _samples(sizes, configuration, width, height, start),
        ),
    )
    return _box(b"moov", header, _box(b"trak", track_header, media))


def _samples(sizes: NDArray[np.int64], configuration: bytes, width: int, height: int, start: int) -> bytes:
    length = len(sizes)
    dots_per_inch = 72 << 16
    entry = _box(
        b"avc1",
        struct.pack(">6xH16xHH", 1, width, height),
        _u32(dots_per_inch, dots_per_inch, 0),
        struct.pack(">H32xHh", 1, 24, -1),
        _box(b"avcC", configuration),
        # the same as in the stream: BT.709, limited range
        _box(b"colr", b"nclx", struct.pack(">HHHB", 1, 1, 1, 0)),
    )
    return _box(
        b"stbl",
        _full_box(b"stsd", 0, _u32(1), entry),
        _full_box(b"stts", 0, _u32(1, length, TICKS_PER_SECOND)),
        _full_box(b"stsc", 0, _u32(1, 1, length, 1)),
        _full_box(b"stsz", 0, _u32(0, length), sizes.astype(">u4").tobytes()),
        _full_box(b"stco", 0, _u32(1, start)),
    )


def _box(kind: bytes, *parts: bytes) -> bytes:
    payload = b"".join(parts)
    return _u32(len(payload) + 8) + kind + payload


def _full_box(kind: bytes, flags: int, *parts: bytes) -> bytes:
    return _box(kind, _u32(flags), *parts)


def _u32(*values: int) -> bytes:
    return struct.pack(f">{len(values)}I", *values)
