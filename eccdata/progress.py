"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int | None, str], None]
"""Called with steps done, steps in all where they are known, and what is being done."""


def silent(done: int, total: int | None, what: str) -> None:
    """Tell nobody."""
