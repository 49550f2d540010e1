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

from eccdata.analysis.header import SCALES, Column, Header
from eccdata.analysis.reference import Printed

NOTHING = "–"
TEXT_LIKE = ("text",)
PADDING = 3
"""What `rich` puts between two columns."""
EDGES = 2 - PADDING
"""What it puts at both ends of a row, less what is not put behind the last column."""
LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "–": "--", "−": "$-$",
    "≠": r"$\neq$", "×": r"$\times$",
}  # fmt: skip
PREFIXES = "", "k", "M", "G", "T", "P", "E", "Z"
DIFFERS = "≠"

Row = Mapping[str, Any]
Prints = Sequence[Mapping[str, Printed]]
"""For each row what a paper prints, by column; or nothing at all."""


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
        case "kiloflops" | "megaflops" | "gigaflops" | "teraflops" | "petaflops":
            return _significant(value / SCALES[form])
        case "megaflops2":
            return f"{value / SCALES[form]:,.2f}"
        case "flops":
            return _with_prefix(value)
        case "times":
            return f"{value:,.1f}×"
        case "decimal":
            return f"{value:.1f}"
        case "signed":
            return _signed(value, 3)
        case "p":
            return "<0.001" if value < 0.001 else f"{value:.3f}"
        case "integer":
            return f"{int(value)}"
        case _:
            return str(value)


def as_csv(names: Sequence[str], rows: Sequence[Row], prints: Prints = ()) -> str:
    """Every column in full precision; an interval is two columns, `…_low` and `…_high`.

    A column of which a paper prints any value is followed, at the end, by `…_paper` and `…_differs`.
    """
    printed = [name for name in names if any(name in cells for cells in prints)]
    intervals = {name for name in names if any(issubclass(kind, Mapping) for kind in kinds(rows, name))}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            part
            for name in names
            for part in ((f"{name}_low", f"{name}_high") if name in intervals else (name,))
        ]
        + [part for name in printed for part in (f"{name}_paper", f"{name}_differs")]
    )
    if not intervals and not printed:
        writer.writerows([row[name] for name in names] for row in rows)
        return text.getvalue()
    for row, beside in zip(rows, prints or [{}] * len(rows), strict=True):
        cells: list[Any] = []
        for name in names:
            value = row[name]
            cells += [(value or {}).get("low"), (value or {}).get("high")] if name in intervals else [value]
        for name in printed:
            value = beside.get(name)
            cells += [value.value, value.differs] if value else [None, None]
        writer.writerow(cells)
    return text.getvalue()


def kinds(rows: Sequence[Row], name: str) -> set[type]:
    """The types of a column's values."""
    return {type(row[name]) for row in rows}


def as_markdown(header: Header, rows: Sequence[Row], missing: Sequence[str], prints: Prints = ()) -> str:
    """A section with the table and below it what a reader has to know; of data that is not shown, its columns."""
    lines = [f"# {header.title}", ""]
    if header.paper:
        lines += [f"{header.paper}.", ""]
    if rows and not header.shown:
        columns = (f"`{column.name}` ({' '.join(column.heading)})" for column in header.columns)
        lines += [f"{len(rows)} rows of data, as CSV: {', '.join(columns)}.", ""]
    elif rows:
        lines += [
            _markdown_row(" ".join(column.heading) for column in header.columns),
            _markdown_row("---" if column.format in TEXT_LIKE else "---:" for column in header.columns),
        ]
        for row, cells in _laid_out(header, rows, prints):
            highest = best(header, row)
            lines.append(
                _markdown_row(f"**{text}**" if name in highest else text for name, text in cells.items())
            )
        lines.append("")
    lines += [f"- {note}" for note in (*header.notes, *legend(header, prints))]
    if missing:
        lines += ["", "Missing or left out:", "", *(f"- {_markdown(sentence)}" for sentence in missing)]
    return "\n".join(lines).rstrip() + "\n"


