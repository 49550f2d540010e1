from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from rich.console import Console

from eccdata.analysis import render
from eccdata.analysis.header import Column, Header

HEADER = Header(
    title="A table",
    paper="Table 9",
    needs="a run",
    counts="true",
    expects=(),
    rows=("label",),
    columns=(
        Column("label", "text", ("Model",)),
        Column("a", "signed", ("Payoff", "arm A")),
        Column("b", "signed", ("Payoff", "arm B")),
        Column("share", "percent", ("Share",)),
        Column("share_interval", "percent", ("Interval",)),
    ),
    bold=("a", "b"),
    notes=("100 % of it.",),
)
ROWS = [
    {"label": "m_1 [x|y]", "a": 0.5, "b": -1.25, "share": 0.984, "share_interval": {"low": 0.9, "high": 1.0}, "more": 7},  # noqa: E501
    {"label": "& co", "a": 0.25, "b": 0.25, "share": None, "share_interval": None, "more": 8},
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (None, "percent", "–"),
        (0.817, "percent", "81.7"),
        (1.0, "percent", "100.0"),
        (0.4342, "points", "+43.4"),
        (-0.0504, "points", "−5.0"),
        (-0.0001, "points", "0.0"),
        (0.9984, "fraction", "0.998"),
        (0.0401, "fraction4", "0.0401"),
        (1.786e15, "teraflops", "1,786"),
        (3.29e13, "teraflops", "32.9"),
        (4.123e10, "teraflops", "0.0412"),
        (0, "teraflops", "0"),
        (1.3051e10, "megaflops", "13,051"),
        (401_408, "kiloflops", "401"),
        (4.3e14, "petaflops", "0.430"),
        (3.29e13, "flops", "32.9 TF"),
        (9.997e14, "flops", "1.00 PF"),
        (0, "flops", "0 F"),
        (12.5, "flops", "12.5 F"),
        (42.53, "times", "42.5×"),
        (6.34, "decimal", "6.3"),
        (0.0836, "signed", "+0.084"),
        (-0.309, "signed", "−0.309"),
        (0.0, "signed", "0.000"),
        (0.00099, "p", "<0.001"),
        (0.001, "p", "0.001"),
        (0.3634, "p", "0.363"),
        (320, "integer", "320"),
        ("model", "text", "model"),
        ({"low": 0.25, "high": 0.5}, "percent", "[25.0, 50.0]"),
    ],
)
def test_show(value: object, form: str, text: str) -> None:
    assert render.show(value, form) == text


def test_csv_has_every_column_in_full() -> None:
    text = render.as_csv(["label", "share", "share_interval", "more"], ROWS)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows == [
        {"label": "m_1 [x|y]", "share": "0.984", "share_interval_low": "0.9", "share_interval_high": "1.0", "more": "7"},  # noqa: E501
        {"label": "& co", "share": "", "share_interval_low": "", "share_interval_high": "", "more": "8"},
    ]  # fmt: skip


def test_markdown() -> None:
    assert render.as_markdown(HEADER, ROWS, ["m: 1 of 2."]) == (
        "# A table\n\nTable 9.\n\n"
        "| Model | Payoff arm A | Payoff arm B | Share | Interval |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| m_1 [x\\|y] | **+0.500** | −1.250 | 98.4 | [90.0, 100.0] |\n"
        "| & co | +0.250 | +0.250 | – | – |\n"
        "\n- 100 % of it.\n\nMissing or left out:\n\n- m: 1 of 2.\n"
    )


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n\n", "\u2028", "\x0b"])
def test_a_name_of_several_lines_does_not_end_a_row(end: str) -> None:
    markdown = render.as_markdown(HEADER, [{**ROWS[0], "label": f"a{end}# b"}], [])
    assert "| a # b |" in markdown
    assert len(markdown.splitlines()) == len(render.as_markdown(HEADER, ROWS[:1], []).splitlines())
    latex = render.as_latex(HEADER, [{**ROWS[0], "label": f"a{end}# b{end}"}], "t")
    assert r"a \# b & " in latex


def test_a_table_of_no_paper_does_not_name_one() -> None:
    header = replace(HEADER, paper=None)
    assert render.as_markdown(header, ROWS, []).startswith("# A table\n\n| Model |")
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(*render.as_rich(header, ROWS, 100))
    assert "None" not in console.export_text()


def test_latex() -> None:
    assert render.as_latex(HEADER, ROWS, "b-t") == (
        "\\begin{table}\n\\centering\n\\begin{tabular}{lrrrr}\n\\toprule\n"
        " & \\multicolumn{2}{c}{Payoff} &  &  \\\\\n\\cmidrule(lr){2-3}\n"
        "Model & arm A & arm B & Share & Interval \\\\\n\\midrule\n"
        "m\\_1 [x|y] & \\textbf{+0.500} & $-$1.250 & 98.4 & [90.0, 100.0] \\\\\n"
        "\\& co & +0.250 & +0.250 & -- & -- \\\\\n"
        "\\bottomrule\n\\end{tabular}\n\\caption{A table. 100 \\% of it.}\n\\label{tab:b-t}\n\\end{table}\n"
    )


def test_terminal() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(*render.as_rich(HEADER, ROWS, 100))
    text = console.export_text()
    assert "A table (Table 9)" in text
    assert "[90.0, 100.0]" in text
    assert text.count("m_1 [x|y]") == 1


def test_a_narrow_terminal_gets_panels() -> None:
    console = Console(width=40, record=True, file=io.StringIO())
    for panel in render.as_rich(HEADER, ROWS, 40):
        console.print(panel)
    text = console.export_text()
    assert text.count("m_1 [x|y]") == 2
    assert "…" not in text
    for words in ("+0.500", "−1.250", "98.4", "[90.0, 100.0]"):
        assert text.count(words) == 1


def test_bookkeeping_is_shown_in_a_terminal_where_it_is_not_zero() -> None:
    header = replace(
        HEADER, columns=(*HEADER.columns, Column("failed", "integer", ("Failed",))), bookkeeping=("failed",)
    )
    for failed, shown in ((0, False), (3, True)):
        rows = [{**row, "failed": failed} for row in ROWS]
        console = Console(width=100, record=True, file=io.StringIO())
        console.print(*render.as_rich(header, rows, 100))
        assert ("Failed" in console.export_text()) is shown
        assert "Failed" in render.as_markdown(header, rows, [])


@pytest.mark.parametrize("width", range(40, 120, 4))
def test_every_value_is_whole_at_every_width(width: int) -> None:
    rows = [{**ROWS[0], "label": "memory(bits=1024, ngram=3, hashes=3)"}, ROWS[1]]
    console = Console(width=width, record=True, file=io.StringIO())
    for part in render.as_rich(HEADER, rows, width):
        console.print(part)
    text = console.export_text()
    assert "…" not in text
    for value in ("+0.500", "−1.250", "98.4", "[90.0, 100.0]"):
        assert text.count(value) == 1
    assert "hashes=3)" in text
    assert max(map(len, text.splitlines())) <= width
