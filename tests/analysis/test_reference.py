from __future__ import annotations

import csv
import io
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from eccdata import catalog
from eccdata.analysis import TableResult, tables
from eccdata.analysis.header import SCALES, parse_header
from eccdata.analysis.reference import _printed, compare
from eccdata.analysis.runs import Run
from eccdata.errors import EccdataError
from support.results import cell, write_run

QUERY = """\
-- title: Accuracy
-- paper: Table 5
-- needs: a run
-- counts: true
-- rows: label
-- column: label | text | Model
-- column: accuracy | percent | Accuracy
-- column: accuracy_wilson | percent | Interval
-- column: n | integer | n
-- reference: table5.csv
SELECT label, sum(correct) / sum(n) AS accuracy, wilson(sum(correct), sum(n)) AS accuracy_wilson, sum(n)::BIGINT AS n
FROM stream_counts WHERE n > 0 GROUP BY label ORDER BY label
"""
PRINTED = """\
label,accuracy,n
InternVL3.5 (8B),50.0,8
InternVL3.5 Thinking (8B),99.0,16
"Qwen3-Omni (30B, A3B)",81.1,16
LongVILA (7B),–,
"""


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TableResult:
    """One model under its checkpoint's id, without and with reasoning, and a model that no paper has."""
    results = tmp_path / "results"
    half = cell(["rwrwrwrw", "rrrrwwww"])
    write_run(results / "plain", half, model="OpenGVLab/InternVL3_5-8B")
    thinks = {"system_prompt": "Write <think> first."}
    write_run(results / "thinks", half, model="OpenGVLab/InternVL3_5-8B", options=thinks)
    write_run(results / "other", half, model="other")
    files = {"query": tmp_path / "q.sql", "reference": tmp_path / "table5.csv"}
    files["query"].write_text(QUERY)
    files["reference"].write_text(PRINTED)
    monkeypatch.setattr(catalog, "queries", lambda _: {"accuracy": files["query"]})
    monkeypatch.setattr(catalog, "references", lambda _: {"table5.csv": files["reference"]})
    (made,) = tables([results], out=tmp_path / "out")
    return made


def test_printed_values_stand_beside_the_measured(table: TableResult) -> None:
    assert table.error is None
    by_label = {
        row["label"].partition(" [")[0] + (" T" if "[thinking]" in row["label"] else ""): cells
        for row, cells in zip(table.rows, table.prints, strict=True)
    }
    plain, thinks = by_label["OpenGVLab/InternVL3_5-8B"], by_label["OpenGVLab/InternVL3_5-8B T"]
    assert (plain["accuracy"].text, plain["accuracy"].value, plain["accuracy"].differs) == (
        "50.0",
        0.5,
        False,
    )
    # 16 questions were asked, and the paper asked 8: there is no interval, so that it differs as it is printed
    assert plain["n"].differs is True
    assert (thinks["accuracy"].value, thinks["accuracy"].differs, thinks["n"].differs) == (0.99, True, False)
    assert by_label["other"] == {}
    first, absent = table.compared
    assert first.startswith("Table 5 prints 4 of these values; 2 of the 4 that can be compared differ beyond")
    assert "accuracy (printed 99.0)" in first
    assert absent == "Printed there, and not here: Qwen3-Omni (30B, A3B); LongVILA (7B)."


def test_every_rendering_has_them(table: TableResult, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "eccbench"
    rows = list(csv.DictReader(io.StringIO((folder / "accuracy.csv").read_text())))
    assert [
        (row["accuracy_paper"], row["accuracy_differs"], row["n_paper"], row["n_differs"]) for row in rows
    ] == [
        ("0.5", "False", "8.0", "True"),
        ("0.99", "True", "16.0", "False"),
        ("", "", "", ""),
    ]
    markdown = (folder / "accuracy.md").read_text()
    assert "| 50.0 (50.0) |" in markdown
    assert "| 50.0 (99.0)≠ |" in markdown
    assert "| 16 (8)≠ |" in markdown
    assert "In parentheses: what the paper prints (Table 5)" in markdown
    assert "- Printed there, and not here: Qwen3-Omni (30B, A3B); LongVILA (7B)." in markdown
    assert r"50.0 (99.0)$\neq$" in (folder / "accuracy.tex").read_text()
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table)
    text = console.export_text()
    assert "50.0 (99.0)≠" in text
    assert "differ beyond the interval" in text


HEADER = parse_header(QUERY, "b/t")


