"""Tables as a page lays them out: heading rows whose cells span, cells with what they are, and what a chart reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, repeat
from typing import Any

from eccdata.analysis import Column, TableResult, render
from eccdata.analysis.reference import Printed
from eccdata.analysis.render import TEXT_LIKE, best
from eccdata.reporting.figures import flat_columns, flat_rows

MOST_ROWS = 400
"""A page lays out so many rows of a table; its CSV has more."""
DIGITS = 6
"""Significant digits of numbers in a page's charts and CSV; `eccdata tables` writes all."""


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
    """A cell of a table's body: its text and what it is, what a paper prints there, and whether the two differ."""

    text: str
    heads_row: bool = False
    numeric: bool = False
    best: bool = False
    printed: str | None = None
    differs: bool = False


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
    return [
        _cells(table, row, beside)
        for row, beside in islice(zip(table.rows, table.prints or repeat({}), strict=False), MOST_ROWS)
    ]


def _cells(table: TableResult, row: Mapping[str, Any], beside: Mapping[str, Printed]) -> list[Cell]:
    highest = best(table.header, row)
    cells = []
    for column in shown(table):
        printed = beside.get(column.name)
        cells.append(
            Cell(
                render.show(row[column.name], column.format),
                column.name in table.header.rows,
                _numeric(column),
                column.name in highest,
                printed.text if printed else None,
                bool(printed and printed.differs),
            )
        )
    return cells


def data(table: TableResult) -> dict[str, Any]:
    """All columns and rows, for charts and CSV: a list a column, of texts each once and the places of the rest."""
    columns = flat_columns(table)
    values = list(zip(*flat_rows(table), strict=True)) or [()] * len(columns)
    return {name: _packed(column) for name, column in zip(columns, values, strict=True)}


def _packed(values: Sequence[Any]) -> Any:
    if values and all(isinstance(value, str) for value in values):
        places: dict[str, int] = {}
        return {"at": [places.setdefault(value, len(places)) for value in values], "of": list(places)}
    return [float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value for value in values]


def _numeric(column: Column) -> bool:
    return column.format not in TEXT_LIKE
