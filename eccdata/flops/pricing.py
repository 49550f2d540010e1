"""The price of responses: what writing the stream and reading the answer from it costs (eccbench.txt, B.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eccdata.errors import EccdataError, problem
from eccdata.flops import formulas
from eccdata.flops.architectures import Architecture, architecture
from eccdata.flops.clips import Clip, Look, look, look_by, rule_of
from eccdata.flops.formulas import Coefficients, Numbers
from eccdata.media import Layout

FrameSize = tuple[ArrayLike, ArrayLike]
"""Width and height in pixels, each a number or one a response."""

_BITS = 20
"""What a width or a height may have as an integer: a clip's shape is then one of 64 bits."""


@dataclass(frozen=True, slots=True)
class Price:
    """What responses cost, in FLOPs, term by term; each a number, or float64 [...] of many responses.

    Attributes:
        context: N: tokens that the language model reads, those of vision among them.
        vision_tokens: V_LLM: those of vision.
        vision: F_vis: the tower.
        connector: F_conn.
        prefill: F_pre: reading N tokens.
        decode: F_dec: the answer.
        queries: q: how many questions share what was written.

    """

    context: Numbers
    vision_tokens: Numbers
    vision: Numbers
    connector: Numbers
    prefill: Numbers
    decode: Numbers
    queries: Numbers = 1.0

    @property
    def write(self) -> Numbers:
        """F^w: tower, connector and prefill: a model takes in the whole stream when the question arrives."""
        return self.vision + self.connector + self.prefill

    @property
    def read(self) -> Numbers:
        """F^r: the decode."""
        return self.decode

    @property
    def total(self) -> Numbers:
        """F = F^w + F^r: of a stream with one question."""
        return self.write + self.read

    @property
    def per_query(self) -> Numbers:
        """F^w / q + F^r."""
        return self.write / self.queries + self.read


def coefficients(model: str | Architecture, *, images: bool = True) -> Coefficients:
    """B, A and F_voc of a model, in FLOPs, as Table 2 has them.

    Args:
        model: A name as in Table 2, one of its other names in the paper, a checkpoint's id, or what was declared.
        images: Whether an image is present; Phi-4-MM's adapters run only then, and Table 2 counts them.

    Raises:
        EccdataError: No model of this name has a price.

    """
    return formulas.body(_architecture(model).language, images=images)


def price(
    model: str | Architecture,
    *,
    frames: ArrayLike = 0,
    frame_size: FrameSize | None = None,
    prompt_tokens: ArrayLike = 0,
    answer_tokens: ArrayLike = 1,
    queries: ArrayLike = 1,
    clips: Sequence[tuple[ArrayLike, FrameSize | None]] | None = None,
    layout: Layout = "video",
    limits: bool = False,
) -> Price:
    """What responses of a model cost; many at a time, where any of the numbers is an array.

    Args:
        model: As in `coefficients`.
        frames: L: frames of the one clip, 0 where there is none [...].
        frame_size: Its frames' width and height in pixels; not needed where the model's tower takes them in a
            fixed size.
        prompt_tokens: T_in: tokens of text, those of vision not among them [...].
        answer_tokens: T_ans, 1 or above, see `eccdata.flops.answer_tokens` [...].
        queries: q: how many questions share what was written [...].
        clips: In place of `frames` and `frame_size`: of requests with several clips, each one's frames and frame
            size. Frames are grouped within each clip.
        layout: How clips are sent: as one file, or each frame as an image of its own.
        limits: Whether the processor shrinks frames to its family's limits on pixels, as a server with default
            settings does to long videos for Qwen3-VL and GLM-4.5V. The paper's rules, and so the default, have none.

    Returns:
        The price, each of its terms broadcast from what was given.

    Raises:
        EccdataError: No model of this name has a price, a number is out of range, or the model's rules do not say
            what such a clip costs.

    """
    arch = _architecture(model)
    shown = [(frames, frame_size)] if clips is None else list(clips)
    if clips is not None and (frame_size is not None or np.any(np.asarray(frames) != 0)):
        raise EccdataError("Give either frames and frame_size of one clip, or several clips, not both.")
    text, answer, q = (np.asarray(given, np.float64) for given in (prompt_tokens, answer_tokens, queries))
    _check(("prompt_tokens", text, 0), ("answer_tokens", answer, 1), ("queries", q, 1))
    looks = [_look(arch, *each, layout=layout, limits=limits) for each in shown]
    tokens, seen, mapped = (sum((part[term] for part in looks), np.float64(0)) for term in range(3))
    plain, sighted = (formulas.body(arch.language, images=images) for images in (False, True))
    b = plain.b if plain == sighted else np.where(tokens > 0, sighted.b, plain.b)
    n = text + tokens
    return Price(
        context=_number(n),
        vision_tokens=_number(tokens),
        vision=_number(seen),
        connector=_number(mapped),
        prefill=_number(formulas.prefill(b, plain.a, n)),
        decode=_number(formulas.decode(b, plain.a, plain.f_voc, n, answer)),
        queries=_number(q),
    )


