"""What the chunked forms share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def full_precision(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute in single precision at least, whatever the tensors' types and autocast say."""

    @functools.wraps(function)
    def wrapped(*tensors: Tensor | None, **settings: Any) -> Any:
        first = next(tensor for tensor in tensors if tensor is not None)
        with torch.autocast(first.device.type, enabled=False):
            return function(
                *(None if tensor is None else at_least_single(tensor) for tensor in tensors), **settings
            )

    return wrapped


def at_least_single(x: Tensor) -> Tensor:
    """Widen half precisions to single."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def to_chunks(x: Tensor, size: int) -> Tensor:
    """[B, H, T, …] → [B, H, N, size, …], padded with zeros at the end.

    A token of zeros — no key, no value, log-decay 0 — leaves every state as it is.
    """
    missing = -x.shape[2] % size
    if missing:
        x = functional.pad(x, (0, 0) * (x.dim() - 3) + (0, missing))
    return x.unflatten(2, (-1, size))


def from_chunks(x: Tensor, length: int) -> Tensor:
    """[B, H, N, C, …] → [B, H, T, …], the padding cut off."""
    return x.flatten(2, 3)[:, :, :length]


def decays_between(cumulative: Tensor) -> Tensor:
    """Give what is left at i of what was written at j: exp(G_i − G_j) for j ≤ i, else 0.

    Args:
        cumulative: G [..., C], the sums of the log-decays so far: falling, so that no difference taken is above 0.

    Returns:
        [..., C, C].

    """
    size = cumulative.shape[-1]
    past = torch.ones(size, size, dtype=torch.bool, device=cumulative.device).tril()
    between = cumulative[..., :, None] - cumulative[..., None, :]
    return between.masked_fill(~past, -torch.inf).exp()


Product = Callable[[Tensor, Tensor], Tensor]


def scan(
    transitions: Tensor, updates: Tensor, state: Tensor, product: Product = torch.matmul
) -> tuple[Tensor, Tensor]:
    """Give the state before each chunk and after the last, where S_n = A_n S_{n−1} + B_n.

    Neighbours are joined into one step of half as many, and so on: about twice the products of following the chunks
    one by one, but only log₂ N after each other.

    Args:
        transitions: A [..., N, K, K], or whatever `product` can multiply with itself and with a state.
        updates: B [..., N, K, V].
        state: S_0 [..., K, V].
        product: How A applies: `torch.mul` where it is diagonal and of shape [..., N, K, 1] or [..., N, 1, 1].

    Returns:
        [..., N, K, V] and [..., K, V].

    """
    count = updates.shape[-3]
    if count == 1:
        return state[..., None, :, :], product(transitions[..., 0, :, :], state) + updates[..., 0, :, :]
    paired = count - count % 2
    first_a, second_a = (transitions[..., start:paired:2, :, :] for start in (0, 1))
    first_b, second_b = (updates[..., start:paired:2, :, :] for start in (0, 1))
    before_pairs, last = scan(
        product(second_a, first_a), product(second_a, first_b) + second_b, state, product
    )
    between = product(first_a, before_pairs) + first_b
    before = torch.stack([before_pairs, between], -3).flatten(-4, -3)
    if paired == count:
        return before, last
    before = torch.cat([before, last[..., None, :, :]], -3)
    return before, product(transitions[..., -1, :, :], last) + updates[..., -1, :, :]
