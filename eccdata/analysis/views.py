"""The two views that every query reads: `responses`, a row a question, and `runs`, a row a run."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pyarrow as pa

from eccdata import catalog
from eccdata.analysis.backbone_pricing import add_backbone_prices
from eccdata.analysis.bootstrap import add_bootstrap
from eccdata.analysis.labels import label
from eccdata.analysis.pricing import PRICED, add_prices, insert, priced_columns
from eccdata.analysis.reaching import add_reaching
from eccdata.analysis.runs import IDENTITY, Run, check_columns, check_identities, find_runs
from eccdata.analysis.sources import Sources, open_sources
from eccdata.analysis.stages import create_stages
from eccdata.errors import EccdataError, problem
from eccdata.requests import Status
from eccdata.results import NO_COLUMNS, schema

ANSWERED = frozenset(status.value for status in Status if status.answered)
_ANSWERED = ", ".join(f"'{status}'" for status in sorted(ANSWERED))


@dataclass(frozen=True, slots=True)
class Views:
    """An open connection, the runs behind it, and what has to be said about them.

    Attributes:
        connection: A DuckDB connection with the views `responses` and `runs` and the statistical macros.
        runs: The runs, labelled.
        notes: One sentence for each run left out, each model taken apart, each server that changed.
        sources: The files behind the views.
        beside: More connections to the same, for queries at the same time.

    """

    connection: duckdb.DuckDBPyConnection
    runs: tuple[Run, ...]
    notes: tuple[str, ...]
    sources: Sources
    beside: tuple[duckdb.DuckDBPyConnection, ...] = ()

    def close(self) -> None:
        """Close all connections."""
        for connection in (*self.beside, self.connection):
            connection.close()


def connect(
    results: Sequence[Path | str], *, threads: int | None = None, memory_limit: str | None = None
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB connection with views over any number of results.

    `responses` has the columns of all the runs' responses and of all protocols of their benchmarks (null where a run
    lacks one) and besides `run` (the run's name), `label` (the model's name, with what tells it from runs that must
    not be pooled with it, see `eccdata.analysis.labels.label`), `failed` (whether the response is a failure) and what
    it costs (`input_tokens`, `answer_tokens`, `flops_write`, `flops_read`, `flops`, `priced`, see
    `eccdata.analysis.pricing`).
    `runs` has a row a run, with its card as JSON, and `architectures` a row for each model that has a price. The
    stages of the benchmarks (`queries/<benchmark>/stages/*.sql`) are views too, of their names. The macros are those
    of `macros.sql` and `pricing.sql`. Nothing is copied: the views read the files.

    The connection can read the runs' Parquet files and no other file, and can write none at all. Its settings
    are locked. What a query cannot hold in memory goes to a folder in the system's temporary folder, which is
    removed when the connection is closed.

    Args:
        results: Run folders, or folders that hold run folders.
        threads: How many threads a query may use; as many as there are cores if none.
        memory_limit: How much memory a query may use, such as `2GB`; DuckDB's default (80 %) if none.

    Raises:
        EccdataError: If `results` has no runs, a run without responses, a damaged file, a run twice, or one that
            another version wrote and that lacks what this one reads.

    """
    return open_views(results, threads=threads, memory_limit=memory_limit).connection


