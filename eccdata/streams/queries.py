"""Membership queries on one stream: candidates that occur in it, and candidates that do not.

Queries are drawn in pairs, one positive and one negative of the same length, and then shuffled. So in each stream
both classes have exactly the same lengths, and neither the length nor the order tells an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from eccdata.errors import EccdataError
from eccdata.streams.negatives import HardNegatives, Negatives, UniformNegatives


@dataclass(frozen=True, slots=True)
class Query:
    """One membership question on a stream.

    Attributes:
        candidate: The symbols asked about, a byte each.
        position: Where the candidate first occurs in the stream; -1 where it does not.
        negative_kind: How a negative was drawn: `uniform`, `near-miss` or `sibling` (`eccdata.streams.negatives`),
            `corruption` (`eccdata.streams.deviations`); none for a positive.

    """

    candidate: bytes
    position: int
    negative_kind: str | None = None

    @property
    def answer(self) -> Literal["yes", "no"]:
        """Whether the candidate occurs in the stream."""
        return "no" if self.position < 0 else "yes"


def membership_queries(
    stream: bytes,
    rng: np.random.Generator,
    *,
    count: int = 16,
    shortest: int = 3,
    longest: int = 6,
    alphabet_size: int = 16,
    sibling: bytes | None = None,
    cell: str = "",
) -> list[Query]:
    """Draw balanced membership queries (eccbench.txt, A.1).

    A pair's length is uniform over the lengths that still have both a candidate that occurs and one that does not,
    neither asked yet. Its positive is copied from a uniformly drawn position, redrawn while the window there was
    already asked. Its negative is uniform over the absent ones not yet asked or, where a sibling is given, hard.
    No candidate is asked twice until every length is used up; from there on each is free once more, so that
    repetitions are as even as can be (a stream of 8 symbols may have fewer windows than questions).

    Args:
        stream: The stream's symbols, a byte each, all below `alphabet_size`.
        rng: Where the draws come from.
        count: How many queries; even.
        shortest: Length of the shortest candidates in symbols.
        longest: Length of the longest candidates in symbols.
        alphabet_size: How many symbols there are.
        sibling: Another stream of the same source; with it negatives are hard (near misses and windows of the
            sibling), without it they are uniform.
        cell: What the stream is called in errors.

    Raises:
        EccdataError: At every length either nothing occurs in the stream or nothing is absent from it.

    """
    windows = {
        k: {stream[i : i + k] for i in range(len(stream) - k + 1)} for k in range(shortest, longest + 1)
    }
    room = {k: min(len(found), alphabet_size**k - len(found)) for k, found in windows.items()}
    if not any(room.values()):
        raise EccdataError(
            f"{cell or 'a stream'} ({len(stream)} symbols of an alphabet of {alphabet_size}) has no candidates of "
            f"{shortest} to {longest} symbols to ask for: at each length every one occurs, or none. "
            "Use longer candidates, a larger alphabet or other stream lengths."
        )
    negatives: Negatives = (
        UniformNegatives(windows, alphabet_size)
        if sibling is None
        else HardNegatives(stream, windows, sibling, alphabet_size)
    )

    def pair(length: int, used: set[bytes]) -> tuple[Query, Query]:
        positive = next(window for window in _shuffled_windows(stream, length, rng) if window not in used)
        negative, kind = negatives.draw(positive, used, rng)
        return Query(positive, stream.find(positive)), Query(negative, -1, kind)

    return deal_pairs(rng, count // 2, room, pair)


def deal_pairs(
    rng: np.random.Generator,
    pairs: int,
    room: Mapping[int, int],
    draw: Callable[[int, set[bytes]], tuple[Query, Query]],
) -> list[Query]:
    """Deal lengths out to pairs of a positive and a negative, uniformly while there is room, and shuffle all queries.

    Args:
        rng: Where the draws come from.
        pairs: How many pairs.
        room: By length in symbols, how many pairs can be drawn before a candidate is asked twice; some above 0.
        draw: Draws a pair of the given length whose candidates are not in the given set.

    """
    queries: list[Query] = []
    left: dict[int, int] = {}
    used: set[bytes] = set()
    for _ in range(pairs):
        if not any(left.values()):
            left, used = dict(room), set()
        lengths = [length for length, n in left.items() if n > 0]
        length = lengths[rng.integers(len(lengths))]
        left[length] -= 1
        pair = draw(length, used)
        used.update(query.candidate for query in pair)
        queries += pair
    return [queries[i] for i in rng.permutation(len(queries))]


def _shuffled_windows(stream: bytes, length: int, rng: np.random.Generator) -> Iterator[bytes]:
    for start in rng.permutation(len(stream) - length + 1):
        yield stream[start : start + length]
