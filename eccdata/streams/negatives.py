"""Candidates that do not occur in a stream: uniform ones, as in the paper, and hard ones that look like the stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Negatives(Protocol):
    """A source of absent candidates for one stream."""

    def draw(self, positive: bytes, used: set[bytes], rng: np.random.Generator) -> tuple[bytes, str]:
        """Draw an absent candidate as long as `positive` and not in `used`, and say of what kind it is.

        There must be one: fewer than `alphabet_size**len(positive)` windows occur or are used.
        """
        ...


class UniformNegatives:
    """Candidates uniform over all those that do not occur in the stream (eccbench.txt, A.1).

    Args:
        windows: The distinct windows of the stream by length.
        alphabet_size: How many symbols there are.

    """

    def __init__(self, windows: Mapping[int, set[bytes]], alphabet_size: int) -> None:
        self._windows = windows
        self._alphabet_size = alphabet_size

    def draw(self, positive: bytes, used: set[bytes], rng: np.random.Generator) -> tuple[bytes, str]:
        """Draw an absent candidate; its kind is `uniform`."""
        length = len(positive)
        windows, size = self._windows[length], self._alphabet_size
        if 16 * (size**length - len(windows) - len(used)) > size**length:
            while True:  # of sixteen draws at least one is kept
                found = rng.integers(size, size=length, dtype=np.uint8).tobytes()
                if found not in windows and found not in used:
                    return found, "uniform"
        everything = (_spelled(code, length, size) for code in range(size**length))
        absent = [candidate for candidate in everything if candidate not in windows and candidate not in used]
        return absent[rng.integers(len(absent))], "uniform"


class HardNegatives:
    """Absent candidates that look like the stream's own windows.

    Two kinds, each for half of the draws, or the one where the other has none to offer:

    * `near-miss`: the positive with one of its symbols exchanged for another of the stream's symbols wherever it
      stands, or with two of its symbols exchanged for each other. Of those that do not occur, one with the
      fewest transitions that the stream does not have, and among these one with the fewest symbols changed.
    * `sibling`: a window, from a uniformly drawn position, of another stream of the same rule set.

    Both have the equality pattern of the positive they are paired with (`abcab` and `dbcdb` have the same). The
    sources of streams treat all symbols alike, so the pattern is all that a candidate by itself can say about
    where it came from, and it is the same in both classes.

    Where the alphabet is so small that neither kind has one left, the near-miss is a real window, or a negative
    already drawn, with a single symbol changed, whatever its pattern.

    Args:
        stream: The stream's symbols, a byte each.
        windows: The distinct windows of the stream by length.
        sibling: Another stream of the same source.
        alphabet_size: How many symbols there are.

    """

    def __init__(
        self, stream: bytes, windows: Mapping[int, set[bytes]], sibling: bytes, alphabet_size: int
    ) -> None:
        self._windows = windows
        self._sibling = sibling
        self._sibling_patterns: dict[int, NDArray[np.int64]] = {}
        self._alphabet_size = alphabet_size
        self._symbols = sorted(set(stream))
        self._transitions = {stream[i : i + 2] for i in range(len(stream) - 1)}

    def draw(self, positive: bytes, used: set[bytes], rng: np.random.Generator) -> tuple[bytes, str]:
        """Draw an absent candidate; its kind is `near-miss` or `sibling`."""
        sibling_first = rng.integers(2) == 1
        found = self._of_sibling(positive, used, rng) if sibling_first else None
        if found is not None:
            return found, "sibling"
        found = self._near_miss(positive, used, rng)
        if found is not None:
            return found, "near-miss"
        found = None if sibling_first else self._of_sibling(positive, used, rng)
        if found is not None:
            return found, "sibling"
        return self._neighbour(positive, used, rng), "near-miss"

    def _of_sibling(self, positive: bytes, used: set[bytes], rng: np.random.Generator) -> bytes | None:
        length = len(positive)
        if length not in self._sibling_patterns:
            self._sibling_patterns[length] = equality_patterns(_window_view(self._sibling, length))
        alike = equality_patterns(_window_view(positive, length))[0]
        starts = np.flatnonzero(self._sibling_patterns[length] == alike)
        for start in rng.permutation(starts):
            window = self._sibling[start : start + length]
            if window not in self._windows[length] and window not in used:
                return window
        return None

    def _near_miss(self, positive: bytes, used: set[bytes], rng: np.random.Generator) -> bytes | None:
        present = sorted(set(positive))
        others = [s for s in self._symbols if s not in present]
        # a stream of few symbols has none to offer: then any of the alphabet's
        variants = self._exchanged(positive, present, others, used) or self._exchanged(
            positive, present, [s for s in range(self._alphabet_size) if s not in present], used
        )
        if not variants:
            return None
        costs = [self._cost(variant, positive) for variant in variants]
        least = min(costs)
        best = [variant for variant, cost in zip(variants, costs, strict=True) if cost == least]
        return best[rng.integers(len(best))]

    def _exchanged(
        self, window: bytes, present: list[int], others: Iterable[int], used: set[bytes]
    ) -> list[bytes]:
        tables = [bytes.maketrans(bytes([a]), bytes([b])) for b in others for a in present]
        tables += [bytes.maketrans(bytes([a, b]), bytes([b, a])) for a, b in combinations(present, 2)]
        variants = dict.fromkeys(window.translate(table) for table in tables)
        return [v for v in variants if v not in self._windows[len(window)] and v not in used]

    def _cost(self, variant: bytes, positive: bytes) -> tuple[int, int]:
        unseen = sum(variant[i : i + 2] not in self._transitions for i in range(len(variant) - 1))
        return unseen, sum(a != b for a, b in zip(variant, positive, strict=True))

    def _neighbour(self, positive: bytes, used: set[bytes], rng: np.random.Generator) -> bytes:
        length = len(positive)
        windows = self._windows[length]
        # All strings of a length hang together by single changes, so some occurring or used one has a free neighbour.
        sources = [positive, *sorted(windows), *sorted(u for u in used if len(u) == length)]
        for source in [sources[0], *(sources[i] for i in 1 + rng.permutation(len(sources) - 1))]:
            free = [
                v for v in _changed_once(source, self._alphabet_size) if v not in windows and v not in used
            ]
            if free:
                return free[rng.integers(len(free))]
        raise AssertionError("every candidate of this length occurs or is used")


def equality_patterns(windows: NDArray[np.integer]) -> NDArray[np.int64]:
    """Number the patterns of which symbols in a window are the same, whatever they are.

    Args:
        windows: integers [n, k], with k at most 15.

    Returns:
        int64 [n]: equal for two windows just where one becomes the other by renaming symbols.

    """
    length = windows.shape[1]
    same = windows[:, :, None] == windows[:, None, :]
    first = same.argmax(axis=2)  # where the symbol at each place stands for the first time
    return np.asarray(first @ (np.int64(length) ** np.arange(length, dtype=np.int64)), dtype=np.int64)


def _window_view(symbols: bytes, length: int) -> NDArray[np.uint8]:
    values = np.frombuffer(symbols, dtype=np.uint8)
    if len(values) < length:
        return np.empty((0, length), dtype=np.uint8)
    return np.lib.stride_tricks.sliding_window_view(values, length)


def _changed_once(window: bytes, alphabet_size: int) -> list[bytes]:
    return [
        window[:i] + bytes([symbol]) + window[i + 1 :]
        for i in range(len(window))
        for symbol in range(alphabet_size)
        if symbol != window[i]
    ]


def _spelled(code: int, length: int, alphabet_size: int) -> bytes:
    digits = []
    for _ in range(length):
        code, digit = divmod(code, alphabet_size)
        digits.append(digit)
    return bytes(digits[::-1])