def open_views(
    results: Sequence[Path | str], *, threads: int | None = None, memory_limit: str | None = None,
    beside: int = 0, only_reading: bool = False,
) -> Views:  # fmt: skip
    """Do what `connect` does, and give the runs and the notes on them too.

    Args:
        results: As for `connect`.
        threads: As for `connect`.
        memory_limit: As for `connect`.
        beside: How many more connections to open, for queries at the same time.
        only_reading: That only queries will come which are known to read and not to write. Then DuckDB opens the files
            itself, in half the time; nothing else would keep it from writing to them.

    """
    found, left_out = find_runs(results)
    connection = _open(threads, memory_limit)
    more: list[duckdb.DuckDBPyConnection] = []
    try:
        sources = open_sources(connection, found, itself=only_reading)
        source = sources.rows()
        runs = _look(connection, sources, found)
        check_identities(runs)
        check_columns(runs)
        runs, apart = label(runs)
        _create_runs(connection, runs)
        add_prices(connection, runs)
        add_backbone_prices(connection)
        there = {row[0] for row in connection.execute(f"DESCRIBE FROM {source}").fetchall()}
        absent = _absent(connection, there, {run.identity["benchmark"] for run in runs})
        stated = [name for name in PRICED if name in there]
        own = f"EXCLUDE ({', '.join(stated)})" if stated else ""
        connection.execute(f"""
            CREATE VIEW responses AS
            SELECT
                response.* {own}, {absent} status NOT IN ({_ANSWERED}) AS failed, of_run.run, of_run.label,
                {priced_columns(there)}
            FROM {source} AS response
            JOIN (SELECT runs.run, runs.label, run_prices.* FROM runs JOIN run_prices USING (run_id)) AS of_run
            USING (run_id)
        """)  # noqa: S608 (names and statuses are ours)
        connection.execute((files("eccdata.analysis") / "macros.sql").read_text("utf-8"))
        add_bootstrap(connection)
        add_reaching(connection)
        create_stages(connection, sorted({run.identity["benchmark"] for run in runs}))
        for _ in range(beside):
            more.append(connection.cursor())
            _keep_quiet(more[-1])
        sources.close_the_rest(connection)
    except BaseException:
        for each in (*more, connection):
            each.close()
        raise
    unfinished = [
        f"{run.name} is incomplete: {run.unasked} of its questions have not been asked."
        for run in runs
        if run.unasked
    ]
    return Views(connection, tuple(runs), (*left_out, *unfinished, *apart), sources, tuple(more))


def _open(threads: int | None, memory_limit: str | None) -> duckdb.DuckDBPyConnection:
    spill = Path(tempfile.gettempdir()) / f"eccdata-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    config: dict[str, Any] = {
        "temp_directory": str(spill),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if threads is not None:
        config["threads"] = threads
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    try:
        connection = duckdb.connect(config=config)
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET parquet_metadata_cache = true")
        _keep_quiet(connection)
    except duckdb.Error as error:
        raise EccdataError(f"DuckDB cannot be opened with these settings: {error}") from error
    return connection


