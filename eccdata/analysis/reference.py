"""What a paper prints, beside what was measured.

`queries/<benchmark>/reference/<file>.csv` has a row for each row of a printed table. Columns that the table's header
calls `rows` say which one it is, all others are columns of the table with values as they are printed: `85.8` for a
share in a column of format percent, `+3.9`, `<0.001`, `1,786`, and nothing or `–` where nothing is printed.

A label means the model that it names, under any of its names and checkpoint ids (`eccdata.flops`), with or without
reasoning where the paper has both: what a run's `thinking` says, or a system prompt that asks for `<think>`, or else
the model's name.

A printed value differs from a measured one if the interval of this and the rounding of that have nothing in common.
The interval of a column `x` is the result's column `x_bootstrap`, or `x_wilson` if there is none. What has no such
column, like a count or a price, differs if it would be printed otherwise.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from importlib.resources.abc import Traversable
from typing import Any

from eccdata.analysis.header import SCALES, Header
from eccdata.analysis.runs import Run
from eccdata.errors import listed, problem
from eccdata.flops.architectures import find

INTERVALS = ("bootstrap", "wilson")
NOT_PRINTED = ("", "–", "-", "—")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed value.

    Attributes:
        text: As it is printed.
        value: The same in the units of the column: a share, not a percentage; FLOPs.
        low: The smallest value that is printed so.
        high: The largest.
        differs: Whether the measured value differs from it; None where nothing was measured or no interval is known.

    """

    text: str
    value: float
    low: float
    high: float
    differs: bool | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A table beside the printed one.

    Attributes:
        cells: For each row of the result the printed values, by column.
        absent: The printed rows that the result has not, each by its keys.

    """

    cells: tuple[Mapping[str, Printed], ...]
    absent: tuple[str, ...]

    def sentences(self, header: Header, rows: Sequence[Row]) -> tuple[str, ...]:
        """Say how many values are printed, which of them differ, and what else is printed."""
        told = []
        found = [
            (row, name, cells[name]) for row, cells in zip(rows, self.cells, strict=True) for name in cells
        ]
        differing = [
            f"{_name(row, header)}, {name} (printed {value.text})"
            for row, name, value in found
            if value.differs
        ]
        if found:
            compared = sum(value.differs is not None for *_, value in found)
            said = f"{header.paper or 'The paper'} prints {len(found)} of these values"
            said += f"; {len(differing)} of the {compared} that can be compared differ beyond the interval"
            told.append(f"{said}: {listed(differing, '; ')}." if differing else f"{said}.")
        if self.absent:
            told.append(f"Printed there, and not here: {listed(self.absent, '; ')}.")
        return tuple(told)


def compare(
    header: Header, path: Traversable, rows: Sequence[Row], columns: Sequence[str], runs: Iterable[Run]
) -> Comparison:
    """Find the printed value of each cell, and whether it differs.

    Args:
        header: The table's header.
        path: The CSV file of what is printed.
        rows: The result.
        columns: Its columns.
        runs: The runs, whose labels the result has.

    Raises:
        EccdataError: The file has columns that the table has not, values that are no numbers, or a row twice.

    """
    keys, printed = _read(header, path)
    forms = {column.name: column.format for column in header.columns}
    models = {run.label: _model(run) for run in runs}
    names: dict[tuple[str, ...], tuple[str, ...]] = {}
    for line in printed:
        names[tuple(_key(line[part], part, {}) for part in keys)] = tuple(line[part] for part in keys)
    values = dict(zip(names, printed, strict=True))
    cells: list[dict[str, Printed]] = []
    met = set()
    for row in rows:
        key = tuple(_key(row[part], part, models) for part in keys)
        met.add(key)
        cells.append(
            {
                column: _differing(_printed(text, forms[column]), row, column, columns)
                for column, text in values.get(key, {}).items()
                if column not in keys and text not in NOT_PRINTED and forms[column] != "text"
            }
        )
    absent = [", ".join(names[key]) for key in names if key not in met]
    return Comparison(tuple(cells), tuple(absent))


def _read(header: Header, path: Traversable) -> tuple[list[str], list[dict[str, str]]]:
    reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    there = list(reader.fieldnames or ())
    keys = [column for column in header.rows if column in there]
    forms = {column.name: column.format for column in header.columns}
    wrong = [f"{column}: no column of the table" for column in there if column not in forms]
    if not keys:
        wrong.append(f"none of the columns that say what a row is of: {', '.join(header.rows)}")
    rows = []
    for row in reader:
        rows.append(row)
        where = f"line {reader.line_num}"
        if None in row or None in row.values():
            wrong.append(f"{where}: not as many values as columns")
            continue
        for column, text in row.items():
            if column in keys or column not in forms or forms[column] == "text" or text in NOT_PRINTED:
                continue
            try:
                _printed(text, forms[column])
            except ValueError:
                wrong.append(f"{where}: {column} {text!r} is no number")
    if not wrong:
        found = [tuple(_key(row[part], part, {}) for part in keys) for row in rows]
        wrong += [
            f"{', '.join(row[part] for part in keys)}: there twice"
            for key, row in zip(found, rows, strict=True)
            if found.count(key) > 1
        ]
    if wrong:
        raise problem(f"The reference values {path.name} cannot be read:", wrong)
    return keys, rows


def _printed(text: str, form: str) -> Printed:
    """Read a number and how it may have been rounded."""
    bare = text.replace(",", "").replace("−", "-").replace("×", "").removesuffix("%").strip()
    below = bare.startswith("<")
    bare = bare.removeprefix("<")
    # decimal, for 84.1 % times 0.01 is 0.841, and nothing like 0.8409999999999999
    scale = Decimal(str(SCALES.get(form, 1.0)))
    decimals = len(bare.partition(".")[2])
    half = float(Decimal("0.5").scaleb(-decimals) * scale)
    try:
        value = float(Decimal(bare) * scale)
    except InvalidOperation as error:
        raise ValueError(bare) from error
    return Printed(text, value, 0.0 if below else value - half, value if below else value + half)


def _differing(printed: Printed, row: Row, column: str, columns: Sequence[str]) -> Printed:
    measured = row[column]
    interval = next((name for kind in INTERVALS if (name := f"{column}_{kind}") in columns), None)
    if measured is None or (interval is not None and row[interval] is None):
        return printed
    low, high = (row[interval]["low"], row[interval]["high"]) if interval else (measured, measured)
    slack = 1e-9 * max(abs(printed.low), abs(printed.high))
    differs = high < printed.low - slack or low > printed.high + slack
    return Printed(printed.text, printed.value, printed.low, printed.high, bool(differs))


def _key(value: Any, column: str, models: Mapping[str, str]) -> str:
    if column != "label":
        return str(value)
    return models[value] if value in models else _meaning(value, None)


def _model(run: Run) -> str:
    """What a run's label means: the model, and whether it reasons where that makes two of it."""
    return _meaning(run.identity["model"], run.thinking)


def _meaning(name: str, thinking: bool | None) -> str:
    found = find(name)
    if found is None:
        return name
    both = any(_says_thinking(each) for each in found.all_names)
    thinks = _says_thinking(name) if thinking is None else thinking
    return f"{found.name} thinking" if both and thinks else found.name


def _says_thinking(name: str) -> bool:
    return re.search(r"(?<!\+)thinking", name, re.IGNORECASE) is not None


def _name(row: Row, header: Header) -> str:
    return ", ".join(str(row[name]) for name in header.rows)
