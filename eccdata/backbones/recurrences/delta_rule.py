"""The (gated) delta rule: what a key reads is replaced by its value (Yang et al. 2024b, 2025).

S ← e^{g_t} S_{t−1}, S_t = S + β_t k_t (v_t − Sᵀk_t)ᵀ, o_t = S_tᵀ q_t.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .chunks import decays_between, from_chunks, full_precision, scan, to_chunks

CHUNK = 32


@full_precision
def stepwise(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, g: Tensor | None, state: Tensor
) -> tuple[Tensor, Tensor]:
    """Token by token; see `chunked`."""
    outputs = []
    for t in range(q.shape[2]):
        if g is not None:
            state = state * g[:, :, t, None, None].exp()
        key = k[:, :, t, None, :]
        error = beta[:, :, t, None, None] * (v[:, :, t, None, :] - key @ state)
        state = state + key.mT * error
        outputs.append((q[:, :, t, None, :] @ state).squeeze(-2))
    return torch.stack(outputs, 2), state


@full_precision
def chunked(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, g: Tensor | None, state: Tensor, chunk: int = CHUNK
) -> tuple[Tensor, Tensor]:
    """Write T tokens.

    A chunk's corrections solve a triangular system in its own keys (the WY representation), for the values and for
    the state before it alike; what remains between chunks is S ← A S + B.

    Args:
        q: [B, H, T, K].
        k: [B, H, T, K], of norm at most 1, so that nothing grows.
        v: [B, H, T, V].
        beta: [B, H, T], in (0, 1).
        g: Log-decays [B, H, T], at most 0; no decay where it is None.
        state: [B, H, K, V].
        chunk: Tokens a chunk.

    Returns:
        o [B, H, T, V] and the state after the last token.

    """
    length = q.shape[2]
    chunk = min(chunk, length)
    g = torch.zeros_like(beta) if g is None else g
    q, k, v, beta, g = (to_chunks(x, chunk) for x in (q, k, v, beta, g))
    decay = g.cumsum(-1)[..., None]
    total = decay[..., -1:, :]
    between = decays_between(decay.squeeze(-1))
    beta = beta[..., None]
    overlap = ((k @ k.mT) * between).tril(-1) * beta
    # corrected values without a state before, and the keys by which that state is corrected
    solved = torch.linalg.solve_triangular(
        overlap, torch.cat([v * beta, k * beta * decay.exp()], -1), upper=False, unitriangular=True
    )
    values, keys = solved.split([v.shape[-1], k.shape[-1]], -1)
    carried = (k * (total - decay).exp()).mT
    identity = torch.eye(k.shape[-1], dtype=k.dtype, device=k.device)
    before, state = scan(total.exp() * identity - carried @ keys, carried @ values, state)
    outputs = (q * decay.exp()) @ before + ((q @ k.mT) * between) @ (values - keys @ before)
    return from_chunks(outputs, length), state


def write(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, g: Tensor | None, state: Tensor
) -> tuple[Tensor, Tensor]:
    """Write T tokens in the form that suits; see `chunked`."""
    return (stepwise if q.shape[2] == 1 else chunked)(q, k, v, beta, g, state)


@full_precision
def read(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, g: Tensor | None, state: Tensor) -> Tensor:
    """Answer Q questions [B, H, Q, …] from one state; see `chunked`."""
    left = 1.0 if g is None else g.exp()[..., None]
    correction = beta[..., None] * (v - left * (k @ state))
    return left * (q @ state) + (q * k).sum(-1, keepdim=True) * correction
