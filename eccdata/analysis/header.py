"""The header comment of a table's SQL: what the table is, what it counts, what it expects, how it is set.

    -- title: Accuracy on EasyHuman
    -- paper: Table 1
    -- needs: a run on easyhuman-text under arm none
    -- counts: benchmark = 'eccbench' AND config = 'easyhuman-text' AND arm = 'none'
    -- expects: length = 256, 1024
    -- rows: label
    -- column: label | text | Model
    -- column: accuracy_256 | percent | Text / L = 256
    -- note: Abstentions count as wrong.

`counts` is the condition on `responses` that the query itself has; what it lets through is looked at for what is
missing. `expects` names columns of `responses` and values of theirs (more of them separated by `;`) that every
label should have in all combinations; where what is expected differs, such as the lengths of two configurations,
there is an `expects` line for each. `rows` names the columns that say what a row is of. Each column of the result
that is to be shown has a `column` line: its name, its format (see `FORMATS`), its heading, where `a / b` sets b under
a. `bold` names columns of which the highest is set in bold, `bookkeeping` columns that a terminal is spared where they
are zero in every row. `paper`, `expects`, `bold`, `bookkeeping` and `note` may be left out. A line that begins with
more than one space goes on with the one before it.

    -- counts: nothing
    -- reference: table2.csv
    -- shown: no

`counts: nothing` is of a table that needs no responses. `reference` names the file in `reference/` that has what the
paper prints (see `eccdata.analysis.reference`; it goes by columns `x_bootstrap` and `x_wilson` as intervals of `x`).
`shown: no` is of the data behind a figure: more rows than anybody reads, written as CSV and told by their number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from eccdata.errors import problem

FORMATS = {
    "text": "as it is",
    "integer": "a whole number",
    "percent": "a fraction in percent, one decimal",
    "points": "a difference of fractions in percentage points, signed, one decimal",
    "fraction": "three decimals",
    "fraction4": "four decimals",
    "kiloflops": "FLOPs in units of 10^3, three significant digits or more",
    "megaflops": "the same of 10^6",
    "megaflops2": "the same of 10^6, two decimals",
    "gigaflops": "the same of 10^9",
    "teraflops": "the same of 10^12",
    "petaflops": "the same of 10^15",
    "flops": "FLOPs with an SI prefix, three significant digits",
    "times": "a ratio, one decimal and ×",
    "decimal": "one decimal",
    "signed": "signed, three decimals",
    "p": "a p-value: three decimals, or <0.001",
}
SCALES = {
    "percent": 0.01,
    "points": 0.01,
    "kiloflops": 1e3,
    "megaflops": 1e6,
    "megaflops2": 1e6,
    "gigaflops": 1e9,
    "teraflops": 1e12,
    "petaflops": 1e15,
}
"""What a number that is shown in a format has to be multiplied by to be the column's value again."""
NOTHING_COUNTED = "nothing"
ONCE = ("title", "needs", "counts", "rows")
AT_MOST_ONCE = ("paper", "reference", "shown")
KEYS = (*ONCE, *AT_MOST_ONCE, "expects", "column", "bold", "bookkeeping", "note")


@dataclass(frozen=True, slots=True)
class Column:
    """How a column is shown.

    Attributes:
        name: Its name in the result.
        format: One of `FORMATS`; of an interval (a struct of low and high), the format of its ends.
        heading: Its heading, from the top down: one part, or two where it stands under a common one.

    """

    name: str
    format: str
    heading: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """What a header comment says; see the module's docstring.

    Attributes:
        title: What the table is.
        paper: Where it stands in a paper, if it does.
        needs: What has to have been run for it.
        counts: The SQL condition on `responses` of what it counts; `nothing` if it needs none.
        expects: Columns of `responses` with the values that every label should have in all combinations, line by line.
        rows: The columns that say what a row is of.
        columns: The columns that are shown, in order.
        bold: Columns of which the highest is set in bold, row by row.
        notes: What a reader has to know.
        bookkeeping: Columns that a terminal is spared where they are zero in every row.
        reference: The file of what the paper prints, if there is one.
        shown: Whether it is for readers; data behind a figure is not.

    """

    title: str
    paper: str | None
    needs: str
    counts: str
    expects: tuple[dict[str, tuple[str, ...]], ...]
    rows: tuple[str, ...]
    columns: tuple[Column, ...]
    bold: tuple[str, ...]
    notes: tuple[str, ...]
    bookkeeping: tuple[str, ...] = ()
    reference: str | None = None
    shown: bool = True

    @property
    def counts_responses(self) -> bool:
        """Whether it counts any."""
        return self.counts != NOTHING_COUNTED

    @property
    def name(self) -> str:
        """The title, and where it stands in a paper."""
        return f"{self.title} ({self.paper})" if self.paper else self.title


