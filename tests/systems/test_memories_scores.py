"""What the reference memories score, against what can be worked out on paper.

A positive is copied from one of n = L − k + 1 windows; A = 16.
"""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eccdata.systems.memories import Bag, Bloom, Chance, Exact, LempelZiv, Memory, Window
from eccdata.systems.memories.bag import allowed_share
from eccdata.systems.memories.grams import gram_codes
from eccdata.systems.memories.window import plain_capacity
from support.membership_trials import (
    ALPHABET,
    Trial,
    accuracy,
    accuracy_on_answered,
    ask,
    assert_share,
    coverage,
    questions,
)


def found_in_window(length: int, held: int, k: int) -> float:
    """P(a positive of a maximum-entropy stream is in the last `held` symbols).

    Its own window is there, or another one with the same content is.
    """
    windows, there = length - k + 1, min(length, held) - k + 1
    return 1 - (1 - there / windows) * (1 - float(ALPHABET) ** -k) ** there


def window_accuracy(trials: list[Trial], length: int, held: int) -> float:
    """A window is right about every negative, and about the positives that it finds."""
    found = [found_in_window(length, held, len(t.row["candidate"])) for t in trials if t.positive]
    return (sum(found) + sum(not t.positive for t in trials)) / len(trials)


@pytest.mark.parametrize("source", ["low", "max"])
def test_exact_is_always_right_and_certain(source: str) -> None:
    for arm in ("none", "a", "b"):
        trials = ask(Exact(), questions(source, 512, 10), arm)
        assert (accuracy(trials), coverage(trials)) == (1, 1)
        assert {t.probability for t in trials} == {0.0, 1.0}


def test_chance_is_right_half_the_time_and_declines_when_errors_cost() -> None:
    rows = [row for length in (16, 64, 256) for row in questions("max", length)]
    for seed in (0, 1):
        trials = ask(Chance(seed=seed), rows, "a")
        assert coverage(trials) == 1
        assert_share(sum(t.correct for t in trials), len(trials), 0.5)
        yes = sum(t.columns["prediction"] == "yes" for t in trials)
        assert_share(yes, len(trials), 0.5)
    assert coverage(ask(Chance(), rows, "b")) == 0
    one, same, other = ([t.response.text for t in ask(Chance(seed=seed), rows[:64])] for seed in (0, 0, 1))
    assert one == same != other


@pytest.mark.parametrize("length", [64, 256, 1024, 4096])
@pytest.mark.parametrize("bits", [256, 2048])
def test_window_on_maximum_entropy_follows_the_formula(length: int, bits: int) -> None:
    trials = ask(Window(bits), questions("max", length))
    held = bits // 4
    assert plain_capacity(bits, ALPHABET) == held
    expected = window_accuracy(trials, length, held)
    # half, and half of the share that is held, up to chance repetitions of three symbols
    assert expected == pytest.approx(0.5 + 0.5 * min(1, held / length), abs=0.02)
    assert_share(sum(t.correct for t in trials), len(trials), expected)
    assert all(t.correct for t in trials if not t.positive)


FACTS = {  # what a bag of k-grams scores on maximum-entropy streams, to the digits given
    (1, 16): 0.92,
    (1, 32): 0.75,
    (1, 64): 0.53,
    (1, 128): 0.50,
    (2, 16): 0.999,
    (2, 64): 0.99,
    (2, 128): 0.97,
    (2, 256): 0.885,
    (2, 1024): 0.53,
    (3, 1024): 0.99,
    (3, 4096): 0.89,
}


@pytest.mark.parametrize(("k", "length"), FACTS)
def test_bag_scores_what_a_reader_without_order_can(k: int, length: int) -> None:
    trials = ask(Bag(k), questions("max", length))
    assert_share(sum(t.correct for t in trials), len(trials), FACTS[k, length], slack=0.005)
    # It knows: its mean confidence is its accuracy.
    assert_share(sum(t.correct for t in trials), len(trials), confidence(trials))
    assert all(t.correct for t in trials if t.positive)


