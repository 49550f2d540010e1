from __future__ import annotations

from collections import Counter, defaultdict
from itertools import permutations, product
from math import perm, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eccdata.streams.seeding import generator
from eccdata.video.lanes import LANES, draw_letter_lanes
from eccdata.video.wrong_belts import _move, wrong_belts

DEALS = sorted(set(permutations((6, 5, 5))))


def dealt(belts: tuple[int, ...]) -> float:
    """How likely an even deal of sixteen letters puts these ones, all different, on these belts."""
    counts = [belts.count(lane) for lane in range(LANES)]
    return sum(prod(map(perm, deal, counts)) for deal in DEALS) / len(DEALS) / perm(16, len(belts))


@pytest.mark.parametrize("letters", range(1, 7))
def test_belts_with_one_letter_moved_are_distributed_exactly_as_if_none_had(letters: int) -> None:
    everything = list(product(range(LANES), repeat=letters))
    moved: dict[tuple[int, ...], float] = defaultdict(float)
    uniformly: dict[tuple[int, ...], float] = defaultdict(float)
    for belts, place in product(everything, range(letters)):
        beside = Counter(belts[:place] + belts[place + 1 :])
        first = _move(belts[place], tuple(beside[lane] for lane in range(LANES)), 16)
        others = [lane for lane in range(LANES) if lane != belts[place]]
        for lane, share in zip(others, (first, 1 - first), strict=True):
            way = (*belts[:place], lane, *belts[place + 1 :])
            moved[way] += dealt(belts) / letters * share
            uniformly[way] += dealt(belts) / letters / 2
    assert all(moved[belts] == pytest.approx(dealt(belts), rel=1e-12) for belts in everything)
    # moved to either belt alike they would tell: this is what the best reader of belts alone would score
    accuracy = 0.5 + sum(abs(uniformly[belts] - dealt(belts)) for belts in everything) / 4
    assert accuracy == pytest.approx(
        [0.5, 0.53125, 11 / 21, 15 / 28, 0.53777, 0.54267][letters - 1], abs=1e-4
    )


def test_the_first_move_is_drawn_with_these_weights() -> None:
    rng = np.random.default_rng(0)
    belts = bytes([0, 0, 0, 1])
    found = Counter(
        first[0]
        for first in (next(wrong_belts(bytes(range(4)), belts, "per-letter", rng, 16)) for _ in range(3000))
        if first[0]
    )
    share = found[1] / found.total()
    assert share == pytest.approx(_move(0, (2, 1, 0), 16), abs=4 * (0.25 / found.total()) ** 0.5)
    assert _move(0, (2, 1, 0), 16) < 0.4


def test_the_deal_is_the_one_that_moves_are_balanced_for() -> None:
    rng = generator(0, "test", "deal")
    found = Counter(tuple(draw_letter_lanes(rng, 16)[:2].tolist()) for _ in range(4000))
    same = sum(found[lane, lane] for lane in range(LANES)) / 4000
    assert same == pytest.approx(3 * dealt((0, 0)), abs=4 * (0.3 * 0.7 / 4000) ** 0.5)
    assert 3 * dealt((0, 0)) == pytest.approx(70 / 240)


@given(
    st.binary(min_size=1, max_size=8).map(lambda window: bytes(code % 16 for code in window)),
    st.integers(0, 2**32),
)
def test_a_letter_moves_with_all_its_occurrences_those_that_occur_once_first(
    window: bytes, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    lanes = draw_letter_lanes(rng, 16)[list(window)].tobytes()
    counts = Counter(window)
    ways = list(wrong_belts(window, lanes, "per-letter", rng, 16))
    assert len(set(ways)) == len(ways) == 2 * len(counts)
    sizes = []
    for way in ways:
        moved = [place for place in range(len(window)) if way[place] != lanes[place]]
        (letter,) = {window[place] for place in moved}
        assert len(moved) == counts[letter]
        assert len({way[place] for place in moved}) == 1
        sizes.append(len(moved))
    once = [size == 1 for size in sizes]
    assert once == sorted(once, reverse=True)


@given(st.binary(min_size=1, max_size=6), st.integers(0, 2**32))
def test_per_event_a_single_occurrence_moves(window: bytes, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lanes = rng.integers(0, LANES, len(window), dtype=np.uint8).tobytes()
    ways = list(wrong_belts(window, lanes, "per-event", rng, 16))
    assert len(set(ways)) == len(ways) == 2 * len(window)
    assert all(sum(a != b for a, b in zip(way, lanes, strict=True)) == 1 for way in ways)


def test_alphabets_of_few_letters_have_wrong_belts_too() -> None:
    for size in range(2, 8):
        rng = np.random.default_rng(size)
        for _ in range(50):
            window = bytes(rng.permutation(size)[: min(size, 6)].tolist())
            lanes = draw_letter_lanes(rng, size)[list(window)].tobytes()
            assert len(list(wrong_belts(window, lanes, "per-letter", rng, size))) == 2 * len(window)
