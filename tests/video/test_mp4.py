"""MP4 files of letters on belts: their bytes, their times, and what is read back from them."""

import hashlib
import io
import struct
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from eccdata.errors import EccdataError
from eccdata.video.container import mp4_head
from eccdata.video.frames import FRAMES
from eccdata.video.lanes import LANES
from eccdata.video.mp4 import frames_digest, mp4_bytes, write_mp4
from eccdata.video.pictures import ORDER, coded, decoded, yuv_planes
from eccdata.video.reading import read_events, read_video

EVERY_FRAME = np.stack(np.divmod(np.array([*ORDER]), LANES), axis=1)
EVENTS = EVERY_FRAME[:6]


def encoded_by_x264(luma: NDArray[np.uint8], *, crf: int = 23, rate: int = 1) -> bytes:
    """A video that is none of ours, of the same or other pictures."""
    height, width = luma.shape[1:]
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as output:
        stream = output.add_stream("libx264", rate=rate, options={"crf": str(crf)})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for place, picture in enumerate(luma):
            planes = np.full((height * 3 // 2, width), 128, np.uint8)
            planes[:height] = picture
            frame = av.VideoFrame.from_ndarray(planes, format="yuv420p")
            frame.pts, frame.time_base = place, Fraction(1, rate)
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    return file.getvalue()


def seconds(ticks: int | None, stream: av.VideoStream) -> Fraction:
    assert ticks is not None
    assert stream.time_base is not None
    return ticks * stream.time_base


def boxes(data: bytes, start: int = 0, stop: int | None = None) -> dict[bytes, tuple[int, int]]:
    found: dict[bytes, tuple[int, int]] = {}
    at, stop = start, len(data) if stop is None else stop
    while at < stop:
        (size,) = struct.unpack_from(">I", data, at)
        found[data[at + 4 : at + 8]] = (at + 8, at + size)
        at += size
    assert at == stop
    return found


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 2)), min_size=1, max_size=20))
def test_what_is_written_is_read_back(events: list[tuple[int, int]]) -> None:
    data = mp4_bytes(events)
    reading = read_video(data)
    assert reading.events.dtype == np.uint8
    assert reading.events.tolist() == [list(event) for event in events]
    assert reading.frames_digest == frames_digest(events)
    assert mp4_bytes(np.array(events, np.uint8)) == data


def test_every_frame_stands_at_its_second_and_alone() -> None:
    data = mp4_bytes(EVERY_FRAME)
    with av.open(io.BytesIO(data), "r") as container:
        stream = container.streams.video[0]
        assert (stream.width, stream.height, stream.codec_context.pix_fmt) == (448, 448, "yuv420p")
        assert stream.frames == 96
        assert stream.average_rate == 1
        assert stream.start_time == 0
        assert seconds(stream.duration, stream) == 96
        assert container.duration == 96 * av.time_base
        packets = [packet for packet in container.demux(stream) if packet.size]
        assert [seconds(packet.pts, stream) for packet in packets] == list(range(96))
        assert all(packet.dts == packet.pts and seconds(packet.duration, stream) == 1 for packet in packets)
    assert all(packet.is_keyframe for packet in packets)


def test_both_codings_of_a_frame_have_the_same_pixels() -> None:
    with av.open(io.BytesIO(mp4_bytes(EVERY_FRAME)), "r") as container:
        for number, frame in zip(ORDER, container.decode(video=0), strict=True):
            luma, *chroma = yuv_planes(frame)
            assert (luma == decoded().luma[number]).all()
            assert all((plane == 128).all() for plane in chroma), "no colour, so no decoder's idea of it"


def test_a_seek_needs_no_other_frame() -> None:
    with av.open(io.BytesIO(mp4_bytes(EVERY_FRAME)), "r") as container:
        stream = container.streams.video[0]
        for second in (95, 0, 40, 41, 39):
            container.seek(int(second / (stream.time_base or 0)), stream=stream)
            frame = next(container.decode(stream))
            assert seconds(frame.pts, stream) == second
            assert (yuv_planes(frame)[0] == decoded().luma[ORDER[second]]).all()


