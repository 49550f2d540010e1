"""Gated linear attention: a learned decay for every key channel (Yang et al. 2024a)."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from ..base import Mixer
from ..layers import RMSNorm, linear, merge_heads, split_heads
from ..recurrences import vector_decay

GATE_TEMPER = 16
"""Gates are the 16th root of a sigmoid, so that memory is long at first."""


class Memory(NamedTuple):
    """The state [B, H, d_k, d_v]."""

    memory: Tensor


class GLA(Mixer[Memory]):
    """C.2's layer: keys of half the width, a low-rank decay, an output gate.

    Args:
        width: D.
        heads: H.
        key_width: d_k of a head.
        decay_rank: Of the decay's projection.

    """

    def __init__(self, width: int, heads: int, *, key_width: int, decay_rank: int) -> None:
        super().__init__()
        self.heads, self.scale = heads, key_width**-0.5
        self.qk = linear(width, 2 * heads * key_width)
        self.value = linear(width, width)
        self.decay = nn.Sequential(
            linear(width, decay_rank), linear(decay_rank, heads * key_width, bias=True)
        )
        self.norm = RMSNorm(width // heads)
        self.gate = linear(width, width)
        self.out = linear(width, width)

    def start(self, x: Tensor) -> Memory:
        """Give zeros."""
        key_width = self.qk.out_features // (2 * self.heads)
        return Memory(x.new_zeros(x.shape[0], self.heads, key_width, x.shape[-1] // self.heads))

    def forward(self, x: Tensor, state: Memory | None = None) -> tuple[Tensor, Memory]:
        """Write T tokens, in chunks."""
        before = self.start(x) if state is None else state
        y, memory = vector_decay.write(*self._arguments(x), before.memory)
        return self._output(y, x), Memory(memory)

    def read(self, x: Tensor, state: Memory) -> Tensor:
        """Take one step from the same state for each question."""
        return self._output(vector_decay.read(*self._arguments(x), state.memory), x)

    def _arguments(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        q, k = self.qk(x).chunk(2, -1)
        g = functional.logsigmoid(self.decay(x)) / GATE_TEMPER
        q, k, v, g = (split_heads(part, self.heads) for part in (q * self.scale, k, self.value(x), g))
        return q, k, v, g

    def _output(self, y: Tensor, x: Tensor) -> Tensor:
        return self.out(merge_heads(self.norm(y.to(x.dtype))) * functional.silu(self.gate(x)))
