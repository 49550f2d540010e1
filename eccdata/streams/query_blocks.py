"""Membership queries on many streams at once: what `eccdata.streams.queries` draws with uniform negatives, vectorised.

It is meant for training data: hundreds of thousands of incompressible streams. A stream on which draws without
repetition do not come out soon is handed to `membership_queries`, so the guarantees are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eccdata.errors import EccdataError
from eccdata.streams.queries import membership_queries

_Ints = NDArray[np.int64]
_Digits = NDArray[np.uint16]

_ROUNDS = 16
"""How often candidates that were asked already, or that occur by accident, are redrawn."""


@dataclass(frozen=True, slots=True)
class QueryBlock:
    """The queries of S streams, Q each.

    Attributes:
        candidates: uint8 [S, Q, longest]; what stands behind a candidate's end means nothing.
        lengths: int64 [S, Q], symbols of each candidate.
        positions: int32 [S, Q], where each first occurs in its stream; -1 where it does not.

    """

    candidates: NDArray[np.uint8]
    lengths: NDArray[np.int64]
    positions: NDArray[np.int32]


def fits(streams: int, alphabet_size: int, longest: int) -> bool:
    """Whether so many streams can be asked at once for candidates of up to `longest` symbols."""
    return bool(streams * (alphabet_size + 1) ** longest < 2**63)


def membership_block(
    symbols: NDArray[np.uint8],
    lengths: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    count: int = 32,
    shortest: int = 3,
    longest: int = 6,
    alphabet_size: int = 16,
    cell: str = "",
) -> QueryBlock:
    """Draw balanced membership queries with uniform negatives on S streams (eccbench.txt, A.1).

    Args:
        symbols: uint8 [sum of lengths], the streams one behind the other.
        lengths: int64 [S], symbols of each stream, at least `longest`.
        rng: Where the draws come from.
        count: Queries a stream; even.
        shortest: Length of the shortest candidates in symbols.
        longest: Length of the longest candidates in symbols.
        alphabet_size: How many symbols there are.
        cell: What the block is called in errors.

    Raises:
        EccdataError: The block does not `fit`, or one of the streams has nothing to ask for.

    """
    if not fits(len(lengths), alphabet_size, longest):
        raise EccdataError(
            f"{cell or 'a block'}: candidates of {longest} symbols of an alphabet of {alphabet_size} do not fit "
            f"63 bits for {len(lengths)} streams at once. Use shorter candidates or a smaller alphabet."
        )
    pairs = (len(lengths), count // 2)
    index = _WindowIndex(symbols, lengths, alphabet_size, longest)
    sizes = rng.integers(shortest, longest + 1, size=pairs)

    def copied(rows: _Ints, sizes: _Ints) -> tuple[_Digits, _Ints]:
        starts = rng.integers(lengths[rows] - sizes + 1)
        return index.windows(rows, starts), starts

    def uniform(_: _Ints, sizes: _Ints) -> tuple[_Digits, _Ints]:
        digits = rng.integers(1, alphabet_size + 1, size=(*sizes.shape, longest), dtype=np.uint16)
        return digits, np.full(sizes.shape, -1)

    positives, numbers, starts, badly_copied = _draw(index, sizes, copied, may_occur=True)
    negatives, _, nowhere, badly_uniform = _draw(index, sizes, uniform, may_occur=False)

    order = rng.permuted(np.tile(np.arange(count), (len(lengths), 1)), axis=1)
    digits = np.concatenate([positives, negatives], axis=1)
    positions = np.concatenate([index.first(numbers, sizes, starts), nowhere], axis=1)
    block = QueryBlock(
        (np.take_along_axis(digits, order[:, :, None], axis=1) - np.uint16(1)).astype(np.uint8),
        np.take_along_axis(np.concatenate([sizes, sizes], axis=1), order, axis=1),
        np.take_along_axis(positions, order, axis=1).astype(np.int32),
    )
    for row in np.union1d(badly_copied, badly_uniform):
        queries = membership_queries(
            index.stream(row),
            rng,
            count=count,
            shortest=shortest,
            longest=longest,
            alphabet_size=alphabet_size,
            cell=cell,
        )
        for i, query in enumerate(queries):
            block.candidates[row, i, : len(query.candidate)] = np.frombuffer(query.candidate, dtype=np.uint8)
            block.lengths[row, i] = len(query.candidate)
            block.positions[row, i] = query.position
    return block


class _WindowIndex:
    """Which windows occur in which of S streams.

    Symbols are digits from 1 on, and 0 is the digit of what lies behind an end. A window's number is spelled by its
    digits in base `alphabet_size + 1`, behind the number of its stream. One sorted array of the longest windows
    serves the shorter ones as well: those that begin with a candidate are one run of it.
    """

    def __init__(
        self, symbols: NDArray[np.uint8], lengths: NDArray[np.int64], alphabet_size: int, longest: int
    ) -> None:
        streams = np.arange(len(lengths))
        self._base = alphabet_size + 1
        self.longest = longest
        # half the bytes sort in half the time
        self._dtype: Any = np.uint32 if len(lengths) * self._base**longest < 2**32 else np.int64
        self._powers = np.array([self._base**place for place in range(longest + 1)], dtype=self._dtype)
        self._symbols = symbols.tobytes()
        self._ends = np.cumsum(lengths)
        self._lengths = lengths
        # as many empty digits behind each stream as the longest window can reach into
        self._starts = self._ends - lengths + streams * longest
        digits = np.zeros(len(symbols) + len(lengths) * longest, dtype=np.uint16)
        digits[np.arange(len(symbols)) + np.repeat(streams * longest, lengths)] = symbols + np.uint16(1)
        self._windows = np.lib.stride_tricks.sliding_window_view(digits, longest)
        rows = np.repeat(streams, lengths + longest)[: len(self._windows)]
        # behind the last there is one that no number reaches, so that one may look two places on
        self._sorted = np.full(len(rows) + 2, np.iinfo(self._dtype).max, dtype=self._dtype)
        self._sorted[: len(rows)] = np.sort(self.numbers(rows, self._windows))

    def stream(self, row: int) -> bytes:
        return self._symbols[self._ends[row] - self._lengths[row] : self._ends[row]]

    def windows(self, rows: _Ints, starts: _Ints) -> _Digits:
        """The digits [..., longest] from the given places of the given streams on."""
        return np.asarray(self._windows[self._starts[rows] + starts])

    def numbers(self, rows: _Ints, digits: _Digits) -> NDArray[Any]:
        """Spell windows [..., longest] of streams [...] as numbers [...]."""
        numbers = rows.astype(self._dtype)
        for place in range(self.longest):
            numbers *= self._dtype(self._base)
            numbers += digits[..., place]
        return numbers

    def occur(self, numbers: NDArray[Any], sizes: _Ints, times: int) -> NDArray[np.bool_]:
        """Whether candidates of `sizes` [...] symbols, spelled as `numbers`, occur once, or twice, in their streams."""
        begin = np.searchsorted(self._sorted, numbers)
        behind = self._powers[self.longest - sizes] + numbers
        return np.asarray(self._sorted[begin + (times - 1)] < behind)

    def first(self, numbers: NDArray[Any], sizes: _Ints, starts: _Ints) -> _Ints:
        """Where candidates [S, P], spelled as `numbers`, that occur at `starts` [S, P] occur for the first time."""
        first = starts.copy()
        for row, column in np.argwhere(self.occur(numbers, sizes, times=2)):
            start = self._ends[row] - self._lengths[row]
            at = start + starts[row, column]
            candidate = self._symbols[at : at + sizes[row, column]]
            first[row, column] = self._symbols.find(candidate, start, self._ends[row]) - start
        return first


def _draw(
    index: _WindowIndex,
    sizes: _Ints,
    draw: Callable[[_Ints, _Ints], tuple[_Digits, _Ints]],
    *,
    may_occur: bool,
) -> tuple[_Digits, NDArray[Any], _Ints, _Ints]:
    """Draw candidates of `sizes` [S, P] symbols, none of them twice for a stream.

    Returns:
        The candidates' digits, 0 behind their ends; the same as numbers; where they were drawn; the streams for
        which they did not come out.

    """
    places = np.arange(index.longest)
    rows = np.broadcast_to(np.arange(len(sizes))[:, None], sizes.shape)
    digits, starts = draw(rows, sizes)
    digits *= places < sizes[..., None]
    numbers = index.numbers(rows, digits)
    left = np.arange(len(sizes))
    for _ in range(_ROUNDS):
        wrong = _repeated(numbers[left])
        if not may_occur:
            wrong |= index.occur(numbers[left], sizes[left], times=1)
        bad = wrong.any(axis=1)
        left = left[bad]
        if not len(left):
            break
        row, column = np.nonzero(wrong[bad])
        row = left[row]
        again, starts[row, column] = draw(row, sizes[row, column])
        digits[row, column] = again * (places < sizes[row, column][:, None])
        numbers[row, column] = index.numbers(row, digits[row, column])
    return digits, numbers, starts, left


def _repeated(numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark in each row [S, P] what stands there already further left."""
    order = np.argsort(numbers, axis=1, kind="stable")
    ordered = np.take_along_axis(numbers, order, axis=1)
    marks = np.zeros(numbers.shape, dtype=np.bool_)
    np.put_along_axis(marks, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return marks
