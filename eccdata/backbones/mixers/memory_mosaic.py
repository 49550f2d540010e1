"""Memory Mosaics: associative memories of the context and persistent ones, by kernel smoothing (Zhang et al. 2025)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..base import Mixer
from ..layers import linear, merge_heads, split_heads
from ..recurrences import moving_average
from .attention import causal_attention

FASTER = 10
"""Scalars in exponents stand for this multiple of themselves, so that they learn as much faster, as in the original."""
SHARPEST = math.log(2**16 - 1)


class Averaged(NamedTuple):
    """The leaky average of the keys so far [B, H, 1, d]."""

    average: Tensor


class LeakyKeys(nn.Module):
    """Normalised leaky averages of a projection, by a learned sharpness: the keys, which are their own queries.

    Args:
        width: D.
        heads: H.
        power: Of the sharpness.

    """

    def __init__(self, width: int, heads: int, power: int = 1) -> None:
        super().__init__()
        self.heads, self.power = heads, power
        self.project = linear(width, width)
        self.leak = nn.Parameter(torch.linspace(0.5, 5, heads) / FASTER)
        self.sharpness = nn.Parameter(torch.full((heads, 1, 1), 1.0 / FASTER))

    def start(self, x: Tensor) -> Tensor:
        """Give zeros [B, H, 1, d]."""
        return x.new_zeros(x.shape[0], self.heads, 1, x.shape[-1] // self.heads)

    def forward(self, x: Tensor, average: Tensor) -> tuple[Tensor, Tensor]:
        """Give the keys [B, H, T, d] of T tokens and the average after them."""
        keys, average = moving_average.write(split_heads(self.project(x), self.heads), self._decay(), average)
        return self._sharpened(keys, x), average.clone()

    def read(self, x: Tensor, average: Tensor) -> Tensor:
        """Give the key [B, H, Q, d] each question would have."""
        return self._sharpened(
            moving_average.read(split_heads(self.project(x), self.heads), self._decay(), average), x
        )

    def _decay(self) -> Tensor:
        return -FASTER * self.leak.abs()

    def _sharpened(self, keys: Tensor, x: Tensor) -> Tensor:
        sharpness = (self.power * FASTER * self.sharpness).clamp(max=SHARPEST).exp()
        return (functional.normalize(keys, dim=-1, eps=1e-10) * sharpness).to(x.dtype)


class Context(NamedTuple):
    """What the context memory keeps.

    A token's value mixes it with the token after, and so is complete when that comes: of n tokens there are n keys,
    n − 1 values [B, H, …, d] and one projection that waits.
    """

    keys: Tensor
    values: Tensor
    waiting: Tensor
    average: Tensor


class ContextMemory(Mixer[Context]):
    """Kernel regression over all earlier tokens of the stream, strictly causal: the first one reads nothing.

    Args:
        width: D.
        heads: H.

    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.keys = LeakyKeys(width, heads)
        self.value = linear(width, width)
        self.own_share = nn.Parameter(torch.rand(heads, 1, 1))
        self.value_scale = nn.Parameter(torch.full((heads, 1, 1), -0.5 / FASTER))
        self.out = linear(width, width)

    def start(self, x: Tensor) -> Context:
        """Give an empty memory."""
        empty = x.new_empty(x.shape[0], self.heads, 0, x.shape[-1] // self.heads)
        return Context(empty, empty, empty, self.keys.start(x))

    def forward(self, x: Tensor, state: Context | None = None) -> tuple[Tensor, Context]:
        """Complete the values before, and look up each token's key among the earlier ones."""
        before = self.start(x) if state is None else state
        k, average = self.keys(x, before.average)
        projected = split_heads(self.value(x), self.heads)
        following = torch.cat([before.waiting.to(projected.dtype), projected], 2)
        values = self._value(following[:, :, :-1], following[:, :, 1:])
        keys = torch.cat([before.keys.to(k.dtype), k], 2)
        values = torch.cat([before.values.to(values.dtype), values], 2)
        after = Context(keys, values, projected[:, :, -1:].clone(), average)
        first = before.keys.shape[2] == 0
        queries = k[:, :, first:]
        if queries.shape[2]:
            y = causal_attention(queries, keys[:, :, :-1].to(values.dtype), values, scale=1.0)
        else:
            y = queries
        y = functional.pad(y, (0, 0, int(first), 0))
        return self.out(merge_heads(y)), after

    def read(self, x: Tensor, state: Context) -> Tensor:
        """Look up each question's key, with the question itself completing the last token's value."""
        seen = state.keys.shape[2]
        k = self.keys.read(x, state.average)
        if not seen:
            return self.out(merge_heads(torch.zeros_like(k)))
        weights = (k @ state.keys.to(k.dtype).mT).softmax(-1)
        last = self._value(state.waiting, split_heads(self.value(x), self.heads))
        y = weights[..., :-1].to(last.dtype) @ state.values.to(last.dtype) + weights[..., -1:] * last
        return self.out(merge_heads(y))

    def _value(self, token: Tensor, following: Tensor) -> Tensor:
        mixed = self.own_share * token + (1 - self.own_share) * following
        scaled = functional.normalize(mixed, dim=-1, eps=1e-10) * (FASTER * self.value_scale).exp()
        return scaled.to(following.dtype)


class PersistentMemory(Mixer[Averaged]):
    """Kernel regression over trained keys and values, the mean over several such memories.

    C.2 prices one key projection for all of them, and so their keys are the same; how their answers are put together
    it leaves open.

    Args:
        width: D.
        heads: H.
        memories: How many.
        size: Entries of each.

    """

    def __init__(self, width: int, heads: int, *, memories: int, size: int) -> None:
        super().__init__()
        head = width // heads
        self.keys = LeakyKeys(width, heads, power=2)
        self.memory_keys = nn.Parameter(torch.randn(memories, heads, size, head) * head**-0.5)
        self.memory_values = nn.Parameter(torch.randn(memories, heads, size, head) * head**-0.5)
        self.value_scale = nn.Parameter(torch.full((heads, 1, 1), -0.5 / FASTER))
        self.out = linear(width, width)

    def start(self, x: Tensor) -> Averaged:
        """Give zeros."""
        return Averaged(self.keys.start(x))

    def forward(self, x: Tensor, state: Averaged | None = None) -> tuple[Tensor, Averaged]:
        """Look each token up."""
        before = self.start(x) if state is None else state
        keys, average = self.keys(x, before.average)
        return self._look_up(keys), Averaged(average)

    def read(self, x: Tensor, state: Averaged) -> Tensor:
        """Look each question up."""
        return self._look_up(self.keys.read(x, state.average))

    def _look_up(self, keys: Tensor) -> Tensor:
        batch = keys.shape[0]
        # [memories, H, B·T, d]: the memories are the batch, and streams share them without copies
        queries = keys.transpose(0, 1).flatten(1, 2).expand(len(self.memory_keys), -1, -1, -1)
        memory = (self.memory_keys.to(keys.dtype), self.memory_values.to(keys.dtype))
        found = functional.scaled_dot_product_attention(queries, *memory, scale=1.0).mean(0)
        found = found * (FASTER * self.value_scale).exp()
        return self.out(merge_heads(found.unflatten(1, (batch, -1)).transpose(0, 1).to(keys.dtype)))
