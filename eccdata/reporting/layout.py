"""Tables as a page lays them out: heading rows whose cells span, cells with what they are, and what a chart reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from eccdata.analysis import Column, TableResult, render
from eccdata.analysis.render import TEXT_LIKE, best
from eccdata.reporting.figures import flat_columns, flat_rows

MOST_ROWS = 400
"""A page lays out so many rows of a table; its CSV has more."""
DATA_BYTES = 2 * 2**20
"""What the rows of one table may take of a page, as data for its charts and its CSV."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A cell of a table's head: its text, what it spans, and whether rows can be sorted by it."""

    text: str
    columns: int = 1
    rows: int = 1
    sorts: bool = True
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table's body."""

    text: str
    heads_row: bool = False
    numeric: bool = False
    best: bool = False


def shown(table: TableResult) -> list[Column]:
    """The columns that are shown: bookkeeping that is zero in every row is left out."""
    return [
        column
        for column in table.header.columns
        if column.name not in table.header.bookkeeping or any(row[column.name] for row in table.rows)
    ]


def headings(columns: Sequence[Column]) -> list[list[Heading]]:
    """The rows of a table's head: one, or two where some columns stand under a common heading."""
    if all(len(column.heading) == 1 for column in columns):
        return [[Heading(column.heading[0], numeric=_numeric(column)) for column in columns]]
    upper, lower = [], []
    for part, group in groupby(
        enumerate(columns), lambda item: item[1].heading[0] if len(item[1].heading) > 1 else item[0]
    ):
        them = [column for _, column in group]
        if isinstance(part, str):
            upper.append(Heading(part, columns=len(them), sorts=False))
            lower += [Heading(" ".join(column.heading[1:]), numeric=_numeric(column)) for column in them]
        else:
            upper.append(Heading(them[0].heading[0], rows=2, numeric=_numeric(them[0])))
    return [upper, lower]


def body(table: TableResult) -> list[list[Cell]]:
    """The first `MOST_ROWS` rows."""
    rows = []
    for row in table.rows[:MOST_ROWS]:
        highest = best(table.header, row)
        rows.append(
            [
                Cell(
                    render.show(row[column.name], column.format),
                    column.name in table.header.rows,
                    _numeric(column),
                    column.name in highest,
                )
                for column in shown(table)
            ]
        )
    return rows


def data(table: TableResult) -> dict[str, Any]:
    """All columns and rows, for charts and CSV."""
    return {"columns": flat_columns(table), "rows": list(flat_rows(table))}


def _numeric(column: Column) -> bool:
    return column.format not in TEXT_LIKE
