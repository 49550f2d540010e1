"""The prompt to the letter, both forms of rows, and what each response comes to."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eccdata import catalog
from eccdata.errors import EccdataError
from eccdata.evaluators.eccbench.membership import Membership
from eccdata.evaluators.eccbench.prompts import Arm
from eccdata.requests import Payoff, Response, Status
from eccdata.settings import make

# The prompt as the paper prints it: quoted pieces, the longer ones wrapped with a hanging blank.
PRINTED = """\
"You are given a main sequence of tokens and a candidate
 sequence."
"Your task: Determine if the candidate sequence appears as a
 contiguous subsequence within the main sequence, in the exact
 same order."
"The candidate must appear with all its tokens consecutive and
 in order - no gaps, no extra tokens in between."
"Answer {0} if the candidate appears as a contiguous
 subsequence, {1} if it does not, or {2} if you are unsure.
 Please put your answer in curly braces, e.g, {2}."
"""
PRINTED_ARMS = {
    "a": """\
Scoring: a correct answer earns +3 points, a wrong answer
costs -1 point, and {X} earns 0 points. Answer only if you
are more than 25% confident; otherwise answer {X}.
""",
    "b": """\
Scoring: a correct answer earns +1 point, a wrong answer
costs -4 points, and {X} earns 0 points. Answer only if you
are more than 80% confident; otherwise answer {X}.
""",
}
SHA256 = {
    "none": "c0a70a4f5eda8a5ae4f87fa3410ec07ed32acf78a9cb6c861e19a13757c74c84",
    "a": "29dd71c3a2104aad72656cfa1ff945fb0730401aa04cf8867e59b88710bbc51f",
    "b": "b0bb2fc49b11814d004f77abc2ee0039769683468e2fc5aeaa460357d15425e1",
}

ROW: dict[str, Any] = {
    "question_id": "text-L0016-low-s00-q03",
    "stream_id": "text-L0016-low-s00",
    "band": "low",
    "length": 16,
    "alphabet_size": 16,
    "stream": [8, 1, 4, 6, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1],
    "candidate": [4, 6, 2],
    "answer": "yes",
    "position": 2,
    "lz_rate": 0.7502,
    "negative_kind": None,
}


def prompt(arm: Arm) -> str:
    text: str = Membership(arm=arm).prompt
    return text


def test_the_prompt_is_the_papers_to_the_letter() -> None:
    pieces = [piece.replace("\n", "") for piece in PRINTED.strip().strip('"').split('"\n"')]
    assert prompt("none") == "\n".join(pieces)


@pytest.mark.parametrize("arm", ["a", "b"])
def test_an_arm_appends_its_sentence_and_changes_nothing_else(arm: Arm) -> None:
    sentence = " ".join(PRINTED_ARMS[arm].splitlines()).replace("{X}", "{2}")
    assert prompt(arm) == prompt("none") + "\n" + sentence
    plain = Membership().request(ROW).messages[0]["content"]
    with_arm = Membership(arm=arm).request(ROW).messages[0]["content"]
    assert with_arm.replace("\n" + sentence, "") == plain


@pytest.mark.parametrize("arm", ["none", "a", "b"])
def test_the_prompts_digest(arm: Arm) -> None:
    # Whoever changes a letter here also raises Membership.version.
    assert Membership.version == 1
    assert hashlib.sha256(prompt(arm).encode()).hexdigest() == SHA256[arm]


def test_a_request_whole() -> None:
    request = Membership().request(ROW)
    assert request.question_id == ROW["question_id"]
    assert request.protocol == "eccbench.membership/1"
    assert request.messages == (
        {
            "role": "user",
            "content": prompt("none") + "\n\n"
            "Main sequence: 8, 1, 4, 6, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1\n"
            "Candidate sequence: 4, 6, 2",
        },
    )
    assert request.options == {"{0}": "yes", "{1}": "no", "{2}": "abstain"}
    assert request.payoff is None
    assert request.symbols is not None
    assert request.symbols.alphabet_size == 16
    assert request.symbols.stream.dtype == request.symbols.candidate.dtype == np.uint8
    assert request.symbols.stream.tolist() == ROW["stream"]
    assert request.symbols.candidate.tolist() == ROW["candidate"]
    assert (request.decoding.max_tokens, request.decoding.temperature) == (8192, 0.0)
    assert (request.decoding.seed, dict(request.decoding.extra)) == (None, {})


@pytest.mark.parametrize(
    ("arm", "payoff", "threshold"),
    [("none", None, None), ("a", Payoff(3, -1, 0), 0.25), ("b", Payoff(1, -4, 0), 0.8)],
)
def test_the_payoff_is_the_arms(arm: Arm, payoff: Payoff | None, threshold: float | None) -> None:
    request = Membership(arm=arm).request(ROW)
    assert request.payoff == payoff
    assert (request.payoff and request.payoff.threshold) == threshold


def test_decoding_options_reach_the_request() -> None:
    evaluator = make(
        Membership,
        {"max_tokens": "512", "temperature": "0.7", "top_p": "0.8", "seed": "11", "thinking": "false"}
        | {"system_prompt": "Be brief."},
    )
    request = evaluator.request(ROW)
    assert request.messages[0] == {"role": "system", "content": "Be brief."}
    assert request.messages[1]["role"] == "user"
    decoding = request.decoding
    assert (decoding.max_tokens, decoding.temperature, decoding.top_p, decoding.seed) == (512, 0.7, 0.8, 11)
    assert decoding.extra == {"chat_template_kwargs": {"enable_thinking": False}}


def test_wrong_options_are_told_at_once() -> None:
    with pytest.raises(EccdataError) as error:
        make(Membership, {"max_tokens": 0, "temperature": -1, "top_p": 0})
    assert all(name in str(error.value) for name in ("max_tokens=0", "temperature=-1", "top_p=0"))
    with pytest.raises(EccdataError, match="arm=c"):
        Membership(arm="c")
    with pytest.raises(EccdataError, match="'none', 'a' or 'b'"):
        make(Membership, {"arm": "c"})


def test_streams_that_follow_each_other_are_not_mixed_up() -> None:
    evaluator = Membership()
    other = {**ROW, "stream": [0, *ROW["stream"][1:]]}  # even under one id
    for row in (ROW, other, dict(ROW, stream=list(ROW["stream"])), other):
        request = evaluator.request(row)
        assert f"Main sequence: {', '.join(map(str, row['stream']))}\n" in request.messages[0]["content"]
        assert request.symbols is not None
        assert request.symbols.stream.tolist() == row["stream"]


def test_a_row_of_many_queries() -> None:
    shared = {
        name: ROW[name] for name in ("stream_id", "band", "length", "alphabet_size", "stream", "lz_rate")
    }
    queries = [
        {"candidate": [4, 6, 2], "answer": "yes", "position": 2, "negative_kind": None},
        {"candidate": [9, 9, 9, 9], "answer": "no", "position": -1, "negative_kind": "uniform"},
    ]
    evaluator = Membership()
    questions = list(evaluator.questions({**shared, "queries": queries}))
    assert [question["question_id"] for question in questions] == [
        f"{ROW['stream_id']}-q0{i}" for i in (0, 1)
    ]
    for question, query in zip(questions, queries, strict=True):
        assert question == {**shared, **query, "question_id": question["question_id"]}
        assert evaluator.request(question).symbols is not None
        assert evaluator.columns(question, Response(Status.OK, "{1}"))["correct"] is (query["answer"] == "no")


def test_a_row_of_one_question_is_that_question() -> None:
    assert list(Membership().questions(ROW)) == [ROW]


def test_a_row_without_a_question_is_refused() -> None:
    row = {name: value for name, value in ROW.items() if name not in ("candidate", "answer")}
    with pytest.raises(EccdataError, match=r"(?s)text-L0016-low-s00.*candidate.*answer"):
        list(Membership().questions(row))


def test_an_answer_that_is_no_name_is_refused() -> None:
    with pytest.raises(EccdataError, match="answer 0"):
        Membership().columns({**ROW, "answer": 0}, Response(Status.OK, "{0}"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It does: {0}", ("yes", None, True, 9, (None, 3.0, 1.0))),
        ("{1}", ("no", None, False, 0, (None, -1.0, -4.0))),
        ("unsure {2}", ("abstain", "explicit", False, 7, (None, 0.0, 0.0))),
        ("no idea", ("abstain", "format", False, None, (None, 0.0, 0.0))),
    ],
)
def test_what_a_reply_comes_to(text: str, expected: tuple[Any, ...]) -> None:
    prediction, abstention, correct, commit_char, payoffs = expected
    for arm, payoff in zip(("none", "a", "b"), payoffs, strict=True):
        columns = make(Membership, {"arm": arm}).columns(ROW, Response(Status.OK, text, finish_reason="stop"))
        assert columns == {
            "arm": arm,
            "answer": "yes",
            "prediction": prediction,
            "abstention": abstention,
            "correct": correct,
            "payoff": payoff,
            "commit_char": commit_char,
            "reply_chars": len(text),
        }


def test_a_cut_reply_without_a_marker_is_an_overflow() -> None:
    columns = Membership().columns(ROW, Response(Status.TRUNCATED, "Let me see", finish_reason="length"))
    assert (columns["prediction"], columns["abstention"], columns["correct"]) == (
        "abstain",
        "overflow",
        False,
    )


@pytest.mark.parametrize("status", [status for status in Status if not status.answered])
def test_a_failure_gets_nulls_and_no_verdict(status: Status) -> None:
    columns = Membership(arm="b").columns(ROW, Response(status, error="broken"))
    assert columns == dict.fromkeys(Membership.schema.names) | {"arm": "b", "answer": "yes"}


def test_columns_have_the_schema() -> None:
    responses = [Response(Status.OK, "{0}"), Response(Status.OK, ""), Response(Status.TIMEOUT)]
    rows = [Membership(arm="a").columns(ROW, response) for response in responses]
    table = pa.Table.from_pylist(rows, schema=Membership.schema)
    assert table.to_pylist() == rows


def test_letters_on_belts_are_not_asked_as_text() -> None:
    with pytest.raises(EccdataError, match="membership-video"):
        list(Membership().questions({**ROW, "lanes": [0, 1, 2]}))


def test_it_is_installed() -> None:
    assert catalog.evaluator("eccbench", "membership") is Membership
    assert set(Membership().needs()) <= ROW.keys()