def test_the_index_stands_before_the_pictures() -> None:
    data = mp4_bytes(EVENTS)
    top = boxes(data)
    assert list(top) == [b"ftyp", b"moov", b"mdat"]
    start, stop = top[b"mdat"]
    pictures = coded()
    numbers = EVENTS[:, 0] * LANES + EVENTS[:, 1] + FRAMES * (np.arange(len(EVENTS)) % 2)
    assert data[start:stop] == b"".join(pictures.packets[number] for number in numbers)
    movie = boxes(data, *top[b"moov"])
    track = boxes(data, *movie[b"trak"])
    media = boxes(data, *track[b"mdia"])
    table = boxes(data, *boxes(data, *media[b"minf"])[b"stbl"])
    assert b"stss" not in table, "without a table of keyframes every frame is one"
    assert b"edts" not in track
    assert struct.unpack_from(">I", data, table[b"stco"][0] + 8) == (start,)
    description = boxes(data, table[b"stsd"][0] + 8, table[b"stsd"][1])
    assert list(description) == [b"avc1"]


def test_the_bytes_are_those_of_every_machine() -> None:
    assert hashlib.sha256(mp4_bytes(EVENTS)).hexdigest() == GOLDEN_BYTES
    assert frames_digest(EVENTS) == GOLDEN_DIGEST


GOLDEN_BYTES = "ffa70620e26ebc60b8076ec0e926aa5359e60218f3480e7342f7c20fd6c1a049"
GOLDEN_DIGEST = "d49432ef0a6f8fa50e46f28509b309cc49a5d2ac8c881ccb7555a952b3cfe9cc"


def test_the_digest_tells_order_letter_and_belt() -> None:
    digest = frames_digest(EVENTS)
    assert len(digest) == 64
    others: list[ArrayLike] = [
        EVENTS[::-1],
        EVENTS[:-1],
        [[1, 0], *EVENTS[1:].tolist()],
        [[0, 1], *EVENTS[1:].tolist()],
    ]
    assert len({digest, *(frames_digest(other) for other in others)}) == 5


def test_paths_and_files_get_the_same_bytes(tmp_path: Path) -> None:
    write_mp4(EVENTS, tmp_path / "a.mp4")
    write_mp4(EVENTS, str(tmp_path / "b.mp4"))
    buffer = io.BytesIO()
    write_mp4(EVENTS, buffer)
    expected = mp4_bytes(EVENTS)
    assert [(tmp_path / name).read_bytes() for name in ("a.mp4", "b.mp4")] == [expected] * 2
    assert buffer.getvalue() == expected
    for video in (tmp_path / "a.mp4", str(tmp_path / "a.mp4"), buffer.getvalue(), io.BytesIO(expected)):
        assert read_events(video).tolist() == EVENTS.tolist()


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(EccdataError, match=r"nowhere/a\.mp4 cannot be written: No such file"):
        write_mp4(EVENTS, tmp_path / "nowhere" / "a.mp4")


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], r"one or more pairs .* shape \[0\]"),
        (np.zeros((0, 2), int), r"shape \[0, 2\]"),
        ([1, 2, 3], r"shape \[3\]"),
        ([[1, 2, 3]], r"shape \[1, 3\]"),
        ([[0.0, 1.0]], "float64"),
        ([[0, 0], [16, 0]], "symbol 16 on lane 0 at frame 1"),
        ([[0, 0], [0, 3]], "symbol 0 on lane 3 at frame 1"),
        ([[-1, 0]], "symbol -1 on lane 0 at frame 0"),
        (np.full((40, 2), 99), "40 of 40 events(.|\n)*and 30 more"),
    ],
)
def test_wrong_events_are_named(events: ArrayLike, message: str) -> None:
    for function in (mp4_bytes, frames_digest):
        with pytest.raises(EccdataError, match=message):
            function(events)


