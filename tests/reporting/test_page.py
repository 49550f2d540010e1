"""The page as text: whole, closed to the network, and safe whatever results hold."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eccdata.reporting.page import as_json

from .conftest import EVIL, Reported


class Parsed(HTMLParser):
    """Elements with their attributes, and the text of scripts by their id or number."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data
        else:
            self.text.append(data)

    def data(self, name: str) -> Any:
        (text,) = [text for attributes, text in self.scripts if attributes.get("id") == name]
        return json.loads(text)


@pytest.fixture(scope="module")
def parsed(reported: Reported) -> Parsed:
    return Parsed(reported.html)


def test_what_results_hold_is_text_and_never_markup(parsed: Parsed) -> None:
    assert not [attributes for tag, attributes in parsed.elements if "onerror" in attributes]
    assert [tag for tag, _ in parsed.elements].count("img") == 0, "pictures are made by the script"
    assert len(parsed.scripts) == 4, "two of data, two of code"
    assert EVIL in "".join(parsed.text), "and it is told"
    replies = [
        "".join(piece for piece, _ in one["reply"]) for one in parsed.data("response-data")["responses"]
    ]
    assert f"{EVIL} so {{0}}" in replies


def test_page_may_run_its_own_scripts_and_ask_the_network_for_nothing(parsed: Parsed) -> None:
    (policy,) = [
        str(a["content"]) for t, a in parsed.elements if t == "meta" and a.get("http-equiv") is not None
    ]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    code = [text for attributes, text in parsed.scripts if "type" not in attributes]
    assert {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in code} == allowed
    for tag, attributes in parsed.elements:
        for name in ("src", "href", "action", "data", "poster"):
            assert re.match(r"#|data:|$", attributes.get(name) or ""), (tag, attributes)


def test_links_lead_to_what_is_there_and_ids_are_unique(parsed: Parsed) -> None:
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in parsed.elements:
        target = attributes.get("href") or ""
        assert not target.startswith("#") or target[1:] in ids
        for name in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(name, ids[0]) in ids


def test_tables_have_captions_and_their_headings_scopes(parsed: Parsed) -> None:
    tags = [tag for tag, _ in parsed.elements]
    assert tags.count("table") == tags.count("caption") > 5
    assert all(a.get("scope") in ("col", "row", "colgroup") for tag, a in parsed.elements if tag == "th")


def test_every_chart_has_its_data_and_words_for_those_who_do_not_see_it(parsed: Parsed) -> None:
    page = parsed.data("page-data")
    assert len(page["charts"]) >= 7
    texts = {a["id"] for tag, a in parsed.elements if tag == "p" and "id" in a}
    csv = {a["data-csv"] for _, a in parsed.elements if "data-csv" in a}
    for chart in page["charts"]:
        assert f"{chart['id']}-text" in texts
        assert chart["data"] in page["tables"]
        assert chart["data"] in csv


def test_question_stands_beside_its_responses_where_its_dataset_is_still_there(
    parsed: Parsed, reported: Reported
) -> None:
    data = parsed.data("response-data")
    by_run: dict[str, list[Any]] = {}
    for one in data["responses"]:
        by_run.setdefault(one["run"], []).append(one)
    assert set(by_run) == {"window-none", "window-a", "window-b", "video", "evil"}
    for one in by_run["window-a"]:
        question = data["questions"][one["question"]]
        assert question["answer"] == one["answer"]
        stream, candidate = data["streams"][question["stream"]].split(), question["candidate"].split()
        start, stop = question["marked"]
        if one["answer"] == "yes":
            assert stream[start:stop] == candidate
    pictures = [data["questions"][one["question"]]["picture"] for one in by_run["video"]]
    assert all(base64.b64decode(url.partition("base64,")[2]).startswith(b"\x89PNG") for url in pictures)
    assert all("question" not in one for one in by_run["evil"])
    assert "The questions of evil are not here" in reported.html


def test_marks_what_a_reply_commits_to(parsed: Parsed) -> None:
    for one in parsed.data("response-data")["responses"]:
        marked = [piece for piece, marked in one["reply"] if marked]
        assert marked == ([] if one["prediction"] in (None, "abstain") and "evil" in one["run"] else marked)
        assert all(re.fullmatch(r"\{[0-2]\}", piece) for piece in marked)


def test_outcomes_of_all_kinds_are_in_the_sample(parsed: Parsed) -> None:
    verdicts = {one["verdict"] for one in parsed.data("response-data")["responses"] if one["run"] == "evil"}
    assert verdicts == {"right", "wrong", "abstained", "failed"}


def test_page_says_what_failed_and_what_was_audited(reported: Reported) -> None:
    assert "server_error" in reported.html
    assert "HTTP 500 &lt;img" in reported.html
    assert "What models saw" in reported.html
    assert "failed, went on" in reported.html
    assert "The server counted 7 tokens and not 12: &lt;img" in reported.html
    assert "ten failures in a row" in reported.html


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_no_text_ends_the_element_that_it_stands_in(value: Any) -> None:
    text = as_json(value)
    assert "<" not in text
    assert json.loads(text) == value
