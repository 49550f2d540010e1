"""`eccdata report` and `eccdata.report`: what they write, and what they say to a mistake."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import eccdata
from eccdata.analysis.views import open_views
from eccdata.cli import app
from eccdata.errors import EccdataError
from eccdata.reporting import browser as browsers
from eccdata.reporting import page as pages
from eccdata.reporting.browser import browser
from eccdata.reporting.questions import Questions
from eccdata.reporting.sampling import sample

from .conftest import Reported

run = CliRunner().invoke


def test_says_what_it_wrote(reported: Reported) -> None:
    told = str(reported.report)
    assert f"{reported.report.path} is written" in told
    assert "5 runs" in told
    assert f"written to {reported.charts}" in told
    assert reported.report.size_bytes == reported.report.path.stat().st_size < 4 * 2**20


def test_command_writes_the_page(reported: Reported, tmp_path: Path) -> None:
    page = tmp_path / "deep" / "r.html"
    told = run(
        app,
        [
            "report",
            str(reported.results / "window-a"),
            "-o",
            str(page),
            "--title",
            "Mine & yours",
            "--per-cell",
            "1",
        ],
    )
    assert told.exit_code == 0, told.output
    assert "<title>Mine &amp; yours</title>" in page.read_text("utf-8")
    assert list(page.parent.iterdir()) == [page], "nothing half-written is left"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"out": "report.pdf"}, "report.pdf is no .html file"),
        ({"per_cell": 0}, "per_cell=0: at least 1"),
        ({"results": ["nowhere"]}, "nowhere: does not exist"),
        ({"benchmark": "eccbenhc"}, "Did you mean 'eccbench'"),
        ({"datasets": ["nowhere"]}, "There is no folder nowhere"),
        ({"out": "{results}/window-a/report.html"}, "lies in the folder of the run window-a"),
        ({"charts": "{results}/evil/card.json"}, "card.json is a file"),
    ],
)
def test_a_mistake_is_told_before_anything_is_written(
    reported: Reported, tmp_path: Path, options: dict[str, Any], told: str
) -> None:
    given: dict[str, Any] = {"results": [reported.results], "out": tmp_path / "r.html"} | {
        name: value.format(results=reported.results) if isinstance(value, str) else value
        for name, value in options.items()
    }
    with pytest.raises(EccdataError) as error:
        eccdata.report(given.pop("results"), **given)
    assert told in str(error.value)
    assert not (tmp_path / "r.html").exists()


def test_questions_of_a_release_that_moved_are_found_where_one_says(
    reported: Reported, tmp_path: Path
) -> None:
    moved = shutil.copytree(reported.release, tmp_path / "moved")
    views = open_views([reported.results / "window-a"])
    views.connection.close()
    lost = next(run.card["dataset"] for run in views.runs)
    lost["source"] = str(tmp_path / "gone")
    assert "are not here" in Questions(views.runs).notes[0]
    questions = Questions(views.runs, [moved])
    assert questions.notes == []
    name = "text-L0008-low-s00-q00"
    assert list(questions.find([("window-a", name), ("window-a", "text-L0008-low-s99-q00")])) == [
        (lost["digest"], name)
    ]


def test_questions_of_another_release_are_not_taken_for_the_runs_own(
    reported: Reported, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    eccdata.build("eccbench", out=other, configs=["text"], settings={"lengths": (8,), "streams": 1}, seed=5)
    views = open_views([reported.results / "window-a"])
    views.connection.close()
    with pytest.raises(EccdataError, match="None of the runs asked what these datasets hold"):
        Questions(views.runs, [other])
    views.runs[0].card["dataset"]["source"] = str(other)
    assert "no longer holds what window-a asked" in Questions(views.runs).notes[0]


def test_page_holds_no_more_than_it_says(reported: Reported, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browsers, "TEXT_BYTES", 20_000)
    monkeypatch.setattr(browsers, "MOST_PICTURES", 1)
    views = open_views([reported.results])
    try:
        chosen = sample(views.connection, per_cell=4, most=100)
        some = browser(chosen, Questions(views.runs), per_cell=4)
    finally:
        views.connection.close()
    data = some.data
    assert 0 < len(data["responses"]) < len(chosen.rows)
    assert len(pages.as_json({**data, "questions": []})) < 25_000
    assert sum("picture" in question for question in data["questions"]) <= 1
    assert any("do not fit into the page" in note for note in some.notes)
