"""Encoding at a fixed number of bits a frame, so that what is lost says how much there was (eccbench.txt, B.6.2)."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.codec.context import Flags
from numpy.typing import NDArray

from eccdata.errors import EccdataError
from eccdata.video.clips import Frame, picture, planes

BITS_PER_FRAME = 32_000

# As the paper has it: two passes and no cap on the rate; no keyframe but the first, unless the scene changes; all the
# reach in time that the encoder can be given. One thread, since bytes differ between numbers of threads.
PRESET = "veryslow"
X264 = "bframes=8:ref=16:keyint=infinite:min-keyint=1:scenecut=40:force-cfr=1"


SLICES = range(1, 6)
"""Kinds of units that hold a picture (ITU-T H.264, table 7-1)."""


@dataclass(frozen=True)
class Encoded:
    """A stream of frames that was encoded.

    Attributes:
        file: It, as an MP4 file.
        bits: What the coded slices of each frame took, in the order of presentation: int64 [frames]. The encoder's
            note on itself, which would be a fiftieth of the shortest clips, does not count.

    """

    file: bytes
    bits: NDArray[np.int64]

    def frames(self) -> Iterator[Frame]:
        """Decode it, in the order of presentation."""
        with av.open(io.BytesIO(self.file), "r") as container:
            yield from map(planes, container.decode(video=0))


def encode(frames: Sequence[Frame] | NDArray[np.uint8], *, bits_per_frame: int = BITS_PER_FRAME) -> Encoded:
    """Encode frames at one a second with x264 in two passes, at a constant mean rate and no limit but that.

    Args:
        frames: Planar YUV 4:2:0, uint8 [frames, height × 3 / 2, width]. Read twice, a frame at a time: a memory map
            will do.
        bits_per_frame: The target.

    Raises:
        EccdataError: There is no frame.

    Source:
        eccbench.txt, B.6.2 (Encoding).

    """
    if not len(frames):
        raise EccdataError("There is no frame to encode.")
    with tempfile.TemporaryDirectory(prefix="eccdata-x264-") as folder:
        log = str(Path(folder) / "passes")
        _run(frames, bits_per_frame, Flags.pass1, log)
        return _run(frames, bits_per_frame, Flags.pass2, log)


def _run(frames: Sequence[Frame] | NDArray[np.uint8], bits_per_frame: int, which: Flags, log: str) -> Encoded:
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as output:
        stream = output.add_stream(
            "libx264", rate=1, options={"preset": PRESET, "x264-params": X264, "passlogfile": log}
        )
        stream.width, stream.height = frames[0].shape[1], frames[0].shape[0] * 2 // 3
        stream.pix_fmt = "yuv420p"
        stream.bit_rate = bits_per_frame  # a frame lasts a second
        context = stream.codec_context
        context.time_base = Fraction(1)
        context.thread_count = 1
        context.flags |= which
        for index in range(len(frames)):
            output.mux(stream.encode(picture(frames[index], index)))
        output.mux(stream.encode())
    return Encoded(file.getvalue(), _bits(file, len(frames)))


def _bits(file: io.BytesIO, length: int) -> NDArray[np.int64]:
    bits = np.zeros(length, np.int64)
    file.seek(0)
    with av.open(file, "r") as container:
        for packet in container.demux(video=0):
            if packet.size and packet.pts is not None:
                bits[round(packet.pts * packet.time_base)] = 8 * _slice_bytes(bytes(packet))
    return bits


def _slice_bytes(packet: bytes) -> int:
    """Bytes of the coded slices in a packet of an MP4 file, where each unit has its length before it."""
    found = at = 0
    while at < len(packet):
        size = int.from_bytes(packet[at : at + 4]) + 4
        if packet[at + 4] & 0x1F in SLICES:
            found += size
        at += size
    return found
