"""`eccdata report`: everything that results tell, on one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import eccdata
from eccdata.analysis import TableResult, tables
from eccdata.analysis.adhoc import check_outside_runs
from eccdata.analysis.views import Views, open_views
from eccdata.errors import EccdataError
from eccdata.progress import Progress, silent
from eccdata.release.staging import told
from eccdata.reporting import overview, vega
from eccdata.reporting.browser import Browser, browser
from eccdata.reporting.figures import Figure, chart_rows, figures
from eccdata.reporting.page import Contents, page
from eccdata.reporting.palette import colours
from eccdata.reporting.questions import Questions
from eccdata.reporting.sampling import sample

PER_CELL = 8
MOST_RESPONSES = 3_000
MODULES = ("jinja2", "markupsafe", "vl_convert")


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Attributes:
        path: The page.
        size_bytes: Its size.
        runs: How many runs it shows.
        figures: How many figures were drawn.
        tables: How many tables were made.
        responses: How many single responses it holds.
        charts: The pictures that were written.
        errors: What is wrong with queries and figures.

    """

    path: Path
    size_bytes: int
    runs: int
    figures: int
    tables: int
    responses: int
    charts: tuple[Path, ...]
    errors: tuple[str, ...]

    def __str__(self) -> str:
        """A few lines for a terminal."""
        lines = [
            f"{self.path} is written ({self.size_bytes / 2**20:.1f} MB): {_counted(self.runs, 'run')}, "
            f"{_counted(self.figures, 'figure')}, {_counted(self.tables, 'table')}, "
            f"{_counted(self.responses, 'single response')}. Open it in a browser; it needs no network."
        ]
        if self.charts:
            lines.append(f"{_counted(len(self.charts), 'picture')} written to {self.charts[0].parent}.")
        return "\n".join([*lines, *self.errors])


def report(
    results: Sequence[Path | str],
    *,
    out: Path | str = "report.html",
    datasets: Sequence[Path | str] = (),
    charts: Path | str | None = None,
    benchmark: str | None = None,
    title: str | None = None,
    per_cell: int = PER_CELL,
    progress: Progress = silent,
    threads: int | None = None,
    memory_limit: str | None = None,
) -> Report:
    """Write results as one self-contained HTML page: figures, tables, single responses, failures, audits and cards.

    The page has all that it needs in itself and asks no network for anything. It shows what `eccdata tables` counts.
    It is bounded, however many responses there are: at most `MOST_RESPONSES` single ones are in it, 8 MB of text and
    12 MB of pictures (`eccdata.reporting.browser`), 12 MB of rows for charts (`eccdata.reporting.page`) and 100 cards.

    Args:
        results: Run folders, or folders that hold run folders.
        out: The page, `….html`; one that is there is replaced.
        datasets: Releases' folders, or ids on the Hub, that hold the questions; where none is given or fits, the
            folder that a run's card names, if it still holds the rows that were asked.
        charts: A folder for each figure as SVG and PNG, in the colours of light paper; none if none.
        benchmark: Only this benchmark's tables and figures.
        title: The page's.
        per_cell: How many single responses of each cell of each run the page holds.
        progress: Called with (done, total, what).
        threads: How many threads to use; as many as there are cores if none.
        memory_limit: How much memory queries may use, such as `2GB`; 80 % of what there is if none.

    Raises:
        EccdataError: If what it needs is not installed; if the results cannot be read (see `eccdata.analysis.tables`);
            if `out` is no `.html`, a folder, or lies in a run's folder; if a dataset of `datasets` cannot be opened or
            none of the runs asked it.

    """
    path, folder = Path(out), None if charts is None else Path(charts)
    if path.suffix.lower() not in (".html", ".htm") or path.is_dir():
        raise EccdataError(f"{path} is no .html file; the report is one page (--out report.html).")
    if folder is not None and folder.exists() and not folder.is_dir():
        raise EccdataError(f"{folder} is a file. Choose a folder for the charts (--charts).")
    if per_cell < 1:
        raise EccdataError(f"per_cell={per_cell}: at least 1 response of each cell (--per-cell).")
    for module in MODULES:
        vega.needed(module)
    views = open_views(results, threads=threads, memory_limit=memory_limit)
    try:
        for target in filter(None, (path, folder)):
            check_outside_runs(target, views.runs)
        # before the tables, which take long
        questions = Questions(views.runs, datasets)
        made = tables(
            results, benchmark=benchmark, progress=progress, threads=threads, memory_limit=memory_limit
        )
        shown = figures(made)
        chosen = sample(views.connection, per_cell=per_cell, most=MOST_RESPONSES)
        single = browser(chosen, questions, per_cell=per_cell, progress=progress)
        contents = _contents(views, made, shown, single, title)
    finally:
        views.connection.close()
    text = page(contents).encode()
    with told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.incomplete")
        unfinished.write_bytes(text)
        unfinished.replace(path)
    drawn = [figure for figure in shown if figure.table.made and figure.error is None]
    pictures = [] if folder is None else write_charts(drawn, folder, progress)
    errors = [table.error for table in made if table.error] + [
        figure.error for figure in shown if figure.error
    ]
    return Report(
        path,
        len(text),
        len(views.runs),
        len(drawn),
        sum(table.made for table in made),
        len(single.data["responses"]),
        tuple(pictures),
        tuple(errors),
    )


def write_charts(drawn: Sequence[Figure], folder: Path, progress: Progress = silent) -> list[Path]:
    """Write each figure as `<benchmark>-<name>.svg` and `.png` into a folder, on light paper; give the files.

    Raises:
        EccdataError: If a figure cannot be drawn, or a file cannot be written.

    """
    written = []
    light = colours("light")
    with told(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for done, figure in enumerate(drawn):
            progress(done, len(drawn), "charts")
            rows = chart_rows(figure.table)
            for ending, content in (
                ("svg", vega.svg(figure.spec, rows, light).encode()),
                ("png", vega.png(figure.spec, rows, light)),
            ):
                path = folder / f"{figure.benchmark}-{figure.name}.{ending}"
                path.write_bytes(content)
                written.append(path)
        progress(len(drawn), len(drawn), "charts")
    return written


def _contents(
    views: Views, made: Sequence[TableResult], shown: Sequence[Figure], single: Browser, title: str | None
) -> Contents:
    benchmarks = sorted({run.identity["benchmark"] for run in views.runs})
    return Contents(
        title=title or f"Results on {', '.join(benchmarks)}",
        made_at=datetime.now(UTC).strftime("%Y-%m-%d"),
        version=eccdata.__version__,
        runs=overview.run_facts(views.connection, views.runs),
        tables=made,
        figures=shown,
        failures=overview.failures(views.connection),
        audits=overview.audits(views.runs),
        notes=views.notes,
        browser=single,
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
