"""What an evaluation does about clips: makes them ready, records which frames were sent, audits what the model saw."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eccdata.audit import Audit
from eccdata.errors import EccdataError
from eccdata.evaluator import Row
from eccdata.media import Media
from eccdata.requests import Json, Request, Response
from eccdata.systems import System


@dataclass
class Showing:
    """The clips of one evaluation.

    Attributes:
        folder: Where clips are kept that are not sent as they are.
        accept_audit_failures: Go on though the model saw something else than was sent.
        audit: What clips must cost; known once the system is open.

    """

    folder: Path
    accept_audit_failures: bool = False
    audit: Audit = field(default_factory=Audit)

    def __post_init__(self) -> None:
        from eccdata.video.preparing import MediaLibrary  # brings FFmpeg, which questions in text do without

        self._library = MediaLibrary(self.folder)
        self._prepared = False

    async def begin(
        self, system: System, requests: Iterable[Request], report: Callable[[int], None] | None = None
    ) -> System:
        """Make all clips ready; gives the system with its answers audited.

        Args:
            system: The system, open.
            requests: All requests, as the evaluator makes them.
            report: Called with the number of requests whose clips are ready.

        Raises:
            EccdataError: Clips cannot be sent.

        """
        self.audit = Audit.of(system.facts())
        await self._library.prepare(requests, report)
        self._prepared = True
        return _Audited(system, self.audit, self.accept_audit_failures)

    def ready(self, question: Row, request: Request) -> tuple[Row, Request]:
        """The request with its clips as they are sent, and the question with the columns that say which."""
        from eccdata.video.preparing import NotReady

        try:
            request = self._library.ready(request)
        except NotReady:
            if self._prepared:
                raise
            # stopped while clips were made ready: this question has not been asked
            return question, replace(request, media=())
        return {**question, **_columns(request, self.audit)}, request

    def facts(self) -> dict[str, Json]:
        """What the card tells."""
        return {**self.audit.facts(), "accept_audit_failures": self.accept_audit_failures}

    def notes(self) -> list[str]:
        """What has to be said once, of this session."""
        found = [self.audit.ignorance] if self.audit.ignorance else []
        if self.audit.faults and self.accept_audit_failures:
            found.append(f"The token audit failed, and was told to go on. {_sentence(self.audit.faults[0])}")
        return found


class _Audited:
    """A system whose count of vision tokens is held against what was sent: what fails ends the run, unanswered."""

    def __init__(self, system: System, audit: Audit, accept: bool) -> None:
        self._system = system
        self._audit = audit
        self._accept = accept
        self.label = system.label
        self.open, self.close = system.open, system.close
        self.fingerprint, self.facts = system.fingerprint, system.facts

    async def respond(self, request: Request) -> Response:
        response = await self._system.respond(request)
        sent = response.sent or request
        fault = self._audit.judge(sent, response)
        if response.sent is not None and response.status.answered:
            details = {**(response.details or {}), **_columns(sent, self._audit)}
            response = replace(response, sent=None, details=details)
        if fault is None or self._accept:
            return response
        raise EccdataError(
            f"The token audit failed at question {request.question_id!r}: {fault} What the server makes of clips must "
            "be set right; or go on all the same (--accept-audit; in Python accept_audit_failures=True)."
        )


def _columns(request: Request, audit: Audit) -> dict[str, Any]:
    """The columns that say which frames were sent."""
    must = audit.expected(request)
    return {
        "frames_sent": sum(len(medium.ready.manifest.indices) for medium in request.media),
        "vision_tokens_expected": None if must is None else must.total,
        "media": [_told(medium) for medium in request.media],
    }


def _told(medium: Media) -> Mapping[str, Any]:
    sent = medium.ready
    digests = [file.digest for file in sent.files]
    # of images one digest for all: that of theirs, in order
    whole = (
        digests[0]
        if medium.recipe.layout == "video"
        else hashlib.sha256("".join(digests).encode()).hexdigest()
    )
    return {"name": medium.name, "mime": sent.mime, "sha256": whole, **sent.manifest.to_dict()}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
