"""Request and Response: the two records that pass between evaluators and systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eccdata.media import Media

Json = Any
"""Whatever `json.dumps` takes."""


class Status(StrEnum):
    """How a request ended. `OK` and `TRUNCATED` carry an answer's text; every other one is a failure.

    A failure is never scored and never stored as an answer: the next run asks again.
    """

    OK = "ok"
    TRUNCATED = "truncated"
    """The reply was cut at the token limit (finish_reason `length`); what it said until then counts."""
    REFUSED = "refused"
    """A content filter withheld the reply."""
    CONTEXT_EXCEEDED = "context_exceeded"
    """The prompt does not fit the model's context."""
    INVALID_REQUEST = "invalid_request"
    """The server will never take this request (HTTP 4xx other than 408, 409, 425, 429)."""
    RATE_LIMITED = "rate_limited"
    """HTTP 429, still after the last retry."""
    SERVER_ERROR = "server_error"
    """HTTP 5xx, still after the last retry."""
    MALFORMED = "malformed"
    """HTTP 200 whose body is no chat completion, still after the last retry."""
    TRANSPORT_ERROR = "transport_error"
    """No complete HTTP response: refused, reset, dropped; still after the last retry."""
    TIMEOUT = "timeout"
    """No complete response within the time limit, still after the last retry."""

    def __init__(self, value: str) -> None:
        """Mark those that carry a reply that can be scored as `answered`."""
        self.answered = value in ("ok", "truncated")


@dataclass(frozen=True, slots=True)
class Decoding:
    """How the reply is generated.

    Attributes:
        max_tokens: The most tokens a reply may have.
        temperature: 0 is greedy.
        top_p: Nucleus mass.
        seed: Sent to the server where given; not every server heeds it.
        extra: Further fields of the request's body, such as `chat_template_kwargs`.

    """

    max_tokens: int = 8192
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Payoff:
    """What an answer earns (eccbench.txt, B.8)."""

    correct: float
    wrong: float
    abstain: float = 0.0

    @property
    def threshold(self) -> float:
        """The confidence above which answering earns more than abstaining: λ / (1 + λ) in section 3."""
        return (self.abstain - self.wrong) / (self.correct - self.wrong)


@dataclass(frozen=True, slots=True)
class SymbolQuery:
    """A membership question as symbols, for systems that read symbols and not prose.

    Attributes:
        stream: uint8 [L], each below `alphabet_size`.
        candidate: uint8 [k].
        alphabet_size: How many symbols there are.

    """

    stream: NDArray[np.uint8]
    candidate: NDArray[np.uint8]
    alphabet_size: int


@dataclass(frozen=True, slots=True)
class Search:
    """What a question looks for and where, for systems that search a video and do not read all of it.

    Attributes:
        stream: The medium to be searched, by its name in the request.
        medium: The medium that is looked for; or
        text: The sentence that says what is looked for.

    """

    stream: str
    medium: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One question, ready to be put to a system.

    Attributes:
        question_id: Unique within a dataset configuration.
        protocol: Name and version of the evaluator that made it, such as `eccbench.membership/1`.
        messages: Chat messages in the OpenAI form: `{"role": …, "content": …}`. A part of a content can be a medium:
            `{"type": "media", "media": name}`.
        decoding: How the reply is to be generated.
        options: What the protocol's markers stand for, such as `{"{0}": "yes", "{1}": "no", "{2}": "abstain"}`.
        payoff: What a right and a wrong answer earn, where the prompt says so.
        symbols: The same question as symbols, where it has that form.
        media: The clips that the messages refer to.
        search: What is looked for in which of them, where the question is of that kind.

    """

    question_id: str
    protocol: str
    messages: tuple[Mapping[str, Json], ...]
    decoding: Decoding = Decoding()
    options: Mapping[str, str] = field(default_factory=dict)
    payoff: Payoff | None = None
    symbols: SymbolQuery | None = None
    media: tuple[Media, ...] = ()
    search: Search | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """What a system gave back for one request.

    Attributes:
        status: How the request ended.
        text: The visible reply; empty on a failure.
        reasoning: What the model thought before it, where the server tells the two apart.
        finish_reason: The server's word for why the reply ended.
        prompt_tokens: Tokens of the prompt, as the server counts them.
        completion_tokens: Tokens of the reply, reasoning and the end token included.
        reasoning_tokens: Tokens of the reasoning alone, where told.
        cached_tokens: Prompt tokens that the server had in its cache, where told.
        image_tokens: Prompt tokens that stand for images, where told.
        video_tokens: Prompt tokens that stand for videos, where told.
        token_limit: The limit that was really in force: `decoding.max_tokens`, or less where the model's
            context leaves less room.
        probability: The probability of "yes" that the system states, where it states one; of a served model what yes
            got beside no, whatever an abstention got.
        option_probabilities: What the model gave each option at the place where the reply commits itself, by meaning
            (`yes`, `no`, `abstain`), where the server tells; they add up to 1 at most.
        details: What the system has to tell of how it answered: values of its own columns in the results
            (`System.columns`).
        sent: What was put to the model, where a system makes something else of the request: its clips are what
            is recorded and audited. It is not stored.
        latency_s: Seconds from sending to the last byte, of the attempt that ended it.
        attempts: How often it was sent.
        error: What went wrong, where something did.

    """

    status: Status
    text: str = ""
    reasoning: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    image_tokens: int | None = None
    video_tokens: int | None = None
    token_limit: int | None = None
    probability: float | None = None
    latency_s: float | None = None
    attempts: int = 1
    error: str | None = None
    option_probabilities: Mapping[str, float] | None = None
    details: Mapping[str, Json] | None = None
    sent: Request | None = None


MOST_TOKENS = 2**31 - 1
"""What a column of the results holds; more tokens than that no reply has."""


def stated_probability(value: float | None) -> float | None:
    """A probability as somebody else states it; None where that cannot be one: not a number, or none from 0 to 1."""
    return value if value is not None and 0 <= value <= 1 else None


def token_count(value: Json) -> int | None:
    """A count of tokens as somebody else states it; None where that cannot be one: no integer from 0 to 2³¹ - 1."""
    if value is None:
        return None
    # True is an int to Python
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        return None
    return value
