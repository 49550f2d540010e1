"""What ECCBench's protocols share: arms, decoding, how a yes, a no or an abstention is scored (eccbench.txt B.8)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, get_args

import pyarrow as pa

from eccdata.answers import ABSTAIN, committed
from eccdata.errors import problem
from eccdata.evaluator import Evaluator, Row
from eccdata.requests import Decoding, Json, Response

from .prompts import PAYOFFS, Arm, with_arm

_ANSWERS = ("yes", "no")


@dataclass(frozen=True)
class Answering(Evaluator):
    """A protocol whose questions are answered by yes, no or an abstention, with or without a stated cost of an error.

    Class attributes:
        markers: What the prompt's markers stand for.

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

    markers: ClassVar[Mapping[str, str]]
    benchmark: ClassVar[str] = "eccbench"
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
        wrong = self.problems()
        if wrong:
            raise problem(f"These options of the {self.protocol} protocol are out of range:", wrong)

    def problems(self) -> list[str]:
        """What is wrong with the options."""
        wrong = []
        if self.arm not in get_args(Arm):
            wrong.append(f"arm={self.arm}: one of {', '.join(get_args(Arm))}")
        if self.max_tokens < 1:
            wrong.append(f"max_tokens={self.max_tokens}: at least 1")
        if not self.temperature >= 0:
            wrong.append(f"temperature={self.temperature}: 0 or above")
        if not 0 < self.top_p <= 1:
            wrong.append(f"top_p={self.top_p}: above 0 and at most 1")
        return wrong

    @property
    @abstractmethod
    def base_prompt(self) -> str:
        """The paper's prompt, to the letter."""

    @cached_property
    def prompt(self) -> str:
        """The fixed text of every question: the base prompt and the arm's sentence."""
        abstain = next(marker for marker, meaning in self.markers.items() if meaning == ABSTAIN)
        return with_arm(self.base_prompt, self.arm, abstain)

    @property
    def name_and_version(self) -> str:
        """What requests call the protocol."""
        return f"{self.benchmark}.{self.protocol}/{self.version}"

    def messages(self, content: Json) -> tuple[Mapping[str, Json], ...]:
        """The messages of a question: the system's, if there is one, and the user's."""
        return (*self._system, {"role": "user", "content": content})

    @cached_property
    def decoding(self) -> Decoding:
        """How every reply is generated."""
        extra = {} if self.thinking is None else {"chat_template_kwargs": {"enable_thinking": self.thinking}}
        return Decoding(self.max_tokens, self.temperature, self.top_p, self.seed, extra)

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
        found = committed(response, self.markers)
        if found is None:
            return dict.fromkeys(self.schema.names) | {"arm": self.arm, "answer": truth}
        correct = found.prediction == truth
        payoff = PAYOFFS[self.arm]
        return {
            "arm": self.arm,
            "answer": truth,
            "prediction": found.prediction,
            "abstention": found.abstention,
            "correct": correct,
            "payoff": None
            if payoff is None
            else payoff.abstain
            if found.abstention
            else payoff.correct
            if correct
            else payoff.wrong,
            "commit_char": found.commit_char,
            "reply_chars": len(response.text),
        }

    @cached_property
    def _system(self) -> tuple[Mapping[str, Json], ...]:
        return () if self.system_prompt is None else ({"role": "system", "content": self.system_prompt},)
