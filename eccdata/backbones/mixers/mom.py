"""Mixture of memories: each token goes to a few of many delta-rule memories and a shared one (Du et al. 2025)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from ..base import Mixer
from ..layers import RMSNorm, ShortConvolution, linear, merge_heads, split_heads
from ..recurrences import delta_rule
from ..recurrences.chunks import full_precision
from .deltanet import DecayGate, unit_queries_and_keys


class Memories(NamedTuple):
    """States [B, M+1, H, d, d] and last inputs of the convolution [B, M+1, w−1, 3D], the shared memory's last."""

    memory: Tensor
    last: Tensor


class MoM(Mixer[Memories]):
    """C.2's layer: a router, shared projections, and Gated DeltaNet memories with states and convolutions of their own.

    A routed memory's sequence is the tokens that were sent to it: its convolution and its decay know no others. All
    memories share the convolution's filters, of which the paper says nothing. No token is dropped, and no loss keeps
    the routing balanced: unbalanced routing costs padding, not correctness.

    Args:
        width: D.
        heads: H.
        conv: The width of the causal depthwise convolutions.
        memories: M.
        top_k: Memories a token goes to.

    """

    def __init__(self, width: int, heads: int, *, conv: int, memories: int, top_k: int) -> None:
        super().__init__()
        self.heads, self.memories, self.top_k = heads, memories, top_k
        self.route = linear(width, memories)
        self.qkv = linear(width, 3 * width)
        self.conv = ShortConvolution(3 * width, conv)
        self.beta = linear(width, heads)
        self.decay = DecayGate(width, heads)
        self.norm = RMSNorm(width // heads)
        self.gate = linear(width, width)
        self.out = linear(width, width)

    def start(self, x: Tensor) -> Memories:
        """Give zeros."""
        batch, width, count = x.shape[0], x.shape[-1], self.memories + 1
        head = width // self.heads
        before = len(self.conv.weight) - 1
        return Memories(
            x.new_zeros(batch, count, self.heads, head, head), x.new_zeros(batch, count, before, 3 * width)
        )

    def forward(self, x: Tensor, state: Memories | None = None) -> tuple[Tensor, Memories]:
        """Write T tokens, each memory its own, all in parallel."""
        before = self.start(x) if state is None else state
        batch, length, width = x.shape
        weights, chosen = self._routed(x)
        tokens = torch.cat([self.qkv(x), self.beta(x).sigmoid(), self.decay(x)], -1)
        everything = torch.full((batch,), length, device=x.device)
        shared, shared_memory, shared_last = self._write(
            tokens, everything, before.memory[:, -1], before.last[:, -1]
        )

        taken = torch.zeros(batch, length, self.memories, dtype=torch.long, device=x.device).scatter_(
            2, chosen, 1
        )
        place = taken.cumsum(1) - 1  # of a token among those of its memory
        counts = taken.sum(1)
        longest = int(counts.max())
        # which token stands at each place of each memory; those that were not sent there all go one place too far
        where = torch.where(taken.bool(), place, longest).mT
        times = torch.arange(length, device=x.device).expand(batch, self.memories, length)
        order = times.new_zeros(batch, self.memories, longest + 1).scatter_(2, where, times)[..., :longest]
        sent = tokens.gather(1, order.flatten(1)[..., None].expand(-1, -1, tokens.shape[-1]))
        sent = sent.view(batch * self.memories, longest, -1)
        y, memory, last = self._write(
            sent, counts.flatten(), before.memory[:, :-1].flatten(0, 1), before.last[:, :-1].flatten(0, 1)
        )

        source = (chosen * longest + place.gather(2, chosen)).flatten(1)
        y = y.reshape(batch, self.memories * longest, width).gather(
            1, source[..., None].expand(-1, -1, width)
        )
        y = (y.view(batch, length, self.top_k, width) * weights[..., None]).sum(2) + shared
        memory = torch.cat([memory.unflatten(0, (batch, -1)), shared_memory[:, None]], 1)
        last = torch.cat([last.unflatten(0, (batch, -1)), shared_last[:, None]], 1)
        return self._output(y, x), Memories(memory, last)

    def read(self, x: Tensor, state: Memories) -> Tensor:
        """Ask every memory every question, and keep the answers of those each question is routed to.

        The others' answers cost less than copies of the states that each question is routed to would.
        """
        weights, chosen = self._routed(x)
        filtered = self.conv.read(self.qkv(x)[:, None], state.last)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(2, 3) for part in filtered.chunk(3, -1))
        beta, decay = (part.mT[:, None] for part in (self.beta(x).sigmoid(), self.decay(x)))
        answers = delta_rule.read(*unit_queries_and_keys(q, k), v, beta, decay, state.memory)
        share = weights.new_zeros(*x.shape[:2], self.memories).scatter(2, chosen, weights)
        share = functional.pad(share, (0, 1), value=1.0)
        y = torch.einsum("bmhqd,bqm->bqhd", answers, share.to(answers.dtype)).flatten(2)
        return self._output(y, x)

    def _routed(self, x: Tensor) -> tuple[Tensor, Tensor]:
        # a choice is no number to round: half precision would send tokens elsewhere
        logits = full_precision(functional.linear)(x, self.route.weight)
        weights, chosen = logits.softmax(-1).topk(self.top_k, -1)
        return (weights / weights.sum(-1, keepdim=True)).to(x.dtype), chosen

    def _write(
        self, tokens: Tensor, counts: Tensor, memory: Tensor, last: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Write the first `counts` [R] of tokens [R, N, 3D + 2H] to memories [R, …]; what follows is padding."""
        channels = last.shape[-1]
        inputs, beta, decay = tokens.split([channels, self.heads, self.heads], -1)
        window = torch.cat([last.to(inputs.dtype), inputs], 1)
        recent = counts[:, None] + torch.arange(last.shape[1], device=tokens.device)
        after = window.gather(1, recent[..., None].expand(-1, -1, channels))
        filtered, _ = self.conv(inputs, last)
        q, k, v = (split_heads(part, self.heads) for part in filtered.chunk(3, -1))
        real = (torch.arange(tokens.shape[1], device=tokens.device) < counts[:, None])[:, None].to(
            tokens.dtype
        )
        # β = 0 writes nothing and a log-decay of 0 forgets nothing
        y, memory = delta_rule.write(*unit_queries_and_keys(q, k), v, beta.mT * real, decay.mT * real, memory)
        return merge_heads(y), memory, after

    def _output(self, y: Tensor, x: Tensor) -> Tensor:
        y = self.norm(y.to(x.dtype).unflatten(-1, (self.heads, -1))).flatten(-2)
        return self.out(y * functional.silu(self.gate(x)))
