"""Causal softmax attention with a cache (Vaswani et al. 2017), rotary or behind a short convolution."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from ..base import Mixer
from ..layers import ShortConvolution, linear, merge_heads, rotary, split_heads


class Cache(NamedTuple):
    """Keys and values [B, H, n, d] of the tokens so far, and what the convolution keeps ([B, 0, D] without one)."""

    keys: Tensor
    values: Tensor
    last: Tensor


class Attention(Mixer[Cache]):
    """Multi-head attention over everything written.

    The paper says "depthwise conv mixer" and prices 8D FLOPs a token and layer, one convolution over D channels,
    without saying where it sits. Here it filters the layer's normalised input, before queries, keys and values
    are made of it, and no activation follows, so that it can only shift tokens, as a positional encoding would.

    Args:
        width: D.
        heads: H.
        rope_theta: The base of the rotary encoding; none where it is None.
        conv: The width of the causal depthwise convolution; none where it is None.

    """

    def __init__(
        self, width: int, heads: int, *, rope_theta: float | None = None, conv: int | None = None
    ) -> None:
        super().__init__()
        self.heads = heads
        self.rope_theta = rope_theta
        self.qkv = linear(width, 3 * width)
        self.out = linear(width, width)
        self.conv = None if conv is None else ShortConvolution(width, conv, activation=False)

    def start(self, x: Tensor) -> Cache:
        """Give an empty cache."""
        batch, width = x.shape[0], x.shape[-1]
        empty = x.new_empty(batch, self.heads, 0, width // self.heads)
        return Cache(empty, empty, x.new_empty(batch, 0, width) if self.conv is None else self.conv.start(x))

    def forward(self, x: Tensor, state: Cache | None = None) -> tuple[Tensor, Cache]:
        """Attend from each token to itself and all before it."""
        cache = self.start(x) if state is None else state
        last = cache.last
        if self.conv is not None:
            x, last = self.conv(x, last)
        seen, length = cache.keys.shape[2], x.shape[1]
        q, k, v = self._project(x, torch.arange(seen, seen + length, device=x.device))
        keys = torch.cat([cache.keys.to(k.dtype), k], 2)
        values = torch.cat([cache.values.to(v.dtype), v], 2)
        return self.out(merge_heads(causal_attention(q, keys, values))), Cache(keys, values, last)

    def read(self, x: Tensor, state: Cache) -> Tensor:
        """Attend from each question to the cache and itself."""
        if self.conv is not None:
            x = self.conv.read(x, state.last)
        position = torch.full((x.shape[1],), state.keys.shape[2], device=x.device)
        q, k, v = self._project(x, position)
        return self.out(merge_heads(attention_read(q, k, v, state.keys, state.values)))

    def _project(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        if self.rope_theta is not None:
            q, k = rotary(q, positions, self.rope_theta), rotary(k, positions, self.rope_theta)
        return q, k, v


def causal_attention(q: Tensor, keys: Tensor, values: Tensor, scale: float | None = None) -> Tensor:
    """Let the last T of S tokens attend to themselves and all before.

    Args:
        q: [B, H, T, d].
        keys: [B, H, S, d], S ≥ T.
        values: [B, H, S, e].
        scale: Of the scores; d^(−1/2) by default.

    """
    length, seen = q.shape[2], keys.shape[2]
    if length == seen:
        return functional.scaled_dot_product_attention(q, keys, values, is_causal=True, scale=scale)
    mask = None
    if length > 1:
        mask = torch.ones(length, seen, dtype=torch.bool, device=q.device).tril(seen - length)
    return functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask, scale=scale)


def attention_read(
    q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None = None
) -> Tensor:
    """Let each of Q questions attend to a cache and to itself, not to the others.

    Args:
        q: [B, H, Q, d], with k and v alike, of the questions.
        k: See q.
        v: See q.
        keys: [B, H, n, d] of the cache, with values alike.
        values: See keys.
        bias: Added to the scores, broadcasting to [B, H, Q, n+1]; the questions' own come last.

    """
    scores = torch.cat([q @ keys.to(q.dtype).mT, (q * k).sum(-1, keepdim=True)], -1) * q.shape[-1] ** -0.5
    weights = (scores if bias is None else scores + bias).softmax(-1).to(v.dtype)
    return weights[..., :-1] @ values.to(v.dtype) + weights[..., -1:] * v
