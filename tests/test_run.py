from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eccdata.counts import Scores
from eccdata.run import Run

AGAIN = "Run the same command again"


def of(**changes: Any) -> Run:
    values: dict[str, Any] = {
        "run_id": "0" * 12,
        "folder": Path("results/x"),
        "questions": 10,
        "replied": 10,
        "failed": {},
        "unasked": 0,
        "asked": 10,
        "wall_s": 1.0,
    }
    return Run(**{**values, **changes})


def test_a_complete_run_says_nothing_of_going_on() -> None:
    assert of().complete
    assert AGAIN not in str(of())


def test_questions_are_not_called_requests_since_a_question_may_take_several() -> None:
    said = str(of(asked=7))
    assert "10 of 10 questions (7 asked now, in 1.0 s)" in said
    assert "request" not in said


def test_what_replies_are_worth_is_told_in_the_words_of_the_tables() -> None:
    said = str(of(scores=Scores(scored=10, answered=8, correct=6)))
    assert "Replied: 10 of 10 questions" in said
    assert (
        "Answered: 8 of 10 replies (coverage 80.0%), accuracy 60.0% with abstentions as wrong, 75.0% on answered."
        in said
    )
    assert "Scored: accuracy 60.0%." in str(of(scores=Scores(scored=10, answered=None, correct=6)))
    assert "accuracy" not in str(of(scores=Scores(scored=0, answered=0, correct=0)))


@pytest.mark.parametrize(
    ("failed", "unasked", "lasting"),
    [
        ({"invalid_request": 10}, 0, True),
        ({"context_exceeded": 5, "refused": 5}, 0, True),
        ({"invalid_request": 9, "timeout": 1}, 0, False),
        ({"invalid_request": 9}, 1, False),
        ({}, 10, False),
    ],
)
def test_only_what_another_try_may_mend_is_worth_one(
    failed: dict[str, int], unasked: int, lasting: bool
) -> None:
    run = of(replied=0, failed=failed, unasked=unasked)
    assert run.lasting is lasting
    assert (AGAIN in str(run)) is not lasting
    assert ("would fail again" in str(run)) is lasting


def test_the_first_error_of_each_kind_is_shown_and_a_long_one_cut() -> None:
    run = of(
        replied=8,
        failed={"timeout": 1, "invalid_request": 1},
        errors={"timeout": "late", "invalid_request": "x " * 999},
    )
    assert "The first timeout: late" in str(run)
    assert max(map(len, str(run).splitlines())) < 500
