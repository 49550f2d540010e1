"""`eccdata demo`: the whole way on built-in memories, from streams to tables, without a server or a GPU."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

import eccdata
from eccdata.analysis import TableResult
from eccdata.errors import EccdataError
from eccdata.progress import Progress

BENCHMARK, CONFIG, PROTOCOL = "eccbench", "text", "membership"
LENGTHS = (64, 512, 1024)
BITS = 1024
"""A budget that holds 256 symbols as they are: all of the short streams, half and a quarter of the longer."""
MEMORIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("exact", {}),
    ("lempel-ziv", {"bits": BITS}),
    ("window", {"bits": BITS}),
    ("bloom", {"bits": BITS}),
    ("bag", {"k": 2}),
    ("chance", {}),
)
ARMS = ("none", "a", "b")
SHOWN: dict[str, dict[str, tuple[str, ...]]] = {
    "compression": {
        "label": ("Memory",),
        "length": ("L",),
        "accuracy_low": ("Accuracy (%)", "low"),
        "accuracy_max": ("Accuracy (%)", "max"),
        "compression": ("Compression", "low − max"),
    },
    "calibration": {
        "label": ("Memory",),
        "coverage_a": ("Coverage", "arm a"),
        "coverage_b": ("Coverage", "arm b"),
        "accuracy_a": ("Right (%)", "arm a"),
        "accuracy_b": ("Right (%)", "arm b"),
        "gap": ("Gap",),
        "gap_p": ("p",),
    },
}
"""The columns that fit a terminal of 80, and their headings; the tables' own files have all of them."""
NEXT = (
    'eccdata sql "from responses where not correct limit 5" {folder}/results',
    "eccdata tables {folder}/results --table payoff",
    "eccdata verify {folder}/release",
    "eccdata evaluate {folder}/release -s window --option bits=4096 -o {folder}/w4096",
    "eccdata evaluate {folder}/release -s sglang --base-url URL -o {folder}/mine",
    "eccdata list",
)


@dataclass(frozen=True)
class Demo:
    """What the demo made.

    Attributes:
        folder: Where everything is.
        tables: The tables that it shows, cut to some of their rows and columns.

    """

    folder: Path
    tables: tuple[TableResult, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Show the tables, where everything is, and what to try next."""
        yield from self.tables
        yield Text.assemble(
            f"Everything is in {self.folder}: release (the dataset), results (every response, and a card a run), ",
            "tables (CSV, Markdown, LaTeX).\n\n",
            ("Reading it\n", "bold"),
            f"lempel-ziv, window and bloom have {BITS} bits for a stream. The window keeps the last {BITS // 4} "
            "symbols, lempel-ziv as many as their code allows. On the max band there is nothing to compress and "
            "the two are equal. On the low band the window gains because what it forgot comes back, and "
            "lempel-ziv gains more: that is compression. Arm a pays +3 for a right answer and -1 for a wrong one, "
            "arm b +1 and -4: a calibrated memory answers less under b (coverage), is right more often where it "
            "answers, and declines what it would have got wrong (gap).\n\n",
            ("Try next\n", "bold"),
        )
        folder = shlex.quote(str(self.folder))
        for command in NEXT:
            yield Text(f"  {command.format(folder=folder)}")


def demo(folder: str | Path, *, progress: Progress | None = None) -> Demo:
    """Build a small release, put it to the reference memories under three arms, and work out the tables.

    Args:
        folder: Made, or one that an earlier demo made: then nothing is built or asked again.
        progress: Called with (done, total, what).

    Raises:
        EccdataError: If the folder holds something else.

    """
    folder = Path(folder)
    release, results = folder / "release", folder / "results"
    if folder.exists() and not release.is_dir() and (not folder.is_dir() or any(folder.iterdir())):
        raise EccdataError(f"{folder} holds something else than a demo. Give it another folder with --out.")
    if not release.is_dir():
        eccdata.build(
            BENCHMARK, out=release, configs=[CONFIG], settings={"lengths": LENGTHS}, progress=progress
        )
    runs = list(product(MEMORIES, ARMS))
    for done, ((name, options), arm) in enumerate(runs):
        if progress is not None:
            progress(done, len(runs), "evaluated")
        run = eccdata.evaluate(
            release,
            config=CONFIG,
            protocol=PROTOCOL,
            options={"arm": arm},
            system=name,
            system_options=options,
            out=results / (name if arm == "none" else f"{name}-{arm}"),
        )
        if not run.complete:
            raise EccdataError(f"The demo's run of {name} under arm {arm} did not complete.\n{run}")
    if progress is not None:
        progress(len(runs), len(runs), "evaluated")
    made = eccdata.tables([results], out=folder / "tables", progress=progress)
    by_name = {table.name: table for table in made}
    return Demo(folder, tuple(_cut(by_name[name], headings) for name, headings in SHOWN.items()))


def _cut(table: TableResult, headings: Mapping[str, tuple[str, ...]]) -> TableResult:
    """Leave of a table some columns, of labels the memory's name, of sets of lengths the whole one, and nothing beside.

    That it lacks the paper's models, and memories lack video, is no news here.
    """
    every = ", ".join(map(str, LENGTHS))
    rows = tuple(
        {**row, "label": row["label"].partition("(")[0]}
        for row in table.rows
        if row.get("lengths", every) == every
    )
    columns = tuple(
        replace(column, heading=headings[column.name])
        for column in table.header.columns
        if column.name in headings
    )
    header = replace(table.header, columns=columns, rows=("label",), notes=())
    return replace(table, rows=rows, header=header, missing=(), prints=(), compared=())
