"""DeltaNet and Gated DeltaNet (Schlag et al. 2021; Yang et al. 2024b, 2025)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..base import Mixer
from ..layers import RMSNorm, ShortConvolution, linear, merge_heads, split_heads, time_step_bias
from ..recurrences import delta_rule

Arguments = tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]
"""Of the delta rule, but for the state."""


class Corrected(NamedTuple):
    """The state [B, H, d_k, d_v] and the convolution's last inputs."""

    memory: Tensor
    last: Tensor


class DecayGate(nn.Module):
    """A head's log-decay for each token, −e^a softplus(Wx + b): Mamba-2's."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.step = linear(width, heads)
        self.log_rate = nn.Parameter(torch.empty(heads).uniform_(1e-3, 16).log())
        self.step_bias = nn.Parameter(time_step_bias(heads))

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] → [B, T, H]."""
        return -self.log_rate.exp() * functional.softplus(self.step(x) + self.step_bias)


class DeltaNet(Mixer[Corrected]):
    """C.2's layer: convolutions over queries, keys and values, the delta rule on keys of norm 1, β from a projection.

    Args:
        width: D.
        heads: H.
        conv: The width of the causal depthwise convolutions.
        expand_v: The values' width / D.
        gated: Whether the state decays and the output has a gate.

    """

    def __init__(self, width: int, heads: int, *, conv: int, expand_v: int, gated: bool = False) -> None:
        super().__init__()
        self.heads, self.parts = heads, [width, width, expand_v * width]
        self.qkv = linear(width, sum(self.parts))
        self.conv = ShortConvolution(sum(self.parts), conv)
        self.beta = linear(width, heads)
        self.norm = RMSNorm(expand_v * width // heads)
        self.out = linear(expand_v * width, width)
        self.decay = DecayGate(width, heads) if gated else None
        self.gate = linear(width, expand_v * width) if gated else None

    def start(self, x: Tensor) -> Corrected:
        """Give zeros."""
        key_width, _, value_width = (part // self.heads for part in self.parts)
        return Corrected(x.new_zeros(x.shape[0], self.heads, key_width, value_width), self.conv.start(x))

    def forward(self, x: Tensor, state: Corrected | None = None) -> tuple[Tensor, Corrected]:
        """Write T tokens, in chunks."""
        before = self.start(x) if state is None else state
        filtered, last = self.conv(self.qkv(x), before.last)
        y, memory = delta_rule.write(*self._arguments(x, filtered), before.memory)
        return self._output(y, x), Corrected(memory, last)

    def read(self, x: Tensor, state: Corrected) -> Tensor:
        """Take one step from the same state for each question."""
        filtered = self.conv.read(self.qkv(x), state.last)
        return self._output(delta_rule.read(*self._arguments(x, filtered), state.memory), x)

    def _arguments(self, x: Tensor, filtered: Tensor) -> Arguments:
        q, k, v = (split_heads(part, self.heads) for part in filtered.split(self.parts, -1))
        decay = None if self.decay is None else self.decay(x).transpose(1, 2)
        q, k = unit_queries_and_keys(q, k)
        return q, k, v, self.beta(x).sigmoid().transpose(1, 2), decay

    def _output(self, y: Tensor, x: Tensor) -> Tensor:
        y = merge_heads(self.norm(y.to(x.dtype)))
        return self.out(y if self.gate is None else y * functional.silu(self.gate(x)))


def unit_queries_and_keys(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Bring queries and keys to norm 1, and scale the queries by d_k^(−1/2)."""
    return functional.normalize(q, dim=-1) * q.shape[-1] ** -0.5, functional.normalize(k, dim=-1)
