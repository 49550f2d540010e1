"""What the results of a run come to, counted while they are written: replies, failures, scores, tokens."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from eccdata.requests import Status

TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")


@dataclass(frozen=True, slots=True)
class Scores:
    """What replies are worth, by counting. A failure has no reply and is left out.

    Attributes:
        scored: Replies that are right or not right.
        answered: How many of them answer, that is, do not abstain; None where the protocol knows no abstention.
        correct: How many are right.

    """

    scored: int
    answered: int | None
    correct: int

    @classmethod
    def of(cls, table: pa.Table) -> Scores | None:
        """Count the rows of a table of results; None where the protocol has no column `correct`."""
        names = table.column_names
        if "correct" not in names or not pa.types.is_boolean(table["correct"].type):
            return None
        scored = table["correct"].is_valid()
        answered = None
        if "abstention" in names:
            answered = pc.sum(pc.and_(scored, table["abstention"].is_null())).as_py() or 0
        return cls(pc.sum(scored).as_py() or 0, answered, pc.sum(table["correct"]).as_py() or 0)

    def __add__(self, other: Scores) -> Scores:
        answered = None if self.answered is None or other.answered is None else self.answered + other.answered
        return Scores(self.scored + other.scored, answered, self.correct + other.correct)

    @property
    def accuracy(self) -> float | None:
        """Right ones among all, so that an abstention counts as wrong; None of nothing."""
        return self.correct / self.scored if self.scored else None

    @property
    def coverage(self) -> float | None:
        """The share that answers; None of nothing."""
        return self.answered / self.scored if self.scored and self.answered is not None else None

    @property
    def accuracy_on_answered(self) -> float | None:
        """Right ones among those that answer; None of nothing."""
        return self.correct / self.answered if self.answered else None

    def __str__(self) -> str:
        lines = [f"accuracy {percent(self.accuracy)}"]
        if self.answered is not None:
            lines = [
                f"{self.answered} of {self.scored} replies (coverage {percent(self.coverage)})",
                f"accuracy {percent(self.accuracy)} with abstentions as wrong",
                f"{percent(self.accuracy_on_answered)} on answered",
            ]
        return ", ".join(lines)


def percent(share: float | None) -> str:
    """A share as it is shown; `none` of nothing."""
    return "none" if share is None else f"{share:.1%}"


@dataclass
class Counts:
    """What stands in the results.

    Attributes:
        questions: Questions that the run is to ask.
        written: Questions that have a row: replied or failed.
        status: Rows by status.
        errors: What the first row of each failed status says of it.
        abstention: Replied rows by kind of abstention, where the protocol tells kinds apart.
        scores: What the replies are worth; None where the protocol has no column `correct`.
        cut_below_limit: Replies that the server cut although the token limit in force was not reached, as SGLang
            does when its memory for tokens is full.
        tokens: Sums over the rows that tell, by column; a column that no row tells is not there.
        servers: Rows by the digest of the server's fingerprint.
        prompts: SHA-256, in hex, over the digests of all questions' messages, in order.
        vision_tokens: Replied rows with clips by what the server's count of vision tokens is: `right`, `wrong`,
            `untold` by the server, or `unaudited` because no rule is known.

    """

    questions: int = 0
    written: int = 0
    status: Counter[str] = field(default_factory=Counter)
    errors: dict[str, str] = field(default_factory=dict)
    abstention: Counter[str] = field(default_factory=Counter)
    scores: Scores | None = None
    cut_below_limit: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    servers: Counter[str] = field(default_factory=Counter)
    prompts: str = ""
    vision_tokens: Counter[str] = field(default_factory=Counter)

    def add(self, table: pa.Table) -> None:
        """Count the rows of a table of results."""
        self.written += table.num_rows
        _tally(self.status, table["status"])
        _tally(self.servers, table["server"])
        for status in self.failures.keys() - self.errors.keys():
            said = table["error"].filter(pc.equal(table["status"], status)).drop_null()
            if len(said):
                self.errors[status] = said[0].as_py()
        if "abstention" in table.column_names:
            _tally(self.abstention, table["abstention"])
        scores = Scores.of(table)
        if scores is not None:
            self.scores = scores if self.scores is None else self.scores + scores
        for name in TOKENS:
            total = pc.sum(table[name]).as_py()
            if total is not None:
                self.tokens[name] += total
        truncated = pc.equal(table["status"], Status.TRUNCATED.value)
        below = pc.less(table["completion_tokens"], table["token_limit"])
        self.cut_below_limit += pc.sum(pc.and_(truncated, below)).as_py() or 0

    @property
    def replied(self) -> int:
        """Rows that hold a reply."""
        return sum(count for status, count in self.status.items() if Status(status).answered)

    @property
    def failed(self) -> int:
        """Rows that hold a failure."""
        return self.written - self.replied

    @property
    def failures(self) -> dict[str, int]:
        """Rows that hold a failure, by status."""
        return {status: count for status, count in self.status.items() if not Status(status).answered}


def _tally(counter: Counter[str], column: pa.ChunkedArray) -> None:
    for entry in pc.value_counts(column.drop_null()).to_pylist():
        counter[entry["values"]] += entry["counts"]
