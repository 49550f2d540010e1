"""Figures that stand beside queries: what is read, what is refused, what is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from eccdata import catalog
from eccdata.analysis import TableResult
from eccdata.analysis.header import bare_header
from eccdata.reporting import Figure, figures, vega
from eccdata.reporting.palette import COLOURS, RANGES, colours

from .conftest import CHARTED, Reported

SPEC = {
    "description": "Bars.",
    "mark": "bar",
    "encoding": {
        "x": {"field": "label", "type": "nominal"},
        "y": {"field": "share_low", "type": "quantitative"},
    },
}
SHIPPED = [(b, name) for b in catalog.benchmarks() for name in catalog.figures(b)]


def table(name: str = "mine") -> TableResult:
    rows = tuple({"label": label, "share": {"low": 0.1, "high": 0.2}} for label in ("a", "b"))
    header = bare_header("Mine")
    return TableResult("eccbench", name, header, "SELECT 1", ("label", "share"), rows, ())


def read(folder: Path, monkeypatch: pytest.MonkeyPatch, spec: Any, name: str = "mine") -> Figure:
    (folder / f"{name}.vl.yaml").write_text(spec if isinstance(spec, str) else yaml.safe_dump(spec))
    monkeypatch.setattr(catalog, "figures", lambda _: {name: folder / f"{name}.vl.yaml"})
    (figure,) = figures([table()])
    return figure


def test_every_shipped_figure_stands_beside_a_query_and_names_no_colour_itself() -> None:
    assert {name for _, name in SHIPPED} >= set(CHARTED)
    for benchmark, name in SHIPPED:
        assert name.partition(".")[0] in catalog.queries(benchmark), name
        spec = yaml.safe_load(catalog.figures(benchmark)[name].read_text("utf-8"))
        for key, value in nodes(spec):
            assert key not in ("color", "fill", "stroke") or not isinstance(value, str), (name, key, value)
            if key == "range" and isinstance(value, str):
                assert value in RANGES, name


def nodes(node: Any) -> Iterator[tuple[str, Any]]:
    for key, value in (
        node.items() if isinstance(node, dict) else enumerate(node if isinstance(node, list) else ())
    ):
        yield str(key), value
        yield from nodes(value)


def test_every_figure_of_these_results_is_drawn(reported: Reported) -> None:
    assert not reported.report.errors
    names = {path.name for path in reported.charts.iterdir()}
    assert names >= {f"eccbench-{name}.{ending}" for name in CHARTED for ending in ("svg", "png")}
    assert len(reported.report.charts) == len(names) == 2 * reported.report.figures
    for path in reported.report.charts:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG" if path.suffix == ".png" else b"<svg")
        if path.suffix == ".svg":
            assert b"mark-symbol" in content or b"mark-line" in content, path.name
            assert b"var(" not in content, "a picture of its own has colours of its own"


def test_a_package_of_ones_own_adds_a_figure_by_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meta = {"section": "Mine", "order": 3, "paper": "Figure 9"}
    figure = read(tmp_path, monkeypatch, SPEC | {"title": "Bars of mine", "usermeta": meta}, "mine.bars")
    assert figure.error is None
    assert (figure.title, figure.section, figure.order, figure.paper) == (
        "Bars of mine",
        "Mine",
        3,
        "Figure 9",
    )
    assert "share_low" in str(figure.spec)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (": no [yaml", "no YAML"),
        ("- a list", "holds no mapping"),
        (
            {key: value for key, value in SPEC.items() if key != "description"},
            "description: there has to be one",
        ),
        (SPEC | {"data": {"url": "http://x"}}, "data: a figure's data are the rows"),
        (SPEC | {"usermeta": {"colour": "red"}}, "usermeta: may have"),
        (SPEC | {"usermeta": {"order": "first"}}, "order is a number"),
        (SPEC | {"mark": "blob"}, "no Vega-Lite specification"),
        (
            SPEC | {"encoding": {"x": {"field": "shares"}}},
            "columns that its query does not give:\n  - shares",
        ),
    ],
)
def test_a_wrong_figure_says_what_is_wrong_and_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: Any, told: str
) -> None:
    error = read(tmp_path, monkeypatch, spec).error
    assert error is not None
    assert told in error
    assert "mine.vl.yaml" in error


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_drawn_is_told_from_its_paper(scheme: Any) -> None:
    values = colours(scheme)
    for name in COLOURS:
        if name in ("paper", "raised", "line"):
            continue
        least = 3.0 if name == "edge" or name.startswith(("series", "arm", "low", "max")) else 4.5
        for ground in ("paper", "raised"):
            assert contrast(values[name], values[ground]) >= least, (name, ground)


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_without_the_extra_one_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name, name=name)

    monkeypatch.setattr(vega, "import_module", absent)
    with pytest.raises(Exception, match=r"pip install 'eccdata\[report\]'"):
        vega.bundle()
