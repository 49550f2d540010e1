"""Replies of the form and with the numbers that SGLang 0.5.23 gave for SmolLM2, cut to what matters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eccdata.systems.option_logprobs import SURE_WITHIN, read_options

DIGITS = {"{0}": "yes", "{1}": "no", "{2}": "abstain"}
WORDS = {"{0}": "yes", "{1}": "no", "{uncertain}": "abstain"}
SURE = {"2": -0.575122, "1": -1.772879, "0": -1.99079, "3": -2.580237, "4": -3.906371, "-": -6.868285}
MASKED = -3.4028234663852886e38


def one(token: str | bytes, logprob: float) -> dict[str, Any]:
    """A token as a server tells of it; halves of characters have no text of their own."""
    spelled = token if isinstance(token, bytes) else token.encode()
    return {"token": spelled.decode("utf-8", "replace"), "bytes": [*spelled], "logprob": logprob}


def logprobs(*tokens: str | bytes | Mapping[str, float]) -> dict[str, Any]:
    """A choice's `logprobs`: what was written, and for a mapping its first token with all of it as alternatives."""
    content = []
    for token in tokens:
        if isinstance(token, Mapping):
            (first, logprob), *_ = token.items()
            top = [one(*entry) for entry in token.items()]
            content.append({**one(first, logprob), "top_logprobs": top})
        else:
            content.append({**one(token, -0.1), "top_logprobs": [one(token, -0.1), one("The", -3.0)]})
    return {"content": content}


def likely(
    text: str, *tokens: str | bytes | Mapping[str, float], options: Mapping[str, str] = DIGITS
) -> Mapping[str, float] | None:
    found = read_options(text, logprobs(*tokens), options)
    return None if found is None else found.likely


def test_a_brace_and_a_digit_by_themselves() -> None:
    found = read_options(
        "{2}\n\nThe candidate", logprobs("{", SURE, "}", "\n", "\n", "The", " candidate"), DIGITS
    )
    assert found is not None
    assert found.likely == pytest.approx(
        {"abstain": math.exp(-0.575122), "no": math.exp(-1.772879), "yes": math.exp(-1.99079)}
    )
    assert found.yes == pytest.approx(1 / (1 + math.exp(-1.772879 + 1.99079)))


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("{0}", "{0"),
        ("So {0}.", " {0"),
        ("{0}", "{0}"),
        ("So\n{0}\n", "\n{0}\n"),
        ("{ 0 }", "{ 0"),
        ('{"0"}', '{"0'),
        ("\\boxed{0}", "boxed{0"),
        ("\\{0\\}", "{0\\"),
    ],
)
def test_tokens_that_hold_the_brace_too(text: str, token: str) -> None:
    before, after = text.split(token)
    alternatives = {
        token: -0.5,
        token.replace("0", "1"): -1.5,
        token.replace("0", "2"): -2.5,
        token.replace("0", "3"): -3.5,
        "{": -4.0,
        "The": -5.0,
    }
    assert likely(text, before, alternatives, after) == pytest.approx(
        {"yes": math.exp(-0.5), "no": math.exp(-1.5), "abstain": math.exp(-2.5)}
    )


def test_spellings_of_one_option_are_one() -> None:
    """Blanks before and a brace after make no other option; another number, a list and another bracket do."""
    alternatives = {
        "{0": -1.0,
        " {0": -2.0,
        "{0}": -3.0,
        "{00": -3.6,
        "{0,": -3.7,
        "{10": -3.0,
        "[1": -2.1,
        "{1}\n": -4.0,
    }
    assert likely("{0}", alternatives, "}") == pytest.approx(
        {"yes": math.exp(-1) + math.exp(-2) + math.exp(-3), "no": math.exp(-4)}
    )


