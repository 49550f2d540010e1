"""Stages: counts that a benchmark's tables share, each a SELECT in `queries/<benchmark>/stages/<name>.sql`.

A stage is a view of its name beside `responses`, worked out anew by every query that reads it; one may read another.
`eccdata tables`, which runs many queries, keeps each stage from its first use on (`KeptStages`): in memory, and in
DuckDB's temporary folder where that does not suffice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from threading import Lock

import duckdb

from eccdata import catalog
from eccdata.errors import EccdataError

STAGE = "stage"
COLUMNS = "columns_of_responses"
REAL = "responses_of_runs"
KEPT = "kept_"


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


class KeptStages:
    """The stages of a connection's benchmarks, each kept from its first use on. Threads may share it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Find the stages.

        Args:
            connection: One on which `create_stages` was called.

        """
        query = "SELECT view_name, sql FROM duckdb_views() WHERE comment = ?"
        views = dict(connection.execute(query, [STAGE]).fetchall())
        self._texts = {name: sql.partition(" AS ")[2] for name, sql in views.items()}
        self._locks = {name: Lock() for name in views}
        self._kept: set[str] = set()

    def keep(self, connection: duckdb.DuckDBPyConnection, sql: str) -> None:
        """Work out the stages that a query reads, unless they have been, and let them stand for the views.

        Args:
            connection: The same as that on which the stages were found, or another one to the same database.
            sql: The query.

        """
        for name in sorted(_named(sql, self._texts)):
            with self._locks[name]:
                if name not in self._kept:
                    self.keep(connection, self._texts[name])
                    connection.execute(f"CREATE TABLE {KEPT}{name} AS FROM {name}")
                    connection.execute(f"DROP VIEW {name}")
                    connection.execute(f"ALTER TABLE {KEPT}{name} RENAME TO {name}")
                    self._kept.add(name)


def _named(sql: str, names: Iterable[str]) -> set[str]:
    """The names that a query has anywhere but in its comments: one too many costs time alone."""
    return set(re.findall(r"\w+", re.sub(r"(?m)--.*$", "", sql))) & set(names)
