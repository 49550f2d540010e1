"""Rule sets say what comes next, and streams drawn from them follow it."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eccdata.errors import EccdataError
from eccdata.streams.rules import RuleSet, narrow_rule_set
from eccdata.streams.seeding import generator

Context = tuple[int, ...]

# The published example of a rule, under contexts that end alike.
NESTED = RuleSet(
    16,
    {
        (5,): {8: 0.5, 5: 0.3, 4: 0.1},
        (4, 5): {8: 0.8, 13: 0.18},
        (8, 4, 5): {4: 1.0},
        (8,): {4: 0.9},
        (4,): {5: 0.9, 4: 0.05},
        (13,): {5: 0.97},
        (4, 4, 5, 8): {5: 0.6, 8: 0.4},
    },
)


@st.composite
def rule_sets(draw: st.DrawFn) -> RuleSet:
    alphabet_size = draw(st.integers(2, 5))
    symbols = st.integers(0, alphabet_size - 1)
    rules: dict[Context, dict[int, float]] = {}
    for context in draw(
        st.lists(st.lists(symbols, min_size=1, max_size=8).map(tuple), max_size=12, unique=True)
    ):
        named = draw(st.lists(symbols, min_size=1, max_size=min(4, alphabet_size - 1), unique=True))
        weights = [draw(st.integers(0, 9)) for _ in named]
        rules[context] = {s: w / (sum(weights) + 1) for s, w in zip(named, weights, strict=True)}
    return RuleSet(alphabet_size, rules)


def next_probabilities_by_definition(rules: RuleSet, prefix: list[int]) -> list[float]:
    for start in range(len(prefix)):
        named = rules.rules.get(tuple(prefix[start:]))
        if named is not None:
            left = (1 - sum(named.values())) / (rules.alphabet_size - len(named))
            return [named.get(symbol, left) for symbol in range(rules.alphabet_size)]
    return [1 / rules.alphabet_size] * rules.alphabet_size


class Scripted:
    """A generator of uniform numbers known beforehand."""

    def __init__(self, numbers: list[float]) -> None:
        self.numbers = numbers

    def random(self, size: int) -> np.ndarray:
        return np.array(self.numbers[:size])


def test_what_a_context_leaves_over_is_spread_over_the_others() -> None:
    probabilities = NESTED.next_probabilities([0, 4, 5])
    assert probabilities[8] == 0.8
    assert probabilities[13] == 0.18
    others = np.delete(probabilities, [8, 13])
    assert others == pytest.approx([0.02 / 14] * 14)


@pytest.mark.parametrize(
    ("prefix", "context"),
    [
        ([5], (5,)),
        ([4, 5], (4, 5)),
        ([8, 4, 5], (8, 4, 5)),
        ([4, 4, 5], (4, 5)),
        ([8, 4, 4, 5, 8], (4, 4, 5, 8)),
        ([8, 5, 5, 8], (8,)),
    ],
)
def test_the_longest_suffix_that_is_a_context_decides(prefix: list[int], context: Context) -> None:
    probabilities = NESTED.next_probabilities(prefix)
    assert {s: probabilities[s] for s in NESTED.rules[context]} == NESTED.rules[context]


@pytest.mark.parametrize("prefix", [[], [7], [5, 7], [13, 13, 0]])
def test_without_a_matching_context_all_symbols_are_equally_likely(prefix: list[int]) -> None:
    assert NESTED.next_probabilities(prefix).tolist() == [1 / 16] * 16


@given(rule_sets(), st.lists(st.integers(0, 4), max_size=12))
@settings(deadline=None)
def test_next_probabilities_are_those_of_the_definition(rules: RuleSet, prefix: list[int]) -> None:
    prefix = [symbol % rules.alphabet_size for symbol in prefix]
    expected = next_probabilities_by_definition(rules, prefix)
    for given_as in (prefix, np.array(prefix, np.uint8)):
        assert rules.next_probabilities(given_as) == pytest.approx(expected, abs=1e-12)
    assert sum(expected) == pytest.approx(1)


@given(rule_sets(), st.lists(st.floats(0, 1, exclude_max=True), max_size=40))
@settings(max_examples=200, deadline=None)
def test_each_symbol_is_where_its_uniform_number_falls(rules: RuleSet, numbers: list[float]) -> None:
    drawn = rules.sample(len(numbers), Scripted(numbers))  # type: ignore[arg-type]
    for i, (symbol, number) in enumerate(zip(drawn.tolist(), numbers, strict=True)):
        bounds = np.append(0, np.cumsum(rules.next_probabilities(drawn[:i])))
        assert bounds[symbol] - 1e-9 <= number <= bounds[symbol + 1] + 1e-9


def test_long_streams_have_the_frequencies_of_the_rules() -> None:
    drawn = NESTED.sample(100_000, generator(0, "frequencies")).tolist()
    seen: dict[Context, Counter[int]] = {}
    for i in range(4, len(drawn)):
        seen.setdefault(tuple(drawn[i - 4 : i]), Counter())[drawn[i]] += 1
    common = {context: counts for context, counts in seen.items() if counts.total() >= 400}
    assert len(common) > 20
    for context, counts in common.items():
        p = NESTED.next_probabilities(context)
        shares = np.array([counts[symbol] for symbol in range(16)]) / counts.total()
        assert np.all(np.abs(shares - p) <= 5 * np.sqrt(p * (1 - p) / counts.total()) + 5 / counts.total())


def test_without_rules_every_symbol_is_drawn_alike() -> None:
    drawn = RuleSet(256, {}).sample(256_000, generator(0, "uniform"))
    assert drawn.dtype == np.uint8
    counts = np.bincount(drawn, minlength=256)
    assert np.all(np.abs(counts - 1000) < 5 * 1000**0.5)


def test_a_shorter_sample_begins_a_longer_one() -> None:
    long = NESTED.sample(500, generator(0, "prefix"))
    assert NESTED.sample(60, generator(0, "prefix")).tolist() == long[:60].tolist()
    assert NESTED.sample(0, generator(0, "prefix")).tolist() == []


def test_what_is_impossible_is_never_drawn() -> None:
    # Three thirds add up to less than one in floating point, and 3 may still never come.
    thirds = RuleSet(4, {(s,): {0: 1 / 3, 1: 1 / 3, 2: 1 / 3, 3: 0.0} for s in range(4)})
    drawn = thirds.sample(4, Scripted([0.999, 1 - 2**-53, 0.0, 1 - 2**-53]))  # type: ignore[arg-type]
    assert drawn.tolist() == [3, 2, 0, 2]


def test_every_fault_of_a_rule_set_is_told_at_once() -> None:
    faulty = {
        (): {1: 0.5},
        (1,) * 9: {1: 0.5},
        (1, 7): {2: 0.5},
        (0,): {9: 0.5},
        (1,): {},
        (2,): {0: 0.2, 1: 0.2, 2: 0.2, 3: 0.2, 4: 0.2},
        (3,): {0: 0.9, 1: 0.2},
        (4,): {0: -0.1},
    }
    with pytest.raises(EccdataError) as told:
        RuleSet(5, faulty)
    message = str(told.value)
    assert message.splitlines() == [
        "These rules do not fit an alphabet of 5 symbols:",
        "  - (empty): the context has 0 symbols, not 1 to 8",
        "  - 1, 1, 1, 1, 1, 1, 1, 1, 1: the context has 9 symbols, not 1 to 8",
        "  - 1, 7: 7 is no symbol",
        "  - 0: 9 is no symbol",
        "  - 1: it names 0 next symbols, not 1 to 4",
        "  - 2: it names 5 next symbols, not 1 to 4",
        "  - 3: the probabilities add up to 1.1",
        "  - 4: 0 has probability -0.1",
    ]


def test_probabilities_of_all_symbols_must_leave_nothing_over() -> None:
    with pytest.raises(EccdataError, match=r"add up to 0\.9"):
        RuleSet(2, {(0,): {0: 0.5, 1: 0.4}})


@pytest.mark.parametrize("alphabet_size", [-1, 0, 1, 257])
def test_alphabets_are_of_2_to_256_symbols(alphabet_size: int) -> None:
    with pytest.raises(EccdataError, match=f"alphabet_size is {alphabet_size}"):
        RuleSet(alphabet_size, {})
    with pytest.raises(EccdataError, match=f"alphabet_size is {alphabet_size}"):
        narrow_rule_set(generator(0), alphabet_size)


@pytest.mark.parametrize("alphabet_size", [2, 3, 4, 16, 64, 256])
def test_narrow_rule_sets_are_of_the_published_form(alphabet_size: int) -> None:
    drawn = [narrow_rule_set(generator(0, "narrow", i), alphabet_size) for i in range(200)]
    lengths = Counter(len(context) for rules in drawn for context in rules.rules)
    assert set(lengths) == set(range(1, 9))
    named = Counter(len(next_) for rules in drawn for next_ in rules.rules.values())
    assert set(named) == set(range(1, min(alphabet_size, 4) + 1))
    for rules in drawn:
        assert len({symbol for next_ in rules.rules.values() for symbol in next_}) <= 4
        for next_ in rules.rules.values():
            assert max(next_.values()) >= 0.5
    if alphabet_size == 16:
        assert all(len(rules.rules) <= 20 for rules in drawn)


def test_long_contexts_come_to_match() -> None:
    matched: Counter[int] = Counter()
    for i in range(40):
        rules = narrow_rule_set(generator(0, "matched", i))
        drawn = tuple(rules.sample(300, generator(0, "matched", i, "stream")).tolist())
        for end in range(8, 300):
            matched[next((n for n in range(8, 0, -1) if drawn[end - n : end] in rules.rules), 0)] += 1
    assert set(matched) == set(range(9))
    assert sum(matched[n] for n in range(2, 9)) > 0.1 * matched.total()


def test_rule_sets_depend_on_their_generator_alone() -> None:
    assert narrow_rule_set(generator(5, "a")) == narrow_rule_set(generator(5, "a"))
    assert narrow_rule_set(generator(5, "a")) != narrow_rule_set(generator(5, "b"))
