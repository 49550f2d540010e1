"""The two entropy bands streams are drawn from: low, by rejection, and maximal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eccdata.errors import EccdataError, problem
from eccdata.streams.lempel_ziv import lempel_ziv_rate
from eccdata.streams.rules import RuleSet, check_alphabet_size, narrow_rule_set

LOW_BAND = (0.3, 1.0)


@dataclass(frozen=True, eq=False)
class Stream:
    """A stream and the process it was drawn from.

    Attributes:
        symbols: uint8 [length].
        rules: What it was drawn from; without a rule where all symbols are always equally likely.

    """

    symbols: NDArray[np.uint8]
    rules: RuleSet

    @cached_property
    def rate(self) -> float:
        """The realised Lempel-Ziv rate in bits per symbol."""
        return lempel_ziv_rate(self.symbols)

    def sibling(self, rng: np.random.Generator, length: int | None = None) -> NDArray[np.uint8]:
        """Draw another stream of the same rule set, uint8 [length]; of the same length by default."""
        return self.rules.sample(len(self.symbols) if length is None else length, rng)


def low_entropy_stream(
    length: int,
    rng: np.random.Generator,
    *,
    alphabet_size: int = 16,
    band: tuple[float, float] = LOW_BAND,
    max_tries: int = 10_000,
    cell: str = "low",
) -> Stream:
    """Draw rule sets, and a stream from each, until the stream's Lempel-Ziv rate falls in the band.

    The first that does is kept (ECCBench, appendix A.1), except that a stream which is one block of symbols
    repeated, twice or more, from its start to its end does not count: only short streams could be that.

    Args:
        length: How many symbols, at least 2.
        rng: Where all randomness comes from.
        alphabet_size: The symbols are 0 … alphabet_size - 1; from 2 to 256.
        band: The lowest and highest rate in bits per symbol, both included.
        max_tries: How many streams to draw at most.
        cell: What the stream is for, as an error should call it.

    Raises:
        EccdataError: A setting is out of range, or no stream of `max_tries` was in the band.

    """
    check_alphabet_size(alphabet_size)
    low, high = band
    wrong = []
    if length < 2:
        wrong.append(f"length is {length}; a rate needs at least 2 symbols")
    if not 0 <= low <= high:
        wrong.append(
            f"band is {low} to {high}; it must run from a lower to a higher rate, in bits per symbol"
        )
    if max_tries < 1:
        wrong.append(f"max_tries is {max_tries}; it must be at least 1")
    if wrong:
        raise problem(f"No stream can be drawn for {cell}:", wrong)
    least, most = float("inf"), 0.0
    for _ in range(max_tries):
        rules = narrow_rule_set(rng, alphabet_size)
        stream = Stream(rules.sample(length, rng), rules)
        if low <= stream.rate <= high and not _is_repetition(stream.symbols):
            return stream
        least, most = min(least, stream.rate), max(most, stream.rate)
    raise problem(
        f"{cell}: none of {max_tries} streams of {length} symbols out of {alphabet_size} had a Lempel-Ziv rate from "
        f"{low:g} to {high:g} bits per symbol; their rates ran from {least:.4g} to {most:.4g}.",
        remedy="Widen the band, or change the length or the alphabet size.",
    )


def max_entropy_stream(length: int, rng: np.random.Generator, alphabet_size: int = 16) -> Stream:
    """Draw a stream of independent, equally likely symbols; its nominal rate is log2(alphabet_size).

    Raises:
        EccdataError: The alphabet size is not from 2 to 256, or the length negative.

    """
    rules = RuleSet(alphabet_size, {})
    if length < 0:
        raise EccdataError(f"length is {length}; it must be 0 or more.")
    return Stream(rng.integers(alphabet_size, size=length, dtype=np.uint8), rules)


def _is_repetition(symbols: NDArray[np.uint8]) -> bool:
    """Say whether one block, repeated at least twice (the last time perhaps in part), is all there is."""
    text = symbols.tobytes()
    half = text[: len(text) - len(text) // 2]
    period = text.find(half, 1)
    while period > 0:
        if text.startswith(text[period:]):
            return True
        period = text.find(half, period + 1)
    return False
