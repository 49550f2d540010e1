from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from eccdata.errors import EccdataError
from eccdata.streams.negatives import equality_patterns
from eccdata.streams.queries import Query, deal_pairs, membership_queries
from eccdata.streams.query_blocks import membership_block
from eccdata.streams.seeding import generator


def uniform_stream(length: int, index: int = 0, alphabet_size: int = 16) -> bytes:
    rng = generator(0, "test", "stream", length, index)
    return rng.integers(alphabet_size, size=length, dtype=np.uint8).tobytes()


def periodic_stream(length: int, period: bytes, index: int = 0) -> bytes:
    """A repeated pattern with a tenth of its symbols redrawn."""
    rng = generator(0, "test", "periodic", length, index)
    symbols = np.frombuffer((period * length)[:length], dtype=np.uint8).copy()
    noisy = rng.random(length) < 0.1
    symbols[noisy] = rng.integers(16, size=noisy.sum(), dtype=np.uint8)
    return symbols.tobytes()


def rng(*key: str | int) -> np.random.Generator:
    return generator(1, "test", *key)


def distinct_windows(stream: bytes, k: int) -> set[bytes]:
    return {stream[i : i + k] for i in range(len(stream) - k + 1)}


def assert_sound(stream: bytes, queries: list[Query], count: int) -> None:
    assert len(queries) == count
    assert sum(query.answer == "yes" for query in queries) == count // 2
    for query in queries:
        assert query.position == stream.find(query.candidate)
        assert (query.negative_kind is None) == (query.answer == "yes")
    lengths = {
        answer: sorted(len(query.candidate) for query in queries if query.answer == answer)
        for answer in ("yes", "no")
    }
    assert lengths["yes"] == lengths["no"]


@settings(max_examples=150, deadline=None)
@given(
    alphabet_size=st.integers(2, 20),
    symbols=st.lists(st.integers(0, 255), min_size=6, max_size=80),
    hard=st.booleans(),
    seed=st.integers(0, 2**32),
    pairs=st.integers(1, 20),
)
def test_queries_of_any_stream_are_sound_and_as_distinct_as_can_be(
    alphabet_size: int, symbols: list[int], hard: bool, seed: int, pairs: int
) -> None:
    stream = bytes(symbol % alphabet_size for symbol in symbols)
    sibling = bytes(reversed(stream)) if hard else None
    rng = generator(seed, "any")
    queries = membership_queries(stream, rng, count=2 * pairs, alphabet_size=alphabet_size, sibling=sibling)
    assert_sound(stream, queries, 2 * pairs)
    assert {len(query.candidate) for query in queries} <= {3, 4, 5, 6}

    room = 0
    for k in range(3, 7):
        found = len(distinct_windows(stream, k))
        room += min(found, alphabet_size**k - found)
    asked = Counter(query.candidate for query in queries)
    for answer in ("yes", "no"):
        counts = [asked[q.candidate] for q in queries if q.answer == answer]
        if pairs <= room:
            assert max(counts) == 1
        else:
            assert max(counts) <= pairs // room + 1


def test_a_constant_stream_of_eight_asks_its_four_windows_twice_each() -> None:
    queries = membership_queries(bytes(8), rng("constant"))
    positives = Counter(query.candidate for query in queries if query.answer == "yes")
    assert positives == {bytes(k): 2 for k in (3, 4, 5, 6)}
    negatives = Counter(query.candidate for query in queries if query.answer == "no")
    assert set(negatives.values()) == {1}


def test_position_is_the_first_of_several() -> None:
    stream = bytes([1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6])
    positions = [q.position for i in range(20) for q in membership_queries(stream, rng("several", i))]
    assert max(positions) == 5


def test_lengths_are_uniform_and_alike_in_both_classes() -> None:
    stream = uniform_stream(512)
    queries = [q for i in range(200) for q in membership_queries(stream, rng("lengths", i))]
    of = {a: Counter(len(q.candidate) for q in queries if q.answer == a) for a in ("yes", "no")}
    assert of["yes"] == of["no"]
    assert stats.chisquare([of["yes"][k] for k in (3, 4, 5, 6)]).pvalue > 1e-3


