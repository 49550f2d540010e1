"""How long work tells how far it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int | None, str], None]
"""Called with steps done, steps in all where they are known, and what is being done."""


def silent(done: int, total: int | None, what: str) -> None:
    """Tell nobody."""


@contextmanager
def bars_for_people() -> Iterator[None]:
    """Keep the bars that `datasets` draws out of a standard error that is no terminal, such as a log.

    They are drawn again afterwards. Where HF_DATASETS_DISABLE_PROGRESS_BARS says whether to draw them, it is obeyed.
    """
    import datasets

    if (
        sys.stderr.isatty()
        or "HF_DATASETS_DISABLE_PROGRESS_BARS" in os.environ
        or datasets.are_progress_bars_disabled()
    ):
        yield
        return
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.enable_progress_bars()
