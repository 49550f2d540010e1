"""Membership questions on streams of one's own, put to a reference memory, and what came of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eccdata.evaluators.eccbench.membership import Membership
from eccdata.requests import Response
from eccdata.settings import make
from eccdata.streams.bands import low_entropy_stream, max_entropy_stream
from eccdata.streams.queries import membership_queries
from eccdata.streams.seeding import generator
from eccdata.systems.memories import Memory

Row = dict[str, Any]
ALPHABET = 16


@dataclass(frozen=True)
class Trial:
    """A question, and a memory's answer to it."""

    row: Row
    response: Response
    columns: dict[str, Any]

    @property
    def probability(self) -> float:
        assert self.response.probability is not None
        return self.response.probability

    @property
    def positive(self) -> bool:
        return bool(self.row["answer"] == "yes")

    @property
    def answered(self) -> bool:
        return bool(self.columns["prediction"] != "abstain")

    @property
    def correct(self) -> bool:
        return bool(self.columns["correct"])


def nearby(length: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw a stream that repeats itself nearby and nowhere else: each 64 symbols are a new motif of 8, eight times."""
    motifs = rng.integers(0, ALPHABET, (-(-length // 64), 8), np.uint8)
    return np.repeat(motifs[:, None], 8, axis=1).reshape(-1)[:length]


SOURCES: dict[str, Callable[[int, np.random.Generator], NDArray[np.uint8]]] = {
    "max": lambda length, rng: max_entropy_stream(length, rng).symbols,
    "low": lambda length, rng: low_entropy_stream(length, rng).symbols,
    "nearby": nearby,
}


@lru_cache(maxsize=32)
def questions(source: str, length: int, streams: int = 40) -> tuple[Row, ...]:
    """Sixteen questions on each of so many streams."""
    rows = []
    for index in range(streams):
        stream = SOURCES[source](length, generator(0, "trial stream", source, length, index))
        queries = membership_queries(stream.tobytes(), generator(0, "trial queries", source, length, index))
        symbols = stream.tolist()
        rows += [
            {
                "question_id": f"{source}-L{length}-s{index}-q{number}",
                "stream_id": f"{source}-L{length}-s{index}",
                "alphabet_size": ALPHABET,
                "stream": symbols,
                "candidate": list(query.candidate),
                "answer": query.answer,
                "position": query.position,
            }
            for number, query in enumerate(queries)
        ]
    return tuple(rows)


def ask(memory: Memory, rows: Sequence[Row], arm: str = "none") -> list[Trial]:
    """Put the questions to a memory under an arm."""
    evaluator = make(Membership, {"arm": arm})

    async def respond() -> list[Trial]:
        trials = []
        for row in rows:
            response = await memory.respond(evaluator.request(row))
            trials.append(Trial(row, response, evaluator.columns(row, response)))
        return trials

    return asyncio.run(respond())


def accuracy(trials: Sequence[Trial]) -> float:
    """The share that was answered right; an abstention is not."""
    return sum(trial.correct for trial in trials) / len(trials)


def coverage(trials: Sequence[Trial]) -> float:
    """The share that was answered."""
    return sum(trial.answered for trial in trials) / len(trials)


def accuracy_on_answered(trials: Sequence[Trial]) -> float:
    """The share of the answered that was answered right."""
    return accuracy([trial for trial in trials if trial.answered])


def assert_share(hits: float, count: int, probability: float, slack: float = 0.0) -> None:
    """Assert that `hits` of `count` are within four standard deviations of a binomial share, and a slack."""
    bound = 4 * sqrt(probability * (1 - probability) / count) + slack
    share = hits / count
    assert abs(share - probability) <= bound, (
        f"{share:.4f} is not {probability:.4f} ± {bound:.4f} ({count} trials)"
    )
