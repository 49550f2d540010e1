"""Retention: linear attention with a fixed decay a head (Sun et al. 2023)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from ..base import Mixer
from ..layers import RMSNorm, ShortConvolution, linear, merge_heads, rotary, split_heads
from ..recurrences import scalar_decay

ROTARY_THETA = 1e4


class Retained(NamedTuple):
    """The state [B, H, d_k, d_v], the convolution's last inputs, and how many tokens there were."""

    memory: Tensor
    last: Tensor
    position: int


class RetNet(Mixer[Retained]):
    """C.2's layer: convolutions over queries, keys and values, retention, an output gate.

    Queries and keys are rotated as in the original; the paper does not say, and a rotation has no price.

    Args:
        width: D.
        heads: H.
        conv: The width of the causal depthwise convolutions.
        expand_v: The values' width / D.

    """

    def __init__(self, width: int, heads: int, *, conv: int, expand_v: int) -> None:
        super().__init__()
        self.heads, self.parts = heads, [width, width, expand_v * width]
        self.qkv = linear(width, sum(self.parts))
        self.conv = ShortConvolution(sum(self.parts), conv)
        self.norm = RMSNorm(expand_v * width // heads)
        self.gate = linear(width, expand_v * width)
        self.out = linear(expand_v * width, width)

    def start(self, x: Tensor) -> Retained:
        """Give zeros."""
        key_width, _, value_width = (part // self.heads for part in self.parts)
        return Retained(x.new_zeros(x.shape[0], self.heads, key_width, value_width), self.conv.start(x), 0)

    def forward(self, x: Tensor, state: Retained | None = None) -> tuple[Tensor, Retained]:
        """Write T tokens, in chunks."""
        before = self.start(x) if state is None else state
        filtered, last = self.conv(self.qkv(x), before.last)
        after = before.position + x.shape[1]
        positions = torch.arange(before.position, after, device=x.device)
        y, memory = scalar_decay.write(*self._arguments(filtered, positions), before.memory)
        return self._output(y, x), Retained(memory, last, after)

    def read(self, x: Tensor, state: Retained) -> Tensor:
        """Take one step from the same state for each question."""
        filtered = self.conv.read(self.qkv(x), state.last)
        positions = torch.full((x.shape[1],), state.position, device=x.device)
        return self._output(scalar_decay.read(*self._arguments(filtered, positions), state.memory), x)

    def _arguments(self, filtered: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        q, k, v = (split_heads(part, self.heads) for part in filtered.split(self.parts, -1))
        q, k = rotary(q, positions, ROTARY_THETA) * q.shape[-1] ** -0.5, rotary(k, positions, ROTARY_THETA)
        precise = torch.promote_types(q.dtype, torch.float32)
        kept = torch.log1p(-torch.exp2(-5.0 - torch.arange(self.heads, device=q.device, dtype=precise)))
        return q, k, v, kept[None, :, None].expand(1, -1, q.shape[2])

    def _output(self, y: Tensor, x: Tensor) -> Tensor:
        return self.out(merge_heads(self.norm(y.to(x.dtype))) * functional.silu(self.gate(x)))
