"""Job and Session: one call of `evaluate`, checked, and what it comes to know."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import datasets

from eccdata import rows
from eccdata.asking import Asked
from eccdata.dataset import Opened
from eccdata.evaluator import Evaluator, Row
from eccdata.progress import Progress
from eccdata.requests import Json, Request
from eccdata.results import Results
from eccdata.showing import Showing
from eccdata.store import Store
from eccdata.systems import System


@dataclass(frozen=True)
class Job:
    """One call of `evaluate`, checked."""

    opened: Opened
    chosen: datasets.Dataset
    evaluator: Evaluator
    options: Mapping[str, Any]
    system: System
    system_name: str
    system_options: Mapping[str, Any]
    out: Path
    where: str | None
    limit: int | None
    concurrency: int
    accept_changed_server: bool
    progress: Progress | None
    showing: Showing | None
    notes: tuple[str, ...]

    def questions(self) -> Iterator[tuple[Row, Request]]:
        """Every question with its request, in the dataset's order; clips are as they are sent."""
        showing = self.showing
        for question, request in self._asked():
            if showing is not None:
                yield showing.ready(question, request)
            else:
                # a system that does not look at clips is not shown any
                yield question, dataclasses.replace(request, media=()) if request.media else request

    def requests(self) -> Iterator[Request]:
        """Every request, as the evaluator makes it."""
        return (request for _, request in self._asked())

    def _asked(self) -> Iterator[tuple[Row, Request]]:
        mapped = (
            (question, self.evaluator.request(question))
            for row in rows.iterate(self.chosen)
            for question in self.evaluator.questions(row)
        )
        return islice(mapped, self.limit)

    async def watched_system(self) -> System:
        """The system, with clips made ready for it and its answers audited where it looks at clips."""
        if self.showing is None:
            return self.system

        def report(ready: int) -> None:
            if self.progress is not None:
                self.progress(ready, self.limit, "prepared")

        return await self.showing.begin(self.system, self.requests(), report)

    def report(self, asked: Asked) -> None:
        """Pass the state of the asking on to the progress callback."""
        if self.progress is not None:
            failed = sum(asked.failures.values())
            what = f"replied ({failed} failed)" if failed else "replied"
            self.progress(asked.done, asked.questions if asked.drained else self.limit, what)

    def identity(self) -> dict[str, Json]:
        """What makes two runs the same, the server's fingerprint aside."""
        return {
            "dataset": self.opened.digest,
            "config": self.opened.config,
            "split": self.opened.split,
            "benchmark": self.evaluator.benchmark,
            "protocol": self.evaluator.protocol,
            "protocol_version": self.evaluator.version,
            "options": fields(self.evaluator),
            "system": self.system_name,
            "model": self.system.label,
        }


@dataclass
class Session:
    """What one session comes to know."""

    store: Store
    run_id: str
    server: str
    results: Results
    asked: Asked = field(default_factory=Asked)


def fields(instance: Any) -> dict[str, Json]:
    """The options of an evaluator or a system: the dataclass fields that can be given."""
    if not dataclasses.is_dataclass(instance):
        return {}
    return {f.name: getattr(instance, f.name) for f in dataclasses.fields(instance) if f.init}
