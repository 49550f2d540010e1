"""A small, fast HTTP server whose every reply is a script's: for tests of clients on loopback.

In a test's own process: `with serve(handler) as url:`. As a process of its own, so that a benchmark measures the
client alone: `with spawn("instant") as url:` (see SCRIPTS for what there is).
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

MODEL = "scripted"


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def prompt(self) -> str:
        """The text of the last chat message."""
        return str(self.json["messages"][-1]["content"])


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server does about one request.

    Attributes:
        status: HTTP status.
        body: Bytes of the body, or something to send as JSON.
        headers: Further headers.
        delay_s: Wait before the first byte.
        drip_s: Where above 0, the body goes out in ten pieces, this far apart.
        drop: `before` closes the socket without a byte, `middle` after half of the body.

    """

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drip_s: float = 0.0
    drop: str = ""

    def encoded(self) -> tuple[bytes, bytes]:
        body = self.body if isinstance(self.body, bytes) else orjson.dumps(self.body)
        headers = {"Content-Type": "application/json", **self.headers, "Content-Length": str(len(body))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status} X\r\n{lines}\r\n".encode(), body


Handler = Callable[[Call], Reply]


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with Content-Length, one request at a time on a connection: all that a client library sends."""

    def __init__(self, handler: Handler, transports: set[asyncio.Transport]) -> None:
        self.handler = handler
        self.transports = transports
        self.buffer = b""
        self.tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.transports.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transports.discard(self.transport)
        for task in self.tasks:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        first, *lines = self.buffer[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        stop = end + 4 + int(headers.get("content-length", 0))
        if len(self.buffer) < stop:
            return
        method, path, _ = first.split(" ", 2)
        call = Call(method, path, headers, self.buffer[end + 4 : stop])
        self.buffer = self.buffer[stop:]
        reply = self.handler(call)
        if reply.drop or reply.drip_s:
            task = asyncio.get_running_loop().create_task(self._misbehave(reply))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        elif reply.delay_s:
            asyncio.get_running_loop().call_later(reply.delay_s, self._send, reply)
        else:
            self._send(reply)

    def _send(self, reply: Reply) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"".join(reply.encoded()))

    async def _misbehave(self, reply: Reply) -> None:
        await asyncio.sleep(reply.delay_s)
        head, body = reply.encoded()
        if reply.drop == "before":
            self.transport.abort()
            return
        self.transport.write(head)
        if reply.drop == "middle":
            self.transport.write(body[: len(body) // 2])
            self.transport.close()
            return
        step = -(-len(body) // 10)
        for start in range(0, len(body), step):
            await asyncio.sleep(reply.drip_s)
            self.transport.write(body[start : start + step])


@contextlib.contextmanager
def serve(handler: Handler, port: int = 0) -> Iterator[str]:
    """Serve on loopback from a thread of this process; yields the base URL."""
    loop = asyncio.new_event_loop()
    started = threading.Event()
    found: list[int] = []
    stop = asyncio.Event()

    transports: set[asyncio.Transport] = set()

    async def main() -> None:
        server = await loop.create_server(lambda: _Connection(handler, transports), "127.0.0.1", port)
        found.append(server.sockets[0].getsockname()[1])
        started.set()
        await stop.wait()
        server.close()
        for transport in list(transports):
            transport.abort()
        await asyncio.sleep(0)  # the sockets are closed in the loop's next turn

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),), daemon=True)
    thread.start()
    assert started.wait(10), "the scripted server did not start"
    try:
        yield f"http://127.0.0.1:{found[0]}"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


@contextlib.contextmanager
def spawn(script: str, *options: str) -> Iterator[str]:
    """Serve one of SCRIPTS from a process of its own; yields the base URL."""
    command = [sys.executable, "-m", "support.scripted_server", script, *options]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.communicate()


def completion(
    text: str | None,
    *,
    finish_reason: str = "stop",
    reasoning: str | None = None,
    completion_tokens: int | None = None,
    prompt_tokens: int = 8,
) -> dict[str, Any]:
    """A chat completion in the form that SGLang sends."""
    return {
        "id": "0123456789abcdef",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": text,
                    "reasoning_content": reasoning,
                    "tool_calls": None,
                },
                "logprobs": None,
                "finish_reason": finish_reason,
                "matched_stop": 2,
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "total_tokens": prompt_tokens + (completion_tokens or 4),
            "completion_tokens": completion_tokens or 4,
            "prompt_tokens_details": None,
            "reasoning_tokens": 0,
        },
        "metadata": {"weight_version": "default"},
    }


def answer_to(prompt: str) -> str:
    """What a scripted server answers: a function of the prompt, so that a test can tell whose answer it holds."""
    digest = hashlib.sha256(prompt.encode()).hexdigest()
    return f"{digest[:16]} {{{int(digest[0], 16) % 3}}}"


def models(call: Call) -> Reply | None:
    """What an OpenAI-compatible server says of itself; None for a question."""
    if call.path == "/v1/models":
        return Reply({"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": 32768}]})
    if call.path == "/v1/chat/completions":
        return None
    return Reply({"detail": "Not Found"}, status=404)


def instant(delay_s: float = 0.0) -> Handler:
    """Answer the same to everything, after `delay_s`."""
    body = orjson.dumps(completion("{0}\n\nThe candidate appears in the main sequence."))

    def handler(call: Call) -> Reply:
        return models(call) or Reply(body, delay_s=delay_s)

    return handler


def misbehaving(period: int = 8) -> Handler:
    """Fail in a different way every few requests; answer the others with `answer_to(prompt)`.

    GET /counts tells how often each prompt was answered in full, GET /answered how often any was.
    """
    answered: collections.Counter[str] = collections.Counter()
    seen = 0

    def handler(call: Call) -> Reply:
        nonlocal seen
        if call.path == "/counts":
            return Reply(dict(answered))
        if call.path == "/answered":
            return Reply(answered.total())
        known = models(call)
        if known is not None:
            return known
        seen += 1
        good = completion(answer_to(call.prompt))
        if seen % 2000 < 150:
            return Reply({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "0"})
        if seen % period == 0:
            return _FAULTS[seen // period % len(_FAULTS)](good)
        answered[call.prompt] += 1
        return Reply(good, drip_s=0.01 if seen % 97 == 0 else 0.0)

    return handler


def _without_choices(good: dict[str, Any]) -> Reply:
    return Reply({**good, "choices": []})


def _without_content(good: dict[str, Any]) -> Reply:
    return Reply({**good, "choices": [{"message": {"role": "assistant", "content": None}}]})


_HTML = b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"
_FAULTS: list[Callable[[dict[str, Any]], Reply]] = [
    lambda good: Reply(orjson.dumps(good)[:-7]),  # JSON cut off
    _without_choices,
    _without_content,
    lambda good: Reply(_HTML, status=502, headers={"Content-Type": "text/html"}),
    lambda good: Reply(_HTML, headers={"Content-Type": "text/html"}),
    lambda good: Reply(good, drop="before"),
    lambda good: Reply(good, drop="middle"),
    lambda good: Reply({"error": {"message": "out of memory", "code": 500}}),
    lambda good: Reply(b""),
    lambda good: Reply(b"\xff\xfe\x00"),
    lambda good: Reply({"detail": "queue is full"}, status=503),
    lambda good: Reply(b"[1, 2, 3]"),
]

SCRIPTS: dict[str, Callable[..., Handler]] = {"instant": instant, "misbehaving": misbehaving}


async def _main(handler: Handler) -> None:
    loop = asyncio.get_running_loop()
    transports: set[asyncio.Transport] = set()
    server = await loop.create_server(lambda: _Connection(handler, transports), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("script", choices=SCRIPTS)
    parser.add_argument("options", nargs="?", type=json.loads, default={})
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(SCRIPTS[arguments.script](**arguments.options)))
