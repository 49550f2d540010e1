"""Diagonal plus rank one (RWKV-7, Peng et al. 2025).

S_t = diag(e^{g_t}) S_{t−1} + b_t a_tᵀ S_{t−1} + k_t v_tᵀ, o_t = S_tᵀ q_t.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .chunks import from_chunks, full_precision, scan, to_chunks

CHUNK = 16
STEEPEST = -0.6065306597126334
"""RWKV-7's log-decays lie between this, −e^(−1/2), and 0."""


@full_precision
def stepwise(
    q: Tensor, k: Tensor, v: Tensor, a: Tensor, b: Tensor, g: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """Token by token; see `chunked`."""
    outputs = []
    for t in range(q.shape[2]):
        removed = b[:, :, t, :, None] * (a[:, :, t, None, :] @ state)
        state = state * g[:, :, t, :, None].exp() + removed + k[:, :, t, :, None] * v[:, :, t, None, :]
        outputs.append((q[:, :, t, None, :] @ state).squeeze(-2))
    return torch.stack(outputs, 2), state


@full_precision
def chunked(
    q: Tensor, k: Tensor, v: Tensor, a: Tensor, b: Tensor, g: Tensor, state: Tensor, chunk: int = CHUNK
) -> tuple[Tensor, Tensor]:
    """Write T tokens.

    Decays are split into factors about the middle of each chunk. With log-decays above `STEEPEST` and chunks of 16,
    no factor is above e^4.9, so that single precision holds.

    Args:
        q: [B, H, T, K], with k, a and b alike.
        k: See q.
        v: [B, H, T, V].
        a: What is read of the state before.
        b: Where it is added.
        g: Log-decays [B, H, T, K], from `STEEPEST` to 0.
        state: [B, H, K, V].
        chunk: Tokens a chunk.

    Returns:
        o [B, H, T, V] and the state after the last token.

    """
    length = q.shape[2]
    chunk = min(chunk, length)
    q, k, v, a, b, g = (to_chunks(x, chunk) for x in (q, k, v, a, b, g))
    decay = g.cumsum(-2)
    total = decay[..., -1:, :]
    middle = total / 2
    reading, writing = (decay - middle).exp(), (middle - decay).exp()
    # a reads the state of the token before, which its own decay has not touched
    a_reading = a * (decay - g - middle).exp()
    products = torch.cat([a_reading, q * reading], -2) @ torch.cat([b * writing, k * writing], -2).mT
    a_b, a_k = (half.tril(-1) for half in products[..., :chunk, :].chunk(2, -1))
    q_b, q_k = (half.tril() for half in products[..., chunk:, :].chunk(2, -1))
    right = torch.cat([a_k @ v, a_reading * middle.exp()], -1)
    solved = torch.linalg.solve_triangular(-a_b, right, upper=False, unitriangular=True)
    # what each a reads: of the chunk's own values, and of each channel of the state before
    values, channels = solved.split([v.shape[-1], k.shape[-1]], -1)
    left = (total - decay).exp()
    b_carried, k_carried = (b * left).mT, (k * left).mT
    transitions = torch.diag_embed(total.squeeze(-2).exp()) + b_carried @ channels
    before, state = scan(transitions, k_carried @ v + b_carried @ values, state)
    outputs = (q * decay.exp()) @ before + q_k @ v + q_b @ (values + channels @ before)
    return from_chunks(outputs, length), state


def write(
    q: Tensor, k: Tensor, v: Tensor, a: Tensor, b: Tensor, g: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """Write T tokens in the form that suits; see `chunked`."""
    return (stepwise if q.shape[2] == 1 else chunked)(q, k, v, a, b, g, state)


@full_precision
def read(q: Tensor, k: Tensor, v: Tensor, a: Tensor, b: Tensor, g: Tensor, state: Tensor) -> Tensor:
    """Answer Q questions [B, H, Q, …] from one state; see `chunked`."""
    removed = (q * b).sum(-1, keepdim=True) * (a @ state)
    return (q * g.exp()) @ state + removed + (q * k).sum(-1, keepdim=True) * v
