"""Candidates whose letters are right, in order, and of which exactly one is on a wrong belt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from math import perm, prod

import numpy as np

from eccdata.video.lanes import LANES, LaneMode


def wrong_belts(
    symbols: bytes, lanes: bytes, mode: LaneMode, rng: np.random.Generator, alphabet_size: int
) -> Iterator[bytes]:
    """Put one letter of a window on another belt, in every way, in random order.

    Where a letter keeps its belt (`per-letter`), a window that shows one letter on two belts gives itself away, so
    that a letter moves with all its occurrences in the window, and letters that occur once in it come first. Which
    of the other belts comes first is drawn so that the belts of a window with its first change are distributed
    exactly as those of windows without one: by themselves they say nothing (see `_move`). With `per-event` a single
    occurrence moves, to either belt alike, which keeps independent uniform belts what they are.

    Args:
        symbols: The window's letters, a byte each.
        lanes: Their belts, a byte each.
        mode: What has a belt.
        rng: Where the draws come from.
        alphabet_size: How many letters the stream's belts were dealt to.

    Yields:
        Belts of the window, each time with another letter moved or to another belt.

    """
    for places in _movable(symbols, mode, rng):
        belt = lanes[places[0]]
        others = [other for other in range(LANES) if other != belt]
        if mode == "per-letter":
            beside = Counter(dict(zip(symbols, lanes, strict=True)).values())  # a letter counts once
            first = _move(belt, tuple(beside[b] - (b == belt) for b in range(LANES)), alphabet_size)
        else:
            first = 0.5
        for other in others if rng.random() < first else others[::-1]:
            moved = bytearray(lanes)
            for place in places:
                moved[place] = other
            yield bytes(moved)


def _movable(symbols: bytes, mode: LaneMode, rng: np.random.Generator) -> list[list[int]]:
    """The places that move together: in random order, letters that occur once before the others."""
    if mode == "per-event":
        return [[place] for place in rng.permutation(len(symbols)).tolist()]
    places: dict[int, list[int]] = {}
    for place, symbol in enumerate(symbols):
        places.setdefault(symbol, []).append(place)
    shuffled = [list(places.values())[i] for i in rng.permutation(len(places))]
    return sorted(shuffled, key=lambda found: len(found) > 1)


@cache
def _move(belt: int, beside: tuple[int, ...], alphabet_size: int) -> float:
    """How likely a letter that is moved goes to the lower-numbered one of the other belts.

    Belts are dealt evenly, so letters of one window share a belt less often than chance would have it. Moved
    uniformly, one of them shares a belt too often, and a reader who sees belts alone is right on 54 % of windows of
    six letters. So the move is reversible with respect to the deal: from belt a to b it is as frequent as back, with
    weights (p_a + p_b - p_c) / 2 for the deal's probabilities p of where the letter lies, given the others. (In an
    alphabet of a few letters such weights may not exist; then the negative one is taken for zero.)

    Args:
        belt: Where the letter lies.
        beside: How many of the window's other letters lie on each belt.
        alphabet_size: How many letters were dealt out.

    """
    deals = set(permutations((alphabet_size + extra) // LANES for extra in range(LANES)))
    lies = []
    for place in range(LANES):
        letters = [count + (at == place) for at, count in enumerate(beside)]
        lies.append(sum(prod(map(perm, deal, letters)) for deal in deals))
    one, other = (b for b in range(LANES) if b != belt)
    to_one, to_other = (
        max(0, lies[belt] + lies[to] - lies[rest]) for to, rest in ((one, other), (other, one))
    )
    return to_one / (to_one + to_other)
