"""Figures: Vega-Lite specifications beside the queries that give their data.

`queries/<benchmark>/<query>.vl.yaml`, or `<query>.<part>.vl.yaml` where a query has several figures, is a Vega-Lite
specification without `data`: its rows are those of the query of that name, an interval as the columns `…_low` and
`…_high`. It has a `description`, which is what a reader gets who does not see the chart, and may have

- `title`: the figure's; the query's if none.
- `usermeta`: where the figure stands. `section` is the heading above it, `order` a number by which figures, and with
  them their sections, are sorted; `paper` is its number in a paper, the query's if none.

Scales may name as their `range` what `eccdata.reporting.palette.RANGES` has. A package of one's own adds figures as it
adds queries: beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from eccdata import catalog
from eccdata.analysis import TableResult
from eccdata.errors import EccdataError, problem
from eccdata.reporting import vega

SECTION = "Figures"
LAST = 1000.0
MOST_ROWS = 100_000
"""A chart of more rows than this is not drawn: a page could not show it."""
KEYS = {"section", "order", "paper"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        benchmark: The benchmark it belongs to.
        name: Its name: that of its file.
        table: The table that it shows.
        title: What it shows.
        description: What a reader gets who does not see it.
        section: The heading that it stands under.
        order: Where: figures, and with them their sections, stand in the order of this number, then of their names.
        paper: Its number in a paper, if it has one.
        spec: The specification, without data.
        error: What is wrong with it, if anything is.

    """

    benchmark: str
    name: str
    table: TableResult
    title: str
    description: str
    section: str = SECTION
    order: float = LAST
    paper: str | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


def figures(tables: Sequence[TableResult]) -> list[Figure]:
    """Give the figures of these tables, in the order in which they are shown.

    A figure whose specification is wrong is given back with what is wrong (`Figure.error`), as tables are.
    """
    found = []
    for benchmark in dict.fromkeys(table.benchmark for table in tables):
        by_name = {table.name: table for table in tables if table.benchmark == benchmark}
        for name, path in catalog.figures(benchmark).items():
            table = by_name.get(name.partition(".")[0])
            if table is not None:
                found.append(_figure(benchmark, name, path, table))
    return sorted(found, key=lambda figure: (figure.order, figure.benchmark, figure.name))


def chart_rows(table: TableResult) -> list[dict[str, Any]]:
    """A table's rows as a chart reads them: an interval as two values, times as text."""
    columns = flat_columns(table)
    return [dict(zip(columns, values, strict=True)) for values in flat_rows(table)]


def flat_columns(table: TableResult) -> list[str]:
    """The columns of a table where an interval is two: `…_low` and `…_high`."""
    intervals = _intervals(table)
    return [
        part
        for name in table.columns
        for part in ((f"{name}_low", f"{name}_high") if name in intervals else (name,))
    ]


def flat_rows(table: TableResult) -> Iterator[list[Any]]:
    """The rows of a table as lists, in the order of `flat_columns`."""
    intervals = _intervals(table)
    for row in table.rows:
        values: list[Any] = []
        for name in table.columns:
            value = row[name]
            values += [(value or {}).get("low"), (value or {}).get("high")] if name in intervals else [value]
        yield values


def _intervals(table: TableResult) -> set[str]:
    return {name for name in table.columns if any(isinstance(row[name], Mapping) for row in table.rows)}


def _figure(benchmark: str, name: str, path: Traversable, table: TableResult) -> Figure:
    whole = f"{benchmark}/{path.name}"
    try:
        spec = _read(path, whole)
        meta = spec.pop("usermeta", {})
        figure = Figure(
            benchmark,
            name,
            table,
            str(spec.pop("title", table.header.title)),
            " ".join(str(spec.pop("description")).split()),
            str(meta.get("section", SECTION)),
            float(meta.get("order", LAST)),
            meta.get("paper", table.header.paper),
            spec,
        )
        if table.made:
            _check_rows(figure, whole)
    except EccdataError as error:
        return Figure(benchmark, name, table, table.header.title, "", error=str(error))
    return figure


def _read(path: Traversable, name: str) -> dict[str, Any]:
    try:
        spec = yaml.safe_load(path.read_text("utf-8"))
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise EccdataError(f"The figure {name} is no YAML: {error}") from error
    if not isinstance(spec, dict):
        raise EccdataError(f"The figure {name} is no Vega-Lite specification: it holds no mapping.")
    meta = spec.get("usermeta", {})
    wrong = []
    if "data" in spec or "datasets" in spec:
        wrong.append("data: a figure's data are the rows of the query that it is named after")
    if not isinstance(spec.get("description"), str):
        wrong.append("description: there has to be one, for those who do not see the chart")
    if not isinstance(meta, dict) or not set(meta) <= KEYS:
        wrong.append(f"usermeta: may have {', '.join(sorted(KEYS))} and nothing else")
    elif not isinstance(meta.get("order", 0), int | float):
        wrong.append(f"usermeta: order is a number, and not {meta['order']!r}")
    if wrong:
        raise problem(f"The figure {name} cannot be read:", wrong)
    return spec


def _check_rows(figure: Figure, name: str) -> None:
    rows = len(figure.table.rows)
    if rows > MOST_ROWS:
        raise EccdataError(f"The figure {name} has {rows} rows, and a page can show {MOST_ROWS}.")
    known = {*flat_columns(figure.table), *_made(figure.spec)}
    unknown = dict.fromkeys(read for read in _fields(figure.spec) if read not in known)
    if unknown:
        raise problem(f"The figure {name} shows columns that its query does not give:", list(unknown))
    try:
        vega.check(figure.spec, chart_rows(figure.table)[:1])
    except EccdataError as error:
        raise EccdataError(f"The figure {name} is no Vega-Lite specification: {error}") from error


def _fields(node: Any) -> Iterator[str]:
    """The columns that a specification names."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in ("field", "groupby") and isinstance(value, str | list):
                yield from [value] if isinstance(value, str) else map(str, value)
            else:
                yield from _fields(value)
    elif isinstance(node, list):
        for child in node:
            yield from _fields(child)


def _made(node: Any) -> Iterator[str]:
    """The columns that a specification makes itself, by its transforms."""
    if isinstance(node, Mapping):
        if "fold" in node and "as" not in node:
            yield from ("key", "value")
        made = node.get("as", ())
        yield from [made] if isinstance(made, str) else map(str, made)
        for value in node.values():
            yield from _made(value)
    elif isinstance(node, list):
        for child in node:
            yield from _made(child)
