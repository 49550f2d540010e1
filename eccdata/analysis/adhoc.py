"""Ad-hoc questions: one query over the views, as a table, CSV, JSON or Parquet."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, overload

import duckdb
import orjson
import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from eccdata.analysis.runs import Run
from eccdata.analysis.views import open_views
from eccdata.errors import SHOWN, EccdataError, unknown

Format = Literal["table", "csv", "json", "parquet"]

SHOWN_ROWS = 200
READABLE = 20
"""A column narrower than this, in characters, is folded beyond reading unless all that it holds is narrower."""
PADDING = 3
"""What `rich` puts between two columns."""
BATCH_ROWS = 16_384
READING_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
"""What a parsed query may consist of. DuckDB's WITH clauses take COPY, INSERT, UPDATE and DELETE too."""
ENDINGS: dict[str, Format] = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".txt": "table"}
COPY_OPTIONS = {
    "csv": "FORMAT csv, HEADER",
    "json": "FORMAT json, ARRAY true",
    "parquet": "FORMAT parquet, CODEC zstd",
}


@dataclass(frozen=True, slots=True)
class QueryTable:
    """The rows of a query, to be looked at; printed by `rich` as a table, or as records where that is too narrow.

    Attributes:
        columns: The columns' names.
        types: Their DuckDB types.
        rows: The rows, at most `SHOWN_ROWS`.
        more: Whether there are more rows than these.
        notes: What has to be said about the runs (see `eccdata.analysis.views.Views`).

    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool
    notes: tuple[str, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the rows out for a terminal: side by side where the columns can be read so, else one below another."""
        cells = [[_cell(value) for value in row] for row in self.rows]
        if not cells:
            yield Text("0 rows")
        elif self._narrowest(cells) <= options.max_width:
            yield self._table(cells)
        else:
            yield from self._records(cells)
        if self.more:
            yield Text(
                f"The first {len(self.rows)} rows; a format other than table gives them all.", style="dim"
            )
        yield from (Text(note, style="dim") for note in self.notes)

    def _narrowest(self, cells: Sequence[Sequence[Text]]) -> int:
        """How many characters a table needs in which nothing is folded to less than `READABLE`."""
        widths = [
            max(
                cell_len(line)
                for text in (name, *(row[index].plain for row in cells))
                for line in text.split("\n")
            )
            for index, name in enumerate(self.columns)
        ]
        return sum(min(width, READABLE) for width in widths) + PADDING * (len(widths) - 1)

    def _table(self, cells: Sequence[Sequence[Text]]) -> Table:
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for name, kind in zip(self.columns, self.types, strict=True):
            numeric = re.match(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$|FLOAT|DOUBLE|DECIMAL", kind) is not None
            table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
        for row in cells:
            table.add_row(*row)
        return table

    def _records(self, cells: Sequence[Sequence[Text]]) -> Iterator[RenderableType]:
        for number, row in enumerate(cells, 1):
            yield Rule(f"row {number}", align="left", style="dim")
            record = Table.grid(padding=(0, 2))
            record.add_column(overflow="fold", style="bold")
            record.add_column(overflow="fold")
            for name, text in zip(self.columns, row, strict=True):
                record.add_row(Text(name), text)
            yield record

    def __str__(self) -> str:
        """The table as plain text, as wide as it has to be."""
        console = Console(width=10_000, color_system=None, force_terminal=False)
        with console.capture() as capture:
            console.print(self)
        return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


@dataclass(frozen=True, slots=True)
class Written:
    """What a query was written to.

    Attributes:
        path: The file.
        rows: How many rows it has; for a table, at most `SHOWN_ROWS`.

    """

    path: Path
    rows: int

    def __str__(self) -> str:
        """One sentence for a terminal."""
        return f"{self.rows} {'row' if self.rows == 1 else 'rows'} written to {self.path}."


@overload
def sql(
    query: str, results: Sequence[Path | str], *, format: Literal["table"] | None = ..., out: None = None
) -> QueryTable: ...
@overload
def sql(
    query: str, results: Sequence[Path | str], *, format: Literal["csv", "json"], out: None = None
) -> str: ...
@overload
def sql(
    query: str, results: Sequence[Path | str], *, format: Literal["parquet"], out: None = None
) -> bytes: ...
@overload
def sql(
    query: str, results: Sequence[Path | str], *, format: Format | None = ..., out: Path | str
) -> Written: ...
@overload
def sql(
    query: str, results: Sequence[Path | str], *, format: Format | None = ..., out: Path | str | None = ...
) -> QueryTable | str | bytes | Written: ...
def sql(
    query: str,
    results: Sequence[Path | str],
    *,
    format: Format | None = None,  # noqa: A002
    out: Path | str | None = None,
) -> QueryTable | str | bytes | Written:
    """Ask results a question in SQL. No query can change a result or touch any other file.

    Args:
        query: One query that reads: SELECT, WITH … SELECT, FROM …, VALUES, PIVOT … ON column IN (values), DESCRIBE,
            SHOW, SUMMARIZE, EXPLAIN. The views and macros are those of `connect`.
        results: Run folders, or folders that hold run folders.
        format: `table` (the first 200 rows, for a terminal), `csv`, `json` (an array of objects) or `parquet`. If
            none, what the ending of `out` says (.csv, .json, .parquet, .txt for a table), and a table without `out`.
        out: A file for the answer, replaced as a whole. Rows stream into it, however many.

    Returns:
        A `QueryTable`, the text (CSV, JSON) or the bytes (Parquet); with `out`, what was written.

    Raises:
        EccdataError: If the results cannot be read (see `connect`), if the query is not one that reads, if it is
            wrong (with DuckDB's own words), if `out` lies in a run's folder, or if its ending says no format or
            another than `format`.

    """
    if format is not None and format not in get_args(Format):
        raise unknown("format", format, get_args(Format))
    views = open_views(results)
    try:
        if out is not None:
            check_outside_runs(Path(out), views.runs)
        kind = format_of(None if out is None else Path(out), format)
        text = reading_query(views.connection, query)
        try:
            if kind == "table":
                answer = _look(views.connection, text, views.notes)
                return answer if out is None else _write_text(Path(out), answer)
            if out is not None:
                return _write(views.connection, text, kind, Path(out))
            return _whole(views.connection, text, kind)
        except (duckdb.Error, pa.ArrowException) as error:
            raise query_error(error) from error
    finally:
        views.connection.close()


def format_of(out: Path | None, format: Format | None) -> Format:  # noqa: A002
    """Give the format that was asked for, or the one that the file's ending says.

    Raises:
        EccdataError: If the two differ, or if neither says anything.

    """
    if out is None:
        return format or "table"
    ending = out.suffix.lower()
    said = ENDINGS.get(ending)
    if format is not None and said not in (None, format):
        raise EccdataError(
            f"{out} ends in {ending}, which is not {format}. Give it another ending, or leave --format away."
        )
    kind = format or said
    if kind is None:
        raise EccdataError(
            f"What to write to {out} cannot be told from its ending. Give --format ({', '.join(get_args(Format))}) "
            f"or one of the endings {', '.join(ENDINGS)}."
        )
    return kind


def reading_query(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """See that `query` is one statement that only reads, and give it back without its semicolon.

    Raises:
        EccdataError: If it cannot be parsed, is more than one statement, or could write anything.

    """
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise query_error(error) from error
    if len(statements) != 1:
        number = "no statement" if not statements else f"{len(statements)} statements"
        raise EccdataError(f"One query at a time: this text holds {number}.")
    kind = statements[0].type.name
    text = statements[0].query.strip().rstrip(";").strip()
    explained = (
        re.match(r"(?is)explain\b(\s+analyze\b)?(\s*\([^)]*\))?\s*", text) if kind == "EXPLAIN" else None
    )
    reading = text[explained.end() :] if explained else text
    parsed = orjson.loads(_one(connection, "SELECT json_serialize_sql(?::VARCHAR)", [reading]))
    nodes = {node for node in _types(parsed.get("statements", ())) if node.endswith("_NODE")}
    writing = sorted(node.partition("_")[0] for node in nodes - READING_NODES)
    if parsed["error"] or writing:
        what = "a PIVOT whose values are not written out" if kind == "MULTI" else (writing or [kind])[0]
        raise EccdataError(
            f"Only a query that reads can be run here, and this is {what}. That is: SELECT, WITH … SELECT, FROM, "
            "VALUES, PIVOT … ON column IN (values), DESCRIBE, SHOW, SUMMARIZE, EXPLAIN. Nothing has been changed; "
            "to keep an answer, give a file for it (--out)."
        )
    return text


def query_error(error: Exception) -> EccdataError:
    """Put DuckDB's complaint into the one error that a user sees: its words, its hint, ten of its candidates."""
    words = str(error).strip()
    candidates = re.findall(r"^\t.*\n", words, re.M)
    if len(candidates) > SHOWN:
        words = words.replace("".join(candidates[SHOWN:]), f"\t… and {len(candidates) - SHOWN} more\n")
    return EccdataError(f"The query cannot be run. {words}")


def check_outside_runs(out: Path, runs: Sequence[Run]) -> None:
    """See that `out` is no file or folder inside a run.

    Raises:
        EccdataError: If it is.

    """
    for run in runs:
        if out.resolve().is_relative_to(run.folder):
            raise EccdataError(
                f"{out} lies in the folder of the run {run.name}, and results are not written to. Choose another place."
            )


def _look(connection: duckdb.DuckDBPyConnection, query: str, notes: tuple[str, ...]) -> QueryTable:
    cursor = connection.execute(query)
    description = cursor.description or []
    rows = cursor.fetchmany(SHOWN_ROWS + 1)
    return QueryTable(
        columns=tuple(column[0] for column in description),
        types=tuple(str(column[1]) for column in description),
        rows=tuple(rows[:SHOWN_ROWS]),
        more=len(rows) > SHOWN_ROWS,
        notes=notes,
    )


def _write_text(path: Path, answer: QueryTable) -> Written:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(str(answer), encoding="utf-8")
    return Written(path, len(answer.rows))


def _whole(connection: duckdb.DuckDBPyConnection, query: str, kind: Format) -> str | bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer"
        _write(connection, query, kind, path)
        return path.read_bytes() if kind == "parquet" else path.read_text(encoding="utf-8")


def _write(connection: duckdb.DuckDBPyConnection, query: str, kind: Format, path: Path) -> Written:
    """Stream the rows into a file, through a second connection: the first one can write none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.incomplete")
    quoted = str(unfinished).replace("'", "''")
    # one thread: several keep batches waiting for their turn in the file, up to all there are
    with duckdb.connect(config={"threads": 1}) as writer:
        writer.execute("SET enable_progress_bar = false")
        writer.register("answer", connection.sql(query).to_arrow_reader(BATCH_ROWS))
        try:
            rows = _one(
                writer, f"COPY (FROM answer) TO '{quoted}' ({COPY_OPTIONS[kind]}, USE_TMP_FILE false)"
            )
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    return Written(path, int(rows))


def _one(connection: duckdb.DuckDBPyConnection, query: str, parameters: list[Any] | None = None) -> Any:
    return connection.execute(query, parameters).fetchall()[0][0]


def _types(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("type"), str):
            yield node["type"]
        for child in node.values():
            yield from _types(child)
    elif isinstance(node, list):
        for child in node:
            yield from _types(child)


def _cell(value: Any) -> Text:
    if value is None:
        return Text("null", style="dim")
    return Text(f"{value:.6g}" if isinstance(value, float) else str(value))