@settings(max_examples=30)
@given(k=st.integers(1, 3), length=st.integers(3, 5), seed=st.integers(0, 99), density=st.floats(0, 1))
def test_a_bags_allowed_strings_are_counted_exactly(k: int, length: int, seed: int, density: float) -> None:
    occurred = np.random.default_rng(seed).random(3**k) < density
    allowed = sum(
        bool(occurred[gram_codes(np.array(string, np.uint8), k, 3)].all())
        for string in product(range(3), repeat=length)
    )
    assert allowed_share(occurred, k, length, 3) == pytest.approx(allowed / 3**length)


@pytest.mark.parametrize(("bits", "hashes"), [(1024, 1), (1024, 4), (4096, 3), (20001, 7)])
def test_blooms_false_positives_follow_the_formula(bits: int, hashes: int) -> None:
    row = questions("max", 512, 1)[0]
    stream = np.array(row["stream"], np.uint8)
    state = Bloom(bits, ngram=3, hashes=hashes).remember(stream, ALPHABET)
    put_in = set(gram_codes(stream, 3, ALPHABET).tolist())
    fill = 1 - (1 - 1 / bits) ** (hashes * len(put_in))
    passed = {g for g in product(range(ALPHABET), repeat=3) if state.read(np.array(g, np.uint8)) > 0}
    codes = {(a * ALPHABET + b) * ALPHABET + c for a, b, c in passed}
    assert put_in <= codes
    absent = ALPHABET**3 - len(put_in)
    # the fill itself varies by about its own square root
    slack = hashes * fill ** (hashes - 1) * 4 * sqrt(fill * (1 - fill) / bits)
    assert_share(len(codes - put_in), absent, fill**hashes, slack)


@pytest.mark.parametrize("length", [256, 1024, 4096])
def test_bloom_is_right_about_positives_and_negatives_that_do_not_pass(length: int) -> None:
    bits, hashes = 8192, 3
    trials = ask(Bloom(bits, hashes=hashes), questions("max", length))
    distinct = ALPHABET**3 * (1 - (1 - ALPHABET**-3) ** (length - 2))
    share = distinct / ALPHABET**3
    passing = share + (1 - share) * (1 - (1 - 1 / bits) ** (hashes * distinct)) ** hashes
    absent_but_passing = [
        (1 - share) and (passing - share) / (1 - share) if k == 3 else passing ** (k - 2)
        for k in (len(t.row["candidate"]) for t in trials if not t.positive)
    ]
    wrong = sum(not t.correct for t in trials if not t.positive)
    assert all(t.correct for t in trials if t.positive)
    assert_share(wrong, len(absent_but_passing), float(np.mean(absent_but_passing)), slack=0.02)


def confidence(trials: list[Trial]) -> float:
    return float(np.mean([max(t.probability, 1 - t.probability) for t in trials]))


FORGETFUL: list[Memory] = [Window(512), LempelZiv(512), Bag(2), Bag(3), Bloom(2048), Bloom(8192)]


@pytest.mark.parametrize("memory", FORGETFUL, ids=lambda memory: memory.label)
def test_probabilities_are_calibrated_on_maximum_entropy(memory: Memory) -> None:
    trials = [t for length in (128, 512, 1024, 4096) for t in ask(memory, questions("max", length))]
    edges = np.array([0, 1e-9, 0.2, 0.4, 0.6, 0.8, 0.9, 1])
    bins = np.digitize([t.probability for t in trials], edges)
    for b in np.unique(bins):
        inside = [t for t, of in zip(trials, bins, strict=True) if of == b]
        stated = np.array([t.probability for t in inside])
        surprise = sum(t.positive for t in inside) - stated.sum()
        # Poisson-binomial; reckoning with expected counts of distinct grams costs a hundredth
        assert abs(surprise) <= 4 * sqrt((stated * (1 - stated)).sum()) + 0.01 * len(inside)


@pytest.mark.parametrize("memory", [Window(512), LempelZiv(512)], ids=lambda memory: memory.label)
def test_on_compressible_streams_a_window_errs_towards_doubt(memory: Memory) -> None:
    trials = ask(memory, questions("low", 1024))
    assert accuracy(trials) > confidence(trials)


