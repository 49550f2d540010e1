"""Single responses for a reader: a few of each cell, chosen for the variety of their outcomes, the same every time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any, TypeVar

import duckdb

from eccdata.answers import CLOSING

T = TypeVar("T")

CELL = ("config", "variant", "length", "band", "density_band", "structure", "arm")
"""What tells the cells of a run apart, where its responses have it."""
VERDICTS = ("right", "wrong", "abstained", "failed", "unscored")
KEPT = 1_500
"""Of a text, so many characters are kept from each end, and on both sides of what it commits to."""
LONGEST_MARKER = 80
UNSHOWN = {"media"}
"""Columns that would take more of a page than they are worth."""
TOLD = {
    *("run_id", "benchmark", "config", "split", "protocol", "system", "model", "run", "label"),
    *("question_id", "answer", "prediction", "correct", "failed", "verdict", "cell"),
    *("reply", "reasoning", "error", "commit_char", "reply_chars", "asked_at"),
    *CELL,
}
"""Columns of a response that the page tells otherwise than as facts."""
FACTS = (
    "lz_rate",
    "joint_lz_rate",
    "density_score",
    "negative_kind",
    "abstention",
    "status",
    "finish_reason",
    "attempts",
    "prompt_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "cached_tokens",
    "token_limit",
    "frames_sent",
    "vision_tokens_expected",
    "vision_tokens_reported",
    "probability",
    "option_yes",
    "option_no",
    "option_abstain",
    "payoff",
    "input_tokens",
    "answer_tokens",
    "flops_write",
    "flops_read",
    "flops",
    "latency_s",
    "server",
    "request_key",
)
"""What is told of a response besides, where it has it; other columns of a system follow these."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The responses that were chosen.

    Attributes:
        rows: The responses, the first of every cell before the second of any: the first so many of them are spread over
            all cells. Each has the columns of `responses`, and `verdict` (one of `VERDICTS`) and `cell`.
        responses: How many responses there are in all.
        cells: How many cells they make up.

    """

    rows: tuple[Mapping[str, Any], ...]
    responses: int
    cells: int


def sample(connection: duckdb.DuckDBPyConnection, *, per_cell: int, most: int) -> Sample:
    """Choose at most `per_cell` responses of each cell of each run, and at most `most` in all.

    A cell's responses are taken in turn from each of its verdicts, and in each of these in turn from what was asked
    and how it was declined or failed, and among those in the order of a digest of the question's name. So the same
    question tends to be chosen for every run, and their replies to it can be compared.

    Args:
        connection: One with the view `responses`.
        per_cell: How many of each cell.
        most: How many in all.

    """
    columns = [row[0] for row in connection.execute("DESCRIBE responses").fetchall()]
    cell = [name for name in CELL if name in columns]
    kind = f"concat_ws(' ', {_or_null('answer', columns)}, {_or_null('abstention', columns)}, status)"
    groups = connection.execute(f"""
        SELECT run, {", ".join(cell)}, {_verdict(columns)} AS verdict, {kind} AS kind, count(*) AS n,
            min_by(question_id, md5(question_id), {per_cell}) AS questions
        FROM responses GROUP BY ALL ORDER BY ALL
    """).fetchall()  # noqa: S608 (columns and numbers are ours)
    cells: dict[tuple[Any, ...], dict[str, list[list[str]]]] = defaultdict(lambda: defaultdict(list))
    for *key, verdict, _, _, questions in groups:
        cells[tuple(key)][verdict].append(questions)
    lists = [
        [(key, question) for question in islice(_in_turn(list(map(_in_turn, verdicts.values()))), per_cell)]
        for key, verdicts in cells.items()
    ]
    chosen = list(islice(_in_turn(lists), most))
    rows = _fetch(connection, [(key[0], question) for key, question in chosen], columns)
    return Sample(
        tuple(
            {**rows[key[0], question], "cell": dict(zip(cell, key[1:], strict=True))}
            for key, question in chosen
        ),
        sum(group[-2] for group in groups),
        len(cells),
    )


def shorten(text: str, mark: tuple[int, int] | None) -> list[tuple[str, bool]]:
    """Cut a text into pieces, each with whether it is the marked one, and leave out of a long one what is in between.

    Args:
        text: A reply.
        mark: Where what it commits to begins and ends, as indices; None where it commits to nothing.

    """
    start, stop = mark or (len(text), len(text))
    pieces = [(_shorten(text[:start]), False), (text[start:stop], True), (_shorten(text[stop:]), False)]
    return [(piece, marked) for piece, marked in pieces if piece]


def commitment(text: str, commit_char: int | None) -> tuple[int, int] | None:
    """Where in a reply the marker begins and ends that it commits to, given where it begins."""
    if commit_char is None or not 0 <= commit_char < len(text):
        return None
    closing = re.compile(f"[{CLOSING}]").search(text, commit_char, commit_char + LONGEST_MARKER)
    return commit_char, closing.end() if closing else commit_char + 1


def _shorten(text: str) -> str:
    left_out = len(text) - 2 * KEPT
    if left_out <= 0:
        return text
    return f"{text[:KEPT]}\n[… {left_out:,} characters left out …]\n{text[-KEPT:]}"


def _fetch(
    connection: duckdb.DuckDBPyConnection, wanted: Sequence[tuple[str, str]], columns: Sequence[str]
) -> dict[tuple[str, str], dict[str, Any]]:
    shown = [name for name in columns if name not in UNSHOWN]
    cursor = connection.execute(
        f"""
        SELECT {", ".join(f'"{name}"' for name in shown)}, {_verdict(columns)} AS verdict FROM responses
        WHERE (run, question_id) IN (SELECT (unnest($runs::VARCHAR[]), unnest($questions::VARCHAR[])))
        """,  # noqa: S608 (the view's own columns)
        {"runs": [run for run, _ in wanted], "questions": [question for _, question in wanted]},
    )
    names = [column[0] for column in cursor.description or ()]
    rows = (dict(zip(names, row, strict=True)) for row in cursor.fetchall())
    return {(row["run"], row["question_id"]): row for row in rows}


def _verdict(columns: Sequence[str]) -> str:
    """SQL that gives one of `VERDICTS`, whichever of its columns a protocol has."""
    abstention, correct = (_or_null(name, columns) for name in ("abstention", "correct"))
    return f"""CASE WHEN failed THEN 'failed' WHEN {abstention} IS NOT NULL THEN 'abstained'
        WHEN {correct}::BOOLEAN THEN 'right' WHEN NOT {correct}::BOOLEAN THEN 'wrong' ELSE 'unscored' END"""


def _or_null(name: str, columns: Sequence[str]) -> str:
    return name if name in columns else "NULL"


def _in_turn(lists: Iterable[Iterable[T]]) -> Iterator[T]:
    """The first of each list, then the second of each, and so on."""
    nothing = object()
    for together in zip_longest(*lists, fillvalue=nothing):
        yield from (item for item in together if item is not nothing)  # type: ignore[misc]
