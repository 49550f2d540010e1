"""The asking: questions in, responses into the store, a fixed number of requests in flight."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from eccdata.errors import EccdataError
from eccdata.evaluator import Row
from eccdata.keys import messages_digest, request_key
from eccdata.requests import Request, Status
from eccdata.results import Results
from eccdata.store import Store, Stored
from eccdata.systems import System

TURN_S = 0.005
"""The longest that mapping rows, looking up keys and systems that compute may go on without letting the event
loop see to its sockets."""

REPORT_EVERY_S = 0.2

MAPPED_TOGETHER = 64
"""So many questions are mapped and looked up at a time, for the same reason as `eccdata.results.SCORED_TOGETHER`."""

PASSING = frozenset(
    {Status.RATE_LIMITED, Status.SERVER_ERROR, Status.MALFORMED, Status.TRANSPORT_ERROR, Status.TIMEOUT}
)
"""Failures that outlasted their retries. Many in a row, and nothing else, mean that the server is gone."""


@dataclass
class Asked:
    """What came of one session's asking.

    Attributes:
        questions: Questions that were looked at.
        already: How many of them needed no request: answered before, or failed in this session.
        asked: Requests that came to an end, well or not.
        failures: How many of them failed, by status.
        stopped: Why asking ended before the last question; None where it did not.
        drained: Whether every question was looked at.

    """

    questions: int = 0
    already: int = 0
    asked: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    stopped: str | None = None
    drained: bool = False

    @property
    def done(self) -> int:
        """Questions that are settled for this session."""
        return self.already + self.asked


async def ask(
    questions: Iterable[tuple[Row, Request]],
    *,
    system: System,
    store: Store,
    servers: Sequence[str],
    current: str,
    concurrency: int,
    asked: Asked,
    results: Results,
    report: Callable[[Asked], None],
) -> None:
    """Ask every question that the store holds no answer to; each response is stored as it arrives, and scored.

    Two questions with the same key are asked once. A key that failed is not asked again in this session.

    Args:
        questions: Each question with its request; made one by one, as they are needed.
        system: Who answers, open.
        store: Where the responses go, with a session begun.
        servers: Digests of all accepted fingerprints, the first accepted first.
        current: The one of the system's own.
        concurrency: How many requests may be in flight at once.
        asked: Kept up to date; where this is cancelled, it tells what there was until then.
        results: Where the scored rows go.
        report: Called now and then with `asked`.

    """
    asker = _Asker(system, store, servers, current, concurrency, asked, results, report)
    await asker.run(questions)


@dataclass(slots=True)
class _Pending:
    """A request to send and the questions that wait for its response: its own, and any that ask the same."""

    request: Request
    key: bytes
    waiting: list[tuple[int, Row]]


class _Asker:
    def __init__(
        self,
        system: System,
        store: Store,
        servers: Sequence[str],
        current: str,
        concurrency: int,
        asked: Asked,
        results: Results,
        report: Callable[[Asked], None],
    ) -> None:
        self.system = system
        self.store = store
        self.servers = servers
        self.current = current
        self.concurrency = concurrency
        self.results = results
        self.report = report
        self.asked = asked
        self.in_flight: dict[bytes, _Pending] = {}
        self.settled: set[bytes] = set()
        """Keys of responses that came in since answers were last looked up."""
        self.in_a_row = 0
        self.turn_began = 0.0
        self.running: object = None
        self.tasks: list[asyncio.Task[None]] = []

    async def run(self, questions: Iterable[tuple[Row, Request]]) -> None:
        # One generator that all workers draw from: no queue, and no request is made before its turn.
        unanswered = self._unanswered(questions)
        self.tasks = [asyncio.create_task(self._work(unanswered)) for _ in range(self.concurrency)]
        reporting = asyncio.create_task(self._report())
        try:
            await asyncio.wait(self.tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            reporting.cancel()
            for task in self.tasks:
                task.cancel()
            results = await asyncio.gather(*self.tasks, return_exceptions=True)
            self.store.flush()
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _work(self, unanswered: Iterator[_Pending | None]) -> None:
        system, store, asked = self.system, self.store, self.asked
        me = object()
        for pending in unanswered:
            if pending is None:
                await self._turn()
                continue
            request, key = pending.request, pending.key
            asked_at = time.time_ns() // 1000
            self.running = me
            try:
                response = await system.respond(request)
            except EccdataError as error:
                self._stop(str(error))
                return
            finally:
                del self.in_flight[key]
            store.add(key, request.question_id, asked_at, response)
            self.settled.add(key)
            asked.asked += 1
            if self.running is not me:
                # Another worker has run meanwhile: this system waits, and does not compute on the loop.
                self.turn_began = time.monotonic()
            stored = Stored(key, self.current, asked_at, response)
            for index, question in pending.waiting:
                self.results.put(index, question, stored)
            if response.status.answered:
                self.in_a_row = 0
            else:
                self._note_failure(response.status, response.error)
                if asked.stopped is not None:
                    return
            if time.monotonic() - self.turn_began > TURN_S:
                await self._turn()

    def _unanswered(self, questions: Iterable[tuple[Row, Request]]) -> Iterator[_Pending | None]:
        """The requests to send, and None where it is time for the event loop's turn."""
        asked, results, in_flight = self.asked, self.results, self.in_flight
        remaining = iter(questions)
        while mapped := list(islice(remaining, MAPPED_TOGETHER)):
            first = asked.questions
            for index, (question, request, key, stored) in enumerate(self._looked_up(mapped), first):
                asked.questions += 1
                pending = in_flight.get(key)
                if pending is not None:
                    pending.waiting.append((index, question))
                elif stored is None and (stored := self._since(key)) is None:
                    pending = in_flight[key] = _Pending(request, key, [(index, question)])
                    yield pending
                else:
                    asked.already += 1
                    results.put(index, question, stored)
                if time.monotonic() - self.turn_began > TURN_S:
                    yield None
        asked.drained = True

    def _looked_up(
        self, mapped: Sequence[tuple[Row, Request]]
    ) -> Iterator[tuple[Row, Request, bytes, Stored | None]]:
        """Each question with its request, its key and the answer that the store holds to it."""
        model = self.system.label
        self.settled.clear()
        digests = [messages_digest(request) for _, request in mapped]
        for messages in digests:
            self.results.question(messages)
        found: list[Stored | None] = [None] * len(mapped)
        for server in self.servers:
            keys = [
                request_key(request, messages, model, server)
                for (_, request), messages in zip(mapped, digests, strict=True)
            ]
            answers = self.store.answers(keys)
            found = [known or answers.get(key) for known, key in zip(found, keys, strict=True)]
            if server == self.current:
                own = keys
        for (question, request), key, stored in zip(mapped, own, found, strict=True):
            yield question, request, key, stored

    def _since(self, key: bytes) -> Stored | None:
        """The response to a question that asks the same, which came in since the answers were looked up."""
        return self.store.get(key) if key in self.settled or self.store.failed(key) else None

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(REPORT_EVERY_S)
            self.report(self.asked)

    async def _turn(self) -> None:
        await asyncio.sleep(0)
        self.turn_began = time.monotonic()

    def _note_failure(self, status: Status, error: str | None) -> None:
        self.asked.failures[status.value] += 1
        self.in_a_row = self.in_a_row + 1 if status in PASSING else 0
        limit = min(64, max(5, self.concurrency))
        if self.in_a_row >= limit:
            self._stop(
                f"{self.in_a_row} requests in a row failed, each after all its retries; the last one: "
                f"{status.value}, {error}"
            )

    def _stop(self, why: str) -> None:
        if self.asked.stopped is None:
            self.asked.stopped = why
        for task in self.tasks:
            if task is not asyncio.current_task():
                task.cancel()
