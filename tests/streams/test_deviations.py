from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eccdata.errors import EccdataError
from eccdata.streams.deviations import GAP, BrokenPattern, Structure, broken_pattern, deviation_queries
from eccdata.streams.seeding import generator

STRUCTURES: tuple[Structure, ...] = ("repeating-pattern", "counting-disruption")


def occurrences(part: bytes, whole: bytes) -> list[int]:
    return [i for i in range(len(whole) - len(part) + 1) if whole[i : i + len(part)] == part]


@settings(max_examples=200, deadline=None)
@given(
    structure=st.sampled_from(STRUCTURES),
    length=st.integers(32, 300),
    alphabet_size=st.integers(5, 20),
    seed=st.integers(0, 2**32),
)
def test_deviations_break_the_pattern_once_each(
    structure: Structure, length: int, alphabet_size: int, seed: int
) -> None:
    pattern = broken_pattern(structure, length, generator(seed, "any"), alphabet_size=alphabet_size)
    stream, motif = pattern.symbols, pattern.motif
    assert len(stream) == length
    assert max(stream) < alphabet_size
    assert len(motif) in (3, 4, 5)
    assert pattern.unbroken == bytes(motif[i % len(motif)] for i in range(length))
    if structure == "counting-disruption":
        steps = {b - a for a, b in itertools.pairwise(motif)}
        assert steps in ({1}, {-1})
    else:
        assert {len(deviation.symbols) for deviation in pattern.deviations} == {len(motif)}

    assert len(pattern.deviations) in (1, 2)
    broken: set[int] = set()
    for deviation in pattern.deviations:
        assert len(deviation.symbols) in (3, 4, 5)
        assert occurrences(deviation.symbols, stream) == [deviation.position]
        assert not occurrences(deviation.symbols, pattern.unbroken)
        broken.update(range(deviation.position, deviation.end))
    assert all(stream[i] == pattern.unbroken[i] for i in range(length) if i not in broken)
    if len(pattern.deviations) == 2:
        first, second = pattern.deviations
        assert first.symbols != second.symbols
        assert second.position - first.end >= GAP


@settings(max_examples=150, deadline=None)
@given(
    structure=st.sampled_from(STRUCTURES),
    length=st.integers(32, 300),
    alphabet_size=st.integers(8, 20),
    seed=st.integers(0, 2**32),
)
def test_queries_target_the_deviations(
    structure: Structure, length: int, alphabet_size: int, seed: int
) -> None:
    rng = generator(seed, "any")
    pattern = broken_pattern(structure, length, rng, alphabet_size=alphabet_size)
    queries = deviation_queries(pattern, rng, alphabet_size=alphabet_size)
    positives = [query.candidate for query in queries if query.answer == "yes"]
    negatives = [query.candidate for query in queries if query.answer == "no"]
    assert len(positives) == len(negatives) == 8
    assert sorted(map(len, positives)) == sorted(map(len, negatives))
    assert {len(candidate) for candidate in positives} <= {3, 4, 5, 6}
    for query in queries:
        assert query.position == pattern.symbols.find(query.candidate)
        assert query.negative_kind == (None if query.answer == "yes" else "corruption")
    for candidate in positives:
        assert candidate not in pattern.unbroken
        assert touched(candidate, pattern)
    for candidate in negatives:
        assert any(
            sum(a != b for a, b in zip(candidate, positive, strict=True)) == 1
            for positive in positives
            if len(positive) == len(candidate)
        )
    if len(pattern.unbroken) > 60:
        assert len(set(positives)) == len(set(negatives)) == 8


def touched(candidate: bytes, pattern: BrokenPattern) -> bool:
    return any(
        start < deviation.end and start + len(candidate) > deviation.position
        for start in occurrences(candidate, pattern.symbols)
        for deviation in pattern.deviations
    )


def test_everything_the_paper_lets_vary_varies() -> None:
    for structure in STRUCTURES:
        patterns = [broken_pattern(structure, 256, generator(0, structure, i)) for i in range(300)]
        counts = Counter(len(pattern.deviations) for pattern in patterns)
        assert 110 < counts[1] < 190
        assert min(Counter(len(pattern.motif) for pattern in patterns).values()) > 60
        lengths = Counter(len(d.symbols) for pattern in patterns for d in pattern.deviations)
        assert set(lengths) == {3, 4, 5}
        positions = [d.position for pattern in patterns for d in pattern.deviations]
        assert min(positions) < 10
        assert max(positions) > 240
    up = [pattern.motif[0] < pattern.motif[1] for pattern in patterns]
    assert 100 < sum(up) < 200


def test_two_deviations_are_asked_about_alike() -> None:
    pattern = next(
        pattern
        for i in range(100)
        if len((pattern := broken_pattern("repeating-pattern", 256, generator(0, "two", i))).deviations) == 2
    )
    first, second = pattern.deviations
    near = Counter(
        abs(query.position - first.position) < abs(query.position - second.position)
        for query in deviation_queries(pattern, generator(0, "queries"))
        if query.answer == "yes"
    )
    assert near == {True: 4, False: 4}


def test_bad_requests_are_told() -> None:
    with pytest.raises(EccdataError, match="repeating-pattern"):
        broken_pattern("repeating", 256, generator(0))  # type: ignore[arg-type]
    with pytest.raises(EccdataError, match="cell-7"):
        broken_pattern("repeating-pattern", 32, generator(0), alphabet_size=1, cell="cell-7")
