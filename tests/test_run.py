from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eccdata.run import Run

AGAIN = "Run the same command again"


def of(**changes: Any) -> Run:
    values: dict[str, Any] = {
        "run_id": "0" * 12,
        "folder": Path("results/x"),
        "questions": 10,
        "answered": 10,
        "failed": {},
        "unasked": 0,
        "asked": 10,
        "wall_s": 1.0,
    }
    return Run(**{**values, **changes})


def test_a_complete_run_says_nothing_of_going_on() -> None:
    assert of().complete
    assert AGAIN not in str(of())


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
    run = of(answered=0, failed=failed, unasked=unasked)
    assert run.lasting is lasting
    assert (AGAIN in str(run)) is not lasting
    assert ("would fail again" in str(run)) is lasting


def test_the_first_error_of_each_kind_is_shown_and_a_long_one_cut() -> None:
    run = of(
        answered=8,
        failed={"timeout": 1, "invalid_request": 1},
        errors={"timeout": "late", "invalid_request": "x " * 999},
    )
    assert "The first timeout: late" in str(run)
    assert max(map(len, str(run).splitlines())) < 500