def test_names_of_several_tokens() -> None:
    head = {"0": -0.336466, "1": -1.263152, "unc": -6.319268, "un": -7.276158, "u": -7.693852, "#": MASKED}
    uncertain = sum(math.exp(head[name]) for name in ("unc", "un", "u"))
    told = {"yes": math.exp(-0.336466), "no": math.exp(-1.263152), "abstain": uncertain}
    assert likely(
        "I say {0}", "I", " say", " ", "{", head, "}", "<|im_end|>", options=WORDS
    ) == pytest.approx(told)
    turned = {"unc": -0.393225, "un": -1.206961, "u": -3.648957, "uncle": -30.0}
    assert likely("{uncertain}.", "{", turned, "ertain", "}", ".", options=WORDS) == pytest.approx(
        {"abstain": sum(math.exp(turned[name]) for name in ("unc", "un", "u"))}
    )


def test_the_beginning_of_two_names_speaks_for_neither() -> None:
    options = {"{no}": "no", "{not_sure}": "abstain", "{yes}": "yes"}
    assert likely("{yes}", "{", {"yes": -0.6, "no": -1.5, "n": -2.0, "not": -3.0}, "}", options=options) == (
        pytest.approx({"yes": math.exp(-0.6), "no": math.exp(-1.5), "abstain": math.exp(-3)})
    )


@pytest.mark.parametrize("text", ["<think>maybe {1}</think>\n\nSo {1}", "\n\nSo {1}", "So {1}"])
def test_the_last_marker_of_the_reply_counts_with_its_reasoning_split_off_or_not(text: str) -> None:
    """The tokens are the same: a parser takes reasoning and blanks out of the text alone."""
    tokens = ("<think>", "maybe", " {", {"1": -0.01, "0": -5.0}, "}", "</think>", "\n\n", "So", " {")
    last = {"1": -0.654782, "2": -0.786446, "0": -3.68953, "#": MASKED}
    assert likely(text, *tokens, last, "}", "<|im_end|>") == pytest.approx(
        {"no": math.exp(-0.654782), "abstain": math.exp(-0.786446), "yes": math.exp(-3.68953)}
    )


def test_a_marker_before_the_last_is_not_it() -> None:
    first, last = {"0": -0.1, "1": -3.0}, {"1": -0.2, "0": -2.0}
    assert likely("{0}, no: {1}", "{", first, "}, no: {", last, "}") == pytest.approx(
        {"no": math.exp(-0.2), "yes": math.exp(-2)}
    )


def test_characters_of_several_tokens_and_blanks_that_were_lost() -> None:
    """An arrow comes as three bytes, or as three replacement characters; a blank is lost as in SentencePiece."""
    arrow = "→".encode()
    told = {"0": -0.1, "1": -3.0}
    expected = pytest.approx({"yes": math.exp(-0.1), "no": math.exp(-3)})
    assert likely(
        "So → {0} →", "So", " ", arrow[:1], arrow[1:2], arrow[2:], " {", told, "} ", arrow[:2], arrow[2:]
    ) == (expected)
    assert likely(
        "So → {0} → end", "So", "\ufffd", "\ufffd", "\ufffd", "{", told, "}", "\ufffd", "\ufffd", "end"
    ) == (expected)


def test_tokens_without_bytes_are_read_as_they_are_written() -> None:
    told = logprobs("{", SURE, "}")
    for entry in told["content"]:
        for token in (entry, *entry["top_logprobs"]):
            token["bytes"] = None
    found = read_options("{2}", told, DIGITS)
    assert found == read_options("{2}", logprobs("{", SURE, "}"), DIGITS)


def test_the_chosen_token_counts_where_the_list_lacks_it() -> None:
    """A sampled token need not be among the most probable."""
    told = logprobs("{", {"1": -6.0}, "}")
    told["content"][1]["top_logprobs"] = [one("0", -0.01), one("2", -5.0)]
    found = read_options("{1}", told, DIGITS)
    assert found is not None
    assert found.likely == pytest.approx(
        {"yes": math.exp(-0.01), "no": math.exp(-6), "abstain": math.exp(-5)}
    )
    told["content"][1]["top_logprobs"] = []
    found = read_options("{1}", told, DIGITS)
    assert found is not None
    assert found.likely == pytest.approx({"no": math.exp(-6)})
    assert found.yes is None