def _architecture(model: str | Architecture) -> Architecture:
    return model if isinstance(model, Architecture) else architecture(model)


def _look(
    arch: Architecture, frames: ArrayLike, size: FrameSize | None, *, layout: Layout, limits: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Tokens, tower and connector of one clip a response: worked out once for each shape that occurs."""
    counts = np.asarray(frames)
    if size is None:
        sized = arch.vision is not None and arch.vision.pass_patches is None
        if sized and np.any(counts != 0):
            raise EccdataError(
                f"What {arch.name} costs depends on the size of the frames. Give frame_size (--size WIDTHxHEIGHT)."
            )
        size = (448, 448)  # the size that its tower takes
    width, height = (np.asarray(side) for side in size)
    _check(("frames", counts, 0), ("width", width, 1), ("height", height, 1), whole=True)
    shapes = (
        (counts.astype(np.int64) << 2 * _BITS) + (width.astype(np.int64) << _BITS) + height.astype(np.int64)
    )
    distinct, places = np.unique(shapes, return_inverse=True)
    found: list[Look] = []
    for shape in distinct.tolist():
        side = (1 << _BITS) - 1
        clip = Clip(shape >> 2 * _BITS, shape >> _BITS & side, shape & side, layout)
        cost = look_by(arch, clip, rule_of(arch.rules, clip)) if limits else look(arch, clip)
        if cost is None:
            raise EccdataError(_no_rule(arch, clip))
        found.append(cost)
    terms = np.array([(each.tokens, each.vision, each.connector) for each in found], np.float64)
    places = places.reshape(shapes.shape)
    return terms[:, 0][places], terms[:, 1][places], terms[:, 2][places]


def _no_rule(arch: Architecture, clip: Clip) -> str:
    sent = "as images" if clip.layout == "frames" else "as a video"
    shape = f"{clip.frames} frames of {clip.width}×{clip.height} sent {sent}"
    if arch.vision is None:
        return f"{arch.name} is a model of text alone: it has no price for {shape}."
    return f"The rules of {arch.family} do not say what {arch.name} makes of {shape}."


def _check(*given: tuple[str, NDArray[Any], int], whole: bool = False) -> None:
    """See that numbers are what they can be."""
    wrong = []
    most = 2**_BITS - 1 if whole else np.finfo(np.float64).max
    for name, values, least in given:
        if values.dtype.kind not in ("iu" if whole else "iuf"):
            wrong.append(f"{name}: numbers{' without fractions' if whole else ''}, and not {values.dtype}")
        elif not np.all((values >= least) & (values <= most)):
            out = values[~((values >= least) & (values <= most))].ravel()[0]
            wrong.append(f"{name}: {least} or above{f' and at most {most}' if whole else ''}, and not {out}")
    if wrong:
        raise problem("These cannot be priced:", wrong)


def _number(values: Any) -> Numbers:
    array = np.asarray(values, np.float64)
    return array if array.ndim else float(array)
