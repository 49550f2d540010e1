"""Who answers: served models, reference memories, retrieval, trained backbones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from eccdata.requests import Json, Request, Response


@runtime_checkable
class System(Protocol):
    """What is evaluated: the paper's black-box memory.

    A system is a frozen dataclass whose fields are its options (`--option name=value`). A run calls `open`
    once, `respond` for each request (up to `concurrency` at a time, all in one event loop) and `close` once.
    """

    # `reads_media: ClassVar[bool] = True`, where it has one, says that it takes a request's clips: they are then made
    # ready to be sent, and its count of vision tokens is held against what they must cost.
    # `decodes: ClassVar[bool] = False`, where it has one, says that it generates no text: a request's decoding does not
    # apply to it, and the card says so.
    # `columns: ClassVar[pa.Schema]`, where it has one, names columns that its responses fill from their `details`.
    # `notes() -> list[str]`, where it has one, gives what has to be said once a session has ended, a sentence each.

    @property
    def label(self) -> str:
        """The name that stands in tables, such as `Qwen/Qwen3-VL-8B-Instruct` or `window(bits=2048)`."""
        ...

    async def open(self) -> None:
        """Get ready; raise `EccdataError` where the system cannot be reached or lacks what it was asked for."""
        ...

    def fingerprint(self) -> Mapping[str, Json]:
        """All that could change an answer besides the request: it is part of every stored response's key."""
        ...

    def facts(self) -> Mapping[str, Json]:
        """What the evaluation card tells about the system, secrets left out."""
        ...

    async def respond(self, request: Request) -> Response:
        """Answer one request. Failures are values: this raises for nothing that a server may do."""
        ...

    async def close(self) -> None:
        """Let go of what `open` took."""
        ...
