"""Parts of a clip that is ready to be sent, as clips of their own at one frame a second."""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import av
import numpy as np
import orjson
from av.packet import Packet
from av.video.stream import VideoStream
from numpy.typing import NDArray
from PIL import Image

from eccdata.errors import EccdataError
from eccdata.media import NOT_DECODED, File, Media, sha256
from eccdata.video.clips import Frame, frames_at, planes, write_clip
from eccdata.video.frames import FRAMES
from eccdata.video.lanes import LANES
from eccdata.video.mp4 import mp4_bytes
from eccdata.video.pictures import coded
from eccdata.video.sources import Source, open_video, source_name

VERSION = 1
"""Raised whenever the same places would be cut otherwise."""

Span = tuple[int, int]
"""Frames in a row: the place of the first, and how many there are."""


class Footage(Protocol):
    """Frames in a row, of which parts can be cut.

    `spans` are in ascending order and do not overlap; `repeats` is how often the last frame of a part is shown again.
    """

    @property
    def frames(self) -> int:
        """How many there are."""

    def key(self, spans: Sequence[Span], repeats: int = 0) -> str:
        """Digest of the frames of a part, or of all that decides about them: 64 hexadecimal digits."""

    def cut(self, spans: Sequence[Span], repeats: int = 0) -> tuple[bytes, str]:
        """Make a part an MP4 file, frame i at second i; gives what decoded it too, `NOT_DECODED` where nothing did.

        Raises:
            EccdataError: The clip cannot be read.

        """


def footage(medium: Media) -> Footage:
    """Open a clip that is ready to be sent.

    A stream of letters on belts is cut by copying its pictures, in whatever layout it is sent. Of any other clip the
    frames are those that were prepared: packets of its file are copied where the parts begin with keyframes, and
    elsewhere its frames, or images, are coded anew, as nearly without loss as all clips (`eccdata.video.clips`).

    Args:
        medium: Prepared. Frames at its end that are but one frame again do not count.

    Raises:
        EccdataError: A file cannot be read.

    """
    sent = medium.ready
    frames = length(medium)
    numbers = _belts(medium.source)
    if numbers is not None:
        return Belts(tuple(numbers[place] for place in sent.manifest.indices[:frames].tolist()))
    if medium.recipe.layout == "frames":
        return Pictures(sent.files[:frames])
    (file,) = sent.files
    return Coded(file, frames, _keyframes(file.content))


def length(medium: Media) -> int:
    """How many frames a clip that is ready has; those at its end that are but one frame again do not count."""
    indices = medium.ready.manifest.indices
    return int(np.flatnonzero(indices != indices[-1]).max(initial=-1)) + 2 if len(indices) else 0


@dataclass(frozen=True, slots=True)
class Belts:
    """A stream of letters on belts, by the numbers of its pictures."""

    numbers: tuple[int, ...]

    @property
    def frames(self) -> int:
        """How many there are."""
        return len(self.numbers)

    def key(self, spans: Sequence[Span], repeats: int = 0) -> str:
        """Digest of the part's bytes."""
        return sha256(self.cut(spans, repeats)[0])

    def cut(self, spans: Sequence[Span], repeats: int = 0) -> tuple[bytes, str]:
        """Copy the pictures: the same bytes as of a video that was built of these frames alone."""
        chosen = np.array(self.numbers)[_places(spans, repeats)]
        return mp4_bytes(np.stack(np.divmod(chosen, LANES), axis=1)), NOT_DECODED


@dataclass(frozen=True, slots=True)
class Coded:
    """A file at one frame a second, and which of its frames are keyframes; none where packets cannot be copied."""

    file: File
    frames: int
    keyframes: tuple[bool, ...] | None

    def key(self, spans: Sequence[Span], repeats: int = 0) -> str:
        """Digest of the file's digest, the part's places and the versions that would cut it."""
        return _digest(["coded", self.file.digest, spans, repeats])

    def cut(self, spans: Sequence[Span], repeats: int = 0) -> tuple[bytes, str]:
        """Copy packets where each span begins with a keyframe, decode and code anew elsewhere."""
        keys = self.keyframes
        if keys is not None and not repeats and all(keys[first] for first, _ in spans):
            return _copied(self.file.content, _places(spans, 0).tolist()), NOT_DECODED
        return _coded_anew(self._decoded(spans, repeats)), "pyav"

    def _decoded(self, spans: Sequence[Span], repeats: int) -> Iterator[Frame]:
        source = self.file.content
        with open_video(source) as (_, stream):
            size = {"width": stream.codec_context.width, "height": stream.codec_context.height}
        last = None
        for first, count in spans:
            # in the middle of a frame's second no rounding of a clock can find its neighbour
            for last in frames_at(source, [place + 0.5 for place in range(first, first + count)], **size):
                yield last
        for _ in range(repeats if last is not None else 0):
            assert last is not None
            yield last


