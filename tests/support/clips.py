"""Awkward video files, small and made here, each of whose frames says which one it is."""

from __future__ import annotations

import io
import struct
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 128, 64
BITS = 8
CLOCK = Fraction(1, 1000)

B_FRAMES = "bframes=3:b-adapt=0:keyint=12:scenecut=0"


def picture(index: int, grain: int = 0) -> NDArray[np.uint8]:
    """A picture of a number below 256 in two rows of four blocks, white for 1: uint8 [64, 128, 3].

    Of 28 and 228, give or take `grain` (below 28), which makes files large.
    """
    bits = np.array([index >> bit & 1 for bit in range(BITS)], np.uint8).reshape(2, 4)
    gray = np.kron(bits, np.ones((HEIGHT // 2, WIDTH // 4), np.uint8)) * 200 + 28
    if grain:
        rng = np.random.Generator(np.random.PCG64(index))
        gray = (gray + rng.integers(-grain, grain, gray.shape)).astype(np.uint8)
    return np.repeat(gray[:, :, None], 3, axis=2)


def number(frame: NDArray[np.uint8]) -> int:
    """Read the number from a picture, however it was coded."""
    height, width, _ = frame.shape
    blocks = frame.mean(axis=2).reshape(2, height // 2, 4, width // 4)
    means = blocks[:, 8:-8, :, 8:-8].mean(axis=(1, 3)).ravel()
    assert (np.abs(means - 128) > 40).all(), f"neither black nor white: {means}"
    return sum(int(mean > 128) << bit for bit, mean in enumerate(means))


def clip(
    times_ms: Sequence[int],
    *,
    form: str = "mp4",
    codec: str = "libx264",
    options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
    rotation: int = 0,
    rate: int = 25,
    clock: Fraction = CLOCK,
    grain: int = 0,
) -> bytes:
    """Code a video whose frame i shows i (from 256 on again from 0) and stands at `times_ms[i]`."""
    with tempfile.NamedTemporaryFile() as file:  # an index is put in front in a second pass over the file
        _write(
            file.name,
            times_ms,
            form,
            codec,
            options or {},
            container_options or {},
            rotation,
            rate,
            clock,
            grain,
        )
        return file.read()


def _write(
    path: str,
    times_ms: Sequence[int],
    form: str,
    codec: str,
    options: dict[str, str],
    container_options: dict[str, str],
    rotation: int,
    rate: int,
    clock: Fraction,
    grain: int,
) -> None:
    with av.open(path, "w", format=form, container_options=container_options) as output:
        stream: Any = output.add_stream(codec, rate=rate, options=dict(options))
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.time_base = clock
        stream.codec_context.thread_count = 1
        if rotation:
            stream.set_display_rotation(rotation)
        for index, time_ms in enumerate(times_ms):
            frame = av.VideoFrame.from_ndarray(picture(index % 2**BITS, grain), format="rgb24")
            frame.pts, frame.time_base = round(time_ms * CLOCK / clock), clock
            output.mux(stream.encode(frame))
        output.mux(stream.encode())


def steady(count: int, step_ms: int = 40) -> range:
    """Times of a constant rate."""
    return range(0, count * step_ms, step_ms)


def copied(data: bytes, *, form: str, start: int | None = None, delay_ms: int = 0) -> bytes:
    """Copy the packets of a video into another container, from a packet on, later by `delay_ms`."""
    file = io.BytesIO()
    with av.open(io.BytesIO(data), "r") as source, av.open(file, "w", format=form) as output:
        before = source.streams.video[0]
        after = output.add_stream_from_template(before)
        for place, packet in enumerate(source.demux(before)):
            if (packet.dts is None and packet.pts is None) or place < (start or 0):
                continue
            delay = round(delay_ms / 1000 / (before.time_base or CLOCK))
            packet.pts = None if packet.pts is None else packet.pts + delay
            packet.dts = None if packet.dts is None else packet.dts + delay
            packet.stream = after
            output.mux(packet)
    return file.getvalue()


def boxes(data: bytes, start: int = 0, stop: int | None = None) -> list[tuple[bytes, int, int]]:
    """Kind, start and stop of each MP4 box of a level."""
    found = []
    at, stop = start, len(data) if stop is None else stop
    while at < stop:
        size = struct.unpack_from(">I", data, at)[0]
        found.append((data[at + 4 : at + 8], at, at + size))
        at += size
    return found


def box(data: bytes, *path: bytes) -> tuple[int, int]:
    """Start and stop of a box, by the kinds that lead to it."""
    start, stop = 0, len(data)
    for depth, kind in enumerate(path):
        inner = start + 8 if depth else start
        start, stop = next((a, b) for name, a, b in boxes(data, inner, stop) if name == kind)
    return start, stop


def with_edit(data: bytes, first_ms: int, duration_ms: int) -> bytes:
    """Let the edit list of an MP4 show only what stands from `first_ms` on, for `duration_ms`."""
    start, _ = box(data, b"moov", b"trak", b"edts", b"elst")
    header, _ = box(data, b"moov", b"trak", b"mdia", b"mdhd")
    movie, _ = box(data, b"moov", b"mvhd")
    media_scale = struct.unpack_from(">I", data, header + 20)[0]
    movie_scale = struct.unpack_from(">I", data, movie + 20)[0]
    count, _, before = struct.unpack_from(">IIi", data, start + 12)
    assert count == 1
    patched = bytearray(data)
    after = before + first_ms * media_scale // 1000
    struct.pack_into(">Ii", patched, start + 16, duration_ms * movie_scale // 1000, after)
    return bytes(patched)


def with_lying_count(data: bytes, extra: int) -> bytes:
    """Let the table of durations of an MP4 speak of `extra` more frames than there are."""
    start, _ = box(data, b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stts")
    patched = bytearray(data)
    entries = struct.unpack_from(">I", data, start + 12)[0]
    last = start + 16 + 8 * (entries - 1)
    struct.pack_into(">I", patched, last, struct.unpack_from(">I", data, last)[0] + extra)
    return bytes(patched)


def with_damage(data: bytes, packet_number: int) -> bytes:
    """Overwrite a packet, in the order of coding, with nonsense."""
    with av.open(io.BytesIO(data), "r") as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
    place, size = packets[packet_number].pos, packets[packet_number].size
    assert place is not None
    return data[:place] + b"\xff" * size + data[place + size :]


def sound(form: str = "mp4", seconds: int = 1) -> bytes:
    """A file of sound alone."""
    file = io.BytesIO()
    with av.open(file, "w", format=form) as output:
        stream = output.add_stream("aac", rate=16000)
        silence = np.zeros((1, 1024), np.float32)
        for place in range(seconds * 16):
            frame = av.AudioFrame.from_ndarray(silence, format="fltp", layout="mono")
            frame.sample_rate, frame.pts = 16000, place * 1024
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    return file.getvalue()