def _keep_quiet(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("SET enable_progress_bar = false")  # it goes to stdout, among the answers


def _look(connection: duckdb.DuckDBPyConnection, sources: Sources, found: Sequence[Run]) -> list[Run]:
    """Find out who the responses are of and how many they are: from the files' footers as far as these tell."""
    said = [_said(run) for run in found]
    unsaid = [place for place, rows in enumerate(said) if not rows]
    by_run: dict[int, list[list[Any]]] = {place: [rows] for place, rows in enumerate(said) if rows}
    for filename, *row in _scan(connection, sources, unsaid):
        by_run.setdefault(sources.places[filename], []).append(row)
    uncounted = [place for place, rows in enumerate(said) if rows and rows[-2] is None]
    for place, failed in _failed(connection, sources, uncounted).items():
        by_run[place][0][-2] = failed
    runs, wrong = [], []
    for index, run in enumerate(found):
        rows = _pooled(by_run[index])
        (*values, responses, failed, servers), *others = rows
        if others or None in values:
            wrong += [f"{run.folder}: {', '.join(map(str, row[: len(IDENTITY)]))}" for row in rows]
            continue
        if run.card and run.card.get("run_id") != values[0]:
            wrong.append(
                f"{run.folder}: card.json is of run {run.card.get('run_id')}, the responses of {values[0]}"
            )
        identity = dict(zip(IDENTITY, values, strict=True))
        runs.append(
            replace(run, identity=identity, server=tuple(servers or ()), responses=responses, failed=failed)
        )
    if wrong:
        raise problem(
            f"All responses in a run's folder have one {', '.join(IDENTITY)}, and these have not:",
            wrong,
            "Keep each run in a folder of its own.",
        )
    return runs


def _said(run: Run) -> list[Any]:
    """`IDENTITY`, responses, failures (None if they have to be counted), servers; empty if the footers do not tell."""
    footers = [footer for footer in run.footers if footer.rows]
    if not all("server" in each.constant and each.complete.issuperset(IDENTITY) for each in footers):
        return []
    identities = {tuple(each.constant[name] for name in IDENTITY) for each in footers}
    if len(identities) != 1:
        return []
    counted = all("status" in each.complete for each in footers)
    failed = sum(each.rows for each in footers if each.constant.get("status") not in ANSWERED)
    servers = sorted({server for each in footers if (server := each.constant["server"]) is not None})
    return [*identities.pop(), sum(each.rows for each in footers), failed if counted else None, servers]


def _scan(connection: duckdb.DuckDBPyConnection, sources: Sources, runs: Sequence[int]) -> list[Any]:
    """The same of each file, and of each identity in it where there are several."""
    if not runs:
        return []
    return connection.execute(f"""
        SELECT filename, {", ".join(IDENTITY)},
            count(*), count(*) FILTER (status NOT IN ({_ANSWERED})),
            list(DISTINCT server ORDER BY server) FILTER (server IS NOT NULL)
        FROM {sources.rows(runs, "filename = true")} GROUP BY ALL ORDER BY ALL
    """).fetchall()  # noqa: S608 (names and statuses are ours)


def _failed(connection: duckdb.DuckDBPyConnection, sources: Sources, runs: Sequence[int]) -> dict[int, int]:
    """How many failures each run has."""
    found = dict.fromkeys(runs, 0)
    if runs:
        rows = connection.execute(
            f"SELECT filename, count(*) FILTER (status NOT IN ({_ANSWERED})) "  # noqa: S608 (names are ours)
            f"FROM {sources.rows(runs, 'filename = true')} GROUP BY filename"
        )
        for filename, failed in rows.fetchall():
            found[sources.places[filename]] += failed
    return found


def _pooled(rows: list[list[Any]]) -> list[list[Any]]:
    """The rows of a run's files, those of one identity together."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for *identity, responses, failed, servers in rows:
        known = found.setdefault(tuple(identity), [0, 0, set()])
        known[0] += responses
        known[1] += failed
        known[2].update(servers or ())
    return [
        [*identity, responses, failed, sorted(servers)]
        for identity, (responses, failed, servers) in found.items()
    ]


def _absent(connection: duckdb.DuckDBPyConnection, there: Set[str], benchmarks: Set[str]) -> str:
    """Columns of the benchmarks' protocols and of systems that no run here has, as NULLs: a query may name them."""
    known: dict[str, str] = {}
    for columns in filter(len, (*_of_protocols(benchmarks), *_of_systems())):
        found = connection.from_arrow(columns.empty_table())
        known |= dict(zip(found.columns, map(str, found.types), strict=True))
    return "".join(
        f"NULL::{kind} AS {name}, "
        for name, kind in known.items()
        if name not in there and name not in PRICED
    )


def _of_protocols(benchmarks: Set[str]) -> Iterator[pa.Schema]:
    for name in catalog.entries("evaluators"):
        benchmark, _, protocol = name.partition(".")
        if benchmark in benchmarks:
            yield schema(catalog.evaluator(benchmark, protocol))


def _of_systems() -> Iterator[pa.Schema]:
    for name in catalog.systems():
        try:
            yield getattr(catalog.system(name), "columns", NO_COLUMNS)
        except EccdataError:
            continue  # it wants an extra that is not installed


def _create_runs(connection: duckdb.DuckDBPyConnection, runs: Sequence[Run]) -> None:
    connection.execute("""
        CREATE TABLE runs (
            run VARCHAR, label VARCHAR, run_id VARCHAR, benchmark VARCHAR, config VARCHAR, split VARCHAR,
            protocol VARCHAR, system VARCHAR, model VARCHAR, options JSON, dataset VARCHAR, server VARCHAR[],
            responses BIGINT, failed BIGINT, unasked BIGINT, started_at TIMESTAMPTZ, folder VARCHAR, card JSON
        )
    """)
    insert(
        connection,
        "runs",
        [
            [
                run.name,
                run.label,
                *(run.identity[key] for key in IDENTITY),
                orjson.dumps(run.options).decode(),
                run.dataset,
                list(run.server),
                run.responses,
                run.failed,
                run.unasked,
                run.started_at,
                str(run.folder),
                orjson.dumps(run.card).decode(),
            ]
            for run in runs
        ],
    )