@pytest.mark.parametrize(
    ("memory", "length"),
    [
        (Window(512), 256),
        (LempelZiv(512), 256),
        (Bag(1), 32),
        (Bag(2), 256),
        (Bag(3), 4096),
        (Bloom(2048), 1024),
    ],
    ids=lambda value: getattr(value, "label", value),
)
def test_coverage_falls_when_errors_cost_more(memory: Memory, length: int) -> None:
    rows = questions("max", length)
    by_arm = {arm: ask(memory, rows, arm) for arm in ("none", "a", "b")}
    a, b = by_arm["a"], by_arm["b"]
    # Confidence is at least one half: above arm A's break-even of one quarter.
    assert coverage(by_arm["none"]) == coverage(a) == 1
    assert 0 < coverage(b) < 0.9
    assert (
        accuracy_on_answered(b)
        > 0.8
        > accuracy_on_answered([t for t, kept in zip(a, b, strict=True) if not kept.answered])
    )
    # Scored under arm B, what arm B answered earns more than what arm A answered.
    earned_under_b = sum(1 if t.correct else -4 for t in a)
    assert sum(t.columns["payoff"] for t in b) > max(0, earned_under_b)
    # Nothing else changed between the arms.
    assert [t.probability for t in a] == [t.probability for t in b]


BUDGETS = [(512, 1024), (2048, 4096)]


@pytest.mark.parametrize(("bits", "length"), BUDGETS)
def test_lempel_ziv_is_a_window_on_incompressible_streams(bits: int, length: int) -> None:
    rows = questions("max", length)
    trials = ask(LempelZiv(bits), rows)
    assert_share(
        sum(t.correct for t in trials), len(trials), window_accuracy(trials, length, (bits - 1) // 4)
    )
    # It is the window of one bit less.
    assert [t.probability for t in trials] == [t.probability for t in ask(Window(bits - 1), rows)]


@pytest.mark.parametrize(("bits", "length"), BUDGETS)
def test_lempel_ziv_compresses_and_a_window_does_not(bits: int, length: int) -> None:
    """Compression at one budget (eccbench.txt, equation 2), on streams that repeat themselves only nearby.

    What a window has forgotten of such a stream does not come back, so it recalls no more of it than of an
    incompressible one.
    """
    regular, random = questions("nearby", length), questions("max", length)
    window = ask(Window(bits), regular)
    assert_share(sum(t.correct for t in window), len(window), window_accuracy(window, length, bits // 4))
    gains = {
        memory.name: accuracy(ask(memory, regular)) - accuracy(ask(memory, random))
        for memory in (Window(bits), LempelZiv(bits))
    }
    assert abs(gains["window"]) <= 4 * sqrt(2 * 0.25 / len(regular))
    assert gains["lempel-ziv"] > 0.12


@pytest.mark.parametrize(("bits", "length"), BUDGETS)
def test_on_the_low_band_a_window_gains_by_recurrence_and_lempel_ziv_by_more(bits: int, length: int) -> None:
    """A low-entropy stream says again at its end what it said before, and membership does not ask which time.

    So equation 2 gives a window a gain too, though it holds the same symbols; the coded window gains more.
    """
    rows = questions("low", length)
    window, coded = ask(Window(bits), rows), ask(LempelZiv(bits), rows)
    gain = accuracy(window) - accuracy(ask(Window(bits), questions("max", length)))
    assert gain > 0.15
    # It recalls none of the places it has forgotten: what occurred once is found only where it is held.
    held = bits // 4
    once = [t for t in window if t.positive and bytes(t.row["stream"]).count(bytes(t.row["candidate"])) == 1]
    assert once
    for trial in once:
        assert trial.correct == (trial.row["position"] >= length - held)
    # Of each question the coded window knows at least as much, and of some more.
    assert all(c.correct >= w.correct for c, w in zip(coded, window, strict=True))
    assert accuracy(coded) > accuracy(window) + 0.01
