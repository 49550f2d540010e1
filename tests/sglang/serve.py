"""serve.py PARENT_PID: imports SGLang, and becomes a server each time a line of standard input orders one.

SGLang's imports take most of the time that a server takes to start, and each of its three processes makes them anew.
Here they are made once: a server is a fork of this process, and so are its workers. From then on it is
`python -m sglang.launch_server` to the letter.

An order is JSON: `arguments`, and `log`, the file that its output is appended to. The answer on standard output is the
server's process id, which leads a session and a group of its own. Servers end with this process, and this process with
its parent or with standard input: the kernel sees to that, so that a test run killed with -9 leaves no server behind.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import multiprocessing
import os
import runpy
import signal
import sys
from typing import NoReturn, TextIO

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PARTS = ("entrypoints.http_server", "managers.scheduler", "managers.detokenizer_manager")
"""The modules that the three processes are, and that import most of the others."""


def end_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # it ended before the signal was asked for
        sys.exit("the process that wanted this one is gone")


def take_orders(answers: TextIO) -> list[str]:
    """Fork at each order. Returns in the forks alone, with a server's arguments."""
    me = os.getpid()
    for line in sys.stdin:
        order = json.loads(line)
        server = os.fork()
        if server == 0:
            end_with(me)
            os.setsid()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            answers.close()
            with open(os.devnull, "rb") as nothing, open(order["log"], "ab") as log:  # noqa: PTH123
                os.dup2(nothing.fileno(), 0)
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            return list(order["arguments"])
        print(server, file=answers, flush=True)
    sys.exit()


def serve(arguments: list[str]) -> NoReturn:
    """Be `python -m sglang.launch_server`."""
    import numpy as np

    np.random.seed()  # noqa: NPY002  # the ports it tries first would be those of its siblings
    sys.argv = ["sglang.launch_server", *arguments]
    runpy.run_module("sglang.launch_server", run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    end_with(int(sys.argv[1]))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what is imported may print
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no server that ended waits for somebody to ask how
    multiprocessing.set_start_method("fork")
    multiprocessing.set_start_method = lambda *_, **__: None  # for SGLang wants `spawn`
    for part in PARTS:
        importlib.import_module(f"sglang.srt.{part}")
    serve(take_orders(answers))