def as_latex(header: Header, rows: Sequence[Row], name: str, prints: Prints = ()) -> str:
    r"""A `table` environment; the document needs `\usepackage{booktabs}`."""
    columns = header.columns
    aligned = "".join("l" if column.format in TEXT_LIKE else "r" for column in columns)
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{aligned}}}", r"\toprule"]
    lines += _latex_heading(columns)
    lines.append(r"\midrule")
    for row, cells in _laid_out(header, rows, prints):
        highest = best(header, row)
        texts = (
            rf"\textbf{{{_latex(text)}}}" if key in highest else _latex(text) for key, text in cells.items()
        )
        lines.append(" & ".join(texts) + r" \\")
    caption = " ".join([f"{header.title}.", *header.notes, *legend(header, prints)])
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{_latex(caption)}}}"]
    lines += [rf"\label{{tab:{name}}}", r"\end{table}", ""]
    return "\n".join(lines)


def as_rich(header: Header, rows: Sequence[Row], width: int, prints: Prints = ()) -> Iterator[RenderableType]:
    """The table for a terminal, in panels one below the other where it is wider than `width` characters.

    Bookkeeping that is zero in every row is left out, and so are all rows of data that is not shown.
    """
    if not header.shown:
        yield Text.assemble((header.name, "italic"), f": {len(rows)} rows of data, written as CSV.")
        return
    cells = list(_laid_out(header, rows, prints))
    columns = [
        column
        for column in header.columns
        if column.name not in header.bookkeeping or any(row[column.name] for row in rows)
    ]
    shown = {
        column.name: [*column.heading, *(texts[column.name] for _, texts in cells)] for column in columns
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
        yield _panel(header, cells, [c for c in columns if c.name in (*header.rows, *panel)], folded)


def _panel(
    header: Header,
    cells: Sequence[tuple[Row, Mapping[str, str]]],
    columns: Sequence[Column],
    folded: Mapping[str, int],
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
    for row, texts in cells:
        highest = best(header, row)
        table.add_row(
            *(
                Text(
                    texts[column.name],
                    "bold" if column.name in highest else "",
                    no_wrap=column.name not in folded,
                )
                for column in columns
            )
        )
    return table


def _laid_out(header: Header, rows: Sequence[Row], prints: Prints) -> Iterator[tuple[Row, Mapping[str, str]]]:
    """Each row with the texts of its cells: the value, and in parentheses what a paper prints."""
    for row, beside in zip(rows, prints or [{}] * len(rows), strict=True):
        texts = {column.name: show(row[column.name], column.format) for column in header.columns}
        yield row, texts | {name: f"{texts[name]} {_beside(printed)}" for name, printed in beside.items()}


def _beside(printed: Printed) -> str:
    return f"({printed.text}){DIFFERS if printed.differs else ''}"


def legend(header: Header, prints: Prints) -> tuple[str, ...]:
    """Say what stands in parentheses, where anything does."""
    if not any(prints):
        return ()
    return (
        f"In parentheses: what the paper prints{f' ({header.paper})' if header.paper else ''}. {DIFFERS} marks what "
        "differs from it beyond its own interval or, where it has none, beyond rounding.",
    )


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
    rounded = float(f"{abs(value):.{digits - 1}e}")  # 9.996 has the digits of 10.0
    decimals = max(0, digits - 1 - math.floor(math.log10(rounded)))
    return f"{value:,.{decimals}f}"


def _with_prefix(value: float) -> str:
    """Three digits with an SI prefix: 32.9 TF."""
    power = 0 if not value else min(len(PREFIXES) - 1, max(0, math.floor(math.log10(abs(value)) / 3)))
    # 999.7 rounds to 1000, which is 1 of the next prefix
    if power < len(PREFIXES) - 1 and abs(value) / 1000**power >= 999.5:
        power += 1
    return f"{_significant(value / 1000**power)} {PREFIXES[power]}F"


def _signed(value: float, decimals: int) -> str:
    text = f"{abs(value):.{decimals}f}"
    if not float(text):
        return text  # neither +0 nor -0
    return f"{'+' if value > 0 else '−'}{text}"


def _markdown_row(cells: Any) -> str:
    return f"| {' | '.join(_markdown(cell) for cell in cells)} |"


def one_line(text: str) -> str:
    """The text without ends of lines, of which a model's name may have any, and which would end a table's row."""
    return " ".join(text.split()) if text.splitlines() != [text] else text


def _markdown(text: str) -> str:
    return one_line(text).replace("|", r"\|")


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in one_line(text))


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
