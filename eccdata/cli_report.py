"""The command `eccdata report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import eccdata
from eccdata.terminal import FAILED, progress_bar, tell


def report(
    results: Annotated[list[Path], typer.Argument(help="Run folders, or folders that hold runs.")],
    file: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("report.html"),
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset",
            "-d",
            help="The release that was asked, to show its questions, where it is no longer where the cards say; "
            "may be repeated.",
        ),
    ] = None,
    charts: Annotated[
        Path | None, typer.Option("--charts", help="A folder for each chart as SVG and PNG.")
    ] = None,
    benchmark: Annotated[str | None, typer.Option(help="Only this benchmark's tables and figures.")] = None,
    title: Annotated[str | None, typer.Option(help="The page's title.")] = None,
    per_cell: Annotated[
        int, typer.Option(min=1, help="Single responses of each cell of each run that are in the page.")
    ] = 8,
) -> None:
    """Write results as one page to look at: figures, tables, single responses, failures, audits, cards. No network.

    \b
    [bold]Examples[/bold]
    eccdata report results
    eccdata report results/a results/b -o ab.html --charts charts
    eccdata report results --dataset release
    """
    with progress_bar() as progress:
        made = eccdata.report(
            results,
            out=file,
            datasets=dataset or (),
            charts=charts,
            benchmark=benchmark,
            title=title,
            per_cell=per_cell,
            progress=progress,
        )
    tell(made)
    if made.errors:
        raise typer.Exit(FAILED)
