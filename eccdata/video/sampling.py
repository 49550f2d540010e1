"""Which frames of a video are taken: the rules of the common tools, as pure functions of when its frames are shown.

The same number of frames is not the same frames: each tool has its own rule, and a score belongs to the one it was
measured with. A rule here gives the frames that the tool gives for a video whose frames are all counted right; how
its decoder miscounts them is no part of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eccdata import settings
from eccdata.errors import EccdataError, problem, unknown

Indices = NDArray[np.int64]

CAP_MODES = ("none", "uniform", "cutoff")
CLOCK_TICK_S = 1e-3
"""A duration is trusted to a tick of Matroska's clock, so that 7.999 s at one frame a second are 8 frames."""

QWEN_FRAME_FACTOR = 2
QWEN_MIN_FRAMES = 4
QWEN_MAX_FRAMES = 768
QWEN_RATE_FPS = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Timing:
    """When the frames of a video are shown.

    Attributes:
        pts_s: Presentation time of each frame in seconds, float64 [frames], ascending; the first need not be 0.
        duration_s: Seconds from the first frame to the end of the last; 0 where nobody knows how long the only
            frame lasts.
        fps: The average rate that the file states, which the tools reckon with; frames by duration where it
            states none.
        name: The video, for messages.

    """

    pts_s: NDArray[np.float64]
    duration_s: float
    fps: float | None = None
    name: str = "the video"

    @property
    def frame_count(self) -> int:
        """How many frames there are."""
        return len(self.pts_s)

    @property
    def rate_fps(self) -> float | None:
        """Frames a second on average; None for a single frame without duration."""
        if self.fps:
            return self.fps
        return self.frame_count / self.duration_s if self.duration_s > 0 else None


@dataclass(frozen=True, slots=True, eq=False)
class FrameSelection:
    """Frames of a video, in the order in which they are shown; one that is taken twice stands there twice.

    Attributes:
        indices: Place of each among the frames in the order of their presentation, int64 [n].
        times_s: Its true presentation time on the file's clock, float64 [n]; a decoder finds it by that.

    """

    indices: Indices
    times_s: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True, slots=True)
