"""The papers' tables: every installed query run over results, written out with what was missing for it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import duckdb
import orjson
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text
from threadpoolctl import threadpool_limits

import eccdata
from eccdata import catalog
from eccdata.analysis import render
from eccdata.analysis.adhoc import check_outside_runs, query_error, reading_query
from eccdata.analysis.doubles import check_questions
from eccdata.analysis.header import Column, Header, bare_header, parse_header
from eccdata.analysis.missing import Asked, missing
from eccdata.analysis.reference import Printed, compare
from eccdata.analysis.runs import Run
from eccdata.analysis.stages import KeptStages
from eccdata.analysis.views import Views, open_views
from eccdata.errors import EccdataError, problem, unknown
from eccdata.progress import Progress

SUFFIXES = ("csv", "md", "tex", "sql")
RECORD = "tables.json"
AT_ONCE = 2
"""How many tables are made at the same time: what one does on a single core leaves others to the next."""


@dataclass(frozen=True, slots=True)
class TableResult:
    """One table.

    Attributes:
        benchmark: The benchmark it belongs to.
        name: Its name: that of its query.
        header: What its query says of itself.
        sql: The query.
        columns: The result's columns, more than are shown.
        rows: The result, a value a column; an interval is a mapping with `low` and `high`.
        missing: What was missing for it or left out of it, one sentence each.
        prints: For each row what the paper prints, by column; nothing where there is no reference.
        compared: How that compares, one sentence each.
        error: What is wrong with its query, if anything is; then there are no rows.

    """

    benchmark: str
    name: str
    header: Header
    sql: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    missing: tuple[str, ...]
    error: str | None = None
    prints: tuple[Mapping[str, Printed], ...] = ()
    compared: tuple[str, ...] = ()

    @property
    def made(self) -> bool:
        """Whether its query is in order and there was anything to count."""
        return bool(self.rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the table out for a terminal, with what was missing below it."""
        if self.made:
            yield from render.as_rich(self.header, self.rows, options.max_width, self.prints)
        else:
            yield Text(f"{self.header.name}: not made.", style="bold")
        if self.error:
            yield Text(self.error, style="red")
        said = (*render.legend(self.header, self.prints), *self.compared, *self.missing)
        yield from (Text(f"  {sentence}", style="dim") for sentence in said)
        yield Text()


def tables(
    results: Sequence[Path | str],
    *,
    out: Path | str | None = None,
    benchmark: str | None = None,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
) -> list[TableResult]:
    """Work out the tables of the benchmarks that the results are of.

    Which runs share a row, and which are kept apart, says `eccdata.analysis.labels.label`. A table for which there is
    nothing to count is given back without rows, and says what it needs; so is one whose query is wrong, with what
    is wrong (`TableResult.error`), for one package's mistake must not cost the tables of the others.

    Args:
        results: Run folders, or folders that hold run folders.
        out: A folder to write to: for each table `<benchmark>/<name>.csv` (all columns, full precision), `.md`,
            `.tex` (booktabs) and the `.sql` that made it; `README.md` and `tables.json` say of each table what was
            missing, which runs were counted, and the digest of its SQL. In a folder that this wrote before, tables
            of these names are replaced; no other folder that holds anything is touched.
        benchmark: Only this benchmark's tables.
        names: Only these tables; all if none.
        progress: Called with the number of tables done, how many there are, and `tables`.
        threads: How many threads a query may use; as many as there are cores if none. Unless it is 1, two tables are
            made at a time. The tables are the same with any.
        memory_limit: How much memory to use, such as `2GB`; 80 % of what there is if none.

    Raises:
        EccdataError: If the results cannot be read (see `eccdata.analysis.connect`), hold a question twice in one
            run, are of benchmarks without tables; if there is no table of a name; or if `out` is a file, lies in a
            run's folder, or holds what this did not write.

    """
    at_once = 1 if threads == 1 else AT_ONCE
    try:
        views = open_views(
            results, threads=threads, memory_limit=memory_limit, beside=at_once, only_reading=True
        )
    except duckdb.Error as error:
        raise _unreadable(error) from error
    try:
        if out is not None:
            check_outside_runs(Path(out), views.runs)
            _check_ours(Path(out))
        queries = [_read(*query) for query in _queries(views.runs, benchmark, names)]
        made = _make(views, queries, progress)
    except duckdb.Error as error:
        raise _unreadable(error) from error
    finally:
        views.close()
    if out is not None:
        write(made, Path(out), views)
    return made


def _unreadable(error: duckdb.Error) -> EccdataError:
    """What a failure means that is no single table's: damaged pages of a file, or too little memory to begin with."""
    if isinstance(error, duckdb.OutOfMemoryException):
        return EccdataError(f"There is too little memory for these results (memory_limit). {error}")
    return EccdataError(
        f"These results cannot be read: {error}. A run's responses are written anew, without asking anything twice, by "
        "running its `eccdata evaluate` again."
    )


