"""RWKV-7: a delta rule with vector-valued decay, replacement key and rate (Peng et al. 2025)."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..base import Mixer, PreNorm
from ..layers import RMSNorm, linear, merge_heads, split_heads
from ..recurrences import rank_one

Arguments = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
"""Of the recurrence, but for the state."""


class Shift(NamedTuple):
    """The token before [B, 1, D], zeros at first."""

    previous: Tensor


class Wkv(NamedTuple):
    """The token before and the state [B, H, d, d]."""

    previous: Tensor
    memory: Tensor


class LowRank(nn.Sequential):
    """D → rank → D, with a function between."""

    def __init__(self, width: int, rank: int, between: nn.Module, *, bias: bool = True) -> None:
        super().__init__(linear(width, rank), between, linear(rank, width, bias=bias))


class TimeMix(nn.Module):
    """The sequence mixer. Beside the protocol's input it takes the first layer's values, and gives its own where it is
    the first: every later layer mixes them into its own, token by token (the value residual of C.2).

    Args:
        width: D.
        heads: H.
        first: Whether it is the first layer's.
        ranks: C.2's, by name: decay_rank, learning_rate_rank, gate_rank, value_rank.

    """  # noqa: D205

    def __init__(self, width: int, heads: int, *, first: bool, **ranks: int) -> None:
        super().__init__()
        self.heads = heads
        self.shares = nn.Parameter(torch.rand(6, width))
        self.receptance, self.key, self.value, self.out = (linear(width, width) for _ in range(4))
        self.decay = LowRank(width, ranks["decay_rank"], nn.Tanh())
        self.rate = LowRank(width, ranks["learning_rate_rank"], nn.Identity())
        self.gate = LowRank(width, ranks["gate_rank"], nn.Sigmoid(), bias=False)
        self.residual = None if first else LowRank(width, ranks["value_rank"], nn.Identity())
        self.removal = nn.Parameter(torch.full((width,), 0.85))
        self.replacement = nn.Parameter(torch.ones(width))
        self.bonus = nn.Parameter(torch.zeros(heads, width // heads))
        self.norm = nn.GroupNorm(heads, width, eps=1e-5 * width // heads)
        # from channels that hardly forget to channels that forget within a few tokens
        with torch.no_grad():
            self.decay[2].bias.copy_(torch.linspace(-6, -1, width))

    def start(self, x: Tensor) -> Wkv:
        """Give zeros."""
        batch, width = x.shape[0], x.shape[-1]
        head = width // self.heads
        return Wkv(x.new_zeros(batch, 1, width), x.new_zeros(batch, self.heads, head, head))

    def forward(self, x: Tensor, state: Wkv, first_values: Tensor | None) -> tuple[Tensor, Wkv, Tensor]:
        """Write T tokens, in chunks."""
        arguments, gate, values = self._arguments(x, shifted(x, state.previous), first_values)
        y, memory = rank_one.write(*arguments, state.memory)
        return self._output(y, arguments, gate), Wkv(x[:, -1:].clone(), memory), values

    def read(self, x: Tensor, state: Wkv, first_values: Tensor | None) -> tuple[Tensor, Tensor]:
        """Take one step from the same state for each question."""
        arguments, gate, values = self._arguments(x, state.previous, first_values)
        return self._output(rank_one.read(*arguments, state.memory), arguments, gate), values

    def _arguments(
        self, x: Tensor, previous: Tensor, first_values: Tensor | None
    ) -> tuple[Arguments, Tensor, Tensor]:
        for_r, for_decay, for_k, for_v, for_rate, for_gate = (
            x + (previous - x) * share for share in self.shares
        )
        r, k, v = self.receptance(for_r), self.key(for_k), self.value(for_v)
        rate = self.rate(for_rate).sigmoid()
        g = rank_one.STEEPEST * self.decay(for_decay).sigmoid()
        if self.residual is None or first_values is None:
            first_values = v
        else:
            v = torch.lerp(v, first_values, self.residual(for_v).sigmoid())
        removed = functional.normalize(split_heads(k * self.removal, self.heads), dim=-1)
        k = k * (1 + (rate - 1) * self.replacement)
        r, k, v, rate, g = (split_heads(part, self.heads) for part in (r, k, v, rate, g))
        return (r, k, v, -removed, removed * rate, g), self.gate(for_gate), first_values

    def _output(self, y: Tensor, arguments: Arguments, gate: Tensor) -> Tensor:
        r, k, v = arguments[:3]
        y = merge_heads(y.to(gate.dtype))
        y = self.norm(y.flatten(0, 1)).view_as(y)
        now = (r * k * self.bonus[:, None]).sum(-1, keepdim=True) * v
        return self.out((y + merge_heads(now)) * gate)


class ChannelMix(Mixer[Shift]):
    """The feed-forward layer, W₂ relu(W₁x)², of tokens mixed with the one before."""

    def __init__(self, width: int, ratio: int) -> None:
        super().__init__()
        self.share = nn.Parameter(torch.rand(width))
        self.up = linear(width, ratio * width)
        self.down = linear(ratio * width, width)

    def start(self, x: Tensor) -> Shift:
        """Give zeros."""
        return Shift(x.new_zeros(x.shape[0], 1, x.shape[-1]))

    def forward(self, x: Tensor, state: Shift | None = None) -> tuple[Tensor, Shift]:
        """Map each token with the one before."""
        before = self.start(x) if state is None else state
        return self._map(x, shifted(x, before.previous)), Shift(x[:, -1:].clone())

    def read(self, x: Tensor, state: Shift) -> Tensor:
        """Map each question with the last token."""
        return self._map(x, state.previous)

    def _map(self, x: Tensor, previous: Tensor) -> Tensor:
        return self.down(functional.relu(self.up(x + (previous - x) * self.share)).square())


class RWKV7(Mixer[tuple[Any, ...]]):
    """All layers, since the first one's values go to every other."""

    def __init__(self, width: int, heads: int, layers: int, *, ffn: int, **ranks: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(RMSNorm(width) for _ in range(layers))
        self.time_mixes = nn.ModuleList(TimeMix(width, heads, first=not n, **ranks) for n in range(layers))
        self.channel_mixes = nn.ModuleList(PreNorm(width, ChannelMix(width, ffn)) for _ in range(layers))

    def start(self, x: Tensor) -> tuple[Any, ...]:
        """Give each layer's two states."""
        return tuple((time.start(x), channel.start(x)) for _, time, channel in self._layers())

    def forward(self, x: Tensor, state: tuple[Any, ...] | None = None) -> tuple[Tensor, tuple[Any, ...]]:
        """Write T tokens."""
        values, after = None, []
        for (norm, time, channel), (wkv, shift) in zip(self._layers(), state or self.start(x), strict=True):
            y, wkv, values = time(norm(x), wkv, values)
            x, shift = channel(x + y, shift)
            after.append((wkv, shift))
        return x, tuple(after)

    def read(self, x: Tensor, state: tuple[Any, ...]) -> Tensor:
        """Ask Q questions."""
        values = None
        for (norm, time, channel), (wkv, shift) in zip(self._layers(), state, strict=True):
            y, values = time.read(norm(x), wkv, values)
            x = channel.read(x + y, shift)
        return x

    def _layers(self) -> list[tuple[nn.Module, TimeMix, PreNorm[Shift]]]:
        return [*zip(self.norms, self.time_mixes, self.channel_mixes, strict=True)]


def shifted(x: Tensor, previous: Tensor) -> Tensor:
    """Give each token's predecessor [B, T, D]."""
    return torch.cat([previous.to(x.dtype), x[:, :-1]], 1)
