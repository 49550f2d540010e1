"""Membership: did this candidate occur in that stream as a contiguous subsequence? (eccbench.txt 4.1, B.1, B.8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eccdata.answers import ABSTAIN, committed
from eccdata.errors import problem
from eccdata.evaluator import Evaluator, Row
from eccdata.requests import Decoding, Json, Request, Response, SymbolQuery

from .prompts import PAYOFFS, TEXT, TEXT_OPTIONS, Arm, with_arm

_ABSTAIN_MARKER = next(marker for marker, meaning in TEXT_OPTIONS.items() if meaning == ABSTAIN)
_NUMBERS = tuple(str(symbol) for symbol in range(256))
_ANSWERS = ("yes", "no")


@dataclass(frozen=True)
class Membership(Evaluator):
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

    Attributes:
        arm: `none`, or the payoff that the prompt states: `a` is +3/-1/0 and `b` is +1/-4/0 for a right answer,
            a wrong one and an abstention.
        max_tokens: The most tokens a reply may have (B.8 (i)).
        temperature: 0 decodes greedily. The paper does not state its own.
        top_p: Nucleus mass, where the temperature is above 0.
        seed: Sent to the server where given; not every server heeds it.
        system_prompt: A system message to go first; the paper has none.
        thinking: Sent as `chat_template_kwargs.enable_thinking`, which turns the reasoning of hybrid models on
            or off; not sent by default.

    """

    arm: Arm = "none"
    max_tokens: int = 8192
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    system_prompt: str | None = None
    thinking: bool | None = None

    benchmark: ClassVar[str] = "eccbench"
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
    schema: ClassVar[pa.Schema] = pa.schema(
        {
            "arm": pa.string(),
            "answer": pa.string(),
            "prediction": pa.string(),
            "abstention": pa.string(),
            "correct": pa.bool_(),
            "payoff": pa.float64(),
            "commit_char": pa.int32(),
            "reply_chars": pa.int32(),
        }
    )

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            EccdataError: Naming every option that is out of range.

        """
        wrong = []
        if self.arm not in get_args(Arm):
            wrong.append(f"arm={self.arm}: one of {', '.join(get_args(Arm))}")
        if self.max_tokens < 1:
            wrong.append(f"max_tokens={self.max_tokens}: at least 1")
        if not self.temperature >= 0:
            wrong.append(f"temperature={self.temperature}: 0 or above")
        if not 0 < self.top_p <= 1:
            wrong.append(f"top_p={self.top_p}: above 0 and at most 1")
        if wrong:
            raise problem("These options of the membership protocol are out of range:", wrong)

    @cached_property
    def prompt(self) -> str:
        """The fixed text of every question: the base prompt and the arm's sentence."""
        return with_arm(TEXT, self.arm, _ABSTAIN_MARKER)

    def needs(self) -> tuple[str, ...]:
        """The columns without which nothing can be asked; `questions` checks the two forms of the rest."""
        return ("stream_id", "stream", "alphabet_size")

    def questions(self, row: Row) -> Iterator[Row]:
        """Give a row's questions: itself, or one for each of its `queries`.

        Raises:
            EccdataError: If it has neither the columns of a question nor `queries`.

        """
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
        written, stream = self._write(question["stream"])
        candidate = question["candidate"]
        content = f"{self._before}{written}\nCandidate sequence: {_numbers(candidate)}"
        return Request(
            question_id=question["question_id"],
            protocol=f"{self.benchmark}.{self.protocol}/{self.version}",
            messages=(*self._system, {"role": "user", "content": content}),
            decoding=self._decoding,
            options=TEXT_OPTIONS,
            payoff=PAYOFFS[self.arm],
            symbols=SymbolQuery(stream, np.array(candidate, np.uint8), question["alphabet_size"]),
        )

    def columns(self, question: Row, response: Response) -> dict[str, Any]:
        """Score one response. An abstention is not correct and earns what its arm pays for it; a failure is null.

        Raises:
            EccdataError: If the question's true answer is neither `yes` nor `no`.

        """
        truth = question["answer"]
        if truth not in _ANSWERS:
            raise problem(
                f"Question {question['question_id']!r} has the answer {truth!r}, which is neither yes nor no."
            )
        found = committed(response, TEXT_OPTIONS)
        columns = dict.fromkeys(self.schema.names) | {"arm": self.arm, "answer": truth}
        if found is None:
            return columns
        correct = found.prediction == truth
        payoff = PAYOFFS[self.arm]
        if payoff is not None:
            columns["payoff"] = (
                payoff.abstain if found.abstention else payoff.correct if correct else payoff.wrong
            )
        return columns | {
            "prediction": found.prediction,
            "abstention": found.abstention,
            "correct": correct,
            "commit_char": found.commit_char,
            "reply_chars": len(response.text),
        }

    @cached_property
    def _write(self) -> _Writer:
        return _Writer()

    @cached_property
    def _before(self) -> str:
        return f"{self.prompt}\n\nMain sequence: "

    @cached_property
    def _system(self) -> tuple[Mapping[str, Json], ...]:
        return () if self.system_prompt is None else ({"role": "system", "content": self.system_prompt},)

    @cached_property
    def _decoding(self) -> Decoding:
        extra = {} if self.thinking is None else {"chat_template_kwargs": {"enable_thinking": self.thinking}}
        return Decoding(self.max_tokens, self.temperature, self.top_p, self.seed, extra)


class _Writer:
    """Writes streams out and keeps the last one, because questions about one stream follow each other."""

    def __init__(self) -> None:
        self._last: tuple[Sequence[int], tuple[str, NDArray[np.uint8]]] | None = None

    def __call__(self, stream: Sequence[int]) -> tuple[str, NDArray[np.uint8]]:
        """Give a stream as the prompt writes it and as an array."""
        last = self._last
        # Comparing two equal lists of small integers costs a tenth of turning one into bytes, and is safer than
        # trusting that equal ids mean equal streams.
        if last is None or last[0] != stream:
            last = self._last = stream, (_numbers(stream), np.array(stream, np.uint8))
        return last[1]


def _numbers(symbols: Sequence[int]) -> str:
    return ", ".join([_NUMBERS[symbol] for symbol in symbols])
