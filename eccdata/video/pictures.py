"""The 48 frames as the package ships them: coded once, in `data/pictures.mp4`.

They are shipped, not coded anew, because FreeType and x264 give other bytes from release to release; so a video has
the same bytes and the same pixels wherever it is built. `eccdata.video.encoding` makes the file.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import av
import numpy as np
from numpy.typing import NDArray

from eccdata.video.frames import FRAMES, SIZE

FILE = files("eccdata.video") / "data" / "pictures.mp4"

# Two H.264 pictures in a row that stand alone (IDR) must differ in idr_pic_id, which the encoder alternates: the
# second round is shifted by one so that every frame is there with both.
ORDER = (*range(FRAMES), *range(1, FRAMES), 0)
"""The frames of the shipped file, one a second."""


@dataclass(frozen=True, slots=True)
class Coded:
    """The frames as H.264 pictures that stand alone.

    Attributes:
        packets: Picture of frame f for even places at f, for odd places at 48 + f; 96 of them.
        sizes: Their bytes, int64 [96].
        configuration: The decoder configuration record that they need.

    """

    packets: tuple[bytes, ...]
    sizes: NDArray[np.int64]
    configuration: bytes


@dataclass(frozen=True, slots=True)
class Decoded:
    """The frames as every conforming decoder gives them.

    Attributes:
        luma: uint8 [48, 448, 448], limited range.
        digests: Of each frame, see `picture_digest`.

    """

    luma: NDArray[np.uint8]
    digests: tuple[bytes, ...]


@cache
def coded() -> Coded:
    """Read the shipped pictures, once a process."""
    with av.open(io.BytesIO(FILE.read_bytes()), "r") as container:
        stream = container.streams.video[0]
        in_order = [bytes(packet) for packet in container.demux(stream) if packet.size]
        configuration = stream.codec_context.extradata
    if len(in_order) != len(ORDER) or configuration is None:
        raise RuntimeError(f"{FILE} is damaged: it has {len(in_order)} pictures, not {len(ORDER)}")
    packets = [b""] * len(ORDER)
    for place, (frame, packet) in enumerate(zip(ORDER, in_order, strict=True)):
        packets[frame + FRAMES * (place % 2)] = packet
    return Coded(
        tuple(packets), np.array([len(packet) for packet in packets], np.int64), bytes(configuration)
    )


@cache
def decoded() -> Decoded:
    """Decode the shipped pictures, once a process (a few hundredths of a second, 10 MB)."""
    luma = np.empty((FRAMES, SIZE, SIZE), np.uint8)
    digests = []
    with av.open(io.BytesIO(FILE.read_bytes()), "r") as container:
        for index, frame in zip(range(FRAMES), container.decode(video=0), strict=False):
            planes = yuv_planes(frame)
            luma[index] = planes[0]
            digests.append(picture_digest(planes))
    luma.flags.writeable = False
    return Decoded(luma, tuple(digests))


def yuv_planes(frame: av.VideoFrame) -> tuple[NDArray[np.uint8], ...]:
    """Copy the planes of a frame, chroma at half size, without the padding of their lines.

    Returns:
        Luma uint8 [height, width] and the two chroma planes, uint8 [height / 2, width / 2], in limited range.

    """
    if frame.format.name != "yuv420p":
        frame = frame.reformat(format="yuv420p")
    return tuple(
        np.ascontiguousarray(
            np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)[
                :, : plane.width
            ]
        )
        for plane in frame.planes
    )


def picture_digest(planes: Sequence[NDArray[np.uint8]]) -> bytes:
    """Digest a decoded picture: SHA-256 over its planes.

    The planes are what H.264 defines to the last bit; RGB would depend on who converts.
    """
    digest = hashlib.sha256()
    for plane in planes:
        digest.update(plane.data)
    return digest.digest()


def combine_digests(digests: Sequence[bytes]) -> str:
    """Digest a sequence of decoded pictures, given the digest of each: 64 hexadecimal digits."""
    return hashlib.sha256(b"".join(digests)).hexdigest()
