"""Processes that a process of ours forks for us, at an order."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from support.sglang_environment import HOME, Environment

THREADS = 1
"""More do not pay on few cores: threads that wait for each other spin, and take the cores from those who work."""


class Forked:
    """A process that is no child of this one, and leads a group of its own."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._handle = os.pidfd_open(pid)

    def ended(self, timeout_s: float = 0) -> bool:
        """Whether it has ended, or ends within some seconds."""
        if self._handle < 0:
            return True
        ended = select.select([self._handle], [], [], timeout_s)[0] != []
        if ended:
            os.close(self._handle)
            self._handle = -1
        return ended

    def terminate(self) -> None:
        """SIGTERM."""
        if not self.ended():
            signal.pidfd_send_signal(self._handle, signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL to its whole group; returns when it is gone."""
        if not self.ended():
            os.killpg(self.pid, signal.SIGKILL)
            assert self.ended(60)


class Nursery:
    """`serve.py`, which becomes a server at each order.

    It and all its servers end with this process, or with the thread that made it.
    """

    def __init__(self, environment: Environment) -> None:
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  # as long as it
        self._process = subprocess.Popen(
            [str(environment.python), str(HOME / "serve.py"), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            env=environment.variables(threads=THREADS),
            # Ctrl-C in a terminal is pytest's affair
            start_new_session=True,
        )

    def order(self, arguments: Sequence[str], log: Path) -> Forked:
        """Have a server started, whose output is appended to `log`."""
        order: Mapping[str, object] = {"arguments": list(arguments), "log": str(log)}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # what it said is told below
        answer = self._process.stdout.readline()
        if not answer:
            self._complaints.seek(0)
            said = self._complaints.read().decode(errors="replace").splitlines()[-30:]
            raise RuntimeError("\n".join(["SGLang cannot be imported:", *said]))
        return Forked(int(answer))


@cache
def nursery(environment: Environment) -> Nursery:
    """The one of this test run."""
    return Nursery(environment)
