"""Belts: dealt out by letter or drawn by event."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from eccdata.errors import EccdataError
from eccdata.streams.lempel_ziv import lempel_ziv_rate
from eccdata.streams.seeding import generator
from eccdata.video.lanes import (
    LANES,
    draw_event_lanes,
    draw_lanes,
    draw_letter_lanes,
    joint_symbols,
)


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_letters_are_dealt_out_evenly(seed: int, alphabet_size: int) -> None:
    lanes = draw_letter_lanes(generator(seed, "lanes"), alphabet_size)
    assert lanes.shape == (alphabet_size,)
    assert lanes.dtype == np.uint8
    counts = np.bincount(lanes, minlength=LANES)
    assert len(counts) == LANES
    assert counts.max() - counts.min() <= 1


def test_no_letter_and_no_belt_is_preferred() -> None:
    deals = np.array([draw_letter_lanes(generator(0, "lanes", i), 16) for i in range(3000)])
    for lane in range(LANES):
        # a letter is on a belt with probability 1/3: 6 standard errors
        assert np.abs((deals == lane).mean(axis=0) - 1 / 3).max() < 6 * np.sqrt(2 / 9 / 3000)
    # and the belt that has six letters is any of the three
    larger = np.array([np.bincount(deal, minlength=LANES).argmax() for deal in deals])
    assert np.abs(np.bincount(larger) / 3000 - 1 / 3).max() < 6 * np.sqrt(2 / 9 / 3000)


def test_events_have_belts_of_their_own() -> None:
    lanes = draw_event_lanes(generator(1, "lanes"), 30_000)
    assert lanes.dtype == np.uint8
    assert np.abs(np.bincount(lanes) / 30_000 - 1 / 3).max() < 0.02
    assert abs((lanes[1:] == lanes[:-1]).mean() - 1 / 3) < 0.02


def test_a_letter_that_keeps_its_belt_leaves_the_rate_as_it_is() -> None:
    symbols = generator(2, "stream").integers(0, 16, 1024)
    lanes = draw_lanes(symbols, "per-letter", generator(2, "lanes"), 16)
    assert all(len(set(lanes[symbols == letter])) == 1 for letter in range(16))
    rate = lempel_ziv_rate(symbols)
    assert lempel_ziv_rate(joint_symbols(symbols, lanes)) == rate
    each = draw_lanes(symbols, "per-event", generator(2, "lanes"), 16)
    assert lempel_ziv_rate(joint_symbols(symbols, each)) > rate + 0.5


def test_the_same_generator_deals_the_same_lanes() -> None:
    symbols = np.arange(16)
    dealt = draw_lanes(symbols, "per-letter", generator(0, "lanes"), 16)
    assert dealt.tolist() == draw_letter_lanes(generator(0, "lanes"), 16).tolist()
    assert dealt.tolist() == GOLDEN


GOLDEN = [2, 1, 0, 1, 2, 2, 1, 0, 1, 2, 0, 0, 0, 2, 0, 1]


def test_joint_symbols_number_the_pairs() -> None:
    symbols, lanes = np.divmod(np.arange(48), 3)
    assert joint_symbols(symbols, lanes).tolist() == list(range(48))
    assert joint_symbols([], []).tolist() == []


@pytest.mark.parametrize(
    ("symbols", "lanes", "message"),
    [
        ([1, 2], [0], "2 symbols and 1 lanes"),
        ([1, 2], [0, 3], "3 at position 1"),
        ([1, -1], [0, 0], "-1 at position 1"),
        ([[1, 2]], [0, 0], r"shape \(1, 2\)"),
        ([0.5], [0], "float64"),
        ([99], [0], "99 at position 0"),
    ],
)
def test_wrong_events_are_named(symbols: ArrayLike, lanes: ArrayLike, message: str) -> None:
    with pytest.raises(EccdataError, match=message):
        joint_symbols(symbols, lanes)


def test_wrong_modes_and_symbols_are_named() -> None:
    with pytest.raises(EccdataError, match="per-letter, per-event"):
        draw_lanes([0], "both", generator(0, "lanes"), 16)  # type: ignore[arg-type]
    with pytest.raises(EccdataError, match="16 at position 1"):
        draw_lanes([0, 16], "per-letter", generator(0, "lanes"), 16)
