"""How `data/pictures.mp4` is made from the font: `python -m eccdata.video.encoding` writes it again.

To be run after a change of the look, never for a new version of FFmpeg or Pillow: other pictures are another dataset.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from eccdata.video.container import mp4_head
from eccdata.video.frames import FRAMES, SIZE, draw_frame
from eccdata.video.lanes import LANES
from eccdata.video.pictures import FILE, ORDER

# Of equal quality for every frame whatever came before it, no deblocking (which blurs what has sharp edges), and
# the pixels' meaning written down.
ENCODER = {
    "preset": "veryslow",
    "qp": "28",
    "x264-params": "keyint=1:min-keyint=1:scenecut=0:bframes=0:no-deblock=1:no-psy=1"
    ":colorprim=bt709:transfer=bt709:colormatrix=bt709:range=tv",
}
GREY = 128


def encode_pictures() -> bytes:
    """Draw the frames and encode each as an IDR picture, twice, in the order `pictures.ORDER`.

    Returns:
        An MP4 file of 96 seconds.

    """
    frames = [draw_frame(*divmod(number, LANES)) for number in range(FRAMES)]
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as output:
        stream = output.add_stream("libx264", rate=1, options=dict(ENCODER))
        stream.width = stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        stream.codec_context.sample_aspect_ratio = Fraction(1)
        stream.codec_context.thread_count = 1
        for place, number in enumerate(ORDER):
            picture = np.full((SIZE * 3 // 2, SIZE), GREY, np.uint8)
            picture[:SIZE] = frames[number]
            frame = av.VideoFrame.from_ndarray(picture, format="yuv420p")
            frame.pts, frame.time_base = place, Fraction(1)
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    file.seek(0)
    with av.open(file, "r") as encoded:
        source = encoded.streams.video[0]
        packets = [_slices(bytes(packet)) for packet in encoded.demux(source) if packet.size]
        configuration = bytes(source.codec_context.extradata or b"")
    sizes = np.array([len(packet) for packet in packets], np.int64)
    return mp4_head(sizes, configuration, SIZE, SIZE) + b"".join(packets)


def _slices(packet: bytes) -> bytes:
    """Keep the coded slices of a picture and drop the encoder's note on itself."""
    idr_slice = 5
    return b"".join(
        struct.pack(">I", len(unit)) + unit for unit in _units(packet) if unit[0] & 0x1F == idr_slice
    )


def _units(packet: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(packet):
        (size,) = struct.unpack_from(">I", packet, at)
        yield packet[at + 4 : at + 4 + size]
        at += 4 + size


if __name__ == "__main__":
    Path(str(FILE)).write_bytes(encode_pictures())