def bare_header(title: str) -> Header:
    """Make the header of a query that has none which can be read."""
    return Header(title, None, "", "", (), (), (), (), ())


def parse_header(sql: str, name: str) -> Header:
    """Read the header comment of the query called `name`.

    Raises:
        EccdataError: Naming each line that cannot be read and each part that is missing.

    """
    lines, wrong = _lines(sql)
    found: dict[str, list[str]] = {key: [] for key in KEYS}
    for line in lines:
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or key not in found or not value:
            wrong.append(f"{line!r} is none of: {', '.join(KEYS)}")
        else:
            found[key].append(value)
    wrong += [f"{key}: there has to be exactly one" for key in ONCE if len(found[key]) != 1]
    wrong += [f"{key}: there has to be at most one" for key in AT_MOST_ONCE if len(found[key]) > 1]
    wrong += [
        f"shown: {value!r} is neither yes nor no" for value in found["shown"] if value not in ("yes", "no")
    ]
    columns = []
    for value in found["column"]:
        parts = [part.strip() for part in value.split("|")]
        if len(parts) != 3 or parts[1] not in FORMATS:
            wrong.append(
                f"column: {value!r} is not `name | format | heading` with one of {', '.join(FORMATS)}"
            )
        else:
            columns.append(Column(parts[0], parts[1], tuple(part.strip() for part in parts[2].split(" / "))))
    if not found["column"]:
        wrong.append("column: there has to be at least one")
    expects: list[dict[str, tuple[str, ...]]] = []
    for line in found["expects"]:
        expects.append({})
        for value in line.split(";"):
            column, sign, values = (part.strip() for part in value.partition("="))
            if not sign:
                wrong.append(f"expects: {value.strip()!r} is not `column = value, value`")
            expects[-1][column] = tuple(part.strip() for part in values.split(","))
    named = {
        key: tuple(part.strip() for value in found[key] for part in value.split(","))
        for key in ("bold", "bookkeeping", "rows")
    }
    known = {column.name for column in columns}
    wrong += [
        f"{key}: {part} is no column" for key, parts in named.items() for part in parts if part not in known
    ]
    if wrong:
        raise problem(f"The header comment of the query {name} cannot be read:", wrong)
    title, needs, counts = (found[key][0] for key in ("title", "needs", "counts"))
    return Header(
        title=title,
        paper=next(iter(found["paper"]), None),
        needs=needs,
        counts=counts,
        expects=tuple(expects),
        rows=named["rows"],
        columns=tuple(columns),
        bold=named["bold"],
        notes=tuple(found["note"]),
        bookkeeping=named["bookkeeping"],
        reference=next(iter(found["reference"]), None),
        shown=found["shown"] != ["no"],
    )


def _lines(sql: str) -> tuple[list[str], list[str]]:
    """Take the leading comment apart into lines, each with what goes on from it."""
    lines: list[str] = []
    wrong = []
    for line in sql.splitlines():
        match = re.match(r"--( *)(.*\S)?\s*$", line)
        if match is None:
            break
        spaces, text = match[1], match[2] or ""
        if len(spaces) > 1 and lines:
            lines[-1] += f" {text}"
        elif len(spaces) > 1:
            wrong.append(f"{text!r} goes on from nothing")
        elif text:
            lines.append(text)
    return lines, wrong
