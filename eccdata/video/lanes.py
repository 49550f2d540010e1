"""On which of the three belts a letter lies."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eccdata.errors import EccdataError, problem

LANES = 3
"""Belts in a frame, numbered from 0, left to right; their labels count from 1."""

LaneMode = Literal["per-letter", "per-event"]
"""`per-letter`: a letter keeps its belt through a stream. `per-event`: every occurrence has a belt of its own."""

LANE_MODES: tuple[LaneMode, ...] = get_args(LaneMode)


def draw_letter_lanes(rng: np.random.Generator, alphabet_size: int) -> NDArray[np.uint8]:
    """Deal the letters out to the belts, as evenly as they go: `draw_letter_lanes(rng, 16)[symbols]` are lanes.

    A stream and all its candidates share one deal, so that its generator is keyed by the stream:
    `generator(seed, benchmark, "video", length, band, index, "lanes")`. As a letter then tells its belt, the
    sequence of letters and that of letters and belts have the same Lempel-Ziv rate.

    Args:
        rng: The generator of the stream's lanes.
        alphabet_size: How many letters there are.

    Returns:
        The belt of each symbol, uint8 [alphabet_size]. Every belt has a third of the letters, rounded up or down;
        which belts have one more is drawn as well.

    """
    belts = rng.permutation(LANES)
    return belts[rng.permutation(alphabet_size) % LANES].astype(np.uint8)


def draw_event_lanes(rng: np.random.Generator, length: int) -> NDArray[np.uint8]:
    """Draw a belt for each occurrence, uniformly and independently: uint8 [length]."""
    return rng.integers(0, LANES, length, dtype=np.uint8)


def draw_lanes(
    symbols: ArrayLike, mode: LaneMode, rng: np.random.Generator, alphabet_size: int
) -> NDArray[np.uint8]:
    """Draw the belts of one whole sequence.

    Args:
        symbols: Integers below `alphabet_size`, shape [length].
        mode: What has a belt: a letter, or each of its occurrences.
        rng: The generator of the stream's lanes, as for `draw_letter_lanes`.
        alphabet_size: How many letters there are.

    Returns:
        The belt of each event, uint8 [length].

    Raises:
        EccdataError: The mode is none of `LANE_MODES`, or a symbol is not in the alphabet.

    """
    if mode not in LANE_MODES:
        raise EccdataError(f"lanes is {mode!r}; it is one of: {', '.join(LANE_MODES)}.")
    codes = _integers("symbols", symbols, alphabet_size)
    if mode == "per-letter":
        return draw_letter_lanes(rng, alphabet_size)[codes]
    return draw_event_lanes(rng, len(codes))


def joint_symbols(symbols: ArrayLike, lanes: ArrayLike) -> NDArray[np.uint8]:
    """Number the pairs of letter and belt: symbol × 3 + lane, the sequence whose rate is the video's.

    Args:
        symbols: Integers from 0 to 84, shape [length].
        lanes: Integers from 0 to 2, shape [length].

    Returns:
        uint8 [length].

    Raises:
        EccdataError: The shapes differ, or a number is out of its range.

    """
    codes = _integers("symbols", symbols, 256 // LANES)
    belts = _integers("lanes", lanes, LANES)
    if len(codes) != len(belts):
        raise EccdataError(
            f"There are {len(codes)} symbols and {len(belts)} lanes; every symbol has one lane."
        )
    return (codes * LANES + belts).astype(np.uint8)


def _integers(name: str, given: ArrayLike, below: int) -> NDArray[np.int64]:
    values = np.asarray(given)
    if values.ndim != 1:
        raise EccdataError(f"{name} has one dimension; this one has shape {values.shape}.")
    if values.size and values.dtype.kind not in "iu":
        raise EccdataError(f"{name} are integers; these are of type {values.dtype}.")
    wrong = np.flatnonzero((values < 0) | (values >= below))
    if len(wrong):
        raise problem(
            f"{len(wrong)} of {len(values)} {name} are not among 0 … {below - 1}:",
            [f"{values[i]} at position {i}" for i in wrong.tolist()],
        )
    return values.astype(np.int64)
