"""One decay a head and token (RetNet, Sun et al. 2023; Mamba-2, Dao and Gu 2024).

S_t = e^{g_t} S_{t−1} + k_t v_tᵀ, o_t = S_tᵀ q_t.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .chunks import decays_between, from_chunks, full_precision, scan, to_chunks

CHUNK = 64


@full_precision
def stepwise(q: Tensor, k: Tensor, v: Tensor, g: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Token by token; see `chunked`."""
    outputs = []
    for t in range(q.shape[2]):
        state = state * g[:, :, t, None, None].exp() + k[:, :, t, :, None] * v[:, :, t, None, :]
        outputs.append((q[:, :, t, None, :] @ state).squeeze(-2))
    return torch.stack(outputs, 2), state


@full_precision
def chunked(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, state: Tensor, chunk: int = CHUNK
) -> tuple[Tensor, Tensor]:
    """Write T tokens.

    Args:
        q: [B, H, T, K]; B or H may be 1 where it is shared, as k's may.
        k: [B, H, T, K].
        v: [B, H, T, V].
        g: Log-decays [B, H, T], at most 0.
        state: [B, H, K, V].
        chunk: Tokens a chunk.

    Returns:
        o [B, H, T, V] and the state after the last token.

    """
    length = q.shape[2]
    chunk = min(chunk, length)
    q, k, v, g = (to_chunks(x, chunk) for x in (q, k, v, g))
    decay = g.cumsum(-1)
    total = decay[..., -1:]
    within = ((q @ k.mT) * decays_between(decay)) @ v
    updates = (k * (total - decay).exp()[..., None]).mT @ v
    before, state = scan(total[..., None].exp().expand(*updates.shape[:3], 1, 1), updates, state, torch.mul)
    return from_chunks(within + (q * decay.exp()[..., None]) @ before, length), state


def write(q: Tensor, k: Tensor, v: Tensor, g: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Write T tokens in the form that suits; see `chunked`."""
    return (stepwise if q.shape[2] == 1 else chunked)(q, k, v, g, state)


@full_precision
def read(q: Tensor, k: Tensor, v: Tensor, g: Tensor, state: Tensor) -> Tensor:
    """Answer Q questions [B, H, Q, …] from one state; see `chunked`."""
    return g.exp()[..., None] * (q @ state) + (q * k).sum(-1, keepdim=True) * v
