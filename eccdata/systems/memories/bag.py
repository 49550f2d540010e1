"""The memory without order: which k-grams occurred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eccdata.errors import problem

from .base import Memory, State
from .grams import GramReader, gram_codes
from .posterior import occurring_share, passed

MAX_GRAM = 3


@dataclass(frozen=True)
class Bag(Memory):
    """The set of k-grams seen: it says yes where all the candidate's k-grams are among them.

    Where one is missing, the candidate did not occur. Where none is, it may be put together from pieces of
    several places; how likely that is follows from how many strings of its length the set allows, which the
    state counts exactly. Of a candidate shorter than k the set says nothing.

    Attributes:
        k: The grams' length: 1, 2 or 3.

    """

    k: int = 2

    name: ClassVar[str] = "bag"

    def __post_init__(self) -> None:
        """Check the length of the grams; raises `EccdataError`."""
        if not 1 <= self.k <= MAX_GRAM:
            raise problem(f"bag was given k={self.k}. It keeps k-grams of 1 to {MAX_GRAM} symbols.")

    def start(self, alphabet_size: int) -> State:
        """Give the empty state."""
        return _State(self.k, alphabet_size)


class _State:
    def __init__(self, k: int, alphabet_size: int) -> None:
        self.k = k
        self.alphabet_size = alphabet_size
        self.grams = GramReader(k, alphabet_size)
        self.occurred = np.zeros(alphabet_size**k, bool)
        self._if_all_occurred: dict[int, float] = {}

    def write(self, symbols: NDArray[np.uint8]) -> None:
        self.occurred[self.grams.next_codes(symbols)] = True
        self._if_all_occurred.clear()

    def read(self, candidate: NDArray[np.uint8]) -> float:
        length = len(candidate)
        if length < self.k:
            return 0.5
        if not self.occurred[gram_codes(candidate, self.k, self.alphabet_size)].all():
            return 0.0
        if length not in self._if_all_occurred:
            self._if_all_occurred[length] = self._posterior(length)
        return self._if_all_occurred[length]

    def _posterior(self, length: int) -> float:
        share = float(self.occurred.mean())
        windows = self.grams.seen - length + 1
        occurring = occurring_share(share, self.k, length, windows, self.alphabet_size)
        return passed(allowed_share(self.occurred, self.k, length, self.alphabet_size), occurring)


def allowed_share(occurred: NDArray[np.bool_], k: int, length: int, alphabet_size: int) -> float:
    """The share of all strings of a length whose k-grams all occurred, counted as walks on the de Bruijn graph.

    Args:
        occurred: bool [A^k], by code.
        k: The grams' length.
        length: The strings' length, at least k.
        alphabet_size: A.

    """
    # share[s]: of the strings so far that end in the k−1 symbols s, the share that is allowed.
    contexts = alphabet_size ** (k - 1)
    share = np.ones(contexts)
    allowed = occurred.reshape(contexts, alphabet_size)
    for _ in range(length - k + 1):
        stepped = share[:, None] * allowed
        # A context's first symbol is forgotten: the mean over it.
        share = stepped.reshape(alphabet_size, -1).mean(0) if k > 1 else stepped.mean(keepdims=True).ravel()
    return float(share.mean())