@dataclass(frozen=True, slots=True)
class Pictures:
    """Images, one a frame."""

    files: tuple[File, ...]

    @property
    def frames(self) -> int:
        """How many there are."""
        return len(self.files)

    def key(self, spans: Sequence[Span], repeats: int = 0) -> str:
        """Digest of the images' digests and the versions that would code them."""
        chosen = [self.files[place].digest for place in _places(spans, repeats).tolist()]
        return _digest(["pictures", chosen])

    def cut(self, spans: Sequence[Span], repeats: int = 0) -> tuple[bytes, str]:
        """Code the images as a video."""
        return _coded_anew(self._drawn(_places(spans, repeats).tolist())), "pyav"

    def _drawn(self, places: Sequence[int]) -> Iterator[Frame]:
        for place in places:
            with Image.open(io.BytesIO(self.files[place].read())) as image:
                pixels = np.asarray(image.convert("RGB"))
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            # 4:2:0 wants an even number of rows and columns
            size = (frame.width // 2 * 2, frame.height // 2 * 2)
            yield planes(frame.reformat(*size, "yuv420p", interpolation="AREA"))


def _places(spans: Sequence[Span], repeats: int) -> NDArray[np.int64]:
    places = np.concatenate([np.arange(first, first + count) for first, count in spans])
    return np.pad(places, (0, repeats), mode="edge")


def _digest(parts: list[object]) -> str:
    return sha256(orjson.dumps([VERSION, av.__version__, *parts]))


# -- packets ---------------------------------------------------------------------------------------------------


def _packets(source: Source) -> Iterator[Packet[VideoStream]]:
    with open_video(source) as (container, stream):
        try:
            yield from (packet for packet in container.demux(stream) if packet.size)
        except (av.FFmpegError, OSError) as error:
            raise EccdataError(f"{source_name(source)} cannot be read: {error.strerror}.") from error


def _keyframes(source: Source) -> tuple[bool, ...] | None:
    """Which packets are keyframes; None where they do not come in the order in which they are shown."""
    keys, times = [], []
    for packet in _packets(source):
        if packet.pts is None:
            return None
        keys.append(packet.is_keyframe)
        times.append(packet.pts)
    return tuple(keys) if all(earlier < later for earlier, later in pairwise(times)) else None


@cache
def _numbers() -> dict[bytes, int]:
    pictures = enumerate(coded().packets)
    return {hashlib.sha256(packet).digest(): place % FRAMES for place, packet in pictures}


def _belts(source: Source) -> list[int] | None:
    """The numbers of the pictures of a stream of letters on belts; None of any other file."""
    known, found = _numbers(), []
    for packet in _packets(source):
        number = known.get(hashlib.sha256(memoryview(packet)).digest())
        if number is None:
            return None
        found.append(number)
    return found


def _copied(source: Source, places: Sequence[int]) -> bytes:
    wanted = set(places)
    # with the index in front, for which a second pass is made over the file
    options = {"movflags": "+faststart", "fflags": "+bitexact"}
    with _part() as path:
        with open_video(source) as (container, stream), av.open(str(path), "w", options=options) as output:
            track = output.add_stream_from_template(stream)
            packets = (packet for packet in container.demux(stream) if packet.size)
            chosen = (packet for place, packet in enumerate(packets) if place in wanted)
            for index, packet in enumerate(chosen):
                packet.stream, packet.time_base = track, Fraction(1)
                packet.pts = packet.dts = index
                packet.duration = 1
                output.mux(packet)
        return path.read_bytes()


def _coded_anew(frames: Iterator[Frame]) -> bytes:
    with _part() as path:
        write_clip(path, frames)
        return path.read_bytes()


@contextmanager
def _part() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="eccdata-cut-") as folder:
        yield Path(folder) / "part.mp4"
