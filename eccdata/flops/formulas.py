"""The FLOPs of a response, term by term (eccbench.txt, B.3): a multiply-add is two, all but matrix products is none.

Constants of a model are exact integers. What depends on a response (N, T) may be a number or a NumPy array.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eccdata.flops.architectures import Architecture, Language, Vision

Numbers = float | NDArray[np.float64]
"""One number, or one a response [...]."""


class Coefficients(NamedTuple):
    """The three prices of Table 2, in FLOPs.

    Attributes:
        b: B: a token's pass through the layers, attention itself left out.
        a: A: a pair of query and key.
        f_voc: F_voc: an output projection to the vocabulary.

    """

    b: float
    a: float
    f_voc: float


def body(language: Language, *, images: bool = True) -> Coefficients:
    """B, A and F_voc of a language model.

    Args:
        language: The model's numbers.
        images: Whether an image is present, for adapters that run only then.

    """
    lm = language
    d, d_q, d_kv = lm.width, lm.heads * lm.head_width, lm.kv_heads * lm.head_width
    attention = 2 * d * (d_q + 2 * d_kv) + 2 * d_q * d
    dense = lm.dense_layers.count if lm.dense_layers else 0
    b = lm.layers * attention + (lm.layers - dense) * feed_forward(lm)
    if lm.dense_layers is not None:
        b += dense * _mlp(1, d, lm.dense_layers.ffn, lm.gated)
    if images and lm.image_lora_rank is not None:
        b += lm.layers * lora(lm, lm.image_lora_rank)
    return Coefficients(float(b), float(4 * lm.layers * d_q), float(2 * d * lm.vocabulary))


def feed_forward(language: Language) -> int:
    """Φ: what one feed-forward of a layer costs a token; of a mixture, the router and the active experts."""
    lm = language
    one = _mlp(1, lm.width, lm.ffn, lm.gated)
    if lm.experts is None:
        return one
    shared = lm.experts.shared_ffn
    always = 0 if shared is None else _mlp(1, lm.width, shared, lm.gated)
    return 2 * lm.width * lm.experts.count + lm.experts.active * one + always


def lora(language: Language, rank: int) -> int:
    """What adapters of a rank on the four fused projections of a layer cost a token: 2 r (d_in + d_out) each."""
    lm = language
    d, d_q, d_kv = lm.width, lm.heads * lm.head_width, lm.kv_heads * lm.head_width
    up = 2 * lm.ffn if lm.gated else lm.ffn
    ends = (d + d_q + 2 * d_kv) + (d_q + d) + (d + up) + (lm.ffn + d)
    return 2 * rank * ends


def prefill(b: Numbers, a: Numbers, n: Numbers) -> Numbers:
    """F_pre(N) = B N + A P(N) with P(N) = N (N + 1) / 2: what reading N tokens costs."""
    return b * n + a * pairs(n)


def pairs(n: Numbers) -> Numbers:
    """P(N): the pairs of query and key that a causal model can use."""
    return n * (n + 1.0) / 2.0


def decode(b: Numbers, a: Numbers, f_voc: Numbers, n: Numbers, t: Numbers) -> Numbers:
    """F_dec(N, T): what generating T tokens behind N costs.

    The output projection runs T times and the layers T - 1 times, the t-th of these attending over N + t positions:
    T F_voc + (T - 1) B + A [(T - 1) N + T (T - 1) / 2].
    """
    return t * f_voc + (t - 1.0) * b + a * ((t - 1.0) * n + t * (t - 1.0) / 2.0)


def answer_tokens(
    completion_tokens: ArrayLike,
    commit_char: ArrayLike | None,
    reply_chars: ArrayLike,
    reasoning_chars: ArrayLike = 0,
) -> NDArray[np.float64]:
    """T_ans: the tokens until a reply commits itself, which are the ones that are charged.

    max(1, T_out i / l), where the last marker begins at character i of l; max(1, T_out / 2) where there is none. Where
    a server gives the reasoning apart from the reply, it stands before the reply: its characters count in i and in l.

    Args:
        completion_tokens: T_out, reasoning included [...].
        commit_char: i in the reply [...]; None or NaN where it has no marker.
        reply_chars: l of the reply [...].
        reasoning_chars: Characters of reasoning that the server gave apart [...].

    Returns:
        float64 [...]; NaN where T_out or l is not known.

    Source:
        eccbench.txt, B.3 ("The cost of a response").

    """
    t_out, reply, reasoning = (
        np.asarray(given, np.float64) for given in (completion_tokens, reply_chars, reasoning_chars)
    )
    i = np.asarray(np.nan if commit_char is None else commit_char, np.float64)
    whole = reasoning + reply
    with np.errstate(invalid="ignore", divide="ignore"):
        charged = np.where(np.isnan(i), t_out / 2.0, t_out * (reasoning + i) / whole)
        known = ~(np.isnan(t_out) | np.isnan(whole))
        # of no characters at all, 0 / 0 of them is charged: one token
        return np.where(known, np.fmax(1.0, charged), np.nan)


def block(vision: Vision, v: int, s: int) -> int:
    """F_blk(V, S): one block of a tower on V tokens, each attending over S positions."""
    d = vision.width
    return 8 * v * d**2 + 4 * v * s * d + _mlp(v, d, vision.ffn, vision.gated)


def tower(vision: Vision, patches: int) -> int:
    """All blocks of a tower on one span of patches that attend to each other, and their embedding from pixels.

    Args:
        vision: The tower's numbers.
        patches: V_pre of the span: of a group of frames, or of a pass.

    """
    v = patches + vision.class_tokens
    window = v if vision.window_patches is None else min(v, vision.window_patches)
    blocks = (vision.layers - vision.windowed_layers) * block(vision, v, v)
    blocks += vision.windowed_layers * block(vision, v, window)
    d_pat = 3 * vision.patch**2 * vision.frames_per_group
    return blocks + 2 * patches * d_pat * vision.width


def per_token_connector(model: Architecture) -> int:
    """What a connector costs for each token that it gives; of a resampler, what does not depend on what it reads."""
    assert model.vision is not None
    assert model.connector is not None
    d_v, d_t, connector = model.vision.width, model.language.width, model.connector
    m = 4 * d_v
    if connector.kind == "merger":
        return connector.passes * (2 * m**2 + 2 * m * d_t)
    if connector.kind == "gated_merger":
        assert connector.ffn is not None
        return 2 * m * d_t + 2 * d_t**2 + 6 * d_t * connector.ffn
    if connector.kind == "unshuffle":
        return 2 * m * d_t + 2 * d_t**2
    if connector.kind == "pooling":
        return 2 * d_v * d_t + 2 * d_t**2
    return 6 * d_t**2


def resampler(model: Architecture, patches: int) -> int:
    """One call of a resampler that reads K patches and gives so many tokens as it has queries."""
    assert model.vision is not None
    assert model.connector is not None
    assert model.connector.queries is not None
    d_v, d_t, q, k = model.vision.width, model.language.width, model.connector.queries, patches
    return 2 * k * d_v * d_t + 4 * k * d_t**2 + 4 * q * d_t * k + q * per_token_connector(model)


def groups(vision: Vision, frames: int) -> int:
    """Groups of frames of a video; a last one that is not full counts, for its frame is repeated."""
    return math.ceil(frames / vision.frames_per_group)


def _mlp(v: int, d: int, f: int, gated: bool) -> int:
    return (6 if gated else 4) * v * d * f
