"""What a file holds against what it says, and files that hold nothing."""

from __future__ import annotations

import io
from pathlib import Path

import av
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from eccdata.errors import EccdataError
from eccdata.video.probing import probe, probe_all
from eccdata.video.sources import bytes_missing
from support.clips import B_FRAMES, boxes, clip, copied, picture, sound, steady, with_lying_count

X264 = {"x264-params": B_FRAMES}


def test_times_are_those_that_were_written() -> None:
    times_ms = [0, 33, 66, 500, 900, 901, 1500, 4000]
    for form, codec in (
        ("mp4", "libx264"),
        ("matroska", "libx264"),
        ("webm", "libvpx-vp9"),
        ("mov", "libx264"),
    ):
        info = probe(clip(times_ms, form=form, codec=codec))
        assert info.pts_s.tolist() == pytest.approx([time_ms / 1000 for time_ms in times_ms], abs=5e-4), form
        assert (info.width, info.height, info.rotation) == (128, 64, 0)
        assert info.timing.frame_count == 8


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=12))
def test_any_variable_rate(gaps_ms: list[int]) -> None:
    times_ms = [0]
    for gap_ms in gaps_ms:
        times_ms.append(times_ms[-1] + gap_ms)
    info = probe(clip(times_ms, options=X264))
    assert info.pts_s.tolist() == pytest.approx([time_ms / 1000 for time_ms in times_ms], abs=1e-4)


def test_the_header_is_not_believed() -> None:
    info = probe(with_lying_count(clip(steady(30), options=X264), 50))
    assert (info.frame_count, info.claimed_frames) == (30, 80)
    assert probe(clip(steady(30), form="matroska")).claimed_frames is None


def test_a_clock_that_starts_late() -> None:
    info = probe(copied(clip(steady(30)), form="mp4", delay_ms=5000))
    assert info.pts_s[0] == pytest.approx(5.0)
    assert info.duration_s == pytest.approx(1.2)


def test_a_missing_duration_is_that_of_the_frame_before() -> None:
    # packets of a transport stream do not say how long they last
    info = probe(clip(steady(25), form="mpegts", options=X264))
    assert info.duration_s == pytest.approx(1.0)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_file_cut_short_is_an_error_with_the_last_good_frame(share: float) -> None:
    for form, options in (("mp4", {"movflags": "faststart"}), ("matroska", {}), ("avi", {})):
        whole = clip(steady(60), form=form, options=X264, container_options=options, grain=20)
        cut = whole[: int(len(whole) * share)]
        with pytest.raises(EccdataError) as told:
            probe(cut)
        words = str(told.value)
        assert f"cut short: it says that it has {len(whole)} bytes, and has {len(cut)}" in words, form
        last = int(words.partition("the last good frame is frame ")[2].partition(" ")[0])
        assert 60 * share - 20 < last < 60 * share + 10


def test_a_file_without_its_index_is_cut_short_too() -> None:
    whole = clip(steady(60), options=X264)
    with pytest.raises(EccdataError, match=r"cut short: .*its index is in the lost part"):
        probe(whole[:-300])


@pytest.mark.parametrize("form", ["mp4", "matroska", "avi", "webm"])
def test_how_many_bytes_a_file_lacks(form: str) -> None:
    whole = clip(steady(20), form=form, codec="libvpx-vp9" if form == "webm" else "libx264")
    assert bytes_missing(io.BytesIO(whole), len(whole)) == 0
    assert bytes_missing(io.BytesIO(whole[:-7]), len(whole) - 7) == 7


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([b"", b"\0\0\0\x18ftyp", b"\x1a\x45\xdf\xa3", b"RIFF"]))
def test_no_bytes_make_the_count_of_missing_ones_fail(rest: bytes, head: bytes) -> None:
    assert bytes_missing(io.BytesIO(head + rest), len(head + rest)) >= 0


def test_frames_without_times_are_refused() -> None:
    with pytest.raises(EccdataError, match="frames have no times"):
        probe(clip(steady(10), form="h264"))


def still(form: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture(5)).save(file, form)
    return file.getvalue()


def test_a_folder_of_bad_files_each_named_once(tmp_path: Path) -> None:
    good = clip(steady(20), options=X264)
    fragmented = clip(steady(20), options=X264, container_options={"movflags": "frag_keyframe+empty_moov"})
    files = {
        "good.mp4": (good, ""),
        "also-good.mkv": (clip(steady(20), form="matroska"), ""),
        "empty.mp4": (b"", "is empty: it has 0 bytes"),
        "broken.mp4": (bytes(range(256)) * 20, "cannot be read as a video"),
        "text.mp4": (b"This is not a video.\n" * 50, "cannot be read as a video"),
        "half.mp4": (good[: len(good) // 2], "is cut short"),
        "one-frame.mp4": (clip([0]), "has one frame only"),
        "sound.mp4": (sound(), "has no video in it (only audio)"),
        "picture.mp4": (still("PNG"), "is a still picture (png)"),
        "photo.mp4": (still("JPEG"), "is a still picture (mjpeg)"),
        "page.mp4": (b"<html><body>404 Not Found</body></html>", "cannot be read as a video"),
        "matroska.mp4": (
            clip(steady(20), form="matroska"),
            "is not what its name says: inside it is matroska",
        ),
        "no-times.mkv": (clip(steady(20), form="h264"), "frames have no times"),
        "header-only.mp4": (
            fragmented[: next(start for kind, start, _ in boxes(fragmented) if kind == b"moof")],
            "is damaged: it has no frame that can be decoded",
        ),
    }
    for name, (data, _) in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder.mp4").mkdir()
    paths = [*sorted(tmp_path.iterdir()), tmp_path / "missing.mp4"]
    told: list[str] = []
    probed = probe_all([*paths, *paths], progress=lambda done, total, what: told.append(what))
    assert set(probed.videos) == {tmp_path / "good.mp4", tmp_path / "also-good.mkv"}
    assert all(info.frame_count == 20 for info in probed.videos.values())
    expected = {name: words for name, (_, words) in files.items() if words}
    expected |= {"folder.mp4": "is a folder", "missing.mp4": "cannot be read: No such file"}
    assert {path.name for path in probed.faults} == set(expected)
    for path, fault in probed.faults.items():
        assert expected[path.name] in fault
        assert str(path) in fault
        assert "\n" not in fault
    assert len(told) == len(paths)


def test_cover_art_is_no_video(tmp_path: Path) -> None:
    path = tmp_path / "song.mp3"
    with av.open(str(path), "w") as output:
        music = output.add_stream("mp3", rate=44100)
        cover = output.add_stream("png")
        cover.width, cover.height, cover.pix_fmt = 128, 64, "rgb24"
        cover.disposition = av.stream.Disposition.attached_pic
        output.mux(cover.encode(av.VideoFrame.from_ndarray(picture(3), format="rgb24")))
        output.mux(cover.encode())
        frame = av.AudioFrame(format="fltp", layout="mono", samples=1152)
        frame.sample_rate = 44100
        for _ in range(20):
            output.mux(music.encode(frame))
        output.mux(music.encode())
    with pytest.raises(EccdataError, match="has no video in it"):
        probe(path)
