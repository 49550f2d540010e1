"""Stages: counts that a benchmark's tables share, each a SELECT in `queries/<benchmark>/stages/<name>.sql`.

A stage is a view of its name beside `responses`, worked out anew by every query that reads it; one may read another.
`eccdata tables`, which runs many queries, keeps each stage from its first use on (`keep_stages`): in memory, and in
DuckDB's temporary folder where that does not suffice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

import duckdb

from eccdata import catalog
from eccdata.errors import EccdataError

STAGE = "stage"
COLUMNS = "columns_of_responses"
REAL = "responses_of_runs"


def create_stages(connection: duckdb.DuckDBPyConnection, benchmarks: Iterable[str]) -> None:
    """Make a view of each stage of these benchmarks.

    Raises:
        EccdataError: If two benchmarks have a stage of one name, or if stages read each other in a circle.

    """
    owners: dict[str, str] = {}
    texts: dict[str, str] = {}
    for benchmark in benchmarks:
        for name, path in catalog.stages(benchmark).items():
            if name in owners:
                raise EccdataError(
                    f"{owners[name]} and {benchmark} both have a stage {name}. Analyse their results one by one."
                )
            owners[name] = benchmark
            texts[name] = path.read_text(encoding="utf-8")
    reads = {name: _named(text, texts) - {name} for name, text in texts.items()}
    try:
        order = list(TopologicalSorter(reads).static_order())
    except CycleError as error:
        raise EccdataError(
            f"These stages read each other in a circle: {', '.join(error.args[1])}."
        ) from error
    # DuckDB looks at every file anew for every view over them, so that the views are made over nothing but the columns
    connection.execute(f"CREATE TABLE {COLUMNS} AS FROM responses LIMIT 0")
    connection.execute(f"ALTER VIEW responses RENAME TO {REAL}")
    connection.execute(f"CREATE VIEW responses AS FROM {COLUMNS}")
    for name in order:
        connection.execute(f"CREATE VIEW {name} AS {texts[name]}")
        connection.execute(f"COMMENT ON VIEW {name} IS '{STAGE}'")
    connection.execute("DROP VIEW responses")
    connection.execute(f"ALTER VIEW {REAL} RENAME TO responses")
    connection.execute(f"DROP TABLE {COLUMNS}")


def keep_stages(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Work out the stages that a query reads, unless they have been, and let them stand for the views."""
    views = _not_kept(connection)
    for name in sorted(_named(sql, views)):
        keep_stages(connection, views[name].partition(" AS ")[2])
        if name in _not_kept(connection):
            connection.execute(f"CREATE TABLE kept AS FROM {name}")
            connection.execute(f"DROP VIEW {name}")
            connection.execute(f"ALTER TABLE kept RENAME TO {name}")


def _named(sql: str, names: Iterable[str]) -> set[str]:
    """The names that a query has anywhere but in its comments: one too many costs time alone."""
    return set(re.findall(r"\w+", re.sub(r"(?m)--.*$", "", sql))) & set(names)


def _not_kept(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The stages that are still views, with what makes them."""
    query = "SELECT view_name, sql FROM duckdb_views() WHERE comment = ?"
    return dict(connection.execute(query, [STAGE]).fetchall())
