"""DeltaFormer: attention over values that a first attention has corrected (Xu et al. 2025)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from ..base import Mixer
from ..layers import RMSNorm, linear, merge_heads, rotary, split_heads
from ..recurrences.chunks import full_precision
from .attention import attention_read, causal_attention

PIECE = 128
"""Tokens whose corrections are solved for together. Each piece needs those before it."""


class CorrectedCache(NamedTuple):
    """Keys and corrected values [B, H, n, d] of the tokens so far."""

    keys: Tensor
    values: Tensor


class DeltaFormer(Mixer[CorrectedCache]):
    """u_t = v_t − β_t Σ_{s<t} softmax(k_t·k_s) u_s, then softmax attention of queries over the u.

    C.2 says "strictly causal attention over previously corrected values" and prices scores of its own for it, which
    are those of keys with keys, as in the original; the queries' would have come free with the second attention.

    Args:
        width: D.
        heads: H.
        rope_theta: The base of the rotary encoding.

    """

    def __init__(self, width: int, heads: int, *, rope_theta: float) -> None:
        super().__init__()
        self.heads, self.rope_theta = heads, rope_theta
        self.qkv = linear(width, 3 * width)
        self.beta = linear(width, heads)
        self.query_norm = RMSNorm(width // heads)
        self.key_norm = RMSNorm(width // heads)
        self.out = linear(width, width)

    def start(self, x: Tensor) -> CorrectedCache:
        """Give an empty cache."""
        empty = x.new_empty(x.shape[0], self.heads, 0, x.shape[-1] // self.heads)
        return CorrectedCache(empty, empty)

    def forward(self, x: Tensor, state: CorrectedCache | None = None) -> tuple[Tensor, CorrectedCache]:
        """Correct the values of T tokens, and attend to them."""
        before = self.start(x) if state is None else state
        seen = before.keys.shape[2]
        q, k, v, beta = self._project(x, torch.arange(seen, seen + x.shape[1], device=x.device))
        keys = torch.cat([before.keys.to(k.dtype), k], 2)
        values = corrected(keys, v, beta, before.values).to(v.dtype)
        return self.out(merge_heads(causal_attention(q, keys, values))), CorrectedCache(keys, values)

    def read(self, x: Tensor, state: CorrectedCache) -> Tensor:
        """Correct each question's value by the cache, and attend to both."""
        seen = state.keys.shape[2]
        q, k, v, beta = self._project(x, torch.full((x.shape[1],), seen, device=x.device))
        if seen:
            scores = k @ state.keys.to(k.dtype).mT * k.shape[-1] ** -0.5
            v = v - beta * (scores.softmax(-1).to(v.dtype) @ state.values.to(v.dtype))
        return self.out(merge_heads(attention_read(q, k, v, state.keys, state.values)))

    def _project(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        q = rotary(self.query_norm(q), positions, self.rope_theta)
        k = rotary(self.key_norm(k), positions, self.rope_theta)
        return q, k, v, self.beta(x).sigmoid().transpose(1, 2)[..., None]


@full_precision
def corrected(keys: Tensor, v: Tensor, beta: Tensor, before: Tensor, piece: int = PIECE) -> Tensor:
    """Solve for the corrected values of the last T of S tokens.

    Within a piece, (1 + β·A) u is what the tokens before the piece leave of v, where A holds the piece's own weights
    and is strictly lower triangular.

    Args:
        keys: [B, H, S, d].
        v: [B, H, T, e].
        beta: [B, H, T, 1].
        before: Corrected values [B, H, S − T, e] of the tokens before.
        piece: Tokens solved for together.

    Returns:
        [B, H, S, e], those before included.

    """
    found, seen, scale = before, before.shape[2], keys.shape[-1] ** -0.5
    for v_piece, beta_piece in zip(v.split(piece, 2), beta.split(piece, 2), strict=True):
        end = seen + v_piece.shape[2]
        scores = keys[:, :, seen:end] @ keys[:, :, :end].mT * scale
        past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=keys.device).tril(seen - 1)
        scores = scores.masked_fill(~past, -torch.inf)
        # the first token of all has nothing before it, and a softmax over nothing is no number
        blank = int(seen == 0)
        weights = beta_piece * functional.pad(scores[:, :, blank:].softmax(-1), (0, 0, blank, 0))
        right = v_piece - weights[..., :seen] @ found if seen else v_piece
        solved = torch.linalg.solve_triangular(weights[..., seen:], right, upper=False, unitriangular=True)
        found = torch.cat([found, solved], 2)
        seen = end
    return found
