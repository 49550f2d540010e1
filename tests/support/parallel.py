"""Running the suite in several processes: how many, which tests stay together, and which run alone.

Tests that measure (the marker `benchmark`) run while no other does. All others share the machine's cores.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MOST = 4
"""Processes. Each of them comes to hold a gigabyte: torch, and what tests have made."""
TOGETHER = ("tests/endtoend", "tests/reporting", "tests/training")
"""Folders whose files share what is dear to make: SGLang, a report, rows to train on."""


def processes(config: pytest.Config) -> int:
    """How many to run tests in: none but this one where only some are asked for, which another would only delay."""
    asked = [Path(argument.partition("::")[0]) for argument in config.args]
    some = any((config.invocation_params.dir / path).resolve() not in _whole(config) for path in asked)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 0 if some or cores < 2 or config.option.keyword else min(MOST, cores)


def _whole(config: pytest.Config) -> set[Path]:
    return {config.rootpath, config.rootpath / "tests"}


def unit(node_id: str) -> str:
    """What of the suite runs in one process: a file, or a folder whose files share fixtures."""
    file = node_id.partition("::")[0]
    return next((folder for folder in TOGETHER if file.startswith(f"{folder}/")), file)


def rank(item: pytest.Item) -> int:
    """Where a test stands in the order: what takes longest first, and last what runs alone."""
    return 2 if item.get_closest_marker("benchmark") else 0 if item.get_closest_marker("server") else 1


@contextmanager
def turn(folder: Path, *, alone: bool) -> Iterator[None]:
    """Take a turn among processes: many at a time, or one alone.

    Who wants to be alone holds the door (`next`) until all others are done, so that nobody slips in before.

    Args:
        folder: A folder that all the processes know.
        alone: Whether no other turn may be taken at the same time.

    """
    with (folder / "next.lock").open("a") as door, (folder / "turn.lock").open("a") as room:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        try:
            yield
        finally:
            # to the letter, since a process that a test forked off would keep it
            fcntl.flock(room, fcntl.LOCK_UN)
