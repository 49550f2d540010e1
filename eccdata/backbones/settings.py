"""Table 11 as data: what each architecture is made of at each width."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from eccdata.errors import problem, unknown

LAYERS = 3
HEAD_WIDTH = 16
WIDTHS = (64, 128)
"""The widths of the paper. Every other multiple of the head width can be built too."""

Setting: TypeAlias = int | float | bool
ByWidth: TypeAlias = Mapping[int, Setting]

# `ffn` is the ratio of the feed-forward layer's width to D, `conv` the width of the short convolutions. A setting
# that changes with the width is a mapping; an `expand_…` is in units of D (or of what the name says).
ARCHITECTURES: Mapping[str, Mapping[str, Setting | ByWidth]] = {
    "Compressive Transformer": {
        # The dash under FFN notwithstanding, C.2 prices one of ratio 4.
        "ffn": 4,
        "block": 128,
        "compression_1": 8,
        "compression_2": 4,
        "slots_1": 32,
        "slots_2": 32,
    },
    "DeltaFormer": {"ffn": 1, "rope_theta": 10_000},
    "DeltaNet": {"ffn": 1, "conv": 4, "expand_v": 1},
    "GLA": {"ffn": 1, "key_width": 8, "decay_rank": 16},
    "Gated DeltaNet": {"ffn": 4, "conv": 4, "expand_v": 2},
    # d_state is 128 at D = 64 and 256 at D = 128: 2D. The head width p = 64 is C.2's.
    "Mamba-2": {"conv": 4, "expand_state": 2, "expand": 2, "ssm_head_width": 64},
    # Persistent memories of size 128 at D = 64 and 256 at D = 128: 2D.
    "Memory Mosaic": {"persistent_memories": 6, "expand_persistent": 2},
    # The dashes notwithstanding, C.2 prices a SwiGLU of ratio 4 and width-4 convolutions.
    "MoM": {"ffn": 4, "conv": 4, "memories": 16, "top_k": 3},
    # The ranks are C.2's.
    "RWKV-7": {"ffn": 4, "decay_rank": 64, "learning_rate_rank": 64, "gate_rank": 128, "value_rank": 16},
    "RetNet": {"ffn": 1, "conv": 4, "expand_v": 2},
    "GRU": {},
    "TTT-MLP": {"ffn": 1, "window": 16, "mini_batch": {64: 256, 128: 128}},
    "Transformer (RoPE)": {"ffn": 1, "rope_theta": 10_000},
    "Transformer (conv)": {"ffn": 1, "conv": 4},
}
"""By the names of Table 12, in its order.

Two settings of Table 11 change no result and so appear nowhere. Memory Mosaic's block size 256 is the longest
context its implementation allocates, which streams of 4,096 could not fit. MoM's capacity 1.5 bounds a padded batch;
tokens dropped above it would make what is stored depend on how a stream is cut, and C.2 prices all of them.
"""


def slug(name: str) -> str:
    """Spell an architecture's name for a command line or a path: "Transformer (RoPE)" is `transformer-rope`."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


SLUGS: Mapping[str, str] = {slug(name): name for name in ARCHITECTURES}


def canonical(name: str) -> str:
    """Give the name in Table 12 of an architecture, from that name or its slug, in any case.

    Raises:
        EccdataError: For a name that is not there.

    """
    found = SLUGS.get(slug(name))
    if found is None:
        raise unknown("architecture", name, [*SLUGS])
    return found


def settings(name: str, width: int) -> dict[str, Setting]:
    """Give the settings of an architecture at a width.

    Args:
        name: As in Table 12, or its slug.
        width: D, a multiple of the head width. Where Table 11 lists two values, a D that is not in it takes that of
            the next larger width that is, else of the largest.

    Raises:
        EccdataError: For an unknown architecture, or a width that heads of 16 do not divide.

    """
    if width < HEAD_WIDTH or width % HEAD_WIDTH:
        raise problem(
            f"A backbone cannot be {width} wide: its heads are {HEAD_WIDTH} wide.",
            remedy=f"Give a multiple of {HEAD_WIDTH}; the paper's are {WIDTHS[0]} and {WIDTHS[1]}.",
        )
    listed = ARCHITECTURES[canonical(name)]
    return {key: _at(value, width) if isinstance(value, Mapping) else value for key, value in listed.items()}


def _at(by_width: ByWidth, width: int) -> Setting:
    return by_width[min((w for w in by_width if w >= width), default=max(by_width))]


def swiglu_width(width: int, ratio: int) -> int:
    """Give the inner width I of a SwiGLU as C.2 prices it: 256 at ratio 1, 4D at ratio 4.

    At the paper's widths both are the customary ⅔·ratio·D rounded up to a multiple of 256; read as printed they
    keep C.2's formulas true at every other width too.
    """
    return 256 if ratio == 1 else ratio * width
