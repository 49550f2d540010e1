"""The Compressive Transformer: blocks, and memories that grow coarser with age (Rae et al. 2020)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from eccdata.errors import problem

from ..base import Mixer, S
from ..layers import RMSNorm, linear, merge_heads, split_heads
from ..recurrences.chunks import full_precision
from .attention import attention_read


class Slots(NamedTuple):
    """What stands in a memory [B, n, D], and its keys and values [B, n, 2D]."""

    content: Tensor
    kv: Tensor


class Compressed(NamedTuple):
    """The long-term slot, the two compressed memories, the last full block, and the tokens of the open one."""

    long_term: Slots
    second: Slots
    first: Slots
    recent: Slots
    open: Slots


class CompressiveAttention(Mixer[Compressed]):
    """Attention to the block so far and to at most 193 memory slots.

    When a block fills, the block before it is compressed eight to one; what falls out of the 32 newest such slots is
    compressed four to one; what falls out of the 32 newest of those updates one long-term slot. Nothing is detached:
    training reaches through the memory.

    Slots hold the layer's normalised input. What a block can see therefore depends on inputs alone, and all blocks are
    computed at once. Only the long-term slot's updates follow each other, one for a block, for they go through a GRU;
    they begin after the twelfth block, beyond the training lengths. Trained there, the long-term slot's weights and the
    last positions stay as they began, though longer streams use them: that is how the paper's setting has it.

    Read from C.2's prices: a learned embedding of each distance that is matched with the query ("content, position,
    and value matmuls"), and a long-term update that attends from the slot itself, without a query projection, to keys
    and values made of the four slots for this alone. In the first update the slot is zero, and attention even.

    Args:
        width: D.
        heads: H.
        block: Tokens of a block, and of the newest memory.
        compression_1: Tokens a slot of the first compressed memory.
        compression_2: Of its slots, a slot of the second.
        slots_1: Slots of the first.
        slots_2: Slots of the second.

    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        block: int,
        compression_1: int,
        compression_2: int,
        slots_1: int,
        slots_2: int,
    ) -> None:
        super().__init__()
        self.heads, self.block, self.sizes = heads, block, (slots_1, slots_2)
        self.per_block = (block // compression_1, block // (compression_1 * compression_2))
        if (
            block % (compression_1 * compression_2)
            or slots_1 % self.per_block[0]
            or slots_2 % self.per_block[1]
        ):
            raise problem(
                f"A Compressive Transformer cannot put blocks of {block} into {slots_1} slots of {compression_1} "
                f"tokens and {slots_2} of {compression_2} such slots.",
                remedy="A block must make whole slots, and whole blocks of slots must fill a memory.",
            )
        self.query = linear(width, width)
        self.kv = linear(width, 2 * width)
        self.out = linear(width, width)
        self.compress_1 = nn.Conv1d(width, width, compression_1, stride=compression_1)
        self.compress_2 = nn.Conv1d(width, width, compression_2, stride=compression_2)
        reach = 1 + slots_2 + slots_1 + 2 * block
        self.distances = nn.Parameter(torch.randn(heads, reach, width // heads) * 0.02)
        self.long_term_kv = linear(width, 2 * width)
        self.long_term_gru = nn.GRUCell(width, width)

    def start(self, x: Tensor) -> Compressed:
        """Give empty memories."""
        batch, width = x.shape[0], x.shape[-1]
        empty = Slots(x.new_empty(batch, 0, width), x.new_empty(batch, 0, 2 * width))
        return Compressed(empty, empty, empty, empty, empty)

    def forward(self, x: Tensor, state: Compressed | None = None) -> tuple[Tensor, Compressed]:
        """Attend from T tokens, all blocks at once."""
        before = self.start(x) if state is None else state
        opened, length = before.open.content.shape[1], x.shape[1]
        tokens = _join(before.open, Slots(x, self.kv(x)))
        blocks, rest = divmod(opened + length, self.block)
        after, memory, known = self._memories(before, tokens, blocks, rest)
        if blocks + bool(rest) == 1:
            # all within one block: no queries but those of the new tokens
            own, queries, offset = tokens.kv[:, None], self.query(x)[:, None], opened
        else:
            own, queries, offset = self._blocks(tokens.kv), self._blocks(self.query(x), front=opened), 0
        y = self._attend(queries, torch.cat([memory, own], 2), known, offset).flatten(1, 2)
        return self.out(y if offset or y.shape[1] == length else y[:, opened : opened + length]), after

    def read(self, x: Tensor, state: Compressed) -> Tensor:
        """Attend from each question to the memories, the open block and itself."""
        memory = torch.cat([slots.kv for slots in state], 1)
        q, (k, v) = split_heads(self.query(x), self.heads), self._keys_values(self.kv(x))
        # the distances n, n − 1, …, 1 of what is there, and 0 of the question itself
        distances = self.distances[:, : memory.shape[1] + 1].flip(1)
        bias = q @ distances.to(q.dtype).mT * q.shape[-1] ** -0.5
        return self.out(merge_heads(attention_read(q, k, v, *self._keys_values(memory), bias)))

    def _keys_values(self, kv: Tensor) -> tuple[Tensor, Tensor]:
        k, v = kv.chunk(2, -1)
        return split_heads(k, self.heads), split_heads(v, self.heads)

    def _blocks(self, x: Tensor, front: int = 0) -> Tensor:
        """[B, n, C] → [B, blocks, block, C], zeros in front and to fill the last block."""
        back = -(front + x.shape[1]) % self.block
        return functional.pad(x, (0, 0, front, back)).unflatten(1, (-1, self.block))

    def _memories(
        self, before: Compressed, tokens: Slots, blocks: int, rest: int
    ) -> tuple[Compressed, Tensor, Tensor]:
        """Move on by a number of full blocks.

        Returns:
            The memories after; keys and values [B, N, M, 2D] of those each of the N blocks sees, the last being the
            open one's where it has tokens, with M at most 193; and bool [N, M], which of the slots are filled.

        """
        seen = torch.arange(blocks + bool(rest), device=tokens.kv.device)  # full blocks before each
        full = blocks * self.block
        history = _join(before.recent, _cut(tokens, 0, full))
        had = before.recent.content.shape[1] // self.block
        evicted = max(0, had + blocks - 1) if blocks else 0
        evictions = torch.where(seen > 0, (had + seen - 1).clamp(min=0), 0)

        first_count = before.first.content.shape[1] + self.per_block[0] * evictions
        first = self._extend(before.first, history.content[:, : evicted * self.block], self.compress_1)
        first_lost = max(0, first.content.shape[1] - self.sizes[0])
        lost_then = (first_count - self.sizes[0]).clamp(min=0)

        ratio = self.per_block[0] // self.per_block[1]
        second_count = before.second.content.shape[1] + lost_then // ratio
        second = self._extend(before.second, first.content[:, :first_lost], self.compress_2)
        second_lost = max(0, second.content.shape[1] - self.sizes[1])
        lost_then = (second_count - self.sizes[1]).clamp(min=0)

        long_term = self._long_term(before.long_term, second.content[:, :second_lost])
        long_count = before.long_term.content.shape[1] + lost_then // self.per_block[1]

        windows = [
            # no columns for slots that no block has yet: short streams have few
            _windows(kept.kv, count, min(size, kept.kv.shape[1]))
            for kept, count, size in (
                (long_term, long_count, 1),
                (second, second_count, self.sizes[1]),
                (first, first_count, self.sizes[0]),
                (history, self.block * (had + seen), self.block),
            )
        ]
        after = Compressed(
            _cut(long_term, -1),
            _cut(second, second_lost),
            _cut(first, first_lost),
            _cut(history, -self.block),
            _cut(tokens, full),
        )
        return after, torch.cat([kv for kv, _ in windows], 2), torch.cat([filled for _, filled in windows], 1)

    def _extend(self, slots: Slots, evicted: Tensor, compress: nn.Conv1d) -> Slots:
        if not evicted.shape[1]:
            return slots
        content = compress(evicted.mT).mT
        return _join(slots, Slots(content, self.kv(content)))

    def _long_term(self, slot: Slots, evicted: Tensor) -> Slots:
        """Give the slot as it was after each group of slots that fell out, the one before first."""
        for group in evicted.split(self.per_block[1], 1) if evicted.shape[1] else ():
            old = slot.content[:, -1:] if slot.content.shape[1] else torch.zeros_like(group[:, :1])
            query, (k, v) = split_heads(old, self.heads), self._keys_values(self.long_term_kv(group))
            found = functional.scaled_dot_product_attention(query.to(k.dtype), k, v)
            new = gated(self.long_term_gru, merge_heads(found), old)
            slot = _join(slot, Slots(new, self.kv(new)))
        return slot

    def _attend(self, queries: Tensor, kv: Tensor, known: Tensor, offset: int) -> Tensor:
        """Attend within each block.

        Args:
            queries: [B, N, R, D], the tokens from `offset` on of each block.
            kv: [B, N, M + offset + R, 2D], memories first, the nearest last.
            known: bool [N, M].
            offset: The place of the first query in its block.

        Returns:
            [B, N, R, D].

        """
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(2, 3) for part in (queries, *kv.chunk(2, -1))
        )
        rows, columns = q.shape[3], k.shape[3]
        by_distance = q @ self.distances[:, :columns].flip(1).to(q.dtype).mT
        scores = (q @ k.mT + _shift(by_distance)) * q.shape[-1] ** -0.5
        own = torch.ones(rows, columns - known.shape[1], dtype=torch.bool, device=q.device).tril(offset)
        known = torch.cat([known[:, None].expand(-1, rows, -1), own.expand(len(known), -1, -1)], -1)
        weights = scores.masked_fill(~known[:, None], -torch.inf).softmax(-1)
        return (weights.to(v.dtype) @ v).transpose(2, 3).flatten(-2)


class GRUGated(Mixer[S]):
    """gru(mixer(norm(x)), x): a gate in place of the residual."""

    def __init__(self, width: int, mixer: Mixer[S]) -> None:
        super().__init__()
        self.norm = RMSNorm(width)
        self.mixer = mixer
        self.gru = nn.GRUCell(width, width)

    def start(self, x: Tensor) -> S:
        """Give the mixer's."""
        return self.mixer.start(x)

    def forward(self, x: Tensor, state: S | None = None) -> tuple[Tensor, S]:
        """Gate what the mixer makes of the normalised tokens."""
        y, state = self.mixer(self.norm(x), state)
        return gated(self.gru, y, x), state

    def read(self, x: Tensor, state: S) -> Tensor:
        """Gate what the mixer answers."""
        return gated(self.gru, self.mixer.read(self.norm(x), state), x)


def gated(gru: nn.GRUCell, y: Tensor, x: Tensor) -> Tensor:
    """Let a GRU cell take y [B, T, D] into x, token by token."""

    @full_precision
    def cell(y: Tensor, x: Tensor) -> Tensor:
        weights = gru.weight_hh.dtype
        return gru(y.flatten(0, 1).to(weights), x.flatten(0, 1).to(weights)).view_as(x)

    return cell(y, x).to(x.dtype)


def _join(*slots: Slots) -> Slots:
    return Slots(
        *(torch.cat([part.to(parts[-1].dtype) for part in parts], 1) for parts in zip(*slots, strict=True))
    )


def _cut(slots: Slots, begin: int, end: int | None = None) -> Slots:
    """Copy a part, lest a view keep everything."""
    return Slots(*(part[:, begin:end].clone() for part in slots))


def _windows(kv: Tensor, counts: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Give the `size` slots before each count of a growing memory.

    Args:
        kv: [B, n, C].
        counts: int [N], how many of them there were.
        size: Of the windows.

    Returns:
        [B, N, size, C], zeros where there was nothing yet, and bool [N, size], where there was something.

    """
    places = counts[:, None] + torch.arange(-size, 0, device=kv.device)
    padded = functional.pad(kv, (0, 0, size, 0))
    return padded[:, (places + size).flatten()].unflatten(1, places.shape), places >= 0


def _shift(by_distance: Tensor) -> Tensor:
    """Bring scores of distances to the keys at those distances.

    Args:
        by_distance: [..., R, C], one row a query, of the distances C − 1, …, 0.

    Returns:
        [..., R, C], one row a query, of the keys it may see, where the last row's own is the last: row r moved left by
        R − 1 − r. What follows a row's own key is meaningless.

    """
    rows, columns = by_distance.shape[-2:]
    # one more column in front, and each row read on from where the one before ended starts one further left
    return functional.pad(by_distance, (1, 0)).flatten(-2)[..., rows:].unflatten(-1, (rows, columns))