@pytest.mark.parametrize(
    ("listed", "yes"),
    [
        # at most exp(-8) is left for yes
        ({"1": -0.001, "2": -7.0, "The": -8.0}, 0.0),
        ({"0": -0.001, "2": -7.0, "The": -8.0}, 1.0),
        # up to a tenth could be yes
        ({"1": -0.2}, None),
        ({"2": -0.01, "The": -6.0}, None),
        # what an abstention gets takes nothing from the sureness of the rest, but its list has to go deep enough
        ({"2": -0.01, "1": -5.0, "The": -12.0}, 0.0),
        ({"2": -0.02, "1": -5.0, "The": -5.2}, None),
    ],
)
def test_an_option_that_is_not_listed_counts_as_nothing_where_it_cannot_matter(
    listed: dict[str, float], yes: float | None
) -> None:
    (chosen, *_) = listed
    found = read_options(f"{{{chosen}}}", logprobs("{", listed, "}"), DIGITS)
    assert found is not None
    assert found.yes == yes


@given(st.lists(st.floats(-20, 0), min_size=4, max_size=4), st.integers(1, 4))
def test_p_yes_is_never_further_off_than_it_says(raw: list[float], depth: int) -> None:
    """Of a whole distribution over 0, 1, 2 and another token only the most probable `depth` are told."""
    total = math.log(sum(map(math.exp, raw)))
    whole = dict(zip(("0", "1", "2", "x"), (value - total for value in raw), strict=True))
    told = dict(sorted(whole.items(), key=lambda entry: -entry[1])[:depth])
    chosen = max(("0", "1", "2"), key=lambda name: whole[name])
    told = {chosen: whole[chosen], **told}
    found = read_options(f"{{{chosen}}}", logprobs("{", told, "}"), DIGITS)
    assert found is not None
    assert sum(found.likely.values()) <= 1 + 1e-12
    if found.yes is not None:
        truth = 1 / (1 + math.exp(whole["1"] - whole["0"]))
        assert abs(found.yes - truth) <= SURE_WITHIN + 1e-9
    elif depth >= 3:
        assert not {"0", "1"} <= told.keys()


@pytest.mark.parametrize(
    "given",
    [
        None,
        {},
        {"content": None},
        {"content": []},
        {"content": ["{", "2", "}"]},
        {"content": [{"token": None, "logprob": -0.1}]},
        {"content": [{"token": "{2}", "bytes": [123, 300], "logprob": -0.1}]},
        {"content": [{"token": "{2}", "bytes": None, "logprob": None}]},
        {"content": [{"token": "{2}", "bytes": None, "logprob": math.nan}]},
        {"content": [{"token": "{2}", "bytes": None, "logprob": True, "top_logprobs": 7}]},
        # of another reply, and more than there can be
        logprobs("{", {"1": -0.1}, "}"),
        logprobs("{", {"2": -0.1, "1": -0.2}, "}"),
        [1],
        "{2}",
    ],
)
def test_what_cannot_be_read_is_not_told(given: Any) -> None:
    assert read_options("{2}", given, DIGITS) is None


@pytest.mark.parametrize("text", ["", "no marker", "<think>{2}", "x_{2}"])
def test_no_marker_has_no_probabilities(text: str) -> None:
    assert read_options(text, logprobs(text or "x"), DIGITS) is None
    assert read_options("{2}", logprobs("{", SURE, "}"), {}) is None


def test_every_way_to_cut_a_reply_into_tokens_finds_the_place() -> None:
    """Wherever the tokens' borders are, what they hold before the name and after it."""
    text = "Is {1}? No: **{ 0 }**."
    place = text.rindex("0")
    for begin in range(place + 1):
        for end in range(place + 1, len(text) + 1):
            token = text[begin:end]
            other = token[: place - begin] + "1" + token[place - begin + 1 :]
            pieces: Sequence[str] = [*text[:begin]]
            found = likely(text, *pieces, {token: -0.3, other: -1.4}, text[end:])
            assert found == pytest.approx({"yes": math.exp(-0.3), "no": math.exp(-1.4)}), token
