"""Each sampler against frames worked out by hand from its tool's rule, and what must hold of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eccdata.errors import EccdataError
from eccdata.video.sampling import SAMPLERS, SamplerSpec, Timing, sampler, select


def steady(frames: int, fps: float) -> Timing:
    return Timing(np.arange(frames) / fps, frames / fps, fps)


def taken(name: str, timing: Timing, **parameters: Any) -> list[int]:
    indices: list[int] = select(sampler(name, **parameters), timing).indices.tolist()
    return indices


@pytest.mark.parametrize(
    ("frames", "n", "expected"),
    [
        (10, 4, [0, 3, 6, 9]),
        # steps of 99 / 7 = 14.14, rounded down
        (100, 8, [0, 14, 28, 42, 56, 70, 84, 99]),
        # steps of 8 / 3 = 2.67
        (9, 4, [0, 2, 5, 8]),
        (10, 1, [0]),
        (3, 8, [0, 0, 0, 0, 1, 1, 1, 2]),
        (1, 3, [0, 0, 0]),
    ],
)
def test_uniform_is_lmms_evals(frames: int, n: int, expected: list[int]) -> None:
    assert taken("uniform", steady(frames, 30), n=n) == expected
    assert taken("uniform-unique", steady(frames, 30), n=n) == sorted(set(expected))


@pytest.mark.parametrize(
    ("frames", "n", "expected"),
    [
        (100, 4, [20, 40, 60, 80]),
        (10, 3, [2, 5, 7]),
        (2, 4, [0, 0, 1, 1]),
        (1, 3, [0, 0, 0]),
    ],
)
def test_vlmevalkit_takes_interior_points(frames: int, n: int, expected: list[int]) -> None:
    assert taken("vlmevalkit", steady(frames, 30), n=n) == expected


@pytest.mark.parametrize(
    ("frames", "fps", "n", "expected"),
    [
        (300, 30, 4, [0, 75, 150, 225]),
        # at most a frame for each whole second
        (300, 30, 256, [0, 30, 60, 90, 120, 150, 180, 210, 240, 270]),
        (59, 10, 16, [0, 11, 22, 33, 44]),
        # ten frames wanted of five: ⌊5/10⌋ = 0
        (5, 0.5, 16, [0] * 10),
    ],
)
def test_longvideobench_never_reaches_the_end(frames: int, fps: float, n: int, expected: list[int]) -> None:
    assert taken("longvideobench", steady(frames, fps), n=n) == expected


QWEN_10_S = [0, 16, 31, 47, 63, 79, 94, 110, 126, 142, 157, 173, 189, 205, 220, 236, 252, 268, 283, 299]
SGLANG_10_S = [0, 15, 31, 47, 62, 78, 94, 110, 125, 141, 157, 173, 188, 204, 220, 236, 251, 267, 283, 299]


@pytest.mark.parametrize(
    ("frames", "fps", "rounded", "down"),
    [
        # two a second of ten seconds, in steps of 299 / 19
        (300, 30, QWEN_10_S, SGLANG_10_S),
        # four at least
        (10, 30, [0, 3, 6, 9], [0, 3, 6, 9]),
        # but an even number, and no more than there are
        (3, 30, [0, 2], [0, 2]),
        (7, 1, [0, 1, 2, 4, 5, 6], [0, 1, 2, 3, 4, 6]),
        # an even number of frames at one a second passes whole, an odd one loses one
        (8, 1, [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7]),
        (9, 1, [0, 1, 2, 3, 5, 6, 7, 8], [0, 1, 2, 3, 4, 5, 6, 8]),
        (3, 0.25, [0, 2], [0, 2]),
    ],
)
def test_qwen_rounds_and_sglang_rounds_down(
    frames: int, fps: float, rounded: list[int], down: list[int]
) -> None:
    assert taken("qwen-vl-utils", steady(frames, fps)) == rounded
    assert taken("sglang-qwen", steady(frames, fps)) == down


def test_qwen_takes_768_frames_at_most() -> None:
    hour = steady(108_000, 30)
    for name in ("qwen-vl-utils", "sglang-qwen"):
        indices = taken(name, hour)
        assert (len(indices), indices[0], indices[-1]) == (768, 0, 107_999)
        assert len(taken(name, hour, cap=33)) == 32
        assert len(taken(name, hour, n=7)) == 8, "rounded to pairs, and half to even: 3.5 pairs are 4"
        assert len(taken(name, steady(300, 30), fps=1)) == 10


def test_qwen_reckons_in_single_precision_as_torch_does() -> None:
    # torch.linspace(0, 268454, 504).round()[362] is 193201 in torch 2.13 on a CPU with fused multiply-add, where the
    # plain product in single precision gives 193200
    assert taken("qwen-vl-utils", steady(268_455, 30), n=504)[362] == 193_201


def test_qwen_divides_before_it_multiplies() -> None:
    # 30000 / 1001 as a float: 150 / fps · 2 = 10.01, which is 10
    assert len(taken("qwen-vl-utils", steady(150, 30000 / 1001))) == 10


@pytest.mark.parametrize(
    ("frames", "fps", "n", "expected"),
    [
        (300, 29.97, 32, [0, 30, 60, 90, 120, 150, 180, 210, 240, 270]),
        (300, 29.97, 8, [0, 42, 85, 128, 170, 213, 256, 299]),
        (5, 0.6, 8, [0, 1, 2, 3, 4]),
        (5, 1.5, 8, [0, 2, 4]),
    ],
)
def test_srt_takes_a_frame_a_second_by_whole_frames(
    frames: int, fps: float, n: int, expected: list[int]
) -> None:
    assert taken("lmms-eval-srt", steady(frames, fps), n=n) == expected


def test_fps_takes_what_is_on_the_screen() -> None:
    assert taken("fps", steady(50, 25), fps=1) == [0, 25]
    assert taken("fps", steady(50, 25), fps=4) == [0, 6, 12, 18, 25, 31, 37, 43]
    variable = Timing(np.array([0.0, 0.5, 3.0]), 4.0)
    assert taken("eccbench", variable) == [0, 1, 1, 2]
    late = Timing(np.array([5.0, 6.0, 7.0]), 3.0)
    assert taken("eccbench", late) == [0, 1, 2]
    assert select(sampler("eccbench"), late).times_s.tolist() == [5, 6, 7]


def test_fps_repeats_frames_of_a_slower_video() -> None:
    assert taken("fps", steady(3, 0.25), fps=1) == [0] * 4 + [1] * 4 + [2] * 4


def test_the_cap_spreads_or_cuts() -> None:
    timing = steady(100, 10)
    assert taken("fps", timing, fps=1) == list(range(0, 100, 10))
    assert taken("fps", timing, fps=1, cap=4, cap_mode="uniform") == [0, 33, 66, 99]
    assert taken("fps", timing, fps=1, cap=4, cap_mode="cutoff") == [0, 10, 20, 30]
    # 4.2: uniform as soon as ⌊rT⌋ reaches the cap
    assert taken("fps", timing, fps=1, cap=10, cap_mode="uniform") == list(range(0, 100, 11))
    assert taken("fps", timing, fps=1, cap=11, cap_mode="uniform") == list(range(0, 100, 10))


@pytest.mark.parametrize("length", [1, 8, 16, 64, 128, 512, 1024])
def test_eccbench_takes_everything_of_a_video_at_one_frame_a_second(length: int) -> None:
    assert taken("eccbench", steady(length, 1)) == list(range(length))


def test_a_duration_that_misses_a_second_by_a_tick_has_that_second() -> None:
    # 25 frames a second in ticks of 1 ms: the last ends at 7.999…
    assert len(taken("eccbench", Timing(np.arange(200) / 25, 7.9996))) == 8


def test_a_single_frame_without_duration() -> None:
    still = Timing(np.array([0.0]), 0.0)
    assert taken("uniform", still, n=4) == [0, 0, 0, 0]
    assert taken("uniform-unique", still, n=4) == [0]
    assert taken("vlmevalkit", still, n=2) == [0, 0]
    assert taken("fps", still, fps=2, cap=8, cap_mode="uniform") == [0]
    assert taken("eccbench", still) == [0]


@pytest.mark.parametrize(
    ("name", "parameters", "timing", "words"),
    [
        ("lmms-eval-srt", {"n": 8}, steady(3, 0.4), "0.4 rounds to 0"),
        ("lmms-eval-srt", {"n": 8}, steady(3, 0.5), "0.5 rounds to 0"),
        ("lmms-eval-srt", {"n": 8}, Timing(np.array([0.0]), 0.0), "neither a rate nor a duration"),
        ("longvideobench", {"n": 8}, steady(27, 30), "each whole second"),
        ("qwen-vl-utils", {}, steady(1, 30), "not between 2 and 1"),
        ("sglang-qwen", {"n": 8}, steady(6, 30), "would take 8 frames, which is not between 2 and 6"),
        ("uniform", {"n": 8}, Timing(np.array([]), 0.0), "no frame"),
    ],
)
def test_where_the_tool_fails_the_sampler_says_why(
    name: str, parameters: dict[str, int], timing: Timing, words: str
) -> None:
    with pytest.raises(EccdataError, match=words):
        select(sampler(name, **parameters), timing)


def test_every_mistake_in_a_sampler_is_told_at_once() -> None:
    with pytest.raises(EccdataError, match=r"no sampler called 'unifrom'. Did you mean 'uniform'"):
        sampler("unifrom", n=3)
    with pytest.raises(EccdataError) as told:
        sampler("fps", fps=0, cap="many", cap_mode="spread", n=3)
    for word in ("fps=0", "cap=many", "cap_mode=spread", "n: no such"):
        assert word in str(told.value)
    with pytest.raises(EccdataError, match="n: it needs one"):
        sampler("uniform")
    with pytest.raises(EccdataError, match="a cap goes with"):
        sampler("fps", fps=1, cap=32)
    with pytest.raises(EccdataError, match="neither fps nor cap"):
        sampler("sglang-qwen", n=8, fps=2)
    assert sampler("fps", fps="1", cap="32", cap_mode="uniform") == SamplerSpec(
        "fps", fps=1.0, cap=32, cap_mode="uniform"
    )
    assert str(sampler("uniform", n=32)) == "uniform(n=32)"


@st.composite
def timings(draw: st.DrawFn) -> Timing:
    gaps_ms = draw(st.lists(st.integers(1, 5000), min_size=0, max_size=120))
    start_ms = draw(st.integers(-1000, 10_000))
    last_ms = draw(st.integers(0, 5000))
    pts_s = (start_ms + np.concatenate([[0], np.cumsum(gaps_ms)])) / 1000
    duration_s = float(pts_s[-1] - pts_s[0]) + last_ms / 1000
    return Timing(pts_s, duration_s, draw(st.none() | st.sampled_from([0.2, 1.0, 24.0, 30000 / 1001])))


SPECS = [
    *(sampler(name, n=n) for name in SAMPLERS if "n" in SAMPLERS[name].required for n in (1, 2, 7, 64)),
    *(
        sampler(name, **more)
        for name in ("qwen-vl-utils", "sglang-qwen")
        for more in ({}, {"n": 6}, {"cap": 9})
    ),
    *(sampler("fps", fps=fps) for fps in (0.3, 1, 7)),
    *(sampler("fps", fps=2, cap=5, cap_mode=mode) for mode in ("uniform", "cutoff")),
    sampler("eccbench"),
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
@settings(max_examples=60, deadline=None)
@given(timing=timings())
def test_order_bounds_and_counts(spec: SamplerSpec, timing: Timing) -> None:
    try:
        selection = select(spec, timing)
    except EccdataError:
        assert spec.name in ("lmms-eval-srt", "longvideobench", "qwen-vl-utils", "sglang-qwen")
        return
    indices = selection.indices
    assert indices.dtype == np.int64
    assert selection.times_s.dtype == np.float64
    assert len(indices) > 0
    assert indices[0] >= 0
    assert indices[-1] < timing.frame_count
    assert (np.diff(indices) >= 0).all()
    assert (selection.times_s == timing.pts_s[indices]).all()
    if spec.name in ("uniform", "vlmevalkit"):
        assert len(indices) == spec.n
    elif spec.n is not None and spec.name not in ("qwen-vl-utils", "sglang-qwen"):
        assert len(indices) <= spec.n
    if spec.cap is not None:
        assert len(indices) <= spec.cap
    if spec.name in ("uniform-unique", "sglang-qwen"):
        assert (np.diff(indices) > 0).all()
    if spec.name == "qwen-vl-utils":
        assert len(indices) % 2 == 0
        assert (indices[0], indices[-1]) == (0, timing.frame_count - 1)
    if spec.name in ("fps", "eccbench") and spec.cap is None:
        assert abs(len(indices) - max(1.0, (spec.fps or 1) * timing.duration_s)) <= 1.01


def test_the_registry_says_what_each_sampler_does() -> None:
    for name, declared in SAMPLERS.items():
        assert declared.what
        assert set(declared.takes) <= {"n", "fps", "cap", "cap_mode"}, name
