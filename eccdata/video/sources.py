"""Video files as they come in: by path or as bytes, whole or cut short."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import av
from av.container import InputContainer
from av.stream import Disposition
from av.video.stream import VideoStream

from eccdata.errors import EccdataError

Source = str | os.PathLike[str] | bytes
"""A path, or the bytes of a file."""

EBML = b"\x1a\x45\xdf\xa3"
SEGMENT = b"\x18\x53\x80\x67"
ISO_FIRST = frozenset((b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"styp"))
STILLS = ("_pipe", "image2")


def source_name(source: Source) -> str:
    """What messages call it."""
    return f"The video ({len(source)} bytes)" if isinstance(source, bytes) else os.fspath(source)


@contextmanager
def open_binary(source: Source) -> Iterator[BinaryIO]:
    """Open a source for reading.

    Raises:
        EccdataError: Not there, no file, not to be read, or empty. Names it.

    """
    name = source_name(source)
    if isinstance(source, bytes):
        size = len(source)
        file: BinaryIO = io.BytesIO(source)
    else:
        try:
            path = Path(source)
            if path.is_dir():
                raise EccdataError(f"{name} is a folder, not a video.")
            file = path.open("rb")
            size = os.fstat(file.fileno()).st_size
        except OSError as error:
            raise EccdataError(f"{name} cannot be read: {error.strerror}.") from error
    with file:
        if size == 0:
            raise EccdataError(f"{name} is empty: it has 0 bytes.")
        yield file


@contextmanager
def open_video(source: Source) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a source and find its moving pictures, to be decoded by the letter.

    Cover art of a sound file is no video, nor is a still picture.

    Raises:
        EccdataError: As `open_binary`; or nothing that FFmpeg can read, or no moving pictures in it.

    """
    name = source_name(source)
    with open_binary(source) as file:
        try:
            # the open file, not its name: then content alone says what it is
            container = av.open(file, "r")
        except (av.FFmpegError, OSError) as error:
            raise EccdataError(f"{name} cannot be read as a video: {error.strerror}.") from error
        with container:
            moving = [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]
            if not moving:
                kinds = sorted({stream.type for stream in container.streams} - {"video"})
                others = f" (only {' and '.join(kinds)})" if kinds else ""
                raise EccdataError(f"{name} has no video in it{others}.")
            if any(mark in container.format.name for mark in STILLS):
                raise EccdataError(
                    f"{name} is a still picture ({moving[0].codec_context.name}), not a video."
                )
            # One thread: an error then belongs to the packet that caused it, and workers decode files side by side.
            moving[0].codec_context.thread_count = 1
            # A decoder's habit is to paint over what is damaged.
            moving[0].codec_context.options = {"err_detect": "explode"}
            yield container, moving[0]


def bytes_missing(file: BinaryIO, size: int) -> int:
    """How many bytes a file lacks by what its container says about its own length; 0 where it says nothing.

    Source:
        ISO/IEC 14496-12 4.2 (boxes), RFC 8794 (EBML), RIFF chunks.

    """
    file.seek(0)
    head = file.read(12)
    if head[4:8] in ISO_FIRST:
        end = _iso_end(file, size)
    elif head[:4] == EBML:
        end = _ebml_end(file)
    elif head[:4] == b"RIFF":
        end = _riff_end(file, size)
    else:
        end = 0
    file.seek(0)
    return max(0, end - size)


def _iso_end(file: BinaryIO, size: int) -> int:
    at = 0
    while at < size:
        file.seek(at)
        head = file.read(16)
        if len(head) < 8:
            return at + 8
        length = struct.unpack(">I", head[:4])[0]
        if length == 0:  # to the end of the file
            return 0
        if length == 1:
            if len(head) < 16:
                return at + 16
            length = struct.unpack(">Q", head[8:16])[0]
        if length < 8 or not head[4:8].isascii():
            return 0
        at += length
    return at


def _ebml_end(file: BinaryIO) -> int:
    at = 4
    for element in (b"", SEGMENT):
        file.seek(at)
        head = file.read(12)
        if not head.startswith(element) or len(head) <= len(element):
            return 0
        digits = head[len(element) :]
        width = 9 - digits[0].bit_length()
        if width > 8 or len(digits) < width:
            return 0
        length = int.from_bytes(digits[:width]) & ((1 << 7 * width) - 1)
        if length == (1 << 7 * width) - 1:  # unknown: it was written as it came in
            return 0
        at += len(element) + width + length
    return at


def _riff_end(file: BinaryIO, size: int) -> int:
    at = 0
    while at < size:
        file.seek(at)
        head = file.read(8)
        if head[:4] != b"RIFF" or len(head) < 8:
            return at if at else 0
        length = struct.unpack("<I", head[4:])[0]
        if length == 0:  # never closed by its writer
            return 0
        at += 8 + length + length % 2
    return at
