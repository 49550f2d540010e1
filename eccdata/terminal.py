"""What commands share at a terminal: the two streams, results as text, bars for long work, exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from eccdata.progress import Progress

FAILED, MISUSE, INTERRUPTED = 1, 2, 130

out = Console()
err = Console(stderr=True)


def tell(result: object) -> None:
    """Print what a verb gave back: as it draws itself, or as its text, where rich would list a dataclass's fields."""
    if hasattr(result, "__rich_console__"):
        out.print(result)
    else:
        out.print(str(result), markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Give a callback that draws a bar on stderr, one a kind of work, and nothing where that is no terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=err, disable=not err.is_terminal) as bars:
        tasks: dict[str, Any] = {}

        def show(done: int, total: int | None, what: str) -> None:
            kind = what.partition(" (")[0]  # what stands in brackets may change as the work goes on
            if kind not in tasks:
                tasks[kind] = bars.add_task(what, total=total)
            bars.update(tasks[kind], completed=done, total=total, description=what)

        try:
            yield show
        except KeyboardInterrupt as stopped:
            # Typer ends the process without a word, and a verb has said what became of its work
            bars.stop()
            err.print(str(stopped) or "Interrupted.", markup=False, highlight=False, soft_wrap=True)
            raise typer.Exit(INTERRUPTED) from stopped
