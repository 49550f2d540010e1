"""Stages: counts that a benchmark's tables share, each a SELECT in `queries/<benchmark>/stages/<name>.sql`.

A stage is a view of its name beside `responses`, worked out anew by every query that reads it. `eccdata tables`, which
runs many queries, keeps each stage from its first use on (`keep_stages`): in memory, and in DuckDB's temporary folder
where that does not suffice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import duckdb

from eccdata import catalog
from eccdata.errors import EccdataError


def create_stages(connection: duckdb.DuckDBPyConnection, benchmarks: Iterable[str]) -> None:
    """Make a view of each stage of these benchmarks.

    Raises:
        EccdataError: If two benchmarks have a stage of one name.

    """
    owners: dict[str, str] = {}
    for benchmark in benchmarks:
        for name, path in catalog.stages(benchmark).items():
            if name in owners:
                raise EccdataError(
                    f"{owners[name]} and {benchmark} both have a stage {name}. Analyse their results one by one."
                )
            owners[name] = benchmark
            connection.execute(f"CREATE VIEW {name} AS {path.read_text(encoding='utf-8')}")


def keep_stages(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Work out the stages that a query names, unless they have been, and let them stand for the views."""
    views = connection.execute(
        "SELECT view_name FROM duckdb_views() WHERE NOT internal AND view_name <> 'responses'"
    ).fetchall()
    words = set(re.findall(r"\w+", re.sub(r"(?m)--.*$", "", sql)))
    for (name,) in views:
        if name in words:
            connection.execute(f"CREATE TABLE kept AS FROM {name}")
            connection.execute(f"DROP VIEW {name}")
            connection.execute(f"ALTER TABLE kept RENAME TO {name}")
