"""Copying packets against encoding, and against writing as many bytes."""

import io
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from eccdata.streams.seeding import generator
from eccdata.video.lanes import LANES
from eccdata.video.mp4 import mp4_bytes, write_mp4
from eccdata.video.pictures import coded, decoded

LENGTH = 1024


def best_of(count: int, action: Callable[[], object]) -> float:
    """The shortest of some runs, in seconds: what a busy machine adds is no part of it."""
    times = []
    for _ in range(count):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times)


def encode(luma: NDArray[np.uint8], numbers: NDArray[np.int64]) -> bytes:
    """Encode a stream as one does, with the encoder's own defaults (preset medium, crf 23), all cores."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as output:
        stream = output.add_stream("libx264", rate=1)
        stream.width = stream.height = 448
        stream.pix_fmt = "yuv420p"
        picture = np.full((672, 448), 128, np.uint8)
        for place, number in enumerate(numbers.tolist()):
            picture[:448] = luma[number]
            frame = av.VideoFrame.from_ndarray(picture, format="yuv420p")
            frame.pts, frame.time_base = place, Fraction(1)
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    return file.getvalue()


@pytest.mark.benchmark
def test_a_stream_is_written_500_times_faster_than_encoded(tmp_path: Path) -> None:
    rng = generator(0, "benchmark", "mp4")
    events = np.stack([rng.integers(0, 16, LENGTH), rng.integers(0, LANES, LENGTH)], axis=1)
    numbers = events[:, 0] * LANES + events[:, 1]
    luma = decoded().luma
    coded()
    data = mp4_bytes(events)
    making_s = best_of(20, lambda: mp4_bytes(events))
    writing_s = best_of(20, lambda: write_mp4(events, tmp_path / "events.mp4"))
    bytes_s = best_of(20, lambda: (tmp_path / "bytes.mp4").write_bytes(data))
    encoding_s = best_of(1, lambda: encode(luma, numbers))
    print(
        f"\n{LENGTH} frames, {len(data)} bytes: made in {making_s * 1e3:.2f} ms, written in {writing_s * 1e3:.2f} ms; "
        f"encoded in {encoding_s:.2f} s: {encoding_s / making_s:.0f} and {encoding_s / writing_s:.0f} times as long; "
        f"the same bytes are written in {bytes_s * 1e3:.2f} ms: {writing_s / bytes_s:.2f} times that"
    )
    assert encoding_s / writing_s > 500
    assert writing_s / bytes_s < 10
