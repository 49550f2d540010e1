from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from eccdata.errors import EccdataError
from eccdata.video.clips import clip_times, frames_at, write_clip
from support.footage import clips, film

SIZE = (64, 36)


def grey(level: int) -> NDArray[np.uint8]:
    frame = np.full((SIZE[1] * 3 // 2, SIZE[0]), 128, np.uint8)
    frame[: SIZE[1]] = level
    return frame


def levels(path: Path, times_s: list[float]) -> list[int]:
    return [
        round(float(frame[: SIZE[1]].mean()))
        for frame in frames_at(path, times_s, width=SIZE[0], height=SIZE[1])
    ]


def write(path: Path, pts_s: list[Fraction], **options: str) -> Path:
    """Frame i is of grey level 40 + 2 i and is shown from `pts_s[i]` on."""
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=25, options={"preset": "fast", "qp": "4", **options})
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = Fraction(1, 1000)
        for index, at in enumerate(pts_s):
            frame = av.VideoFrame.from_ndarray(grey(40 + 2 * index), format="yuv420p")
            frame.pts, frame.time_base = round(at * 1000), Fraction(1, 1000)
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    return path


def test_times_are_even_from_the_start() -> None:
    assert clip_times(10.5, 18.5, 8) == [10.5 + i for i in range(8)]
    assert clip_times(2, 4, 4) == [2, 2.5, 3, 3.5]


@pytest.mark.parametrize("name", ["even.mp4", "even.mkv"])
def test_what_is_on_the_screen_at_a_time_is_found_by_time(tmp_path: Path, name: str) -> None:
    # B-frames, a keyframe every 12 frames, four frames a second
    path = write(tmp_path / name, [Fraction(i, 4) for i in range(80)], g="12", bf="3")
    assert levels(path, [0.0, 0.3, 0.5, 0.74, 7.1, 19.75]) == [40, 42, 44, 44, 96, 198]
    assert levels(path, [12.5, 13.5]) == [140, 148]
    assert levels(path, [5.1, 5.1, 5.2]) == [80, 80, 80]


def test_frames_of_changing_rate_are_found_by_time(tmp_path: Path) -> None:
    pts = [Fraction(i, 10) for i in range(10)] + [Fraction(i) for i in range(1, 20)]
    path = write(tmp_path / "vfr.mkv", pts, g="5")
    assert levels(path, [0.55, 1.5, 2.99, 10.2]) == [50, 60, 62, 78]


def test_seconds_of_real_footage_are_those_of_the_file() -> None:
    path = clips()["bikes"]
    with av.open(str(path)) as container:
        shown = {
            frame.time: frame.reformat(64, 36, "yuv420p", interpolation="AREA").to_ndarray()
            for frame in container.decode(video=0)
        }
    start = min(shown)
    found = list(frames_at(path, clip_times(2, 9, 7), width=64, height=36))
    for second, frame in zip(range(2, 9), found, strict=True):
        assert np.array_equal(frame, shown[max(at for at in shown if at - start <= second + 1e-9)])


def test_a_time_beyond_the_end_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "short.mp4", [Fraction(i, 4) for i in range(16)])
    assert levels(path, [3.9]) == [70]
    with pytest.raises(
        EccdataError, match=r"short\.mp4 ends at 4\.00 s.*needs a frame at 5\.00 s after 3\.00 s"
    ):
        levels(path, [1.0, 3.0, 5.0])


def test_broken_files_are_told(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole.mkv", [Fraction(i, 4) for i in range(100)])
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(EccdataError, match=r"cut\.mkv"):
        levels(cut, [float(i) for i in range(24)])
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "text.mp4").write_text("no video " * 99)
    for name in ("empty.mp4", "text.mp4", "missing.mp4"):
        with pytest.raises(EccdataError, match=name.replace(".", r"\.")):
            levels(tmp_path / name, [0.0])


def test_a_clip_is_written_whole_and_frame_i_stands_at_second_i(tmp_path: Path) -> None:
    source = tmp_path / "long.mp4"
    film(source, 12, 5)
    frames = list(frames_at(source, clip_times(3, 11, 8)))
    target = tmp_path / "clips" / "one.mp4"
    write_clip(target, iter(frames))
    with av.open(str(target)) as container:
        stream = container.streams.video[0]
        assert (stream.width, stream.height, str(stream.average_rate)) == (640, 360, "1")
        decoded = list(container.decode(video=0))
    assert [frame.time for frame in decoded] == list(range(8))
    for frame, original in zip(decoded, frames, strict=True):
        assert np.abs(frame.to_ndarray().astype(int) - original).mean() < 2
    # the index stands in front
    content = target.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")
    assert [path.name for path in target.parent.iterdir()] == ["one.mp4"]
    first = target.read_bytes()
    write_clip(target, iter(frames))
    assert target.read_bytes() == first


def test_a_clip_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> object:
        yield grey(40)
        raise EccdataError("over")

    with pytest.raises(EccdataError, match="over"):
        write_clip(tmp_path / "a.mp4", failing())  # type: ignore[arg-type]
    with pytest.raises(EccdataError, match="no frame"):
        write_clip(tmp_path / "a.mp4", iter(()))
    assert list(tmp_path.iterdir()) == []
