"""Membership: did this candidate occur in that stream as a contiguous subsequence? (eccbench.txt 4.1, B.1, B.8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eccdata.errors import EccdataError, problem
from eccdata.evaluator import Row
from eccdata.requests import Request, SymbolQuery

from .answering import Answering
from .prompts import PAYOFFS, TEXT, TEXT_OPTIONS

_NUMBERS = tuple(str(symbol) for symbol in range(256))


@dataclass(frozen=True)
class Membership(Answering):
    """The paper's membership protocol on text, with or without a stated cost of an error.

    A question is one user message: the prompt (B.1), the arm's sentence as its next line (B.8), an empty line,
    and the two sequences as comma-separated integers::

        Main sequence: 8, 1, 4, 6, 2
        Candidate sequence: 1, 4, 6

    The paper says that the sequences come alongside the prompt and the candidate on a line of its own, not in
    which order. Prompt, stream, candidate is the order in which all questions about one stream share their
    longest prefix, which servers keep in their cache.

    It asks rows that are one question (`question_id`, `candidate`, `answer`) and rows that hold a list of them
    (`queries`), whose questions are then called `<stream_id>-q<index>`.
    """

    markers: ClassVar[Mapping[str, str]] = TEXT_OPTIONS
    protocol: ClassVar[str] = "membership"
    version: ClassVar[int] = 1
    carried: ClassVar[Mapping[str, pa.DataType]] = {
        "stream_id": pa.string(),
        "length": pa.int32(),
        "band": pa.string(),
        "lz_rate": pa.float64(),
        "negative_kind": pa.string(),
        "structure": pa.string(),
        "alphabet_size": pa.int32(),
        "position": pa.int32(),
    }

    @property
    def base_prompt(self) -> str:
        """The prompt for text (B.1)."""
        return TEXT

    def needs(self) -> tuple[str, ...]:
        """The columns without which nothing can be asked; `questions` checks the two forms of the rest."""
        return ("stream_id", "stream", "alphabet_size")

    def questions(self, row: Row) -> Iterator[Row]:
        """Give a row's questions: itself, or one for each of its `queries`.

        Raises:
            EccdataError: If it has neither the columns of a question nor `queries`.

        """
        if row.get("lanes") is not None:
            # which belt a letter is on is part of the question, and the text prompt does not tell it
            raise EccdataError(
                f"The row of stream {row.get('stream_id')!r} asks about letters on belts, which text does not show. "
                "Ask this dataset under the protocol membership-video."
            )
        queries = row.get("queries")
        if queries is not None:
            shared = {name: value for name, value in row.items() if name != "queries"}
            for index, query in enumerate(queries):
                yield {**shared, **query, "question_id": f"{row['stream_id']}-q{index:02d}"}
            return
        missing = [name for name in ("question_id", "candidate", "answer") if row.get(name) is None]
        if missing:
            raise problem(
                f"The row of stream {row.get('stream_id')!r} holds no membership question. It lacks:",
                missing,
                "A row has these columns, or a list of `queries` with candidate and answer.",
            )
        yield row

    def request(self, question: Row) -> Request:
        """Put one question: the chat messages, and the same question as symbols for systems that read these."""
        before, stream = self._before_candidate(question["stream"])
        candidate = question["candidate"]
        return Request(
            question_id=question["question_id"],
            protocol=self.name_and_version,
            messages=self.messages(before + _numbers(candidate)),
            decoding=self.decoding,
            options=self.markers,
            payoff=PAYOFFS[self.arm],
            symbols=SymbolQuery(stream, np.array(candidate, np.uint8), question["alphabet_size"]),
        )

    @cached_property
    def _before_candidate(self) -> _BeforeCandidate:
        return _BeforeCandidate(self.prompt)


class _BeforeCandidate:
    """What of a question comes before its candidate; kept, because questions about one stream follow each other."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt
        self._last: tuple[Sequence[int], tuple[str, NDArray[np.uint8]]] | None = None

    def __call__(self, stream: Sequence[int]) -> tuple[str, NDArray[np.uint8]]:
        """Give the content up to the candidate, and the stream as an array."""
        last = self._last
        # A list may be another one of the same symbols, and the same one may have been changed: rows are compared by
        # value, which costs a tenth of writing them out.
        if last is None or last[0] != stream:
            content = f"{self._prompt}\n\nMain sequence: {_numbers(stream)}\nCandidate sequence: "
            last = self._last = stream, (content, np.array(stream, np.uint8))
        return last[1]


def _numbers(symbols: Sequence[int]) -> str:
    return ", ".join([_NUMBERS[symbol] for symbol in symbols])
