"""What a table lacks: labels, conditions and lengths that were not run, and failures that are left out."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from threading import Lock
from typing import Any

import duckdb

from eccdata.analysis.header import Header
from eccdata.analysis.runs import IDENTITY

Row = tuple[Any, ...]


class Asked:
    """What was asked, counted once for the conditions of all tables: going through the responses is what takes long."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, headers: Iterable[Header]) -> None:
        """Go through the responses.

        They are counted by the columns that the headers name, but for those that have no end of values or cost
        something to work out: what names such a column is counted when it is asked for, unless all it asks is
        whether the column is null.

        Args:
            connection: One with the views `responses` and `runs`; gets a table `asked`, and no other thread may use it.
            headers: Those that will be asked for.

        """
        self._connection = connection
        self._lock = Lock()
        there = {name: kind for name, kind, *_ in connection.execute("DESCRIBE responses").fetchall()}
        self._dear = {name for name, kind in there.items() if kind in ("DOUBLE", "FLOAT")}
        self._known: dict[str, list[Row]] = {}
        named = {"label"}.union(*(_named(header) for header in headers if not self._is_dear(header)))
        # what is the same in all responses of a run is put to them at the end
        of_run = [name for name in ("label", *IDENTITY) if name in named]
        varying = [name for name in there if name in named and name not in of_run]
        known = ", ".join(name for name in varying if name not in self._dear)
        is_null = "".join(
            f", CASE WHEN {name} IS NOT NULL THEN 0::DOUBLE END AS {name}"
            for name in varying
            if name in self._dear
        )
        connection.execute(f"""
            CREATE TABLE asked AS
            SELECT {", ".join(f"runs.{name}" for name in of_run)}, counted.* EXCLUDE (run_id)
            FROM (
                SELECT run_id AS run_id, {known or "NULL AS nothing"}{is_null},
                    count(*) AS responses, count(*) FILTER (failed) AS failures
                FROM responses GROUP BY ALL
            ) AS counted JOIN runs USING (run_id)
        """)  # noqa: S608 (columns)

    def count(self, header: Header) -> list[Row]:
        """Give label, the columns that are expected, responses and failures of what the header counts."""
        chosen = ", ".join(["label", *_expected(header)])
        source, counted = "asked", "sum(responses)::BIGINT, sum(failures)::BIGINT"
        if self._is_dear(header):
            source, counted = "responses", "count(*), count(*) FILTER (failed)"
        query = (
            f"SELECT {chosen}, {counted} FROM {source} "  # noqa: S608 (the query's own words)
            f"WHERE {header.counts} GROUP BY ALL ORDER BY ALL"
        )
        with self._lock:
            if query not in self._known:
                self._known[query] = self._connection.execute(query).fetchall()
            return self._known[query]

    def _is_dear(self, header: Header) -> bool:
        """Whether it asks for more of a dear column than whether it is null."""
        rest = re.sub(r"(?i)\b(\w+)\s+IS\s+(NOT\s+)?NULL\b", "", _bare(header))
        return not self._dear.isdisjoint(re.findall(r"\w+", rest))


def _named(header: Header) -> set[str]:
    """The names in a header's conditions, columns or not."""
    return set(re.findall(r"\w+", _bare(header)))


def _bare(header: Header) -> str:
    """A header's conditions without what stands in quotes."""
    if not header.counts_responses:
        return ""
    return " ; ".join([re.sub(r"'[^']*'", "", header.counts), *_expected(header)])


def _expected(header: Header) -> list[str]:
    return list(dict.fromkeys(column for expected in header.expects for column in expected))


def missing(asked: Asked, header: Header, labels: Iterable[str]) -> list[str]:
    """Look at what a table counts, and say what is not there, one sentence each.

    Args:
        asked: What was asked.
        header: The table's header.
        labels: The labels that could be in the table.

    """
    columns = _expected(header)
    rows = asked.count(header)
    if not rows:
        return [f"There is nothing to count: it needs {header.needs}."]
    there: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    responses: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for label, *values, number, failures in rows:
        there[label].add(tuple(map(str, values)))
        responses[label] += number
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
        f"{label}: {failed[label]} of {responses[label]} responses are failures and are left out."
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
