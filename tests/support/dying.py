"""What a worker process may do that nobody wants, as functions that it can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def die() -> None:
    """End this process as a crash of a decoder does."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(mark: Path) -> str:
    """End this process, unless `mark` says that one already has."""
    if not mark.exists():
        mark.touch()
        die()
    return "alive"


def hang(mark: Path) -> None:
    """Say which process this is, and do nothing for a minute."""
    mark.write_text(str(os.getpid()))
    time.sleep(60)


def process() -> int:
    """Say which process this is."""
    return os.getpid()
