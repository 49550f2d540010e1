"""The memory of hashed n-grams."""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eccdata.errors import problem

from .base import Memory, State, check_bits
from .grams import GramReader, gram_codes
from .posterior import occurring_share, passed

MAX_NGRAM = 8
MAX_HASHES = 32


@dataclass(frozen=True)
class Bloom(Memory):
    """A Bloom filter (Bloom 1970) of the stream's n-grams: yes where it holds all the candidate's n-grams.

    Where one is missing, the candidate did not occur. Where none is, n-grams may have come from several places,
    or collide: in an array whose share ρ of bits is set, a gram that was never put in passes with ρ^hashes. Of a
    candidate shorter than n the filter says nothing.

    Attributes:
        bits: The size of the bit array.
        ngram: The n of the n-grams; the default is the shortest candidate's length.
        hashes: How many bits each n-gram sets.

    """

    bits: int = 2048
    ngram: int = 3
    hashes: int = 3

    name: ClassVar[str] = "bloom"

    def __post_init__(self) -> None:
        """Check the options; raises `EccdataError`."""
        check_bits(self.name, self.bits)
        wrong = []
        if not 1 <= self.ngram <= MAX_NGRAM:
            wrong.append(f"ngram={self.ngram}: from 1 to {MAX_NGRAM}")
        if not 1 <= self.hashes <= MAX_HASHES:
            wrong.append(f"hashes={self.hashes}: from 1 to {MAX_HASHES}")
        if wrong:
            raise problem("These options of bloom are out of range:", wrong)

    def start(self, alphabet_size: int) -> State:
        """Give the empty state."""
        return _State(self.bits, self.ngram, self.hashes, alphabet_size)


class _State:
    def __init__(self, bits: int, ngram: int, hashes: int, alphabet_size: int) -> None:
        self.bits = bits
        self.ngram = ngram
        self.hashes = hashes
        self.alphabet_size = alphabet_size
        self.grams = GramReader(ngram, alphabet_size)
        self.array = np.zeros(-(-bits // 8), np.uint8)
        self._if_all_pass: dict[int, float] = {}

    def write(self, symbols: NDArray[np.uint8]) -> None:
        places = self._places(self.grams.next_codes(symbols))
        np.bitwise_or.at(self.array, places >> 3, (1 << (places & 7)).astype(np.uint8))
        self._if_all_pass.clear()

    def read(self, candidate: NDArray[np.uint8]) -> float:
        length = len(candidate)
        if length < self.ngram:
            return 0.5
        places = self._places(gram_codes(candidate, self.ngram, self.alphabet_size))
        if not (self.array[places >> 3] >> (places & 7) & 1).all():
            return 0.0
        if length not in self._if_all_pass:
            self._if_all_pass[length] = self._posterior(length)
        return self._if_all_pass[length]

    def _posterior(self, length: int) -> float:
        grams = self.alphabet_size**self.ngram
        fill = int(np.bitwise_count(self.array).sum()) / self.bits
        # How many distinct grams leave that many bits unset (Swamidass and Baldi 2007).
        distinct = -self.bits / self.hashes * log1p(-fill) if fill < 1 else float(grams)
        share = min(1.0, distinct / grams)
        passing = (share + (1 - share) * fill**self.hashes) ** (length - self.ngram + 1)
        windows = self.grams.seen - length + 1
        return passed(passing, occurring_share(share, self.ngram, length, windows, self.alphabet_size))

    def _places(self, codes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The bits that each gram sets, int64 [n · hashes]: one independent hash for each."""
        salts = np.arange(1, self.hashes + 1, dtype=np.uint64)
        return (_mixed(codes[:, None] ^ _mixed(salts)) % np.uint64(self.bits)).astype(np.int64).ravel()


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scatter 64-bit values: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
