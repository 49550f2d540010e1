"""What a reader wants to know of each run first: who was asked what, how it went, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from eccdata.analysis import Run

EXAMPLES = 3
LONGEST_ERROR = 400
PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run in numbers.

    Attributes:
        run: The run.
        replied: Responses that are no failure.
        failed: Failures.
        unasked: Questions that have not been asked.
        correct: Right responses; None where the protocol does not say which are.
        accuracy: `correct / replied`: an abstention counts as wrong.
        accuracy_wilson: Wilson's interval of it, 95 %, with `low` and `high`.
        coverage: Responses that are no abstention, of those that are no failure.
        accuracy_on_answered: `correct` of those.
        completion_tokens: Mean of a response, where servers tell.
        flops: Mean of a response, where the model has a price.
        latency_s: Median.

    """

    run: Run
    replied: int
    failed: int
    unasked: int
    correct: int | None
    accuracy: float | None
    accuracy_wilson: Mapping[str, float] | None
    coverage: float | None
    accuracy_on_answered: float | None
    completion_tokens: float | None
    flops: float | None
    latency_s: float | None

    @property
    def stopped(self) -> str | None:
        """Why its last session ended early; None where it did not, or where its card does not say."""
        outcome = self.run.card.get("outcome")
        return outcome.get("stopped") if isinstance(outcome, Mapping) else None


@dataclass(frozen=True, slots=True)
class Failures:
    """Failures of one kind in one run: how many, and what some of them say."""

    run: str
    status: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """What a run that showed clips knows of what its model saw.

    Attributes:
        run: The run's name.
        tokens: Replies by whether the server's count of tokens is what their clips cost: `right`, `wrong`, `untold`
            (the server tells none), `unaudited` (what they cost is not known).
        faults: What was found to be wrong, a sentence each.
        accepted: Whether the run was told to go on all the same.

    """

    run: str
    tokens: Mapping[str, int]
    faults: tuple[str, ...]
    accepted: bool

    @property
    def passed(self) -> bool:
        """Whether every reply's clips were counted, and counted right."""
        return not self.faults and not any(self.tokens.get(kind) for kind in ("wrong", "untold", "unaudited"))


def run_facts(connection: duckdb.DuckDBPyConnection, runs: Sequence[Run]) -> list[RunFacts]:
    """Count the responses of each run, in one pass over them."""
    columns = {row[0] for row in connection.execute("DESCRIBE responses").fetchall()}
    correct = "count(*) FILTER (correct)" if "correct" in columns else "NULL"
    scored = "count(correct)" if "correct" in columns else "0"
    answered = "count(*) FILTER (NOT failed AND abstention IS NULL)" if "abstention" in columns else "NULL"
    flops = "avg(flops) FILTER (NOT failed)" if "flops" in columns else "NULL"
    rows = connection.execute(f"""
        WITH counted AS (
            SELECT run, count(*) FILTER (NOT failed) AS replied, {scored} AS scored, {correct} AS correct,
                {answered} AS answered, avg(completion_tokens) FILTER (NOT failed) AS completion_tokens,
                {flops} AS flops, approx_quantile(latency_s, 0.5) FILTER (NOT failed) AS latency_s
            FROM responses GROUP BY run
        )
        SELECT run, replied, CASE WHEN scored > 0 THEN correct END, correct / nullif(scored, 0),
            wilson(correct, scored), CASE WHEN scored > 0 THEN answered / nullif(replied, 0) END,
            CASE WHEN scored > 0 THEN correct / nullif(answered, 0) END, completion_tokens, flops, latency_s
        FROM counted
    """).fetchall()  # noqa: S608 (the view's own columns)
    counted = {name: values for name, *values in rows}
    return [
        RunFacts(run, values[0], run.failed, run.unasked, *values[1:])
        for run in runs
        if (values := counted[run.name])
    ]


def failures(connection: duckdb.DuckDBPyConnection) -> list[Failures]:
    """Count the failures of each run by their status, with the words of a few."""
    rows = connection.execute(f"""
        SELECT run, status, count(*), min_by(error[:{LONGEST_ERROR}], md5(question_id), {EXAMPLES})
        FROM responses WHERE failed GROUP BY ALL ORDER BY ALL
    """).fetchall()  # noqa: S608 (numbers are ours)
    return [
        Failures(run, status, count, tuple(dict.fromkeys(filter(None, words or ()))))
        for run, status, count, words in rows
    ]


def audits(runs: Sequence[Run]) -> list[Audit]:
    """What the cards say of the clips that were shown."""
    found = []
    for run in runs:
        media = run.card.get("media")
        if isinstance(media, Mapping):
            found.append(
                Audit(
                    run.name,
                    media.get("vision_tokens", {}),
                    tuple(media.get("faults", ())),
                    bool(media.get("accept_audit_failures", False)),
                )
            )
    return found


def scaled(value: float | None, unit: str) -> str:
    """Write a large number with a prefix and three digits, such as `1.23 TFLOPs`."""
    if value is None:
        return "–"
    factor, prefix = next((pair for pair in PREFIXES if abs(value) >= pair[0]), (1.0, ""))
    return f"{value / factor:.3g} {prefix}{unit}"
