from __future__ import annotations

import pytest

from eccdata.analysis.header import Column, Header, parse_header
from eccdata.errors import EccdataError

SQL = """\
-- title: A table
-- paper: Table 1
-- needs: a run
-- counts: arm = 'none'
--   AND length = 8
--
-- expects: length = 8, 16; band = low, max
-- rows: label
-- column: label | text | Model
-- column: x | percent | Share / of x
-- bold: x
-- bookkeeping: x
-- note: One: thing.
-- note: Another
--   one.
SELECT label, x FROM y -- note: not a note
-- title: not a title
"""


def test_parse() -> None:
    assert parse_header(SQL, "b/t") == Header(
        title="A table",
        paper="Table 1",
        needs="a run",
        counts="arm = 'none' AND length = 8",
        expects=({"length": ("8", "16"), "band": ("low", "max")},),
        rows=("label",),
        columns=(Column("label", "text", ("Model",)), Column("x", "percent", ("Share", "of x"))),
        bold=("x",),
        notes=("One: thing.", "Another one."),
        bookkeeping=("x",),
    )


def test_a_table_of_no_paper() -> None:
    header = parse_header(SQL.replace("-- paper: Table 1\n", ""), "b/t")
    assert header.paper is None
    assert header.name == "A table"
    assert parse_header(SQL, "b/t").name == "A table (Table 1)"


def test_every_mistake_is_told_at_once() -> None:
    sql = """\
--   goes on
-- title: one
-- title: two
-- colour: red
-- paper: Table 1
-- paper: Table 2
-- column: a | float | A
-- expects: length
-- bold: b
-- rows: c
SELECT 1
"""
    with pytest.raises(EccdataError) as caught:
        parse_header(sql, "b/t")
    message = str(caught.value)
    for words in (
        "query b/t",
        "goes on from nothing",
        "title: there has to be exactly one",
        "paper: there has to be at most one",
        "'colour: red' is none of",
        "column: 'a | float | A'",
        "expects: 'length'",
        "bold: b is no column",
        "rows: c is no column",
    ):
        assert words in message


def test_bookkeeping_is_of_columns_that_are_shown() -> None:
    with pytest.raises(EccdataError, match="bookkeeping: z is no column"):
        parse_header(SQL.replace("bookkeeping: x", "bookkeeping: x, z"), "b/t")


def test_what_counts_nothing_and_what_is_not_shown() -> None:
    plain = parse_header(SQL, "b/t")
    assert (plain.counts_responses, plain.shown, plain.reference) == (True, True, None)
    header = parse_header(
        SQL.replace("counts: arm = 'none'\n--   AND length = 8", "counts: nothing").replace(
            "-- rows", "-- reference: table1.csv\n-- shown: no\n-- rows"
        ),
        "b/t",
    )
    assert (header.counts_responses, header.shown, header.reference) == (False, False, "table1.csv")
    with pytest.raises(EccdataError, match="shown: 'never' is neither yes nor no"):
        parse_header(SQL.replace("-- rows", "-- shown: never\n-- rows"), "b/t")
