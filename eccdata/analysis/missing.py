"""What a table lacks: labels, conditions and lengths that were not run, and failures that are left out."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import duckdb

from eccdata.analysis.header import Header


def count_asked(connection: duckdb.DuckDBPyConnection, headers: Iterable[Header]) -> None:
    """Go through the responses once for all tables: make the table `asked`, which `missing` reads.

    It has a row for each combination of what the headers' conditions name, with `responses` and `failures`. A condition
    that names no column of `responses` fails where it is asked.
    """
    there = [name for name, *_ in connection.execute("DESCRIBE responses").fetchall()]
    named = {"label"}
    for header in headers:
        if header.counts_responses:
            named |= set(re.findall(r"\w+", re.sub(r"'[^']*'", "", header.counts)))
            named |= {column for expected in header.expects for column in expected}
    chosen = ", ".join(name for name in there if name in named)
    connection.execute(
        f"CREATE TABLE asked AS SELECT {chosen}, count(*) AS responses, count(*) FILTER (failed) AS failures "  # noqa: S608 (columns of ours)
        "FROM responses GROUP BY ALL"
    )


def missing(connection: duckdb.DuckDBPyConnection, header: Header, labels: Iterable[str]) -> list[str]:
    """Look at what a table counts, and say what is not there, one sentence each.

    Args:
        connection: One with the table `asked` (`count_asked`).
        header: The table's header.
        labels: The labels that could be in the table.

    """
    columns = list(dict.fromkeys(column for expected in header.expects for column in expected))
    chosen = ", ".join(["label", *columns])
    rows = connection.execute(
        f"SELECT {chosen}, sum(responses)::BIGINT, sum(failures)::BIGINT FROM asked "  # noqa: S608 (the query's own words)
        f"WHERE {header.counts} GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    if not rows:
        return [f"There is nothing to count: it needs {header.needs}."]
    there: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    asked: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for label, *values, responses, failures in rows:
        there[label].add(tuple(map(str, values)))
        asked[label] += responses
        failed[label] += failures
    sentences = []
    if absent := sorted(set(labels) - there.keys()):
        sentences.append(f"Not in it at all: {_listed(absent)}. It needs {header.needs}.")
    for label, cells in there.items():
        gaps: list[str] = []
        for expected in header.expects:
            places = [columns.index(column) for column in expected]
            found = {tuple(cell[place] for place in places) for cell in cells}
            gaps += _gaps(expected, found, say_where=len(header.expects) > 1)
        if gaps:
            sentences.append(f"{label} was not asked: {'; '.join(gaps)}.")
    sentences += [
        f"{label}: {failed[label]} of {asked[label]} responses are failures and are left out."
        for label in there
        if failed[label]
    ]
    return sentences


def _gaps(expects: dict[str, tuple[str, ...]], cells: set[tuple[str, ...]], *, say_where: bool) -> list[str]:
    """Name values that are not there at all, then combinations of those that are.

    Each column is looked at where those before it have values that are expected: of `config = text; length = 512`, a
    video of 512 frames says nothing. `say_where` puts the first column's values before what lacks of the others.
    """
    columns = list(expects)
    gaps: list[str] = []
    present: list[list[str]] = []
    for index, column in enumerate(columns):
        have = {cell[index] for cell in cells}
        lacking = [value for value in expects[column] if value not in have]
        if lacking:
            where = f"{columns[0]} {_listed(present[0])}, " if say_where and index else ""
            gaps.append(f"{where}{column} {_listed(lacking)}")
        present.append([value for value in expects[column] if value in have])
        cells = {cell for cell in cells if cell[index] in expects[column]}
        if not cells:
            return gaps
    gaps += [_combined(columns, values) for values in product(*present) if values not in cells]
    return gaps


def _combined(columns: Sequence[str], values: Sequence[Any]) -> str:
    return ", ".join(f"{column} {value}" for column, value in zip(columns, values, strict=True))


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