class SamplerSpec:
    """A sampler and its parameters. `sampler()` makes one from settings and checks them.

    Attributes:
        name: One of `SAMPLERS`.
        n: Frames wanted.
        fps: Frames wanted a second.
        cap: Most frames taken.
        cap_mode: What the sampler `fps` does with more: `none` takes all the same, `uniform` spreads `cap` frames over
            the whole video, `cutoff` takes the first `cap`.

    """

    name: str
    n: int | None = None
    fps: float | None = None
    cap: int | None = None
    cap_mode: str | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are in force, by name."""
        values = {"n": self.n, "fps": self.fps, "cap": self.cap, "cap_mode": self.cap_mode}
        return {name: value for name, value in values.items() if value is not None}

    def __str__(self) -> str:
        inside = ",".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.name}({inside})" if inside else self.name


@dataclass(frozen=True, slots=True)
class Sampler:
    """A rule, as it is declared.

    Attributes:
        rule: From when the frames are shown and the parameters to indices, int64 [n], ascending, or a `ValueError`
            that says why there are none.
        what: The rule in a line.
        required: Parameters it cannot do without.
        defaults: Those it can, and what they are then (None: not in force).

    """

    rule: Callable[[Timing, SamplerSpec], Indices]
    what: str
    required: tuple[str, ...] = ()
    defaults: MappingProxyType[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def takes(self) -> tuple[str, ...]:
        """All its parameters."""
        return (*self.required, *self.defaults)


def sampler(name: str, **parameters: Any) -> SamplerSpec:
    """Make a sampler from its name and its parameters, as values or as text.

    Raises:
        EccdataError: No sampler of that name, or parameters that it does not have, lacks or cannot work with.

    """
    if name not in SAMPLERS:
        raise unknown("sampler", name, SAMPLERS)
    declared = SAMPLERS[name]
    fitting, wrong = settings.fit(SamplerSpec, parameters, names=declared.takes)
    wrong += [f"{missing}: it needs one" for missing in declared.required if parameters.get(missing) is None]
    spec = SamplerSpec(name, **{**declared.defaults, **fitting})
    wrong += _problems(spec)
    if wrong:
        takes = ", ".join(declared.takes) or "no parameter"
        raise problem(f"The sampler {name} cannot be had like this:", wrong, f"It takes {takes}.")
    return spec


def select(spec: SamplerSpec, timing: Timing) -> FrameSelection:
    """Choose frames of a video.

    Returns:
        Indices in ascending order; the same frame again where the rule takes it again.

    Raises:
        EccdataError: The rule has no answer for this video (the tool fails on it too); names both.

    """
    if timing.frame_count == 0:
        raise EccdataError(f"{timing.name} has no frame to choose.")
    if spec.name not in SAMPLERS:
        raise unknown("sampler", spec.name, SAMPLERS)
    try:
        indices = SAMPLERS[spec.name].rule(timing, spec)
    except ValueError as error:
        raise EccdataError(
            f"The sampler {spec} takes no frame of {timing.name} ({timing.frame_count} frames, "
            f"{timing.duration_s:g} s): {error}."
        ) from error
    return FrameSelection(indices, timing.pts_s[indices])


def _problems(spec: SamplerSpec) -> list[str]:
    wrong = [
        f"{name}={value}: must be above 0"
        for name, value in (("n", spec.n), ("fps", spec.fps), ("cap", spec.cap))
        if value is not None and not (math.isfinite(value) and value > 0)
    ]
    if spec.cap_mode is not None:
        if spec.cap_mode not in CAP_MODES:
            wrong.append(f"cap_mode={spec.cap_mode}: is one of {', '.join(CAP_MODES)}")
        elif (spec.cap_mode == "none") != (spec.cap is None):
            wrong.append(
                f"cap_mode={spec.cap_mode}, cap={spec.cap}: a cap goes with uniform or cutoff, none with none"
            )
    if spec.name in ("qwen-vl-utils", "sglang-qwen"):
        if spec.n is not None and (spec.cap is not None or spec.fps is not None):
            wrong.append(f"n={spec.n}: goes with neither fps nor cap")
        if spec.n is not None and round(spec.n / QWEN_FRAME_FACTOR) == 0:
            wrong.append(f"n={spec.n}: rounds to no frame, since frames go in pairs")
        if spec.cap is not None and spec.cap < QWEN_FRAME_FACTOR:
            wrong.append(f"cap={spec.cap}: must be {QWEN_FRAME_FACTOR} or more, since frames go in pairs")
    return wrong


def _wanted(spec: SamplerSpec) -> int:
    if spec.n is None:
        raise ValueError("n is not given")
    return spec.n


def _rate(timing: Timing) -> float:
    rate = timing.rate_fps
    if rate is None:
        raise ValueError("it has neither a rate nor a duration")
    return rate


def _spread(count: int, n: int) -> Indices:
    """Spread n frames evenly from the first to the last of `count`, rounded down (`numpy.linspace` to integers)."""
    return np.asarray(np.linspace(0, count - 1, n, dtype=np.int64))


def _uniform(timing: Timing, spec: SamplerSpec) -> Indices:
    return _spread(timing.frame_count, _wanted(spec))


def _uniform_unique(timing: Timing, spec: SamplerSpec) -> Indices:
    return np.unique(_uniform(timing, spec))


def _interior(timing: Timing, spec: SamplerSpec) -> Indices:
    n = _wanted(spec)
    step = timing.frame_count / (n + 1)
    return (np.arange(1, n + 1) * step).astype(np.int64)


def _longvideobench(timing: Timing, spec: SamplerSpec) -> Indices:
    count = min(_wanted(spec), int(timing.duration_s))
    if count == 0:
        raise ValueError("it takes at most a frame for each whole second, and there is none")
    return np.arange(count, dtype=np.int64) * (timing.frame_count // count)


def _srt(timing: Timing, spec: SamplerSpec) -> Indices:
    step = round(_rate(timing))
    if step == 0:
        raise ValueError(
            f"its step is the rate rounded to whole frames a second, and {_rate(timing):g} rounds to 0 (the tool fails "
            "on it); the sampler fps takes any rate"
        )
    indices = np.arange(0, timing.frame_count, step, dtype=np.int64)
    n = _wanted(spec)
    return indices if len(indices) <= n else _spread(timing.frame_count, n)


def _smart_nframes(timing: Timing, spec: SamplerSpec) -> int:
    """How many frames Qwen's processors take: an even number, for their frames go in pairs."""
    total, factor = timing.frame_count, QWEN_FRAME_FACTOR
    if spec.n is not None:
        count = round(spec.n / factor) * factor
    else:
        cap = spec.cap if spec.cap is not None else min(QWEN_MAX_FRAMES, total)
        most = math.floor(cap / factor) * factor
        # divided before it is multiplied, as there: the other order is off by a frame where it matters
        at_rate = total / _rate(timing) * (spec.fps or QWEN_RATE_FPS)
        clamped = min(min(max(at_rate, QWEN_MIN_FRAMES), most), total)
        count = math.floor(clamped / factor) * factor
    if not factor <= count <= total:
        raise ValueError(f"it would take {count} frames, which is not between {factor} and {total}")
    return count


