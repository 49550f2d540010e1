"""Run: what a call of `evaluate` has come to, as a value and as the lines that are shown of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten

from eccdata.asking import PASSING
from eccdata.counts import Scores

ERROR_CHARS = 400
"""A server may put a whole page into an error; the results have all of it."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run has come to.

    Attributes:
        run_id: Twelve hex digits of the digest of its identity.
        folder: Where it is kept.
        questions: Questions that it is to ask.
        replied: Questions with a reply.
        failed: Questions whose last try failed, by status; the next run asks them again.
        unasked: Questions that were not asked.
        asked: Questions that this session asked, retries not counted; the same question twice counts once.
        wall_s: Seconds that this session took.
        stopped: Why this session ended early; None where it did not.
        errors: What the first failure of each status said, first in the order of the questions.
        scores: What the replies are worth; None where the protocol does not say which are correct.
        notes: What else has to be said, a sentence each.

    """

    run_id: str
    folder: Path
    questions: int
    replied: int
    failed: Mapping[str, int]
    unasked: int
    asked: int
    wall_s: float
    stopped: str | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    scores: Scores | None = None
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every question has a reply."""
        return self.replied == self.questions

    @property
    def lasting(self) -> bool:
        """Whether all that is missing are failures that asking once more would not mend."""
        return bool(self.failed) and not self.unasked and not PASSING & self.failed.keys()

    @property
    def interruption(self) -> str:
        """What an interrupt leaves of it, in one line."""
        kept = f"Interrupted: the replies to {self.replied} of {self.questions} questions are kept in {self.folder}."
        return kept if self.complete else f"{kept} Run the same command again to ask the rest."

    def __str__(self) -> str:
        lines = [
            f"Replied: {self.replied} of {self.questions} questions ({self.asked} asked now, in "
            f"{self.wall_s:.1f} s); results in {self.folder}."
        ]
        if self.scores is not None and self.scores.scored:
            lines.append(
                f"Answered: {self.scores}." if self.scores.answered is not None else f"Scored: {self.scores}."
            )
        if self.stopped:
            lines.append(f"Stopped early: {self.stopped}")
        if self.failed:
            kinds = ", ".join(f"{count} {status}" for status, count in sorted(self.failed.items()))
            lines.append(f"Failed: {kinds}.")
            lines += [
                f"  The first {status}: {shorten(error, ERROR_CHARS, placeholder=' …')}"
                for status, error in sorted(self.errors.items())
            ]
        if self.unasked:
            lines.append(f"Not asked: {self.unasked}.")
        lines += self.notes
        if self.lasting:
            lines.append("Asked again as they are, these would fail again: first mend what the errors name.")
        elif not self.complete:
            lines.append("Run the same command again to ask what is missing, and nothing else.")
        return "\n".join(lines)
