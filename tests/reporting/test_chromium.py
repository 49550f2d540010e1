"""The report in a browser: charts, keys, colours, paper, and what a screen reader gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files

import pytest

from support.chromium import CHROMIUM, Browser, browser

from .conftest import Reported

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium on this machine to open the report in"
)
DRAWN = "document.documentElement.dataset.charts === 'drawn'"
CURRENT = "document.querySelector('#list [aria-current=true]').textContent"
MARKS = """[...document.querySelectorAll('.chart-figure')].map(figure => [figure.id,
  figure.querySelectorAll('svg .mark-symbol path, svg .mark-line path, svg .mark-rule line').length])"""


@pytest.fixture(scope="module")
def page(reported: Reported, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.resize(1280, 900)
        opened.prefer("light")
        opened.open(reported.report.path, until=DRAWN)
        yield opened


def test_every_chart_is_drawn_without_a_network_and_nothing_complains(
    page: Browser, reported: Reported
) -> None:
    marks = dict(page.evaluate(MARKS))
    assert len(marks) == reported.report.figures >= 7
    assert min(marks.values()) >= 2, marks
    assert page.complaints == []
    assert page.asked == []
    assert page.evaluate("typeof window.hacked") == "undefined"


def test_what_a_reply_holds_is_shown_as_text(page: Browser) -> None:
    page.evaluate("""{const search = document.querySelector('#filters [name=text]');
        search.value = 'onerror'; search.dispatchEvent(new Event('input', {bubbles: true}))}""")
    assert "responses that are here" in page.evaluate("document.getElementById('found').textContent")
    assert "<img src=x onerror" in page.evaluate("document.querySelector('#response pre').textContent")
    assert page.evaluate("document.querySelectorAll('#response img, #list img').length") == 0
    assert page.evaluate("typeof window.hacked") == "undefined"
    page.evaluate("document.getElementById('filters').reset()")
    page.evaluate("document.getElementById('filters').dispatchEvent(new Event('input'))")


def test_keys_alone_lead_through_the_responses(page: Browser) -> None:
    page.evaluate("document.querySelector('#filters [name=text]').focus()")
    page.press("Tab")
    assert page.evaluate("document.activeElement.closest('#list') !== null"), (
        "one stop, on the chosen response"
    )
    first = page.evaluate(CURRENT)
    page.press("ArrowDown")
    second = page.evaluate(CURRENT)
    assert second != first
    assert page.evaluate("document.activeElement.textContent") == second
    page.press("End")
    assert page.evaluate(CURRENT) not in (first, second)
    page.press("Home")
    assert page.evaluate(CURRENT) == first
    assert page.evaluate("document.querySelector('#response h3').textContent") in first
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_filters_leave_what_one_asked_for(page: Browser) -> None:
    page.evaluate("""{const select = document.querySelector('#filters [name=verdict]');
        select.value = 'failed'; select.dispatchEvent(new Event('input', {bubbles: true}))}""")
    shown = page.evaluate("[...document.querySelectorAll('#list .hidden')].map(one => one.textContent)")
    assert shown
    assert set(shown) == {"failed: "}
    assert "HTTP 500" in page.evaluate("document.getElementById('response').textContent")
    page.evaluate("""{const select = document.querySelector('#filters [name=verdict]');
        select.value = ''; select.dispatchEvent(new Event('input', {bubbles: true}))}""")


def test_an_address_leads_to_one_response(page: Browser) -> None:
    wanted = page.evaluate("""(() => {const data = JSON.parse(document.getElementById('response-data').textContent);
        const one = data.responses.find(one => one.run === 'video'); return [one.run, one.id]})()""")
    page.evaluate(f"location.hash = 'response={wanted[0]}/{wanted[1]}'")
    page.wait(f"document.querySelector('#response h3').textContent === {json.dumps(wanted[1])}")
    assert page.evaluate("document.querySelector('#response img').decode().then(() => true)")
    assert "frame by frame" in page.evaluate("document.querySelector('#response img').alt")


def test_tables_sort_by_a_column_and_say_so(page: Browser) -> None:
    head = "document.querySelectorAll('#table-runs thead th')[4]"
    values = "[...document.querySelectorAll('#table-runs tbody tr')].map(row => parseInt(row.cells[4].textContent))"
    page.evaluate(f"{head}.querySelector('button').click()")
    assert page.evaluate(f"{head}.getAttribute('aria-sort')") == "ascending"
    assert page.evaluate(values) == sorted(page.evaluate(values))
    page.evaluate(f"{head}.querySelector('button').click()")
    assert page.evaluate(values) == sorted(page.evaluate(values), reverse=True)


RUNS = "document.getElementById('table-runs').parentElement"


@pytest.mark.parametrize("width", [1200, 360])
def test_the_runs_scroll_in_a_place_of_their_own_by_keys_too(page: Browser, width: int) -> None:
    page.resize(width, 900)
    place, whole, left = page.evaluate(f"[{RUNS}.clientWidth, {RUNS}.scrollWidth, {RUNS}.scrollLeft]")
    assert left == 0
    assert whole > place, "the table is wider than its place"
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "and the page is not"
    assert page.evaluate(f"{RUNS}.getBoundingClientRect().right") <= width
    # something at the edge tells that there is more, and a bar how much
    assert page.evaluate(f"getComputedStyle({RUNS}).backgroundImage").count("linear-gradient") == 4
    assert page.evaluate(f"getComputedStyle({RUNS}, '::-webkit-scrollbar').height") == "12px"
    page.evaluate(f"{RUNS}.focus()")
    assert page.evaluate(f"document.activeElement === {RUNS}")
    for _ in range(80):
        page.press("ArrowRight")
    page.wait(f"{RUNS}.scrollLeft >= {whole - place} - 1")
    last = "document.querySelector('#table-runs thead th:last-child').getBoundingClientRect().right"
    assert page.evaluate(last) <= page.evaluate(f"{RUNS}.getBoundingClientRect().right") + 1
    name = "document.querySelector('#table-runs tbody th').getBoundingClientRect().left"
    assert page.evaluate(name) >= page.evaluate(f"{RUNS}.getBoundingClientRect().left") - 1, "names stay"
    page.evaluate(f"{RUNS}.scrollLeft = 0")
    page.resize(1280, 900)


def test_numbers_and_pictures_can_be_saved(page: Browser) -> None:
    page.evaluate("""window.saved = [];
        HTMLAnchorElement.prototype.click = function () { saved.push([this.download, this.href]); }""")
    page.evaluate("document.querySelector('[data-csv=\"eccbench/accuracy\"]').click()")
    assert page.evaluate("saved[0][0]") == "eccbench-accuracy.csv"
    figure = "figure-eccbench-accuracy"
    page.evaluate(f"document.querySelector('[data-picture={figure}][data-form=png]').click()")
    page.wait("saved.length === 2")
    assert page.evaluate("saved[1][1].startsWith('data:image/png;base64,')")
    page.evaluate(f"document.querySelector('[data-picture={figure}][data-form=svg]').click()")
    page.wait("saved.length === 3")
    assert [name for name, _ in page.evaluate("saved")][1:] == [
        "eccbench-accuracy.png",
        "eccbench-accuracy.svg",
    ]


def test_dark_is_dark_and_charts_follow(page: Browser) -> None:
    colours = """[getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('svg .role-axis-label text')).fill,
        getComputedStyle(document.querySelector('svg .mark-symbol path')).fill]"""
    light = page.evaluate(colours)
    page.prefer("dark")
    dark = page.evaluate(colours)
    assert all(a != b for a, b in zip(light, dark, strict=True)), (light, dark)
    page.evaluate("document.querySelector('#theme [value=light]').click()")
    assert page.evaluate(colours) == light, "what one chose outweighs what the system prefers"
    page.evaluate("document.querySelector('#theme [value=dark]').click()")
    page.prefer("light", "print")
    assert page.evaluate(colours) == light, "paper is light"
    page.prefer("light")
    page.evaluate("document.querySelector('#theme [value=auto]').click()")
    assert page.evaluate(colours) == light


def test_it_fits_a_telephone_and_prints(page: Browser) -> None:
    page.resize(360, 740)
    page.wait("document.documentElement.scrollWidth <= 360")
    page.resize(1280, 900)
    assert page.pdf().startswith(b"%PDF")
    assert page.complaints == []


def test_no_rule_of_accessibility_is_broken(page: Browser) -> None:
    page.evaluate("""for (const kind of ['numbers', 'query', 'card', 'about', 'notes'])
        document.querySelector(`details.${kind}`).open = true""")
    # more of the same only takes longer; what a chart's marks are, its own words and table tell
    page.evaluate(
        "document.querySelectorAll('tbody tr:nth-child(n+4), .list li:nth-child(n+4)').forEach(one => one.remove())"
    )
    page.send("Runtime.evaluate", expression=(files("axe_core_python") / "axe.min.js").read_text("utf-8"))
    options = "resultTypes: ['violations']"
    for scheme, more in (("light", ""), ("dark", ", runOnly: ['color-contrast']")):
        page.prefer(scheme)
        broken = page.evaluate(f"""axe.run({{exclude: [['svg']]}}, {{{options}{more}}}).then(told =>
            told.violations.map(rule => [rule.id, rule.nodes.slice(0, 3).map(node => node.html.slice(0, 200))]))""")
        assert broken == [], scheme