@pytest.mark.parametrize(
    ("form", "text", "low", "high"),
    [
        ("percent", "85.8", 0.8575, 0.8585),
        ("percent", "31", 0.305, 0.315),
        ("points", "−4.8", -0.0485, -0.0475),
        ("points", "+11.2", 0.1115, 0.1125),
        ("fraction", "0.363", 0.3625, 0.3635),
        ("p", "<0.001", 0, 0.001),
        ("teraflops", "1,786", 1785.5e12, 1786.5e12),
        ("petaflops", "0.43", 0.425e15, 0.435e15),
        ("times", "4.7×", 4.65, 4.75),
        ("integer", "644", 643.5, 644.5),
    ],
)
def test_printed_values_may_have_been_rounded(
    tmp_path: Path, form: str, text: str, low: float, high: float
) -> None:
    header = parse_header(QUERY.replace("accuracy | percent", f"accuracy | {form}"), "b/t")
    path = tmp_path / "printed.csv"
    path.write_text(f'label,accuracy\nm,"{text}"\n')
    for value, differs in (
        (low, False),
        (high, False),
        (low - 0.001 * abs(low) - 1e-6, True),
        (high + 0.001 * abs(high) + 1e-6, True),
    ):
        row = {"label": "m", "accuracy": value}
        (cells,) = compare(header, path, [row], list(row), []).cells
        printed = cells["accuracy"]
        assert (printed.low, printed.high) == pytest.approx((low, high))
        assert printed.differs is (
            differs and not (form == "points" and value == high * 1.01 and high < 0)
        ), value


@given(
    st.sampled_from(["percent", "points", "teraflops", "petaflops", "fraction"]),
    st.integers(0, 10**6),
    st.integers(0, 3),
)
def test_a_printed_value_has_no_more_digits_than_are_printed(form: str, digits: int, decimals: int) -> None:
    text = f"{digits / 10**decimals:.{decimals}f}"
    exact = Fraction(text) * (Fraction(1, 100) if form in ("percent", "points") else int(SCALES.get(form, 1)))
    assert _printed(text, form).value == float(exact)


@pytest.mark.parametrize(
    ("interval", "differs"),
    [({"low": 0.7, "high": 0.79}, True), ({"low": 0.7, "high": 0.7995}, False), (None, None)],
)
def test_an_interval_decides(tmp_path: Path, interval: dict[str, float] | None, differs: bool | None) -> None:
    path = tmp_path / "printed.csv"
    path.write_text("label,accuracy\nm,80.0\n")
    row = {"label": "m", "accuracy": 0.75, "accuracy_wilson": interval}
    (cells,) = compare(HEADER, path, [row], list(row), []).cells
    assert cells["accuracy"].differs is differs
    # the bootstrap's goes before Wilson's
    row["accuracy_bootstrap"] = {"low": 0.75, "high": 0.85}
    (cells,) = compare(HEADER, path, [row], list(row), []).cells
    assert cells["accuracy"].differs is False


def test_a_model_is_known_by_any_of_its_names(tmp_path: Path) -> None:
    path = tmp_path / "printed.csv"
    path.write_text("label,accuracy\nMIMO-VL (7B),1\nQwen3-VL,2\nQwen3-VL Thinking (8B),3\nGLM-4.5V,4\n")
    for model, options, text in (
        ("XiaomiMiMo/MiMo-VL-7B-RL", {}, "1"),
        ("Qwen/Qwen3-VL-8B-Instruct", {}, "2"),
        ("Qwen/Qwen3-VL-8B-Thinking", {}, "3"),
        ("Qwen3-VL 8B", {"thinking": True}, "3"),
        ("Qwen/Qwen3-VL-8B-Thinking", {"thinking": False}, "2"),
        # the paper has one row of it, however it was run
        ("zai-org/GLM-4.5V", {"thinking": True}, "4"),
        ("GLM", {}, None),
    ):
        run = Run(
            tmp_path, (), {"protocol": {"options": options}}, identity={"model": model}, label=f"{model} [x]"
        )
        (cells,) = compare(
            HEADER, path, [{"label": run.label, "accuracy": 0.5}], ["label", "accuracy"], [run]
        ).cells
        assert (cells["accuracy"].text if cells else None) == text, model


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("label,accuracy,colour\nm,1,red\n", "colour: no column of the table"),
        ("accuracy\n1\n", "none of the columns that say what a row is of: label"),
        ("label,accuracy\nm,high\n", "line 2: accuracy 'high' is no number"),
        ("label,accuracy\nm\n", "line 2: not as many values as columns"),
        ("label,accuracy\nGLM-4.5V,1\nzai-org/GLM-4.5V,1\n", "zai-org/GLM-4.5V: there twice"),
    ],
)
def test_what_is_wrong_with_a_reference_is_told(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "printed.csv"
    path.write_text(content)
    with pytest.raises(EccdataError, match=r"printed\.csv") as caught:
        compare(HEADER, path, [], [], [])
    assert words in str(caught.value)


def test_a_reference_that_is_not_there_costs_its_own_table_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "run", cell(["rw"]))
    (tmp_path / "q.sql").write_text(QUERY)
    monkeypatch.setattr(catalog, "queries", lambda _: {"accuracy": tmp_path / "q.sql"})
    monkeypatch.setattr(catalog, "references", lambda _: {})
    (made,) = tables([tmp_path / "run"])
    assert made.error is not None
    assert "no reference of eccbench/accuracy called 'table5.csv'" in made.error


def test_what_is_installed_can_be_read() -> None:
    for benchmark in catalog.entries("queries"):
        for name, path in catalog.queries(benchmark).items():
            header = parse_header(path.read_text(encoding="utf-8"), name)
            if header.reference:
                compare(header, catalog.references(benchmark)[header.reference], [], [], [])
