"""The low band has the published rates at every length; streams differ and do not merely repeat."""

import math

import numpy as np
import pytest

from eccdata.errors import EccdataError
from eccdata.streams.bands import LOW_BAND, Stream, low_entropy_stream, max_entropy_stream
from eccdata.streams.lempel_ziv import lempel_ziv_rate
from eccdata.streams.rules import narrow_rule_set
from eccdata.streams.seeding import generator

LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
SEEDS = range(4)
STREAMS = 20

Cells = dict[tuple[int, int], list[Stream]]


@pytest.fixture(scope="module")
def low() -> Cells:
    """The low band as the paper has it, 20 streams at each of ten lengths, by seed and length."""
    return {
        (seed, length): [
            low_entropy_stream(length, generator(seed, "low", length, index)) for index in range(STREAMS)
        ]
        for seed in SEEDS
        for length in LENGTHS
    }


def period(symbols: np.ndarray) -> int:
    text = symbols.tobytes()
    return next(p for p in range(1, len(text) + 1) if text.startswith(text[p:]))


def test_every_rate_is_in_the_band_and_is_the_streams_own(low: Cells) -> None:
    for (_, length), streams in low.items():
        for stream in streams:
            assert stream.symbols.dtype == np.uint8
            assert stream.symbols.shape == (length,)
            assert stream.symbols.max() < 16
            assert LOW_BAND[0] <= stream.rate <= LOW_BAND[1]
            assert stream.rate == lempel_ziv_rate(stream.symbols)


@pytest.mark.parametrize("seed", SEEDS)
def test_pooled_rates_have_the_published_mean_and_deviation(low: Cells, seed: int) -> None:
    rates = np.array([stream.rate for length in LENGTHS for stream in low[seed, length]])
    assert rates.mean() == pytest.approx(0.67, abs=0.05)
    assert rates.std() == pytest.approx(0.16, abs=0.05)
    assert rates.min() < 0.4
    assert rates.max() > 0.95


@pytest.mark.parametrize("length", LENGTHS)
def test_rates_are_much_the_same_at_every_length(low: Cells, length: int) -> None:
    rates = np.array([stream.rate for seed in SEEDS for stream in low[seed, length]])
    assert rates.mean() == pytest.approx(0.67, abs=0.12)
    assert rates.std() == pytest.approx(0.16, abs=0.07)


def test_streams_differ_from_each_other(low: Cells) -> None:
    for length in LENGTHS:
        streams = [stream.symbols.tobytes() for seed in SEEDS for stream in low[seed, length]]
        # At 8 symbols one of a few short shapes may come twice by chance.
        assert len(set(streams)) >= len(streams) - (4 if length == 8 else 1 if length == 16 else 0)


