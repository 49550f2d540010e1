"""A real SGLang server as a context manager: started on a free port of the loopback, never left behind."""

from __future__ import annotations

import http.client
import json
import re
import secrets
import socket
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support.forked import Forked, nursery
from support.sglang_environment import Environment

START_LIMIT_S = 300.0
STOP_LIMIT_S = 30.0
REPLY_LIMIT_S = 300.0
FIXED = (
    *("--device", "cpu", "--dtype", "float32", "--attention-backend", "torch_native"),
    *("--sampling-backend", "pytorch"),
    *("--cuda-graph-backend-decode", "disabled", "--cuda-graph-backend-prefill", "disabled"),
    # one that spins while it has nothing to do takes a core from the client under test
    *("--sleep-on-idle", "--enable-metrics", "--enable-cache-report"),
    *("--host", "127.0.0.1"),
)
CHAT = re.compile(r'"POST /v1/chat/completions HTTP/1\.1" (\d{3})')
EMBEDDING = re.compile(r'"POST /v1/embeddings HTTP/1\.1" (\d{3})')
ACTIVE = re.compile(
    r'^sglang:http_requests_active\{endpoint="/v1/chat/completions",.*\} (\S+)$', re.MULTILINE
)


class Server:
    """One model behind SGLang; entering starts it and leaving stops it.

    Attributes:
        name: The name the model is served under.
        port: It stays the same over restarts.
        key: The API key it wants.
        log: Where the server's output goes.
        embeds: Whether it embeds, and does not answer. (It takes chats all the same, and dies of the first.)

    """

    def __init__(
        self,
        environment: Environment,
        model: Path,
        log: Path,
        *,
        name: str,
        context_length: int,
        embeds: bool = False,
    ) -> None:
        self.environment = environment
        self.model = model
        self.log = log
        self.name = name
        self.embeds = embeds
        self.arguments: dict[str, str | int] = {
            "context-length": context_length,
            "max-total-tokens": 16384,
            # it draws one at each start otherwise, and then is another server each time
            "random-seed": 1,
        }
        self.port = _free_port()
        self.key = secrets.token_hex(16)
        self._process: Forked | None = None

    @property
    def base_url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait until it is healthy."""
        self.begin()
        self.wait_until_healthy()

    def begin(self) -> None:
        """Start it."""
        assert self._process is None, "it runs already"
        arguments = [
            *("--model-path", str(self.model), "--served-model-name", self.name),
            *("--port", str(self.port), "--api-key", self.key),
            *FIXED,
            *(("--is-embedding",) if self.embeds else ()),
            *(part for name, value in self.arguments.items() for part in (f"--{name}", str(value))),
        ]
        self._process = nursery(self.environment).order(arguments, self.log)

    def wait_until_healthy(self) -> None:
        """Wait until it is; it is stopped where that does not come."""
        assert self._process is not None, "it has not been started"
        try:
            self._wait_until_healthy(self._process)
        except BaseException:
            self.stop()
            raise

    def crash(self) -> None:
        """SIGKILL to all its processes: connections break in the middle of replies."""
        process, self._process = self._process, None
        assert process is not None, "it does not run"
        process.kill()

    def stop(self) -> None:
        """SIGTERM, and SIGKILL to its whole process group where it does not end; returns when it is gone.

        SGLang looks every 5 s whether it has nothing left to answer, and takes new requests until then: a client
        that keeps asking keeps it alive.
        """
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.terminate()
            process.ended(STOP_LIMIT_S)
        finally:
            # Where it ended by itself its workers did too: they watch their parent.
            process.kill()

    def restart(self, **changed: str | int) -> None:
        """Stop it and start it again on the same port, with some arguments changed (`random_seed=2`)."""
        self.stop()
        self.arguments |= {name.replace("_", "-"): value for name, value in changed.items()}
        self.start()

    def chat(self, messages: Sequence[Mapping[str, Any]], **fields: Any) -> tuple[int, Any]:
        """One plain greedy chat completion, with no code of the project between: HTTP status and JSON."""
        body = {"model": self.name, "messages": list(messages), "temperature": 0.0, **fields}
        request = self._request("/v1/chat/completions", json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=REPLY_LIMIT_S) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def chats(self) -> Counter[int]:
        """How many chat completions it has ended, by HTTP status: its own access log, over all its restarts."""
        return Counter(map(int, CHAT.findall(self.log.read_text(errors="replace"))))

    def embeddings(self) -> Counter[int]:
        """The same of embeddings."""
        return Counter(map(int, EMBEDDING.findall(self.log.read_text(errors="replace"))))

    def wait_until_idle(self) -> None:
        """Wait until it works on no chat completion."""
        end = time.monotonic() + REPLY_LIMIT_S
        while time.monotonic() < end:
            with urllib.request.urlopen(self._request("/metrics"), timeout=30) as reply:
                active = ACTIVE.search(reply.read().decode())
            if active is None or float(active[1]) == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(
            f"It still works on chat completions after {REPLY_LIMIT_S:.0f} s.\n{self._last_words()}"
        )

    def _request(self, path: str, body: bytes | None = None) -> urllib.request.Request:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        return urllib.request.Request(self.base_url + path, body, headers)

    def _wait_until_healthy(self, process: Forked) -> None:
        end = time.monotonic() + START_LIMIT_S
        while time.monotonic() < end:
            if process.ended():
                raise RuntimeError(f"SGLang ended.\n{self._last_words()}")
            try:
                with urllib.request.urlopen(f"{self.base_url}/health", timeout=10):
                    return
            except (OSError, http.client.HTTPException):  # nobody listens yet, or 503 while it loads
                time.sleep(0.2)
        raise RuntimeError(f"SGLang was not healthy within {START_LIMIT_S:.0f} s.\n{self._last_words()}")

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join([f"The last of {self.log}:", *lines[-30:]])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