def _queries(
    runs: Sequence[Run], benchmark: str | None, names: Sequence[str] | None
) -> list[tuple[str, str, Traversable]]:
    """Give benchmark, name and query of every table that is wanted."""
    if benchmark is not None and benchmark not in catalog.benchmarks():
        raise unknown("benchmark", benchmark, catalog.benchmarks())
    wanted = [benchmark] if benchmark else sorted({run.identity["benchmark"] for run in runs})
    found = [(of, name, path) for of in wanted for name, path in catalog.queries(of).items()]
    if not found:
        raise EccdataError(
            f"There are no tables of {', '.join(wanted)}. `eccdata sql` asks results anything."
        )
    for name in names or ():
        if name not in {known for _, known, _ in found}:
            raise unknown(f"table of {', '.join(wanted)}", name, [known for _, known, _ in found])
    return [query for query in found if not names or query[1] in names]


def _make(views: Views, queries: Sequence[TableResult], progress: Progress | None) -> list[TableResult]:
    """Fill the tables, some of them at the same time."""
    free: SimpleQueue[duckdb.DuckDBPyConnection] = SimpleQueue()
    for connection in views.beside:
        free.put(connection)

    def fill(table: TableResult) -> TableResult:
        connection = free.get()
        try:
            return table if table.error else _fill(connection, views.runs, stages, asked, table)
        finally:
            free.put(connection)

    # The queries keep the cores busy by themselves; the threads of the redraws' small products would only spin.
    with threadpool_limits(limits=1, user_api="blas"), _threads(views) as pool:
        stages = KeptStages(views.connection)
        checked = pool.submit(check_questions, views, views.beside[0])
        counted = pool.submit(Asked, views.connection, [table.header for table in queries])
        checked.result()
        asked = counted.result()
        filled = [pool.submit(fill, table) for table in queries]
        for done, _ in enumerate(chain([None], as_completed(filled))):
            if progress is not None:
                progress(done, len(queries), "tables")
        return [future.result() for future in filled]


@contextmanager
def _threads(views: Views) -> Iterator[ThreadPoolExecutor]:
    """As many threads as there are connections for them; with an error all that they do is broken off."""
    pool = ThreadPoolExecutor(len(views.beside))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for connection in (views.connection, *views.beside):
            connection.interrupt()
        raise
    finally:
        pool.shutdown()


def _read(benchmark: str, name: str, path: Traversable) -> TableResult:
    """A table without rows: its query and what that says of itself, or what is wrong with it."""
    sql = path.read_bytes().decode(errors="replace")
    table = TableResult(benchmark, name, bare_header(f"{benchmark}/{name}"), sql, (), (), ())
    try:
        if "\ufffd" in sql:
            raise EccdataError(f"The query {benchmark}/{name} is not UTF-8 text.")
        return replace(table, header=parse_header(sql, f"{benchmark}/{name}"))
    except EccdataError as cause:
        return replace(table, error=str(cause))


def _fill(
    connection: duckdb.DuckDBPyConnection, runs: Sequence[Run], stages: KeptStages, asked: Asked, table: TableResult
) -> TableResult:  # fmt: skip
    """Run the query."""
    header, where = table.header, f"{table.benchmark}/{table.name}"
    lacking: list[str] = []
    comparison = None
    try:
        if header.counts_responses:
            labels = {run.label for run in runs if run.identity["benchmark"] == table.benchmark}
            lacking = missing(asked, header, labels)
            if not asked.count(header):
                return replace(table, missing=tuple(lacking))
        stages.keep(connection, table.sql)
        columns, rows = _rows(connection, table.sql)
        _check_shown(header, columns, rows, where)
        if header.reference:
            known = catalog.references(table.benchmark)
            if header.reference not in known:
                raise unknown(f"reference of {where}", header.reference, known)
            comparison = compare(header, known[header.reference], rows, columns, runs)
        if not rows and not lacking:
            lacking = [f"There is nothing to count: it needs {header.needs}."]
    except duckdb.Error as cause:
        return replace(table, error=f"The table {where} cannot be made. {query_error(cause)}")
    except EccdataError as cause:
        return replace(table, error=str(cause))
    table = replace(table, columns=columns, rows=rows, missing=tuple(lacking))
    if comparison is None:
        return table
    return replace(table, prints=comparison.cells, compared=comparison.sentences(header, rows))


def _rows(
    connection: duckdb.DuckDBPyConnection, sql: str
) -> tuple[tuple[str, ...], tuple[Mapping[str, Any], ...]]:
    cursor = connection.execute(reading_query(connection, sql))
    columns = tuple(column[0] for column in cursor.description or ())
    return columns, tuple(dict(zip(columns, row, strict=True)) for row in cursor.fetchall())