def test_no_stream_is_one_block_repeated(low: Cells) -> None:
    for (_, length), streams in low.items():
        assert all(period(stream.symbols) > length // 2 for stream in streams)


def test_long_streams_vary_to_their_end(low: Cells) -> None:
    for (_, length), streams in low.items():
        for stream in streams:
            if length >= 256:
                tail = stream.symbols[length // 2 :]
                assert period(tail) > len(tail) // 2


def test_short_streams_look_like_the_published_example(low: Cells) -> None:
    """An irregular beginning, then few symbols in play."""
    for seed in SEEDS:
        tails = [len(set(stream.symbols[8:].tolist())) for stream in low[seed, 16]]
        assert np.mean(tails) < 4
        assert max(tails) > 1


@pytest.mark.parametrize("length", [8, 100, 2048])
def test_a_stream_depends_on_its_generator_alone(length: int) -> None:
    first, again = (low_entropy_stream(length, generator(9, "again", length)) for _ in range(2))
    assert first.symbols.tobytes() == again.symbols.tobytes()
    assert first.rules == again.rules
    other = low_entropy_stream(length, generator(10, "again", length))
    assert first.symbols.tobytes() != other.symbols.tobytes()


@pytest.mark.parametrize("alphabet_size", [2, 3, 4, 64, 256])
@pytest.mark.parametrize("length", [8, 64, 1024])
def test_other_alphabets_have_a_low_band_too(alphabet_size: int, length: int) -> None:
    streams = [
        low_entropy_stream(
            length, generator(0, "alphabet", alphabet_size, length, i), alphabet_size=alphabet_size
        )
        for i in range(6)
    ]
    for stream in streams:
        assert LOW_BAND[0] <= stream.rate <= LOW_BAND[1]
        assert stream.symbols.max() < alphabet_size
    assert len({stream.symbols.tobytes() for stream in streams}) > 3


@pytest.mark.parametrize("length", [3, 4, 5, 6, 7, 9, 33, 777])
def test_any_length_has_a_low_band(length: int) -> None:
    assert LOW_BAND[0] <= low_entropy_stream(length, generator(0, "length", length)).rate <= LOW_BAND[1]


def test_other_bands_can_be_asked_for() -> None:
    stream = low_entropy_stream(512, generator(0, "band"), band=(1.0, 1.2))
    assert 1.0 <= stream.rate <= 1.2


def test_a_sibling_is_another_stream_of_the_same_rules() -> None:
    stream = low_entropy_stream(1024, generator(0, "sibling"))
    sibling = stream.sibling(generator(0, "sibling", 1))
    assert sibling.shape == stream.symbols.shape
    assert sibling.tobytes() != stream.symbols.tobytes()
    assert sibling.tobytes() == stream.rules.sample(1024, generator(0, "sibling", 1)).tobytes()
    assert stream.sibling(generator(0, "sibling", 1), 50).tolist() == sibling[:50].tolist()
    shares = [np.bincount(symbols, minlength=16) / 1024 for symbols in (stream.symbols, sibling)]
    assert np.abs(shares[0] - shares[1]).sum() < 0.5


def test_a_band_out_of_reach_names_the_cell_and_the_rates_seen() -> None:
    with pytest.raises(EccdataError) as told:
        low_entropy_stream(64, generator(0, "reach"), band=(4.5, 5), max_tries=30, cell="length 64, band low")
    message = str(told.value)
    assert message.startswith("length 64, band low: none of 30 streams of 64 symbols out of 16 had")
    assert "from 4.5 to 5 bits per symbol; their rates ran from 0." in message


def test_ten_thousand_tries_are_the_limit_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = narrow_rule_set(generator(0))
    monkeypatch.setattr("eccdata.streams.bands.narrow_rule_set", lambda rng, alphabet_size: rules)
    monkeypatch.setattr(Stream, "rate", 2.0)
    with pytest.raises(EccdataError, match="none of 10000 streams"):
        low_entropy_stream(8, generator(0))


@pytest.mark.parametrize("alphabet_size", [2, 16, 256])
def test_the_max_band_draws_every_symbol_alike(alphabet_size: int) -> None:
    stream = max_entropy_stream(50_000, generator(0, "max"), alphabet_size)
    expected = 50_000 / alphabet_size
    counts = np.bincount(stream.symbols, minlength=alphabet_size)
    assert len(counts) == alphabet_size
    assert np.all(np.abs(counts - expected) < 5 * math.sqrt(expected))
    pairs = np.corrcoef(stream.symbols[1:], stream.symbols[:-1])[0, 1]
    assert abs(pairs) < 5 / math.sqrt(50_000)


def test_a_max_stream_has_a_rate_and_siblings() -> None:
    stream = max_entropy_stream(4096, generator(0, "max"))
    assert 3 < stream.rate < 4
    assert stream.sibling(generator(1, "max")).shape == (4096,)
    assert stream.rules.next_probabilities(stream.symbols).tolist() == [1 / 16] * 16


@pytest.mark.parametrize("alphabet_size", [1, 257])
def test_alphabets_out_of_range_are_refused(alphabet_size: int) -> None:
    with pytest.raises(EccdataError, match=f"alphabet_size is {alphabet_size}"):
        low_entropy_stream(8, generator(0), alphabet_size=alphabet_size)
    with pytest.raises(EccdataError, match=f"alphabet_size is {alphabet_size}"):
        max_entropy_stream(8, generator(0), alphabet_size)


def test_every_setting_out_of_range_is_told_at_once() -> None:
    with pytest.raises(EccdataError) as told:
        low_entropy_stream(1, generator(0), band=(1.0, 0.3), max_tries=0, cell="a cell")
    assert str(told.value).splitlines() == [
        "No stream can be drawn for a cell:",
        "  - length is 1; a rate needs at least 2 symbols",
        "  - band is 1.0 to 0.3; it must run from a lower to a higher rate, in bits per symbol",
        "  - max_tries is 0; it must be at least 1",
    ]
    with pytest.raises(EccdataError, match="length is -1"):
        max_entropy_stream(-1, generator(0))
