"""The reference memories as systems: what they say, refuse, and keep."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eccdata import catalog
from eccdata.errors import EccdataError
from eccdata.requests import Payoff, Request, Status, SymbolQuery
from eccdata.settings import make
from eccdata.systems import System
from eccdata.systems.memories import Bag, Bloom, Chance, Exact, LempelZiv, Memory, Window
from support.membership_trials import ask, questions

OPTIONS = {"{0}": "yes", "{1}": "no", "{2}": "abstain"}
ARM_A, ARM_B = Payoff(3, -1), Payoff(1, -4)
MEMORIES: list[Memory] = [
    Exact(),
    Window(bits=40),
    LempelZiv(bits=40),
    Bag(k=1),
    Bag(k=2),
    Bag(k=3),
    Bloom(bits=64),
    Bloom(bits=1001, ngram=4, hashes=2),
    Chance(),
]
LABELS = [memory.label for memory in MEMORIES]


def request(stream: list[int], candidate: list[int], alphabet_size: int = 16, **fields: Any) -> Request:
    symbols = SymbolQuery(np.array(stream, np.uint8), np.array(candidate, np.uint8), alphabet_size)
    return Request("q", "test/1", (), **{"options": OPTIONS, "symbols": symbols, **fields})


def respond(memory: Memory, question: Request) -> Any:
    return asyncio.run(memory.respond(question))


@pytest.mark.parametrize("memory", MEMORIES, ids=LABELS)
def test_is_a_system_whose_fields_are_its_options(memory: Memory) -> None:
    assert isinstance(memory, System)
    assert catalog.system(memory.name) is type(memory)
    options = dataclasses.asdict(memory)  # type: ignore[call-overload]
    assert make(type(memory), {name: str(value) for name, value in options.items()}) == memory
    assert memory.fingerprint() == {"system": memory.name, "options": options, "version": 1}
    assert json.loads(json.dumps(memory.facts()))["options"] == options


def test_labels() -> None:
    assert LABELS[:4] == ["exact", "window(bits=40)", "lempel-ziv(bits=40)", "bag(k=1)"]
    assert Bloom().label == "bloom(bits=2048, ngram=3, hashes=3)"


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (Window, {"bits": 0}, r"window was given bits=0\. A budget is from 1 to"),
        (LempelZiv, {"bits": 2**31}, r"lempel-ziv was given bits=2147483648"),
        (Bag, {"k": 4}, r"bag was given k=4\. It keeps k-grams of 1 to 3"),
        (Bloom, {"bits": -1}, r"bloom was given bits=-1"),
        (Bloom, {"ngram": 9, "hashes": 0}, r"(?s)ngram=9: from 1 to 8.*hashes=0: from 1 to 32"),
        (Chance, {"seed": -1}, r"chance was given seed=-1"),
        (Window, {"bit": 8}, r"did you mean bits"),
        (Window, {"bits": "many"}, r"bits=many"),
    ],
)
def test_wrong_options_get_one_clear_error(cls: type[Memory], options: dict[str, Any], message: str) -> None:
    with pytest.raises(EccdataError, match=message):
        make(cls, options)


def test_answers_in_the_markers_of_the_question() -> None:
    for candidate, meaning in (([1, 2, 3], "yes"), ([3, 2, 1], "no")):
        response = respond(Exact(), request([0, 1, 2, 3], candidate))
        assert (response.status, response.finish_reason) == (Status.OK, "stop")
        assert OPTIONS[response.text] == meaning
        assert response.probability == (meaning == "yes")
        assert response.latency_s > 0
    other = {"{uncertain}": "abstain", "{1}": "yes", "{0}": "no"}
    assert respond(Exact(), request([0, 1, 2, 3], [1, 2, 3], options=other)).text == "{1}"
    assert respond(Chance(), request([0, 1], [0], options=other, payoff=ARM_B)).text == "{uncertain}"


def test_abstains_exactly_when_answering_earns_no_more() -> None:
    # Half forgotten, the window gives a candidate it does not hold about one third.
    stream = list(range(16)) * 2
    window = Window(bits=64)
    unseen = request(stream, [3, 1, 2])
    probability = respond(window, unseen).probability
    assert 1 / 3 < probability < 0.36
    for wrong, abstains in ((-1.85, False), (-1.9, True), (-1e9, True)):
        payoff = Payoff(1, wrong)
        assert abstains == (1 - probability <= payoff.threshold)
        assert respond(window, dataclasses.replace(unseen, payoff=payoff)).text == (
            "{2}" if abstains else "{1}"
        )
    # At break-even it declines.
    assert respond(Chance(), request([0, 1], [0], payoff=Payoff(1, -1))).text == "{2}"
    # Without a payoff, or without a marker for it, it answers.
    assert respond(window, unseen).text == "{1}"
    no_way_out = {"{0}": "yes", "{1}": "no"}
    assert respond(window, dataclasses.replace(unseen, payoff=ARM_B, options=no_way_out)).text == "{1}"


@pytest.mark.parametrize("memory", MEMORIES, ids=LABELS)
@pytest.mark.parametrize(
    ("question", "error"),
    [
        (request([0, 1], [0], symbols=None), "reads symbols"),
        (request([0, 1], [0], options={"{A}": "first"}), "no such markers"),
        (request([0, 1, 16], [0]), "symbol 16 is not below the alphabet's size, 16"),
        (request([0, 1], [0, 4], alphabet_size=4), "symbol 4 is not below the alphabet's size, 4"),
        (request([0, 1], []), "the candidate is empty"),
    ],
)
def test_what_it_cannot_answer_is_a_failure_and_not_an_answer(
    memory: Memory, question: Request, error: str
) -> None:
    response = respond(memory, question)
    assert response.status is Status.INVALID_REQUEST
    assert error in response.error
    assert (response.text, response.probability) == ("", None)


@pytest.mark.parametrize("memory", MEMORIES, ids=LABELS)
def test_answers_do_not_depend_on_what_was_asked_before(memory: Memory) -> None:
    rows = [
        row for pair in zip(questions("max", 64, 2), questions("low", 64, 2), strict=True) for row in pair
    ]
    alternating = ask(memory, rows)
    for trial in alternating:
        [alone] = ask(dataclasses.replace(memory), [trial.row])  # type: ignore[type-var]
        assert (alone.response.text, alone.probability) == (trial.response.text, trial.probability)


STREAMS = arrays(np.uint8, st.integers(0, 60), elements=st.integers(0, 3))
CANDIDATES = arrays(np.uint8, st.integers(1, 6), elements=st.integers(0, 3))


@pytest.mark.parametrize("memory", MEMORIES, ids=LABELS)
@given(parts=st.lists(STREAMS.filter(len), max_size=4), candidate=CANDIDATES)
def test_reads_are_sound_however_the_stream_was_cut(memory: Memory, parts: list[Any], candidate: Any) -> None:
    stream = np.concatenate([np.empty(0, np.uint8), *parts])
    state = memory.start(4)
    for part in parts:
        state.write(part)
    probability = state.read(candidate)
    assert 0 <= probability <= 1
    # A memory may doubt, but what it is certain of is so.
    occurs = candidate.tobytes() in stream.tobytes()
    if probability in (0.0, 1.0) and not (isinstance(memory, Bag | Bloom) and probability == 1):
        assert occurs == bool(probability)
    # How it came makes no difference, except to a code that evicts on the way.
    if not isinstance(memory, LempelZiv):
        assert memory.remember(stream, 4).read(candidate) == probability


def test_nothing_is_learnt_from_an_empty_stream() -> None:
    for memory in MEMORIES:
        assert respond(memory, request([], [1, 2, 3])).status is Status.OK


def test_an_alphabet_of_one_symbol_is_held() -> None:
    for memory in (Exact(), Window(8), LempelZiv(8)):
        assert respond(memory, request([0] * 5, [0] * 3, alphabet_size=1)).text == "{0}"


def test_the_largest_alphabet_is_held() -> None:
    stream = np.random.default_rng(0).integers(0, 256, 300).tolist()
    for memory in (Exact(), Window(8 * 300), LempelZiv(8 * 300 + 1), Bag(2), Bag(3), Bloom(2**16, 8, 5)):
        assert respond(memory, request(stream, stream[:6] * 2, alphabet_size=256)).text == "{1}"
        assert respond(memory, request(stream, stream[100:110], alphabet_size=256)).text == "{0}"
