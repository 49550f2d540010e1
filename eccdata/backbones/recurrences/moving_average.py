"""A leaky average with one fixed decay a head (Memory Mosaics): y_t = e^g y_{t−1} + x_t."""

from __future__ import annotations

import torch
from torch import Tensor

from .chunks import from_chunks, full_precision, scan, to_chunks

CHUNK = 64


@full_precision
def stepwise(x: Tensor, g: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Token by token; see `chunked`."""
    outputs = []
    for t in range(x.shape[2]):
        state = state * g.exp()[:, None, None] + x[:, :, t, None, :]
        outputs.append(state)
    return torch.cat(outputs, 2), state


@full_precision
def chunked(x: Tensor, g: Tensor, state: Tensor, chunk: int = CHUNK) -> tuple[Tensor, Tensor]:
    """Average T tokens.

    Args:
        x: [B, H, T, V].
        g: Log-decays [H], at most 0.
        state: y_0 [B, H, 1, V].
        chunk: Tokens a chunk.

    Returns:
        y [B, H, T, V] and the last of it [B, H, 1, V].

    """
    length = x.shape[2]
    chunk = min(chunk, length)
    x = to_chunks(x, chunk)
    steps = torch.arange(chunk, device=x.device, dtype=x.dtype)
    lag = steps[:, None] - steps
    kernel = (lag * g[:, None, None]).masked_fill(lag < 0, -torch.inf).exp()
    within = kernel[:, None] @ x
    transition = (chunk * g).exp()[:, None, None, None].expand(-1, within.shape[2], 1, 1)
    before, _ = scan(transition, within[..., -1:, :], state, torch.mul)
    y = from_chunks(within + ((steps + 1) * g[:, None]).exp()[:, None, :, None] * before, length)
    return y, y[:, :, -1:]


def write(x: Tensor, g: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Average T tokens in the form that suits; see `chunked`."""
    return (stepwise if x.shape[2] == 1 else chunked)(x, g, state)


@full_precision
def read(x: Tensor, g: Tensor, state: Tensor) -> Tensor:
    """Give what the average would be after each of Q questions [B, H, Q, V]."""
    return x + g.exp()[:, None, None] * state
