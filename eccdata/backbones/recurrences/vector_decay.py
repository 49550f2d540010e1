"""One decay a key channel (GLA): S_t = diag(e^{g_t}) S_{t−1} + k_t v_tᵀ, o_t = S_tᵀ q_t (Yang et al. 2024a)."""

from __future__ import annotations

import torch
from torch import Tensor

from .chunks import decays_between, from_chunks, full_precision, scan, to_chunks

CHUNK = 16


@full_precision
def stepwise(q: Tensor, k: Tensor, v: Tensor, g: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Token by token; see `chunked`."""
    outputs = []
    for t in range(q.shape[2]):
        state = state * g[:, :, t, :, None].exp() + k[:, :, t, :, None] * v[:, :, t, None, :]
        outputs.append((q[:, :, t, None, :] @ state).squeeze(-2))
    return torch.stack(outputs, 2), state


@full_precision
def chunked(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, state: Tensor, chunk: int = CHUNK
) -> tuple[Tensor, Tensor]:
    """Write T tokens.

    Decays within a chunk are taken between pairs of tokens, [K, C, C] of them. The customary factors q·e^G and k·e^−G
    cost less and overflow where a gate closes.

    Args:
        q: [B, H, T, K], with k alike.
        k: See q.
        v: [B, H, T, V].
        g: Log-decays [B, H, T, K], at most 0.
        state: [B, H, K, V].
        chunk: Tokens a chunk.

    Returns:
        o [B, H, T, V] and the state after the last token.

    """
    length = q.shape[2]
    chunk = min(chunk, length)
    q, k, v, g = (to_chunks(x, chunk) for x in (q, k, v, g))
    decay = g.cumsum(-2)
    total = decay[..., -1:, :]
    scores = (q.mT[..., :, None] * k.mT[..., None, :] * decays_between(decay.mT)).sum(-3)
    updates = (k * (total - decay).exp()).mT @ v
    before, state = scan(total.mT.exp(), updates, state, torch.mul)
    return from_chunks(scores @ v + (q * decay.exp()) @ before, length), state


def write(q: Tensor, k: Tensor, v: Tensor, g: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Write T tokens in the form that suits; see `chunked`."""
    return (stepwise if q.shape[2] == 1 else chunked)(q, k, v, g, state)


@full_precision
def read(q: Tensor, k: Tensor, v: Tensor, g: Tensor, state: Tensor) -> Tensor:
    """Answer Q questions [B, H, Q, …] from one state; see `chunked`."""
    return (q * g.exp()) @ state + (q * k).sum(-1, keepdim=True) * v
