"""`eccdata study`: the study of backbones from end to end, CPU-sized unless told otherwise (eccbench.txt, 4.4)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

import eccdata
from eccdata.analysis import TableResult
from eccdata.backbones.settings import SLUGS, WIDTHS, canonical, slug
from eccdata.errors import EccdataError, problem
from eccdata.progress import Progress, silent

from .folders import read_json, write_json
from .running import Trained, train
from .settings import SMOKE_WIDTH, configurations, run_name, smoke_data, smoke_test_data

if TYPE_CHECKING:
    from .loop import Device

BENCHMARK, CONFIG = "eccbench", "tokens"
ARMS = ("none", "a", "b")
BAGS = (1, 2, 3)
RELEASE, TRAINING, RESULTS, TABLES, REPORT = "release", "training", "results", "tables", "report.html"
SUMMARY = "backbones"
SHOWN = {
    "label": ("Memory",),
    "length": ("L",),
    "accuracy_low": ("Accuracy (%)", "low"),
    "accuracy_max": ("Accuracy (%)", "max"),
    "compression": ("Compression", "low − max"),
    "area_max": ("Area", "max"),
}
"""The columns that fit a terminal of 80, and their headings; the table's own files have all of them."""


@dataclass(frozen=True)
class Study:
    """What a study made.

    Attributes:
        folder: Where everything is.
        trained: Each architecture at each width.
        tables: The papers' tables over the results.
        report: The page, where what it needs is installed.

    """

    folder: Path
    trained: tuple[Trained, ...]
    tables: tuple[TableResult, ...]
    report: Path | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Show the table of all backbones and bags, and say where everything is."""
        yield from (_cut(table) for table in self.tables if table.name == SUMMARY)
        parts = f"{RELEASE} (the rows), {TRAINING} (weights, curves, cards), {RESULTS}, {TABLES}"
        yield Text(f"Everything is in {self.folder}: {parts}" + (f", {REPORT}." if self.report else "."))
        unfinished = [
            f"{each.name}, D={each.width}"
            for each in self.trained
            if any(card["outcome"]["ended"] is None for card in each.runs.values())
        ]
        if unfinished:
            yield Text(f"Not trained to the end, for the hours were up: {', '.join(unfinished)}.")


def study(
    out: str | Path,
    *,
    names: Sequence[str] | None = None,
    widths: Sequence[int] | None = None,
    full: bool = False,
    data: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    data_settings: Mapping[str, Any] | None = None,
    hours: float | None = None,
    device: Device = "auto",
    progress: Progress | None = None,
) -> Study:
    """Train architectures, put them and the bag memories to longer streams under all arms, work out tables and report.

    Killed, the same call goes on where it was. Of the same folder it asks for the same rows.

    Args:
        out: Everything's folder: made, or one of a study before.
        names: The architectures; all fourteen if None. A later call with others adds them.
        widths: D; one that a CPU trains in minutes if None, with `full` the paper's.
        full: The paper's size: its rows, both its widths, its epochs, four configurations each. For GPUs.
        data: A release's folder or a Hub id with the configuration `tokens`; built in the folder if None.
        settings: Settings of all training runs, see `TrainingSettings`.
        data_settings: The builder's settings of the release that is built.
        hours: Stop a training run once it has taken so long.
        device: `cpu`, `cuda`, or whichever there is.
        progress: Called with steps done, steps in all, and what is being done.

    Raises:
        EccdataError: For a mistake in what was asked for, before anything is trained where it shows by then.

    """
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise EccdataError(
            "A study is one process. Train with torchrun and `eccdata train` into its folders, or give each GPU an "
            "architecture with --only."
        )
    folder = Path(out)
    architectures = list(dict.fromkeys(canonical(name) for name in names or SLUGS))
    chosen = list(dict.fromkeys(widths or (WIDTHS if full else (SMOKE_WIDTH,))))
    for name, width in product(architectures, chosen):
        configurations(name, width, smoke=not full)  # refuses what cannot be, before anything is built
    if data is not None and data_settings:
        raise problem(
            "A release that is given is not built, so these settings have no place:", [*data_settings]
        )
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not _is_ours(folder))):
        raise EccdataError(f"{folder} holds something else than a study. Give it another folder with --out.")
    release = folder / RELEASE if data is None else data
    if data is None:
        _build(
            folder,
            {**({} if full else {**smoke_data(), **smoke_test_data()}), **(data_settings or {})},
            progress,
        )
    results = folder / RESULTS
    trained = []
    for name, width in product(architectures, chosen):
        one = train(
            name,
            out=folder / TRAINING / run_name(name, width),
            width=width,
            data=release,
            settings=settings,
            smoke=not full,
            hours=hours,
            device=device,
            progress=_told(progress, f"{slug(name)}-d{width}"),
        )
        trained.append(one)
        options = {"checkpoint": str(one.folder), "device": device}
        _evaluate(release, "backbone", options, results / run_name(name, width), progress)
    for k in BAGS:
        _evaluate(release, "bag", {"k": k}, results / f"bag-{k}", progress)
    made = eccdata.tables([results], out=folder / TABLES, progress=progress)
    report = folder / REPORT if find_spec("jinja2") and find_spec("vl_convert") else None
    if report is not None:
        eccdata.report([results], out=report, datasets=[str(release)], progress=progress or silent)
    return Study(folder, tuple(trained), tuple(made), report)


def _build(folder: Path, settings: Mapping[str, Any], progress: Progress | None) -> None:
    asked = {name: list(v) if isinstance(v, tuple) else v for name, v in settings.items()}
    kept = read_json(folder / "study.json")
    if kept is not None and kept.get("data") != asked:
        raise problem(
            f"{folder} holds a study of other rows (there, then asked for):",
            [str(kept.get("data")), str(asked)],
        )
    write_json(folder / "study.json", {"data": asked})
    if not (folder / RELEASE).is_dir():
        eccdata.build(
            BENCHMARK, out=folder / RELEASE, configs=[CONFIG], settings=dict(settings), progress=progress
        )


def _evaluate(
    release: str | Path, system: str, options: Mapping[str, Any], out: Path, progress: Progress | None
) -> None:
    for arm in ARMS:
        run = eccdata.evaluate(
            release,
            config=CONFIG,
            options={"arm": arm},
            system=system,
            system_options=options,
            out=out if arm == "none" else out.with_name(f"{out.name}-{arm}"),
            # two rounds of all the questions on a stream, so that one is asked while the other is read
            concurrency=256,
            progress=_told(progress, f"{out.name}, arm {arm}"),
        )
        if not run.complete:
            raise EccdataError(f"The run of {out.name} under arm {arm} did not complete.\n{run}")


def _told(progress: Progress | None, which: str) -> Progress | None:
    """Say in brackets whose progress it is: what stands before them is one bar for all."""
    if progress is None:
        return None

    def tell(done: int, total: int | None, what: str) -> None:
        kind, _, more = what.partition(" (")
        progress(done, total, f"{kind} ({which}{f'; {more}' if more else ')'}")

    return tell


def _is_ours(folder: Path) -> bool:
    return (folder / "study.json").is_file() or (folder / TRAINING).is_dir()


def _cut(table: TableResult) -> TableResult:
    """Leave the columns that fit a terminal, and no notes."""
    columns = tuple(
        replace(column, heading=SHOWN[column.name]) for column in table.header.columns if column.name in SHOWN
    )
    return replace(table, header=replace(table.header, columns=columns, notes=()), missing=())