def test_a_video_too_long_for_the_format_is_refused() -> None:
    sizes = np.full(4, 2**30)
    with pytest.raises(EccdataError, match="longer than an MP4 file"):
        mp4_head(sizes, b"", 448, 448)
    with pytest.raises(EccdataError, match="longer than an MP4 file"):
        mp4_head(np.ones(2**32 // 1000 + 1, np.int64), b"", 448, 448)


def test_another_encoder_reads_the_same_but_has_another_digest() -> None:
    numbers = EVENTS[:, 0] * LANES + EVENTS[:, 1]
    reading = read_video(encoded_by_x264(decoded().luma[numbers], crf=35))
    assert reading.events.tolist() == EVENTS.tolist()
    assert reading.frames_digest != frames_digest(EVENTS)


def test_frames_that_are_none_of_ours_are_named(tmp_path: Path) -> None:
    luma = np.array(decoded().luma[:4])
    luma[2] = luma[2, ::-1]
    luma[3] = 128
    path = tmp_path / "odd.mp4"
    path.write_bytes(encoded_by_x264(luma))
    with pytest.raises(EccdataError, match=r"odd\.mp4 is not") as raised:
        read_events(path)
    assert "frame 2 shows none" in str(raised.value)
    assert "frame 3 shows none" in str(raised.value)
    assert "frame 1 " not in str(raised.value)


def test_a_belt_without_a_letter_or_with_two_is_no_frame() -> None:
    empty = np.array(decoded().luma[:1])
    empty[0, 192:304, 24:136] = empty[0, 192:304, 168:280]
    both = np.array(decoded().luma[:1])
    both[0, 192:304, 168:280] = both[0, 192:304, 24:136]
    for picture in (empty, both):
        with pytest.raises(EccdataError, match="frame 0 shows none"):
            read_events(encoded_by_x264(picture, crf=10))


def test_wrong_times_and_sizes_are_named() -> None:
    luma = decoded().luma[:3]
    with pytest.raises(EccdataError, match=r"frame 1 stands at 0\.5 s(.|\n)*3 frames last 1\.5 s"):
        read_events(encoded_by_x264(luma, rate=2))
    with pytest.raises(EccdataError, match="frame 0 has 224×224 pixels, not 448×448"):
        read_events(encoded_by_x264(luma[:, ::2, ::2]))


def test_a_file_cut_short_is_never_read() -> None:
    data = mp4_bytes(EVENTS)
    for missing in (
        1,
        2,
        5,
        50,
        500,
        1500,
        3000,
        len(data) - 800,
        len(data) - 300,
        len(data) - 20,
        len(data),
    ):
        with pytest.raises(EccdataError, match=r"The video \(\d+ bytes\)"):
            read_events(data[:-missing])


def test_damage_is_found_by_error_or_digest() -> None:
    data = mp4_bytes(EVENTS)
    payload = boxes(data)[b"mdat"][0]
    rng = np.random.default_rng(0)
    for position, bit in zip(rng.integers(payload, len(data), 100), rng.integers(0, 8, 100), strict=True):
        damaged = bytearray(data)
        damaged[position] ^= 1 << bit
        try:
            reading = read_video(bytes(damaged))
        except EccdataError:
            continue
        if reading.frames_digest == frames_digest(EVENTS):
            # the bit had no meaning: every pixel is right all the same
            assert reading.events.tolist() == EVENTS.tolist()


def test_what_is_no_video_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("no video\n" * 100)
    (tmp_path / "empty.mp4").write_bytes(b"")
    with av.open(str(tmp_path / "sound.mp4"), "w") as output:
        stream = output.add_stream("aac", rate=44100, layout="mono")
        for start in range(0, 4096, 1024):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            frame.sample_rate, frame.pts = 44100, start
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    for name, message in {
        "text.mp4": "cannot be read",
        "empty.mp4": "cannot be read",
        "sound.mp4": "has no video in it",
        "missing.mp4": "cannot be read: No such file",
        ".": "cannot be read: Is a directory",
    }.items():
        with pytest.raises(EccdataError, match=message) as raised:
            read_events(tmp_path / name)
        assert str(tmp_path / name) in str(raised.value)
