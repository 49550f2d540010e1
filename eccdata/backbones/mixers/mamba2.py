"""Mamba-2: a selective state space with one decay a head (Dao and Gu 2024)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..base import Mixer
from ..layers import RMSNorm, ShortConvolution, linear, merge_heads, split_heads, time_step_bias
from ..recurrences import scalar_decay
from ..recurrences.chunks import at_least_single


class StateSpace(NamedTuple):
    """The state [B, H, d_state, p] and the convolution's last inputs."""

    memory: Tensor
    last: Tensor


class Mamba2(Mixer[StateSpace]):
    """One Mamba-2 block: C.2's in-projection, convolution over x, B and C, state space and out-projection.

    Args:
        width: D.
        conv: The width of the causal depthwise convolution.
        expand: d_inner / D.
        expand_state: d_state / D.
        ssm_head_width: p. Where d_inner is no multiple of it (below D = 64), their greatest common divisor.

    """

    def __init__(self, width: int, *, conv: int, expand: int, expand_state: int, ssm_head_width: int) -> None:
        super().__init__()
        self.inner, self.state_width = expand * width, expand_state * width
        self.head_width = math.gcd(self.inner, ssm_head_width)
        self.heads = self.inner // self.head_width
        self.parts = [self.inner, self.inner + 2 * self.state_width, self.heads]
        self.project = linear(width, sum(self.parts))
        self.conv = ShortConvolution(self.inner + 2 * self.state_width, conv)
        self.log_rate = nn.Parameter(torch.empty(self.heads).uniform_(1, 16).log())
        self.step_bias = nn.Parameter(time_step_bias(self.heads))
        self.skip = nn.Parameter(torch.ones(self.heads))
        self.norm = RMSNorm(self.inner)
        self.out = linear(self.inner, width)

    def start(self, x: Tensor) -> StateSpace:
        """Give zeros."""
        memory = x.new_zeros(x.shape[0], self.heads, self.state_width, self.head_width)
        return StateSpace(memory, self.conv.start(x))

    def forward(self, x: Tensor, state: StateSpace | None = None) -> tuple[Tensor, StateSpace]:
        """Write T tokens, in chunks."""
        before = self.start(x) if state is None else state
        gate, filtered, step = self.project(x).split(self.parts, -1)
        filtered, last = self.conv(filtered, before.last)
        inputs, arguments = self._arguments(filtered, step)
        y, memory = scalar_decay.write(*arguments, before.memory)
        return self._output(y, inputs, gate), StateSpace(memory, last)

    def read(self, x: Tensor, state: StateSpace) -> Tensor:
        """Take one step from the same state for each question."""
        gate, filtered, step = self.project(x).split(self.parts, -1)
        inputs, arguments = self._arguments(self.conv.read(filtered, state.last), step)
        return self._output(scalar_decay.read(*arguments, state.memory), inputs, gate)

    def _arguments(
        self, filtered: Tensor, step: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor, Tensor]]:
        u, b, c = filtered.split([self.inner, self.state_width, self.state_width], -1)
        inputs = split_heads(u, self.heads)
        step = functional.softplus(at_least_single(step) + self.step_bias).transpose(1, 2)
        return inputs, (
            c[:, None],
            b[:, None],
            inputs * step[..., None],
            -self.log_rate.exp()[:, None] * step,
        )

    def _output(self, y: Tensor, inputs: Tensor, gate: Tensor) -> Tensor:
        y = merge_heads(y + inputs * self.skip[:, None, None])
        return self.out(self.norm(y.to(gate.dtype) * functional.silu(gate)))
