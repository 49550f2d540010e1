"""The Lempel-Ziv memory's code: decodable, cut at the oldest end, short where there is regularity."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eccdata.streams.seeding import generator
from eccdata.systems.memories import LempelZiv
from eccdata.systems.memories.coding import Code, decode, encode, gamma_width
from eccdata.systems.memories.window import plain_capacity
from support.membership_trials import SOURCES

ALPHABETS = st.integers(1, 256)


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, int]:
    """Symbols over some alphabet, repetitive ones among them."""
    alphabet_size = draw(ALPHABETS)
    symbol = st.integers(0, alphabet_size - 1)
    parts = st.tuples(st.lists(symbol, max_size=12), st.integers(1, 20)).map(lambda part: part[0] * part[1])
    drawn = draw(st.lists(parts, max_size=4))
    return bytes(symbol for part in drawn for symbol in part), alphabet_size


@settings(max_examples=200)
@given(streams(), st.integers(0, 600))
def test_decoding_gives_the_last_symbols(stream: tuple[bytes, int], budget: int) -> None:
    symbols, alphabet_size = stream
    code = encode(symbols, alphabet_size, budget)
    assert code.bits <= budget
    assert len(code.payload) == -(-code.bits // 8)
    held = decode(code, alphabet_size)
    assert symbols.endswith(held)
    # Never worse than the plain code by more than its one bit.
    assert len(held) >= min(len(symbols), plain_capacity(max(0, budget - 1), alphabet_size))


@given(streams())
def test_enough_bits_hold_all(stream: tuple[bytes, int]) -> None:
    symbols, alphabet_size = stream
    enough = 2 + int(len(symbols) * log2(max(2, alphabet_size)))
    assert decode(encode(symbols, alphabet_size, enough), alphabet_size) == symbols


@given(streams(), st.data())
def test_what_is_left_of_a_cut_code_still_gives_the_last_symbols(
    stream: tuple[bytes, int], data: st.DataObject
) -> None:
    symbols, alphabet_size = stream
    code = encode(symbols, alphabet_size, 400)
    if code.bits and code.payload[0] >> 7:  # in phrases
        kept = data.draw(st.integers(1, code.bits))
        held = decode(Code(code.payload, kept), alphabet_size)
        assert decode(code, alphabet_size).endswith(held)


def test_gamma_code_has_elias_lengths() -> None:
    assert [gamma_width(n) for n in (1, 2, 3, 4, 7, 8, 15, 16, 1000)] == [1, 3, 3, 5, 5, 7, 7, 9, 19]


def test_the_count_of_bits_is_what_the_phrases_cost() -> None:
    # 2 is a literal of 1 + 4 bits, 1 another; the rest is one copy of 22 from 2 back, one of two distances; and
    # one bit says that these are phrases.
    symbols = bytes([1, 2] * 12)
    code = encode(symbols, 16, 1000)
    assert code.bits == 1 + 5 + 5 + (1 + gamma_width(22) + 1)
    assert decode(code, 16) == symbols
    # With one bit less the copy is shortened to the longest whose length costs less.
    assert decode(encode(symbols, 16, code.bits - 1), 16) == symbols[-17:]


def test_shorter_on_compressible_streams_and_one_bit_longer_on_others() -> None:
    bits: dict[str, list[float]] = {}
    for source in ("low", "max", "nearby"):
        for index in range(8):
            symbols = SOURCES[source](2048, generator(1, "coding", source, index)).tobytes()
            code = encode(symbols, 16, 10**6)
            assert decode(code, 16) == symbols
            bits.setdefault(source, []).append(code.bits / len(symbols))
    assert np.mean(bits["low"]) < 1.7
    assert np.mean(bits["nearby"]) < 1.2
    assert bits["max"] == [(1 + 4 * 2048) / 2048] * 8


@pytest.mark.parametrize("source", ["low", "max"])
def test_the_state_keeps_to_its_budget_after_every_write(source: str) -> None:
    stream = SOURCES[source](1500, generator(2, "coding", source))
    memory = LempelZiv(bits=300)
    state = memory.start(16)
    for begin in range(0, len(stream), 37):
        state.write(stream[begin : begin + 37])
        written = stream[: begin + 37].tobytes()
        assert state.code.bits <= 300  # type: ignore[attr-defined]
        held = decode(state.code, 16)  # type: ignore[attr-defined]
        assert written.endswith(held)
        assert len(held) >= min(len(written), plain_capacity(299, 16))
        assert state.read(np.frombuffer(held[:6], np.uint8)) == 1
