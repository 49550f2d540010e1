"""Generators are named by what they are for, and by nothing else."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eccdata.errors import EccdataError
from eccdata.streams.seeding import generator

Part = st.one_of(st.text(max_size=4), st.integers(-9, 999))
Keys = st.lists(Part, max_size=5)


def words(seed: int, *key: str | int) -> list[int]:
    return [int(word) for word in generator(seed, *key).bit_generator.random_raw(4)]


def test_a_key_names_one_generator_for_good() -> None:
    assert words(0) == [
        8499471227780575651,
        14672203508082841617,
        10805929333070164573,
        4254040898425429302,
    ]
    assert words(7, "eccbench", "text", 512, "low", 3, "stream") == [
        10539680996583159877,
        120857902612391141,
        12718113554386513265,
        1670302971923934305,
    ]


def test_another_process_draws_the_same() -> None:
    code = (
        "from eccdata.streams.seeding import generator;"
        "print(generator(3, 'x', 12, 'stream').bit_generator.random_raw(4).tolist())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == str(words(3, "x", 12, "stream"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("ab",), ("a", "b")),
        ((1,), ("1",)),
        ((1, 2), (12,)),
        ((), ("",)),
        (("",), ("", "")),
        (("a", 0), ("a",)),
        (("s1:a",), ("a",)),
        (("1:as1:b",), ("a", "b")),
        ((-1,), (1,)),
        ((2**64,), (0,)),
    ],
)
def test_keys_that_look_alike_are_told_apart(
    one: tuple[str | int, ...], other: tuple[str | int, ...]
) -> None:
    assert words(0, *one) != words(0, *other)


@given(Keys, Keys)
@settings(deadline=None)
def test_different_keys_never_share_a_generator(one: list[str | int], other: list[str | int]) -> None:
    assert (words(0, *one) == words(0, *other)) == (one == other)


def test_different_seeds_never_share_a_generator() -> None:
    seeds = [0, 1, 2, 2**32, 2**32 + 1, 2**64, 2**128]
    assert len({tuple(words(seed, "x")) for seed in seeds}) == len(seeds)


def test_numpy_integers_are_the_integers_they_hold() -> None:
    part = np.int32(512)
    assert words(np.int64(5), "text", part) == words(5, "text", 512)  # type: ignore[arg-type]


def test_wrong_seeds_and_parts_are_refused() -> None:
    with pytest.raises(EccdataError, match="seed is -1"):
        generator(-1)
    with pytest.raises(TypeError):
        generator(0, 1.5)  # type: ignore[arg-type]