def test_positives_come_from_everywhere_alike() -> None:
    # in a stream without repetition the first occurrence is where it was copied
    stream = bytes(range(100))
    positions = [
        q.position
        for i in range(400)
        for q in membership_queries(stream, rng("positions", i), alphabet_size=128, shortest=5, longest=5)
        if q.answer == "yes"
    ]
    counts = np.bincount(positions, minlength=96)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_uniform_negatives_are_uniform_over_what_is_absent() -> None:
    stream = uniform_stream(300, alphabet_size=4)
    absent = [
        bytes([a, b, c, d])
        for a in range(4)
        for b in range(4)
        for c in range(4)
        for d in range(4)
        if bytes([a, b, c, d]) not in stream
    ]
    drawn = Counter(
        q.candidate
        for i in range(600)
        for q in membership_queries(stream, rng("absent", i), count=2, alphabet_size=4, shortest=4, longest=4)
        if q.answer == "no"
    )
    assert set(drawn) <= set(absent)
    assert stats.chisquare([drawn[candidate] for candidate in absent]).pvalue > 1e-3


def test_the_order_of_answers_says_nothing() -> None:
    stream = uniform_stream(128)
    yes = np.array(
        [[q.answer == "yes" for q in membership_queries(stream, rng("order", i))] for i in range(600)]
    )
    by_place = yes.sum(axis=0)
    assert stats.chisquare(by_place).pvalue > 1e-3
    # nor the answer before: of 15 others 7 are the same
    same = (yes[:, 1:] == yes[:, :-1]).mean()
    assert same == pytest.approx(7 / 15, abs=0.02)


def test_lengths_at_which_everything_occurs_are_left_out() -> None:
    stream = uniform_stream(60, alphabet_size=2)
    assert len(distinct_windows(stream, 3)) == 8
    queries = membership_queries(stream, rng("binary"), alphabet_size=2)
    assert_sound(stream, queries, 16)
    assert 3 not in {len(query.candidate) for query in queries}


def test_a_stream_with_nothing_absent_is_an_error_that_names_it() -> None:
    with pytest.raises(EccdataError, match=r"text-L4096-max-s00 .*alphabet of 2"):
        membership_queries(
            uniform_stream(4096, alphabet_size=2), rng(), alphabet_size=2, cell="text-L4096-max-s00"
        )


@pytest.mark.parametrize("length", [16, 64, 512])
def test_hard_negatives_look_like_their_positives(length: int) -> None:
    kinds: Counter[str | None] = Counter()
    for index in range(20):
        stream = periodic_stream(length, b"\x01\x04\x02\x09", index)
        sibling = periodic_stream(1024, b"\x01\x04\x02\x09", index + 100)
        queries = membership_queries(stream, rng("hard", length, index), sibling=sibling)
        assert_sound(stream, queries, 16)
        patterns = {
            answer: sorted(
                (len(q.candidate), int(equality_patterns(np.frombuffer(q.candidate, np.uint8)[None])[0]))
                for q in queries
                if q.answer == answer
            )
            for answer in ("yes", "no")
        }
        assert patterns["yes"] == patterns["no"]
        for query in queries:
            kinds[query.negative_kind] += 1
            if query.negative_kind == "sibling":
                assert query.candidate in sibling
    assert set(kinds) == {None, "near-miss", "sibling"}
    assert min(kinds.values()) > 20


def test_near_misses_prefer_the_streams_own_transitions() -> None:
    # 0 1 2 3 0 1 3 2 …: exchanging symbols leaves most transitions as they occur
    stream = bytes([0, 1, 2, 3, 0, 1, 3, 2, 0, 2, 1, 3] * 4)
    transitions = distinct_windows(stream, 2)
    for i in range(20):
        for query in membership_queries(stream, rng("near", i), sibling=bytes(64)):
            if query.negative_kind == "near-miss":
                unseen = sum(
                    query.candidate[j : j + 2] not in transitions for j in range(len(query.candidate) - 1)
                )
                assert unseen <= 2
                assert set(query.candidate) <= set(stream)


