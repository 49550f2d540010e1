"""Tables as CSV, Markdown, LaTeX and for a terminal."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from eccdata.analysis.header import Column, Header

NOTHING = "–"
TEXT_LIKE = ("text",)
PADDING = 3
"""What `rich` puts between two columns."""
EDGES = 2 - PADDING
"""What it puts at both ends of a row, less what is not put behind the last column."""
LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "–": "--", "−": "$-$",
}  # fmt: skip

Row = Mapping[str, Any]


def show(value: Any, form: str) -> str:
    """Show a value in one of `eccdata.analysis.header.FORMATS`; nothing is a dash, an interval stands in brackets."""
    if value is None:
        return NOTHING
    if isinstance(value, Mapping):
        return f"[{show(value['low'], form)}, {show(value['high'], form)}]"
    match form:
        case "percent":
            return f"{100 * value:.1f}"
        case "points":
            return _signed(100 * value, 1)
        case "fraction":
            return f"{value:.3f}"
        case "fraction4":
            return f"{value:.4f}"
        case "teraflops":
            return _significant(value / 1e12)
        case "signed":
            return _signed(value, 3)
        case "p":
            return "<0.001" if value < 0.001 else f"{value:.3f}"
        case "integer":
            return f"{int(value)}"
        case _:
            return str(value)


def as_csv(names: Sequence[str], rows: Sequence[Row]) -> str:
    """Every column in full precision; an interval is two columns, `…_low` and `…_high`."""
    intervals = {name for name in names if any(isinstance(row[name], Mapping) for row in rows)}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            part
            for name in names
            for part in ((f"{name}_low", f"{name}_high") if name in intervals else (name,))
        ]
    )
    for row in rows:
        cells: list[Any] = []
        for name in names:
            value = row[name]
            cells += [(value or {}).get("low"), (value or {}).get("high")] if name in intervals else [value]
        writer.writerow(cells)
    return text.getvalue()


def as_markdown(header: Header, rows: Sequence[Row], missing: Sequence[str]) -> str:
    """A section with the table and below it what a reader has to know."""
    lines = [f"# {header.title}", ""]
    if header.paper:
        lines += [f"{header.paper}.", ""]
    if rows:
        lines += [
            _markdown_row(" ".join(column.heading) for column in header.columns),
            _markdown_row("---" if column.format in TEXT_LIKE else "---:" for column in header.columns),
        ]
        for row in rows:
            highest = best(header, row)
            lines.append(
                _markdown_row(f"**{text}**" if name in highest else text for name, text in _cells(header, row))
            )
        lines.append("")
    lines += [f"- {note}" for note in header.notes]
    if missing:
        lines += ["", "Missing or left out:", "", *(f"- {_markdown(sentence)}" for sentence in missing)]
    return "\n".join(lines).rstrip() + "\n"


def as_latex(header: Header, rows: Sequence[Row], name: str) -> str:
    r"""A `table` environment; the document needs `\usepackage{booktabs}`."""
    columns = header.columns
    aligned = "".join("l" if column.format in TEXT_LIKE else "r" for column in columns)
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{aligned}}}", r"\toprule"]
    lines += _latex_heading(columns)
    lines.append(r"\midrule")
    for row in rows:
        highest = best(header, row)
        cells = (
            rf"\textbf{{{_latex(text)}}}" if key in highest else _latex(text)
            for key, text in _cells(header, row)
        )
        lines.append(" & ".join(cells) + r" \\")
    caption = " ".join([f"{header.title}.", *header.notes])
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{_latex(caption)}}}"]
    lines += [rf"\label{{tab:{name}}}", r"\end{table}", ""]
    return "\n".join(lines)


def as_rich(header: Header, rows: Sequence[Row], width: int) -> Iterator[RenderableType]:
    """The table for a terminal, in panels one below the other where it is wider than `width` characters.

    Bookkeeping that is zero in every row is left out.
    """
    columns = [
        column
        for column in header.columns
        if column.name not in header.bookkeeping or any(row[column.name] for row in rows)
    ]
    shown = {
        column.name: [*column.heading, *(show(row[column.name], column.format) for row in rows)]
        for column in columns
    }
    widths = {name: max(map(cell_len, texts)) + PADDING for name, texts in shown.items()}
    width -= EDGES
    if sum(widths.values()) > width:
        # long labels would take the room of what they are the labels of
        for name in header.rows:
            longest_word = max(cell_len(word) for text in shown[name] for word in text.split())
            widths[name] = min(widths[name], max(longest_word, width // 4) + PADDING)
    room = width - sum(widths[name] for name in header.rows)
    panels: list[list[str]] = [[]]
    left = room
    for name in widths:
        if name in header.rows:
            continue
        if widths[name] > left and panels[-1]:
            panels.append([])
            left = room
        panels[-1].append(name)
        left -= widths[name]
    yield Text(header.name, style="italic")
    folded = {name: widths[name] - PADDING for name in header.rows}
    for panel in panels:
        yield _panel(header, rows, [c for c in columns if c.name in (*header.rows, *panel)], folded)


def _panel(
    header: Header, rows: Sequence[Row], columns: Sequence[Column], folded: Mapping[str, int]
) -> Table:
    """A panel of some columns, of which those in `folded` are as wide as it says."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        left = column.format in TEXT_LIKE
        table.add_column(
            Text("\n".join(column.heading)),
            justify="left" if left else "right",
            width=folded.get(column.name),
        )
    names = {column.name for column in columns}
    for row in rows:
        highest = best(header, row)
        cells = [(name, text) for name, text in _cells(header, row) if name in names]
        table.add_row(
            *(Text(text, "bold" if name in highest else "", no_wrap=name not in folded) for name, text in cells)
        )
    return table


def _cells(header: Header, row: Row) -> list[tuple[str, str]]:
    return [(column.name, show(row[column.name], column.format)) for column in header.columns]


def best(header: Header, row: Row) -> set[str]:
    """The columns of the highest value among those that compete; none where all are equal."""
    values = {name: row[name] for name in header.bold if row[name] is not None}
    if len(set(values.values())) < 2:
        return set()
    return {name for name, value in values.items() if value == max(values.values())}


def _significant(value: float, digits: int = 3) -> str:
    """Three digits and no exponent; whole numbers where they take more."""
    if not value:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def _signed(value: float, decimals: int) -> str:
    text = f"{abs(value):.{decimals}f}"
    if not float(text):
        return text  # neither +0 nor -0
    return f"{'+' if value > 0 else '−'}{text}"


def _markdown_row(cells: Any) -> str:
    return f"| {' | '.join(_markdown(cell) for cell in cells)} |"


def _markdown(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)


def _latex_heading(columns: Sequence[Column]) -> list[str]:
    """One line of headings, or two with a rule under each common one."""
    if all(len(column.heading) == 1 for column in columns):
        return [" & ".join(_latex(column.heading[0]) for column in columns) + r" \\"]
    upper, rules, start = [], [], 1
    # a heading without a part above it belongs to no group, however many of them stand side by side
    for key, group in groupby(
        enumerate(columns), lambda item: item[1].heading[0] if len(item[1].heading) > 1 else item[0]
    ):
        width = len(list(group))
        if isinstance(key, str):
            upper.append(rf"\multicolumn{{{width}}}{{c}}{{{_latex(key)}}}")
            rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        else:
            upper.append("")
        start += width
    lower = [_latex(" ".join(column.heading[1:]) or column.heading[0]) for column in columns]
    return [" & ".join(upper) + r" \\", " ".join(rules), " & ".join(lower) + r" \\"]
