"""The Lempel-Ziv rate, on the paper's examples and against its definition."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import DTypeLike

from eccdata.errors import EccdataError
from eccdata.streams.lempel_ziv import lempel_ziv_rate, longest_previous_factors

LOW = [8, 1, 4, 6, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1]
MAX = [7, 1, 13, 13, 5, 2, 7, 13, 11, 9, 8, 7, 0, 0, 15, 12]

Sequences = st.integers(1, 4).flatmap(
    lambda top: st.one_of(
        st.lists(st.integers(0, top), max_size=60),
        # Repeats with one break, the long matches that short random lists seldom have.
        st.tuples(
            st.lists(st.integers(0, top), min_size=1, max_size=6), st.integers(1, 12), st.integers(0, top)
        ).map(lambda parts: parts[0] * parts[1] + [parts[2]] + parts[0] * parts[1]),
    )
)


def longest_previous_factors_by_definition(symbols: list[int]) -> list[int]:
    longest = [0] * len(symbols)
    for i in range(len(symbols)):
        for j in range(i):
            length = 0
            while i + length < len(symbols) and symbols[i + length] == symbols[j + length]:
                length += 1
            longest[i] = max(longest[i], length)
    return longest


@pytest.mark.parametrize(("symbols", "rate"), [(LOW, 0.7502), (MAX, 1.9756), ([5] * 8, 0.3357)])
def test_the_published_examples(symbols: list[int], rate: float) -> None:
    assert lempel_ziv_rate(symbols) == pytest.approx(rate, abs=5e-5)


def test_a_match_may_overlap_its_source_and_run_to_the_end() -> None:
    assert longest_previous_factors(LOW).tolist() == [0, 0, 0, 0, 0, 1, 1, 9, 8, 7, 6, 5, 4, 3, 2, 1]


@given(Sequences)
@settings(deadline=None)
@example([])
@example([0])
@example([0] * 33)
@example([0, 1] * 16)
@example(list(range(40)))
def test_matches_are_those_of_the_definition(symbols: list[int]) -> None:
    found = longest_previous_factors(np.array(symbols, np.int64))
    assert found.tolist() == longest_previous_factors_by_definition(symbols)
    assert found.dtype == np.int64


@given(Sequences.filter(lambda symbols: len(symbols) > 1))
@settings(deadline=None)
def test_the_rate_is_that_of_the_definition(symbols: list[int]) -> None:
    matches = longest_previous_factors_by_definition(symbols)
    terms = [(matches[i - 1] + 1) / math.log2(i) for i in range(2, len(symbols) + 1)]
    assert lempel_ziv_rate(symbols) == pytest.approx(len(terms) / math.fsum(terms), rel=1e-9)


@given(Sequences.filter(lambda symbols: len(symbols) > 1), st.permutations(range(5)))
@settings(deadline=None)
def test_what_the_symbols_are_called_is_no_matter(symbols: list[int], names: list[int]) -> None:
    renamed = [names[symbol] * 1000 - 7 for symbol in symbols]
    assert lempel_ziv_rate(symbols) == lempel_ziv_rate(renamed)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int32, np.uint64])
def test_any_integer_type_gives_the_same(dtype: DTypeLike) -> None:
    assert lempel_ziv_rate(np.array(LOW, dtype)) == lempel_ziv_rate(LOW)


def test_a_full_byte_alphabet_fits() -> None:
    symbols = np.tile(np.arange(256, dtype=np.uint8), 3)
    assert longest_previous_factors(symbols).tolist() == [0] * 256 + list(range(512, 0, -1))


@pytest.mark.parametrize("period", [1, 2, 3, 7, 255])
def test_long_periodic_sequences_match_to_their_end(period: int) -> None:
    symbols = np.arange(3000) % period
    assert longest_previous_factors(symbols).tolist() == [0] * period + list(range(3000 - period, 0, -1))


def test_long_random_sequences_match_as_bytes_do() -> None:
    symbols = np.random.default_rng(0).integers(0, 3, 3000, dtype=np.uint8)
    text = symbols.tobytes()
    for i, length in enumerate(longest_previous_factors(symbols).tolist()):
        # Whether a factor starts before i, it may run past i: so the last symbol that counts is i + length - 2.
        assert length == 0 or text.find(text[i : i + length], 0, i + length - 1) >= 0
        assert i + length == len(text) or text.find(text[i : i + length + 1], 0, i + length) < 0


def test_a_rate_of_random_symbols_approaches_the_entropy_from_below() -> None:
    rng = np.random.default_rng(1)
    rates = [lempel_ziv_rate(rng.integers(0, 16, length)) for length in (64, 1024, 16384)]
    assert rates == sorted(rates)
    assert 3.2 < rates[-1] < 4


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        ([], "at least 2 symbols, and this sequence has 0"),
        ([3], "at least 2 symbols, and this sequence has 1"),
        ([[1, 2], [3, 4]], r"this one has shape \(2, 2\)"),
        (7, r"this one has shape \(\)"),
        ([0.5, 1.0], "these are of type float64"),
        (["a", "b"], "these are of type <U1"),
    ],
)
def test_what_is_no_sequence_of_symbols_is_refused(symbols: object, message: str) -> None:
    with pytest.raises(EccdataError, match=message):
        lempel_ziv_rate(symbols)  # type: ignore[arg-type]
