"""The asking: questions in, responses into the store, a fixed number of requests in flight."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from eccdata.errors import EccdataError
from eccdata.keys import request_key
from eccdata.requests import Request, Status
from eccdata.store import Store
from eccdata.systems import System

TURN_S = 0.005
"""The longest that mapping rows, looking up keys and systems that compute may go on without letting the event
loop see to its sockets."""

PASSING = frozenset(
    {Status.RATE_LIMITED, Status.SERVER_ERROR, Status.MALFORMED, Status.TRANSPORT_ERROR, Status.TIMEOUT}
)
"""Failures that outlasted their retries. Many in a row, and nothing else, mean that the server is gone."""


@dataclass
class Asked:
    """What came of one session's asking.

    Attributes:
        questions: Questions that were looked at.
        already: How many of them had been answered before this session.
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
    requests: Iterable[tuple[Request, bytes]],
    *,
    system: System,
    store: Store,
    servers: Sequence[str],
    concurrency: int,
    asked: Asked,
    report: Callable[[Asked], None],
) -> None:
    """Ask every question that the store holds no answer to; each response is stored as it arrives.

    Two questions with the same key are asked once. A key that failed is not asked again in this session.

    Args:
        requests: Each request with the digest of its messages; made one by one, as they are needed.
        system: Who answers, open.
        store: Where the responses go, with a session begun.
        servers: Digests of all accepted fingerprints, the system's own last.
        concurrency: How many requests may be in flight at once.
        asked: Kept up to date; where this is cancelled, it tells what there was until then.
        report: Called now and then with `asked`.

    """
    await _Asker(system, store, servers, concurrency, asked, report).run(requests)


class _Asker:
    def __init__(
        self,
        system: System,
        store: Store,
        servers: Sequence[str],
        concurrency: int,
        asked: Asked,
        report: Callable[[Asked], None],
    ) -> None:
        self.system = system
        self.store = store
        self.servers = servers
        self.concurrency = concurrency
        self.report = report
        self.asked = asked
        self.in_flight: set[bytes] = set()
        self.in_a_row = 0
        self.turn_began = 0.0
        self.running: object = None
        self.tasks: list[asyncio.Task[None]] = []

    async def run(self, requests: Iterable[tuple[Request, bytes]]) -> None:
        # One generator that all workers draw from: no queue, and no request is made before its turn.
        unanswered = self._unanswered(requests)
        self.tasks = [asyncio.create_task(self._work(unanswered)) for _ in range(self.concurrency)]
        try:
            await asyncio.wait(self.tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in self.tasks:
                task.cancel()
            results = await asyncio.gather(*self.tasks, return_exceptions=True)
            self.store.flush()
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _work(self, unanswered: Iterator[tuple[Request, bytes] | None]) -> None:
        system, store, asked = self.system, self.store, self.asked
        me = object()
        for item in unanswered:
            if item is None:
                await self._turn()
                continue
            request, key = item
            self.in_flight.add(key)
            asked_at = time.time_ns() // 1000
            self.running = me
            try:
                response = await system.respond(request)
            except EccdataError as error:
                self._stop(str(error))
                return
            finally:
                self.in_flight.discard(key)
            store.add(key, request.question_id, asked_at, response)
            asked.asked += 1
            if self.running is not me:
                # Another worker has run meanwhile: this system waits, and does not compute on the loop.
                self.turn_began = time.monotonic()
            if response.status.answered:
                self.in_a_row = 0
            else:
                self._note_failure(response.status, response.error)
                if asked.stopped is not None:
                    return
            if time.monotonic() - self.turn_began > TURN_S:
                await self._turn()

    def _unanswered(
        self, requests: Iterable[tuple[Request, bytes]]
    ) -> Iterator[tuple[Request, bytes] | None]:
        """The requests to send, and None where it is time for the event loop's turn."""
        store, asked, model = self.store, self.asked, self.system.label
        *earlier, current = self.servers
        for request, messages in requests:
            asked.questions += 1
            key = request_key(request, messages, model, current)
            if key in self.in_flight:
                pass
            elif store.answered(key) or any(
                store.answered(request_key(request, messages, model, server)) for server in earlier
            ):
                asked.already += 1
            elif not store.failed(key):
                yield request, key
            if time.monotonic() - self.turn_began > TURN_S:
                yield None
        asked.drained = True

    async def _turn(self) -> None:
        self.report(self.asked)
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
