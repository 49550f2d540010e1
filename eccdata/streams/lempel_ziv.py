"""How compressible one symbol sequence is: the empirical Lempel-Ziv rate, from match lengths."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eccdata.errors import EccdataError

# What an int64 holds beside its sign: as many symbols as fit are compared as one number.
KEY_BITS = 63


def lempel_ziv_rate(symbols: ArrayLike) -> float:
    """Estimate the entropy rate of a sequence by its increasing-window match lengths.

    The estimate is `1 / mean over i = 2..n of (Λ_i / log2 i)`, where Λ_i is one more than the longest factor
    starting at i that also starts before i (it may run past i); a match that runs to the end counts with its
    length as well. ECCBench's entropy bands (appendix A.1) are bands of this number.

    Args:
        symbols: Integers of any dtype, shape [length], at least two.

    Returns:
        Bits per symbol, to ten significant digits: beyond those, machines differ in their logarithms.

    Raises:
        EccdataError: Not one row of at least two integers.

    Source:
        Kontoyiannis, Algoet, Suhov and Wyner, Nonparametric entropy estimation for stationary processes and
        random fields, with applications to English text (1998), the increasing-window estimator.

    """
    matches = longest_previous_factors(symbols)
    length = len(matches)
    if length < 2:
        raise EccdataError(f"A Lempel-Ziv rate needs at least 2 symbols, and this sequence has {length}.")
    # fsum rounds once, so that the order of summation is no part of the result.
    mean = math.fsum(((matches[1:] + 1) / _logarithms(length)).tolist()) / (length - 1)
    return float(f"{1 / mean:.10g}")


def longest_previous_factors(symbols: ArrayLike) -> NDArray[np.int64]:
    """Find, for each position, the length of the longest factor from it on that also starts earlier.

    The two occurrences may overlap. The cost grows as n log² n at worst, whatever the sequence: constant and
    periodic ones, on which searching position by position takes n² steps, take the most sorting rounds.

    Args:
        symbols: Integers of any dtype, shape [length].

    Returns:
        int64 [length]; 0 where not even the symbol has occurred, so always 0 at the first position.

    Raises:
        EccdataError: Not one row of integers.

    Source:
        Crochemore and Ilie, Computing longest previous factor in linear time and applications (2008): the
        best earlier match of a suffix is one of its two neighbours in the order of the suffixes that start
        no later.

    """
    codes = _codes(symbols)
    length = len(codes)
    if length == 0:
        return np.zeros(0, np.int64)
    order, names = _sort_suffixes(codes)
    before, after = _earlier_neighbours(order)
    positions = np.arange(length)
    return np.maximum(
        _common_prefixes(positions, before, names),
        _common_prefixes(positions, after, names),
    )


def _codes(symbols: ArrayLike) -> NDArray[np.int64]:
    """Number the symbols from 1, in their order; 0 is left to stand for the end."""
    given = np.asarray(symbols)
    if given.ndim != 1:
        raise EccdataError(f"A symbol sequence has one dimension; this one has shape {given.shape}.")
    if given.size == 0:
        return np.zeros(0, np.int64)
    if given.dtype.kind not in "iub":
        raise EccdataError(f"Symbols are integers; these are of type {given.dtype}.")
    if given.dtype.itemsize == 1:
        codes = given.astype(np.int64)
        codes -= codes.min() - 1
    else:
        codes = np.unique(given, return_inverse=True)[1].astype(np.int64) + 1
    return codes


def _sort_suffixes(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Sort the suffixes by doubling the length they are compared at.

    Returns:
        The positions in the order of their suffixes, int64 [length], and names[k], int64 [length + 1], which
        are equal at two positions exactly if the 2**k symbols from them on are equal. The end of the sequence
        is a symbol of its own, and names[k][length] is 0. Factors of 2**len(names) symbols are all different.

    """
    length = len(codes)
    names: list[NDArray[np.int64]] = []
    name = np.append(codes, 0)
    span, base = 1, int(codes.max()) + 1
    while True:
        # As long as the next name fits a number, sorting can wait.
        if base * base >= 2**KEY_BITS or span >= length:
            order = np.argsort(name)
            ordered = name[order]
            ranks = np.append(0, np.cumsum(ordered[1:] != ordered[:-1]))
            base = int(ranks[-1]) + 1
            if base == length + 1:
                return order[1:], names
            name = np.empty_like(name)
            name[order] = ranks
        names.append(name)
        following = np.zeros_like(name)
        following[:-span] = name[span:]
        name = name * base + following
        span, base = 2 * span, base * base


def _earlier_neighbours(order: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find, for each position, the neighbours of its suffix among the suffixes that start before it.

    Returns:
        The position of the next smaller and of the next larger suffix, int64 [length] each; `length` for none.

    """
    length = len(order)
    ring = np.concatenate(([length], order, [length]))
    smaller = np.empty(length + 1, np.int64)
    larger = np.empty(length + 1, np.int64)
    smaller[ring[1:]] = ring[:-1]
    larger[ring[:-1]] = ring[1:]
    before, after = smaller.tolist(), larger.tolist()
    # Taking positions out of the order from the last on leaves each with its neighbours of that moment.
    for position in range(length - 1, -1, -1):
        left, right = before[position], after[position]
        after[left] = right
        before[right] = left
    return np.array(before[:length]), np.array(after[:length])


def _common_prefixes(
    one: NDArray[np.int64], other: NDArray[np.int64], names: list[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Measure how far the suffixes from pairs of different positions agree, int64 [pairs]."""
    shared = np.zeros_like(one)
    for k in range(len(names) - 1, -1, -1):
        name = names[k]
        shared += (name[one + shared] == name[other + shared]) * np.int64(1 << k)
    return shared


@lru_cache(maxsize=16)
def _logarithms(length: int) -> NDArray[np.float64]:
    """log2 of 2, 3, …, length, by the C library's function: NumPy's own differs with the processor."""
    logarithms = np.array([math.log2(i) for i in range(2, length + 1)])
    logarithms.flags.writeable = False
    return logarithms
