"""Options as text become typed fields, and every mistake is told at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from eccdata.errors import EccdataError
from eccdata.settings import check, make, parse_pairs


@dataclass(frozen=True)
class Options:
    bits: int
    lengths: tuple[int, ...] = (8, 16)
    kind: Literal["plain", "hard"] = "plain"
    rate: float | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        if self.bits < 1:
            raise ValueError("bits must be at least 1")


def test_text_becomes_what_the_field_is() -> None:
    made = make(
        Options, {"bits": "2048", "lengths": "8, 512", "kind": "hard", "rate": "0.5", "strict": "true"}
    )
    assert made == Options(2048, (8, 512), "hard", 0.5, True)


def test_one_value_is_a_tuple_of_one_and_lists_pass() -> None:
    assert check(Options, {"lengths": "512"}) == {"lengths": (512,)}
    assert check(Options, {"lengths": [512, 8]}) == {"lengths": (512, 8)}


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(EccdataError) as caught:
        check(Options, {"bit": "1", "lengths": "8,x", "kind": "soft"})
    message = str(caught.value)
    assert "did you mean bits?" in message
    assert "lengths=8,x" in message
    assert "kind=soft" in message


def test_missing_settings_and_refused_values_are_told() -> None:
    with pytest.raises(EccdataError, match="needs these settings:\n  - bits"):
        make(Options, {})
    with pytest.raises(EccdataError, match="bits must be at least 1"):
        make(Options, {"bits": 0})


def test_pairs() -> None:
    assert parse_pairs(["a=1", "b-c = x=y"], "--set") == {"a": "1", "b_c": "x=y"}
    with pytest.raises(EccdataError, match="--set takes name=value"):
        parse_pairs(["a", "=3"], "--set")
