"""Vega-Lite, from the package `vl-convert-python`: its JavaScript for the page, and charts as SVG and PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from eccdata.errors import EccdataError
from eccdata.reporting.palette import RANGES

Spec = Mapping[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VERSION = "6.4"
PNG_SCALE = 2.0
"""Pixels of a PNG a pixel of the chart."""


def needed(name: str) -> ModuleType:
    """Import a module that only reports need.

    Raises:
        EccdataError: If it is not installed.

    """
    try:
        return import_module(name)
    except ImportError as error:
        raise EccdataError(
            f"A report needs the package {error.name}, which is not installed: pip install 'eccdata[report]'"
        ) from error


def bundle() -> str:
    """The JavaScript of Vega-Lite, Vega and Vega-Embed, which sets `vegaEmbed`; about 900 kB."""
    text: str = needed("vl_convert").javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VERSION)
    return text


def svg(spec: Spec, rows: Sequence[Mapping[str, Any]], colours: Mapping[str, str]) -> str:
    """Draw a chart as SVG.

    Raises:
        EccdataError: With Vega-Lite's own words, if the specification is wrong.

    """
    return str(_convert("vegalite_to_svg", spec, rows, colours))


def png(spec: Spec, rows: Sequence[Mapping[str, Any]], colours: Mapping[str, str]) -> bytes:
    """Draw a chart as PNG, `PNG_SCALE` pixels a pixel.

    Raises:
        EccdataError: With Vega-Lite's own words, if the specification is wrong.

    """
    return bytes(_convert("vegalite_to_png", spec, rows, colours, scale=PNG_SCALE))


def check(spec: Spec, rows: Sequence[Mapping[str, Any]]) -> None:
    """See that Vega-Lite understands a specification.

    Raises:
        EccdataError: With Vega-Lite's own words, if it does not.

    """
    try:
        needed("vl_convert").vegalite_to_vega(with_data(spec, rows), vl_version=VERSION)
    except ValueError as error:
        raise EccdataError(_words(error)) from error


def with_data(spec: Spec, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The specification with its rows, as a whole."""
    return {"$schema": SCHEMA, **spec, "data": {"name": "rows"}, "datasets": {"rows": list(rows)}}


def config(colours: Mapping[str, str], font: str = "sans-serif") -> dict[str, Any]:
    """How every chart looks: the page's type and the given colours, thin axes, no frame."""
    ink, muted, line = colours["ink"], colours["muted"], colours["line"]
    axis = {
        "labelColor": ink,
        "titleColor": ink,
        "domainColor": colours["edge"],
        "tickColor": colours["edge"],
    }
    sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    return {
        "aria": False,  # the page tells a screen reader what a chart shows, and the table every value
        "background": None,
        "font": font,
        "view": {"stroke": None},
        "axis": {**axis, **sizes, "gridColor": line, "labelLimit": 260, "titlePadding": 8},
        "legend": {"labelColor": ink, "titleColor": ink, **sizes, "orient": "top", "symbolSize": 90},
        "header": {"labelColor": ink, "titleColor": ink, **sizes, "labelFontWeight": 600, "labelLimit": 230},
        "title": {"color": ink, "subtitleColor": muted, "anchor": "start", "fontSize": 14},
        "mark": {"color": colours["accent"], "tooltip": True},
        "text": {"color": ink, "fontSize": 11},
        "rule": {"color": colours["edge"]},
        "line": {"strokeWidth": 2},
        "point": {"filled": True, "size": 55, "opacity": 1},
        "range": {name: [colours[role] for role in roles] for name, roles in RANGES.items()},
    }


def _convert(
    how: str, spec: Spec, rows: Sequence[Mapping[str, Any]], colours: Mapping[str, str], **options: Any
) -> Any:
    try:
        return getattr(needed("vl_convert"), how)(
            {**with_data(spec, rows), "background": colours["paper"]},
            vl_version=VERSION,
            config=config(colours) | {"padding": 16},
            allowed_base_urls=[],
            **options,
        )
    except ValueError as error:
        raise EccdataError(_words(error)) from error


def _words(error: Exception) -> str:
    """The line of a JavaScript trace that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "Error:" in line), lines[0] if lines else "no reason given")