def _check_shown(
    header: Header, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], query: str
) -> None:
    """See that what the header shows is there and has the format that it says."""
    wrong = [
        f"{column.name}: the query gives no such column"
        for column in header.columns
        if column.name not in columns
    ]
    for column in header.columns:
        for value in _to_be_tried(column, rows):
            try:
                render.show(value, column.format)
            except (TypeError, ValueError, KeyError):
                wrong.append(f"{column.name}: {value!r} cannot be shown as {column.format}")
                break
    if wrong:
        raise problem(f"The header of {query} shows what its query does not give:", wrong)


def _to_be_tried(column: Column, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """A column's values that a format may not take: any number that is one can be shown in each of them."""
    values = [row.get(column.name) for row in rows]
    if set(map(type, values)) <= {int, bool, str if column.format == "text" else int, type(None)}:
        return values[:1]
    return [value for value in values if type(value) is not float or not math.isfinite(value)]


def _check_ours(out: Path) -> None:
    """See that `out` is not there, is empty, or was written by this: its `tables.json` says so.

    Raises:
        EccdataError: If it is anything else.

    """
    if not out.exists():
        return
    if not out.is_dir():
        raise EccdataError(f"{out} is a file. Choose another folder for the tables (--out).")
    if not any(out.iterdir()):
        return
    try:
        record = orjson.loads((out / RECORD).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        record = None
    if not isinstance(record, dict) or not {"eccdata", "runs", "tables"} <= record.keys():
        raise EccdataError(
            f"{out} holds something else than tables that `eccdata tables` wrote, and nothing of it has been "
            "changed. Choose a new or an empty folder (--out)."
        )


def write(made: Sequence[TableResult], out: Path, views: Views) -> None:
    """Write tables and their index into a folder; a table that was not made leaves no file of its name behind."""
    out.mkdir(parents=True, exist_ok=True)
    # first, for it is what says that the folder is ours: one that was left half-written can be written again
    _replace(out / RECORD, orjson.dumps(_record(made, views), option=orjson.OPT_INDENT_2).decode() + "\n")
    for table in made:
        folder = out / table.benchmark
        folder.mkdir(parents=True, exist_ok=True)
        told, rows, prints = _told(table), table.rows, table.prints
        texts = {"sql": table.sql, "md": render.as_markdown(table.header, rows, told, prints)}
        if table.made:
            texts["csv"] = render.as_csv(table.columns, rows, prints)
        if table.made and table.header.shown:
            texts["tex"] = render.as_latex(table.header, rows, f"{table.benchmark}-{table.name}", prints)
        for suffix in SUFFIXES:
            path = folder / f"{table.name}.{suffix}"
            if suffix in texts:
                _replace(path, texts[suffix])
            else:
                path.unlink(missing_ok=True)
    _replace(out / "README.md", _index(made, views))


def _told(table: TableResult) -> tuple[str, ...]:
    return (table.error,) if table.error else (*table.missing, *table.compared)


def _replace(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}.incomplete")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def _index(made: Sequence[TableResult], views: Views) -> str:
    lines = [
        "# Tables",
        "",
        "| table | in the paper | rows | what was missing or left out |",
        "|---|---|---:|---|",
    ]
    for table in made:
        of = f"[{table.header.title}]({table.benchmark}/{table.name}.md)"
        sentences = " ".join(" ".join(_told(table)).split()) or "nothing"
        where = table.header.paper or ""
        lines.append(f"| {of} | {where} | {len(table.rows)} | {sentences.replace('|', '/')} |")
    lines += [
        "",
        "## Runs that were counted",
        "",
        "| run | label | on | responses | failures |",
        "|---|---|---|---:|---:|",
    ]
    for run in views.runs:
        on = f"{run.identity['benchmark']} {run.identity['config']}, {run.identity['protocol']}"
        options = ", ".join(f"{name}={value}" for name, value in run.options.items() if value is not None)
        cells = [
            f"{run.name} (`{run.identity['run_id']}`)",
            run.label,
            f"{on} ({options})",
            run.responses,
            run.failed,
        ]
        shown = (render.one_line(str(cell)).replace("|", "/") for cell in cells)
        lines.append(f"| {' | '.join(shown)} |")
    lines += ["", *(f"- {render.one_line(note)}" for note in views.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _record(made: Sequence[TableResult], views: Views) -> dict[str, Any]:
    return {
        "eccdata": eccdata.__version__,
        "duckdb": duckdb.__version__,
        "notes": views.notes,
        "runs": [
            {"run": run.name, "label": run.label, "run_id": run.identity["run_id"], "folder": str(run.folder)}
            for run in views.runs
        ],
        "tables": [
            {
                "benchmark": table.benchmark,
                "name": table.name,
                "title": table.header.title,
                "paper": table.header.paper,
                "rows": len(table.rows),
                "missing": table.missing,
                "compared": table.compared,
                "error": table.error,
                "sql_sha256": hashlib.sha256(table.sql.encode()).hexdigest(),
            }
            for table in made
        ],
    }
