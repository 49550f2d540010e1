"""Prices of the trained backbones (eccbench.txt, C.2 and Table 12).

Matrix products count two FLOPs a multiply-add; what is elementwise — norms, rotations, activations, softmax — is free,
and so is what only serves to compute the same thing in parallel. Of each architecture there is one formula here: of
one layer for T tokens of width D, as C.2 prints it. Embeddings and the answer's head are not counted.
"""

# ruff: noqa: N803 — D and T are what C.2 calls them

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from eccdata.backbones.settings import LAYERS, WIDTHS, canonical, settings
from eccdata.errors import problem

LENGTHS = (2048, 4096)
"""The lengths of the paper's evaluation."""

PerLayer = Callable[[int, int], int]


def _transformer(D: int, T: int) -> int:
    """Projections 8TD², scores and weighted values over T(T+1)/2 pairs, an MLP of ratio 1."""
    return 12 * T * D**2 + 2 * D * T * (T + 1)


def _transformer_conv(D: int, T: int) -> int:
    """The Transformer and a width-4 depthwise convolution."""
    return _transformer(D, T) + 8 * D * T


def _gru(D: int, T: int) -> int:
    """Input and recurrent projections of three gates."""
    return 12 * T * D**2


def _mamba2(D: int, T: int) -> int:
    """Input projection, convolution over 6D channels, state update and readout (8D² each), output projection."""
    heads = 2 * D // math.gcd(2 * D, 64)
    return T * (2 * D * (8 * D + heads) + 8 * 6 * D + 20 * D**2)


def _gla(D: int, T: int) -> int:
    """Projections, the rank-16 decay (48D), state (32D), a SwiGLU of I = 256 (1536D)."""
    return T * (8 * D**2 + 1616 * D)


def _retnet(D: int, T: int) -> int:
    """Projections, convolutions (32D), state (128D), a SwiGLU of I = 256."""
    return T * (16 * D**2 + 1696 * D)


