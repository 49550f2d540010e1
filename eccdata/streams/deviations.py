"""EasyHuman: a short pattern repeated to fill the stream, broken once or twice, and queries on the breaks.

Where the paper (eccbench.txt, A.2) leaves it open, this is what is done. A deviation takes the place of as many
symbols of the repeated motif, and the pattern goes on behind it as if nothing had been: the stream's length and
the pattern's phase stay. It may stand anywhere, the two ends included; two deviations have at least `GAP` symbols
of the pattern between them, so that no candidate of up to `GAP + 1` symbols touches both. A deviation occurs once
in the whole stream, seams counted, and never in the unbroken pattern. One or two deviations are equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from eccdata.errors import EccdataError, problem, unknown
from eccdata.streams.queries import Query, deal_pairs

Structure = Literal["repeating-pattern", "counting-disruption"]

MOTIF_LENGTHS = (3, 4, 5)
GAP = 6
SHORTEST_STREAM = 32
_TRIES = 1000


@dataclass(frozen=True, slots=True)
class Deviation:
    """A break in the pattern.

    Attributes:
        position: Index of its first symbol in the stream.
        symbols: Its symbols, a byte each.

    """

    position: int
    symbols: bytes

    @property
    def end(self) -> int:
        """Index of the first symbol behind it."""
        return self.position + len(self.symbols)


@dataclass(frozen=True, slots=True)
class BrokenPattern:
    """A stream of EasyHuman.

    Attributes:
        symbols: The stream, a byte a symbol.
        unbroken: The same without deviations.
        motif: What is repeated.
        deviations: One or two, in the order of their positions.

    """

    symbols: bytes
    unbroken: bytes
    motif: bytes
    deviations: tuple[Deviation, ...]


def broken_pattern(
    structure: Structure,
    length: int,
    rng: np.random.Generator,
    *,
    alphabet_size: int = 16,
    cell: str = "",
) -> BrokenPattern:
    """Draw a stream of EasyHuman (eccbench.txt, A.2).

    `repeating-pattern`: the motif is 3–5 uniform symbols, a deviation as many. `counting-disruption`: the motif
    counts up or down by one over 3–5 symbols, a deviation is 3–5 uniform symbols.

    Args:
        structure: One of the two.
        length: Symbols of the stream, at least `SHORTEST_STREAM`.
        rng: Where the draws come from.
        alphabet_size: How many symbols there are, at least 5.
        cell: What the stream is called in errors.

    Raises:
        EccdataError: There is no such structure, or no deviation was found that does not occur already.

    """
    if structure not in get_args(Structure):
        raise unknown("structure", structure, get_args(Structure))
    count = int(rng.integers(1, 3))
    for _ in range(_TRIES):
        motif = _motif(structure, rng, alphabet_size)
        unbroken = (motif * (length // len(motif) + 1))[:length]
        lengths = [
            len(motif) if structure == "repeating-pattern" else int(rng.choice(MOTIF_LENGTHS))
            for _ in range(count)
        ]
        places = sorted((int(rng.integers(length - n + 1)), n) for n in lengths)
        deviations = tuple(Deviation(position, _uniform(n, rng, alphabet_size)) for position, n in places)
        pattern = BrokenPattern(_broken(unbroken, deviations), unbroken, motif, deviations)
        if _well_broken(pattern):
            return pattern
    raise problem(
        f"{cell or structure}: in {_TRIES} tries no deviation came up that the stream does not have already "
        f"({length} symbols of an alphabet of {alphabet_size}). Use a larger alphabet or a longer stream."
    )


def deviation_queries(
    pattern: BrokenPattern,
    rng: np.random.Generator,
    *,
    count: int = 16,
    shortest: int = 3,
    longest: int = 6,
    alphabet_size: int = 16,
    cell: str = "",
) -> list[Query]:
    """Draw balanced queries that target the deviations and corruptions of them.

    A positive is a window that lies in, contains or runs into a deviation and would not occur without it: the
    unbroken pattern does not have it. Two deviations take turns. Its negative is a corruption: the same window
    with one of the deviation's symbols in it exchanged for another, uniform over those that occur nowhere in the
    stream. Pairs, lengths and repetitions are as in `eccdata.streams.queries.membership_queries`.

    Raises:
        EccdataError: Nothing that the deviations bring in can be corrupted into something absent.

    """
    stream = pattern.symbols
    lengths = range(shortest, min(longest, len(stream)) + 1)
    starts = {(d, k): _crossing(pattern, d, k) for d in range(len(pattern.deviations)) for k in lengths}
    windows = {
        k: {stream[i : i + k] for d in range(len(pattern.deviations)) for i in starts[d, k]} for k in lengths
    }
    uses = [0] * len(pattern.deviations)

    def pair(length: int, used: set[bytes]) -> tuple[Query, Query]:
        order = sorted(rng.permutation(len(uses)).tolist(), key=uses.__getitem__)
        for d in order:
            for start in rng.permutation(starts[d, length]).tolist():
                positive = stream[start : start + length]
                if positive in used:
                    continue
                negatives = [
                    corrupted
                    for corrupted in _corruptions(stream, start, length, pattern.deviations[d], alphabet_size)
                    if corrupted not in stream and corrupted not in used
                ]
                if negatives:
                    uses[d] += 1
                    negative = negatives[rng.integers(len(negatives))]
                    return Query(positive, stream.find(positive)), Query(negative, -1, "corruption")
        raise EccdataError(
            f"{cell or 'a stream'} has no deviation that can be corrupted into {length} symbols that do not occur "
            f"(alphabet of {alphabet_size}). Use a larger alphabet or other candidate lengths."
        )

    return deal_pairs(rng, count // 2, {k: len(found) for k, found in windows.items()}, pair)


def _motif(structure: Structure, rng: np.random.Generator, alphabet_size: int) -> bytes:
    length = int(rng.choice(MOTIF_LENGTHS))
    if structure == "repeating-pattern":
        return _uniform(length, rng, alphabet_size)
    start = int(rng.integers(alphabet_size - length + 1))
    count = bytes(range(start, start + length))
    return count if rng.integers(2) else count[::-1]


def _uniform(length: int, rng: np.random.Generator, alphabet_size: int) -> bytes:
    return rng.integers(alphabet_size, size=length, dtype=np.uint8).tobytes()


def _broken(unbroken: bytes, deviations: tuple[Deviation, ...]) -> bytes:
    symbols = bytearray(unbroken)
    for deviation in deviations:
        symbols[deviation.position : deviation.end] = deviation.symbols
    return bytes(symbols)


def _well_broken(pattern: BrokenPattern) -> bool:
    apart = all(
        later.position - earlier.end >= GAP
        for earlier, later in zip(pattern.deviations, pattern.deviations[1:], strict=False)
    )
    return apart and all(
        deviation.symbols not in pattern.unbroken
        and pattern.symbols.find(deviation.symbols) == deviation.position
        and pattern.symbols.find(deviation.symbols, deviation.position + 1) < 0
        for deviation in pattern.deviations
    )


def _crossing(pattern: BrokenPattern, deviation: int, length: int) -> list[int]:
    """Where windows start that share a symbol with the deviation and that the unbroken pattern does not have."""
    broken = pattern.deviations[deviation]
    first = max(0, broken.position - length + 1)
    last = min(len(pattern.symbols) - length, broken.end - 1)
    return [
        start
        for start in range(first, last + 1)
        if pattern.symbols[start : start + length] not in pattern.unbroken
    ]


def _corruptions(
    stream: bytes, start: int, length: int, deviation: Deviation, alphabet_size: int
) -> list[bytes]:
    window = stream[start : start + length]
    inside = range(max(start, deviation.position) - start, min(start + length, deviation.end) - start)
    return [
        window[:i] + bytes([symbol]) + window[i + 1 :]
        for i in inside
        for symbol in range(alphabet_size)
        if symbol != window[i]
    ]
