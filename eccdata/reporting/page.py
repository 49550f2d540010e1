"""The page: HTML with all that it needs in itself. Whatever comes from results is text in it and never markup."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from eccdata.analysis import TableResult
from eccdata.analysis.render import DIFFERS, legend
from eccdata.reporting import palette, vega
from eccdata.reporting.browser import Browser
from eccdata.reporting.figures import Figure
from eccdata.reporting.layout import MOST_ROWS, body, data, headings, shown
from eccdata.reporting.overview import Audit, Failures, RunFacts, scaled

FOLDER = "page"
SCRIPTS = ("charts.js", "tables.js", "browser.js", "page.js")
MOST_CARDS = 100
DATA_BYTES = 12 * 2**20
"""What the rows of all tables may take together, as data for charts and CSV."""
FONT = "system-ui, sans-serif"


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a page shows.

    Attributes:
        title: The page's.
        made_at: When it was made, as text.
        version: The package's.
        runs: The runs in numbers.
        tables: The tables, made or not.
        figures: The figures, in order.
        failures: Failures by run and kind.
        audits: What runs know of what their models saw.
        notes: What has to be said about the runs.
        browser: Single responses.

    """

    title: str
    made_at: str
    version: str
    runs: Sequence[RunFacts]
    tables: Sequence[TableResult]
    figures: Sequence[Figure]
    failures: Sequence[Failures]
    audits: Sequence[Audit]
    notes: Sequence[str]
    browser: Browser


@dataclass(frozen=True, slots=True)
class Section:
    """Figures under one heading, with the tables that they show."""

    title: str
    slug: str
    figures: tuple[Figure, ...]


def page(contents: Contents) -> str:
    """Write a page; it is the same for the same contents."""
    tables_data, without = _tables_data(contents.tables)
    drawn = [
        figure for figure in contents.figures if figure.error is None and key(figure.table) in tables_data
    ]
    with_figure = {key(figure.table) for figure in drawn}
    charts = [
        {
            "id": figure_id(figure),
            "name": f"{figure.benchmark}-{figure.name}",
            "data": key(figure.table),
            "spec": figure.spec,
        }
        for figure in drawn
    ]
    page_data = {
        "charts": charts,
        "config": vega.config(palette.variables(), FONT),
        "print": vega.config(palette.colours("light")) | {"background": palette.colours("light")["paper"]},
        "tables": tables_data,
    }
    scripts = [_inline(vega.bundle()), _inline("".join(_read(name) for name in SCRIPTS))]
    template = _environment().get_template("page.html.j2")
    return str(
        template.render(
            contents=contents,
            policy=_policy(scripts),
            styles=_safe(palette.css_rule() + _read("page.css")),
            scripts=[_safe(script) for script in scripts],
            sections=_sections(drawn),
            tables=[table for table in contents.tables if table.made],
            not_made=[table for table in contents.tables if not table.made],
            wrong=[figure for figure in contents.figures if figure.error],
            with_figure=with_figure,
            without=without,
            data=_safe(as_json(page_data)),
            responses=_safe(as_json(contents.browser.data)),
            most_rows=MOST_ROWS,
            most_cards=MOST_CARDS,
        )
    )


def key(table: TableResult) -> str:
    """What a table is called on the page."""
    return f"{table.benchmark}/{table.name}"


def figure_id(figure: Figure) -> str:
    """The id of a figure's element."""
    return f"figure-{_slug(figure.benchmark)}-{_slug(figure.name)}"


def as_json(value: Any) -> str:
    """JSON that is safe inside a `script` element: nothing in it can end that or begin a comment."""
    text = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _tables_data(tables: Sequence[TableResult]) -> tuple[dict[str, Any], list[str]]:
    """The rows of the tables by name, and those that are too large."""
    found: dict[str, Any] = {}
    without, size = [], 0
    for table in tables:
        if not table.made:
            continue
        rows = data(table)
        addition = len(orjson.dumps(rows, default=str))
        if size + addition > DATA_BYTES:
            without.append(key(table))
            continue
        size += addition
        found[key(table)] = rows
    return found, without


def _sections(drawn: Sequence[Figure]) -> list[Section]:
    titles = dict.fromkeys(figure.section for figure in drawn)
    return [
        Section(title, _slug(title), tuple(figure for figure in drawn if figure.section == title))
        for title in titles
    ]


def _inline(script: str) -> str:
    r"""A script as it may stand in HTML: what would end the element is written `<\/script`, the same in JavaScript."""
    return re.sub(r"<(/script|!--)", r"<\\\1", script, flags=re.IGNORECASE)


def _policy(scripts: Sequence[str]) -> str:
    """What the browser may do: run these scripts, by their digests, and ask no network for anything."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _environment() -> Any:
    jinja2 = vega.needed("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": lambda value: "–" if value is None else f"{100 * value:.1f}",
        "share": lambda value: "–" if value is None else f"{value:.3f}",
        "count": lambda value: "–" if value is None else f"{value:,.0f}",
        "flops": lambda value: scaled(value, "FLOPs"),
        "seconds": lambda value: "–" if value is None else f"{value:.3g}",
        "slug": _slug,
        "told": _told,
    }
    environment.globals |= {
        "headings": headings,
        "body": body,
        "shown": shown,
        "legend": legend,
        "differs": DIFFERS,
        "key": key,
        "figure_id": figure_id,
    }
    return environment


def _safe(text: str) -> Any:
    return vega.needed("markupsafe").Markup(text)


def _read(name: str) -> str:
    return (files("eccdata.reporting") / FOLDER / name).read_text("utf-8")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _told(value: Any) -> str:
    """A value of a card as text."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping | list):
        return orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
    return str(value)
