"""The base of the reference memories: write a stream, read an answer, abstain when the payoff says so."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from time import perf_counter
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from eccdata.answers import ABSTAIN
from eccdata.errors import problem
from eccdata.requests import Json, Payoff, Request, Response, Status, SymbolQuery

OBSERVATIONS_PER_WRITE = 1024
"""How many symbols are folded in at once. Fixed, so that no memory learns in advance how long a stream is."""

MAX_BITS = 2**30


class State(Protocol):
    """What a memory holds of one stream."""

    def write(self, symbols: NDArray[np.uint8]) -> None:
        """Fold the next symbols into the state: uint8 [n], each below the alphabet's size, n ≥ 1."""
        ...

    def read(self, candidate: NDArray[np.uint8]) -> float:
        """Give P(yes), the probability that the candidate, uint8 [k], occurred in what was written."""
        ...


class Memory(ABC):
    """A reference memory as a system. Subclasses are frozen dataclasses whose fields are its options.

    Class attributes:
        name: Its entry-point name.
        version: Raised whenever the same options give other answers.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    decodes: ClassVar[bool] = False

    @abstractmethod
    def start(self, alphabet_size: int) -> State:
        """Give the empty state for streams over that many symbols."""

    def says_yes(self, probability: float, query: SymbolQuery) -> bool:  # noqa: ARG002
        """Decide between yes and no once an answer is to be given; a tie goes to yes."""
        return probability >= 0.5

    @property
    def label(self) -> str:
        """The name with its options, such as `window(bits=2048)`."""
        options = ", ".join(f"{name}={value}" for name, value in self._options.items())
        return f"{self.name}({options})" if options else self.name

    async def open(self) -> None:  # noqa: B027
        """Nothing to get ready."""

    async def close(self) -> None:  # noqa: B027
        """Nothing to let go of."""

    def fingerprint(self) -> Mapping[str, Json]:
        """The name, the options and the version: a memory's answer depends on nothing else."""
        return {"system": self.name, "options": self._options, "version": self.version}

    def facts(self) -> Mapping[str, Json]:
        """The fingerprint, and that this is a reference memory."""
        return {"kind": "reference memory", **self.fingerprint()}

    async def respond(self, request: Request) -> Response:
        """Write the request's stream, if it is not the one held already, and read the answer.

        The reply is the marker that the request's options give the meaning `yes`, `no` or `abstain`. It abstains
        exactly when the payoff makes that worth at least as much as answering; without a payoff it answers.
        """
        began = perf_counter()
        query = request.symbols
        if query is None:
            return _unanswerable(f"{self.name} reads symbols, and this question has none")
        markers = {meaning: marker for marker, meaning in request.options.items()}
        if not {"yes", "no"} <= markers.keys():
            return _unanswerable(
                f"{self.name} answers yes or no, and the question's options have no such markers"
            )
        foreign = _foreign(query, self._held)
        if foreign:
            return _unanswerable(foreign)
        probability = self._state(query).read(query.candidate)
        if ABSTAIN in markers and abstains(probability, request.payoff):
            meaning = ABSTAIN
        else:
            meaning = "yes" if self.says_yes(probability, query) else "no"
        return Response(
            status=Status.OK,
            text=markers[meaning],
            finish_reason="stop",
            probability=probability,
            latency_s=perf_counter() - began,
        )

    def remember(self, stream: NDArray[np.uint8], alphabet_size: int) -> State:
        """Give the state after a whole stream, uint8 [L], written in equal steps."""
        state = self.start(alphabet_size)
        for begin in range(0, len(stream), OBSERVATIONS_PER_WRITE):
            state.write(stream[begin : begin + OBSERVATIONS_PER_WRITE])
        return state

    @cached_property
    def _options(self) -> dict[str, Json]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]

    @cached_property
    def _held(self) -> _Held:
        return _Held()

    def _state(self, query: SymbolQuery) -> State:
        held = self._held
        if held.state is None or not held.is_of(query):
            held.state = self.remember(query.stream, query.alphabet_size)
            held.stream, held.alphabet_size = query.stream, query.alphabet_size
        return held.state


def abstains(probability: float, payoff: Payoff | None) -> bool:
    """Whether declining earns at least as much as answering (eccbench.txt section 3, "Calibration")."""
    return payoff is not None and max(probability, 1 - probability) <= payoff.threshold


def check_bits(name: str, bits: int) -> None:
    """Refuse a budget that is no budget.

    Raises:
        EccdataError: Unless 1 ≤ bits ≤ 2^30.

    """
    if not 1 <= bits <= MAX_BITS:
        raise problem(f"{name} was given bits={bits}. A budget is from 1 to {MAX_BITS:,} bits.")


@dataclass
class _Held:
    """The state of the last stream: the questions about one stream follow each other."""

    stream: NDArray[np.uint8] | None = None
    alphabet_size: int = 0
    state: State | None = None

    def is_of(self, query: SymbolQuery) -> bool:
        if self.stream is None or self.alphabet_size != query.alphabet_size:
            return False
        return self.stream is query.stream or np.array_equal(self.stream, query.stream)


def _foreign(query: SymbolQuery, held: _Held) -> str | None:
    """Say what makes a question no question over its alphabet, if anything does."""
    if len(query.candidate) == 0:
        return "the candidate is empty"
    largest = int(query.candidate.max())
    if len(query.stream) and not held.is_of(query):
        largest = max(largest, int(query.stream.max()))
    if largest >= query.alphabet_size:
        return f"symbol {largest} is not below the alphabet's size, {query.alphabet_size}"
    return None


def _unanswerable(why: str) -> Response:
    return Response(status=Status.INVALID_REQUEST, error=why)