def _deltanet(D: int, T: int) -> int:
    """Projections, β (D²/8), convolutions (24D), the delta rule (96D), a SwiGLU of I = 256."""
    return T * (65 * D**2 // 8 + 1656 * D)


def _gated_deltanet(D: int, T: int) -> int:
    """Projections, decay and β (D²/4), convolutions (32D), the delta rule (192D), a SwiGLU of I = 4D."""
    return T * (161 * D**2 // 4 + 224 * D)


def _rwkv7(D: int, T: int) -> int:
    """Projections, three low-rank gates (1024D), the state's four products (128D), a feed-forward of ratio 4.

    Of the first layer, that is: the others have a low-rank gate more.
    """
    return T * (24 * D**2 + 1152 * D)


def _rwkv7_value_residual(D: int, T: int) -> int:
    return 64 * D * T


def _deltaformer(D: int, T: int) -> int:
    """Projections, β, a SwiGLU of I = 256, strictly causal then causal attention."""
    return T * (65 * D**2 // 8 + 1536 * D) + 4 * D * T**2


def _ttt_mlp(D: int, T: int) -> int:
    """Window attention over 17 tokens, the fast weights (896D), projections, an MLP of ratio 1."""
    window = 16
    ramp = min(T, window)
    pairs = ramp * (ramp + 1) // 2 + (T - ramp) * (window + 1)
    return T * (177 * D**2 // 8 + 896 * D) + 4 * D * pairs


def _mom(D: int, T: int) -> int:
    """Router, shared projections, convolutions and delta rules of four memories (96D + 384D), a SwiGLU of I = 4D."""
    return T * (137 * D**2 // 4 + 512 * D)


def _memory_mosaic(D: int, T: int) -> int:
    """Projections, six persistent memories of 2D (48D²), strictly causal context attention."""
    return 58 * T * D**2 + 2 * D * T * (T - 1)


_BLOCK = 128


def _compressive(D: int, T: int) -> int:
    """Blocks of 128 tokens that attend to themselves and the memory; memory is maintained after each full block."""
    full, rest = divmod(T, _BLOCK)
    flops = sum(_compressive_tokens(D, block, _BLOCK) for block in range(full))
    flops += _compressive_tokens(D, full, rest)
    flops += max(0, full - 1) * 320 * D**2  # compression 8 to 1, from the second block
    flops += max(0, full - 3) * 48 * D**2  # compression 4 to 1, from the fourth
    flops += max(0, full - 11) * (32 * D**2 + 16 * D)  # the long-term slot, from the twelfth
    return flops


def _compressive_tokens(D: int, blocks_before: int, tokens: int) -> int:
    """Price the first tokens of a block: 48D² each, and content, position and value of each pair."""
    pairs = tokens * _memory_slots(blocks_before) + tokens * (tokens + 1) // 2
    return 48 * D**2 * tokens + 6 * D * pairs


def _memory_slots(blocks_before: int) -> int:
    """Count what there is to attend to: 0, 128, 144, 160, 164, …, 192, then always 193."""
    recent = _BLOCK if blocks_before else 0
    first = 16 * min(2, max(0, blocks_before - 1))
    second = 4 * min(8, max(0, blocks_before - 3))
    return recent + first + second + (blocks_before >= 12)


_FORMULAS: Mapping[str, PerLayer] = {
    "Compressive Transformer": _compressive,
    "DeltaFormer": _deltaformer,
    "DeltaNet": _deltanet,
    "GLA": _gla,
    "Gated DeltaNet": _gated_deltanet,
    "Mamba-2": _mamba2,
    "Memory Mosaic": _memory_mosaic,
    "MoM": _mom,
    "RWKV-7": _rwkv7,
    "RetNet": _retnet,
    "GRU": _gru,
    "TTT-MLP": _ttt_mlp,
    "Transformer (RoPE)": _transformer,
    "Transformer (conv)": _transformer_conv,
}


class BackbonePrice(NamedTuple):
    """What one stream and one question cost.

    Attributes:
        model: The architecture, as in Table 12.
        width: D.
        length: L, in symbols.
        flops_write: FLOPs of the stream.
        flops_read: FLOPs of one question, a token after it.

    """

    model: str
    width: int
    length: int
    flops_write: int
    flops_read: int

    @property
    def flops(self) -> int:
        """FLOPs of both: the cell of Table 12."""
        return self.flops_write + self.flops_read


def backbone_price(name: str, *, width: int, length: int, layers: int = LAYERS) -> BackbonePrice:
    """Price one stream of L symbols and one question, a token of its own.

    Args:
        name: As in Table 12, or its slug.
        width: D, a multiple of 16.
        length: L ≥ 0.
        layers: The number of layers.

    Raises:
        EccdataError: For an unknown architecture, or a size that cannot be.

    """
    name = canonical(name)
    settings(name, width)  # refuses a width that cannot be
    if length < 0 or layers < 1:
        raise problem(
            f"There is no price for length={length} and layers={layers}.",
            remedy="Lengths begin at 0 and layers at 1.",
        )
    written = _price(name, width, length, layers)
    if name == "Compressive Transformer":
        # a question leaves the memory as it is, even where its token would fill a block
        read = layers * _compressive_read(width, length)
    else:
        read = _price(name, width, length + 1, layers) - written
    return BackbonePrice(name, width, length, written, read)


def backbone_flops(name: str, *, width: int, length: int, layers: int = LAYERS) -> int:
    """Give the FLOPs of a stream of L symbols and one question: T = L + 1 (Table 12, times 10⁶).

    Takes and raises what `backbone_price` does, which tells the stream and the question apart.
    """
    return backbone_price(name, width=width, length=length, layers=layers).flops


def backbone_prices(widths: Iterable[int] = WIDTHS, lengths: Iterable[int] = LENGTHS) -> list[BackbonePrice]:
    """Give the prices of all architectures at all widths and lengths: Table 12 by default."""
    lengths = tuple(lengths)
    return [
        backbone_price(name, width=width, length=length)
        for name in _FORMULAS
        for width in widths
        for length in lengths
    ]


def _compressive_read(D: int, L: int) -> int:
    full, rest = divmod(L, _BLOCK)
    return _compressive_tokens(D, full, rest + 1) - _compressive_tokens(D, full, rest)


def _price(name: str, D: int, T: int, layers: int) -> int:
    flops = layers * _FORMULAS[name](D, T)
    if name == "RWKV-7":
        flops += (layers - 1) * _rwkv7_value_residual(D, T)
    return flops