def test_equality_patterns() -> None:
    def pattern(*symbols: int) -> int:
        return int(equality_patterns(np.array([symbols], dtype=np.uint8))[0])

    assert pattern(0, 1, 2, 0, 1) == pattern(3, 1, 2, 3, 1)
    assert pattern(0, 1, 2, 0, 1) != pattern(0, 1, 2, 0, 2)
    everything = np.array([[a, b, c] for a in range(3) for b in range(3) for c in range(3)], dtype=np.uint8)
    assert len(set(equality_patterns(everything).tolist())) == 5  # Bell's number of 3


def test_pairs_use_every_length_up_before_they_repeat() -> None:
    seen: list[tuple[int, int]] = []

    def draw(length: int, used: set[bytes]) -> tuple[Query, Query]:
        seen.append((length, len(used)))
        yes = bytes([length, len(used)])
        return Query(yes, 0), Query(yes + b"\x00", -1, "uniform")

    deal_pairs(rng("pairs"), 6, {3: 1, 4: 2, 5: 0}, draw)
    assert sorted(length for length, _ in seen[:3]) == [3, 4, 4]
    assert sorted(length for length, _ in seen[3:]) == [3, 4, 4]
    assert [used for _, used in seen] == [0, 2, 4, 0, 2, 4]


@pytest.mark.parametrize(
    ("alphabet_size", "shortest_stream", "longest_stream"),
    [(16, 32, 1024), (2, 6, 12), (4, 6, 60), (256, 6, 300)],
)
def test_blocks_are_as_sound_as_single_streams(
    alphabet_size: int, shortest_stream: int, longest_stream: int
) -> None:
    draw = rng("block", alphabet_size)
    lengths = draw.integers(shortest_stream, longest_stream + 1, size=128)
    symbols = draw.integers(alphabet_size, size=lengths.sum(), dtype=np.uint8)
    block = membership_block(symbols, lengths, draw, count=32, alphabet_size=alphabet_size)
    ends = np.cumsum(lengths)
    for row, (length, end) in enumerate(zip(lengths, ends, strict=True)):
        stream = symbols[end - length : end].tobytes()
        queries = [
            Query(
                block.candidates[row, i, : block.lengths[row, i]].tobytes(),
                int(block.positions[row, i]),
                "uniform" if block.positions[row, i] < 0 else None,
            )
            for i in range(32)
        ]
        assert_sound(stream, queries, 32)
        room = 0
        for k in range(3, 7):
            found = len(distinct_windows(stream, k))
            room += min(found, alphabet_size**k - found)
        if room >= 16:
            assert len({query.candidate for query in queries}) == 32


def test_blocks_draw_from_the_same_distribution_as_single_streams() -> None:
    draw = rng("same")
    lengths = np.full(128, 40)
    symbols = np.tile(draw.integers(4, size=40, dtype=np.uint8), 128)
    stream = symbols[:40].tobytes()
    singles: Counter[bytes] = Counter()
    blocks: Counter[bytes] = Counter()
    for i in range(24):
        block = membership_block(symbols, lengths, draw, count=4, shortest=3, longest=4, alphabet_size=4)
        for row in range(128):
            for q in range(4):
                blocks[block.candidates[row, q, : block.lengths[row, q]].tobytes()] += 1
            for query in membership_queries(
                stream, rng("single", i, row), count=4, shortest=3, longest=4, alphabet_size=4
            ):
                singles[query.candidate] += 1
    table = np.array([[blocks[c], singles[c]] for c in blocks.keys() | singles.keys()])
    assert stats.chi2_contingency(table).pvalue > 1e-3


def test_the_order_of_a_blocks_answers_says_nothing() -> None:
    draw = rng("block order")
    lengths = np.full(128, 100)
    yes = np.concatenate(
        [
            membership_block(draw.integers(16, size=12800, dtype=np.uint8), lengths, draw).positions >= 0
            for _ in range(8)
        ]
    )
    assert stats.chisquare(yes.sum(axis=0)).pvalue > 1e-3
    assert (yes[:, 1:] == yes[:, :-1]).mean() == pytest.approx(15 / 31, abs=0.01)


def test_a_block_that_does_not_fit_says_so() -> None:
    with pytest.raises(EccdataError, match="63 bits"):
        membership_block(
            np.zeros(4096, dtype=np.uint8), np.full(128, 32), rng(), longest=12, alphabet_size=256
        )