def _qwen(timing: Timing, spec: SamplerSpec) -> Indices:
    """`torch.linspace` in single precision, rounded, to the bit: it counts up to the middle and down from the end."""
    count, last = _smart_nframes(timing, spec), np.float32(timing.frame_count - 1)
    step = np.float64(last / np.float32(count - 1))
    places = np.arange(count)
    # computed exactly and rounded once, as the fused multiply-add does it
    up = (step * places).astype(np.float32)
    down = (np.float64(last) - step * (count - 1 - places)).astype(np.float32)
    floats: NDArray[np.float32] = np.where(places < count // 2, up, down)
    return np.asarray(floats.round(), np.int64)


def _sglang(timing: Timing, spec: SamplerSpec) -> Indices:
    return np.unique(_spread(timing.frame_count, _smart_nframes(timing, spec)))


def _fps(timing: Timing, spec: SamplerSpec) -> Indices:
    rate = spec.fps or 1.0
    count = max(1, math.floor(rate * (timing.duration_s + CLOCK_TICK_S / 2)))
    if spec.cap is not None and count >= spec.cap:
        if spec.cap_mode == "uniform":
            return _spread(timing.frame_count, spec.cap)
        count = spec.cap
    asked_s = timing.pts_s[0] + np.arange(count) / rate
    # the frame that is on the screen then
    shown = np.searchsorted(timing.pts_s, asked_s + CLOCK_TICK_S / 2, side="right") - 1
    return np.asarray(shown, np.int64)


def _defaults(**values: Any) -> MappingProxyType[str, Any]:
    return MappingProxyType(values)


SAMPLERS: MappingProxyType[str, Sampler] = MappingProxyType(
    {
        "uniform": Sampler(
            _uniform,
            "n frames from the first to the last, rounded down; of a shorter clip some twice (lmms-eval, most loaders)",
            ("n",),
        ),
        "uniform-unique": Sampler(
            _uniform_unique, "as uniform, each frame once (lmms-eval with torchcodec)", ("n",)
        ),
        "vlmevalkit": Sampler(
            _interior,
            "n frames at i·T/(n+1), rounded down: neither the first nor the last (VLMEvalKit)",
            ("n",),
        ),
        "longvideobench": Sampler(
            _longvideobench,
            "every ⌊T/N⌋-th frame from the first, N at most n and the whole seconds (LongVideoBench's loader)",
            ("n",),
        ),
        "qwen-vl-utils": Sampler(
            _qwen,
            "an even number of frames at 2 a second, 4 to 768, from the first to the last, rounded (qwen-vl-utils)",
            (),
            _defaults(n=None, fps=None, cap=None),
        ),
        "sglang-qwen": Sampler(
            _sglang,
            "as qwen-vl-utils, rounded down, each frame once (SGLang's processor of the Qwen models)",
            (),
            _defaults(n=None, fps=None, cap=None),
        ),
        "lmms-eval-srt": Sampler(
            _srt,
            "a frame a second, by the rate in whole frames; if more than n, as uniform (lmms-eval's srt_api)",
            ("n",),
        ),
        "fps": Sampler(
            _fps,
            "the frames on the screen at fps times a second, at most cap of them (meta-video.txt, 4.2 and A.4)",
            ("fps",),
            _defaults(cap=None, cap_mode="none"),
        ),
        "eccbench": Sampler(
            _fps, "the frame on the screen at every second, all of them (eccbench.txt, B.6.1)"
        ),
    }
)
"""All samplers by name.

Where the tools fail, so do these, with an `EccdataError`: `lmms-eval-srt` below half a frame a second,
`longvideobench` on clips shorter than a second, the two of Qwen on less than two frames. `longvideobench` takes the
first frame again and again of a video slower than a frame a second, as the loader does. Of a video slower than they ask
for, `fps` and `eccbench` take a frame as often as it is on the screen. `lmms-eval-srt` tells the model times of its own
(i divided by the rounded rate); a `FrameSelection` holds the true ones.
"""
