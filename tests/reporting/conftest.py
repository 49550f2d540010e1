"""A small release asked by reference memories, results that are out for trouble, and the report on both."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import eccdata
from eccdata.reporting import Report
from support.results import cell, write_run

EVIL = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>'
"""What a model may be called, reply, or fail with."""
CHARTED = [
    "accuracy",
    "compression",
    "coverage",
    "calibration",
    "payoff",
    "payoff.selectivity",
    "abstentions",
]
"""The figures that the results of this folder are enough for, among others."""


@dataclass(frozen=True)
class Reported:
    """A report and what it is on."""

    results: Path
    release: Path
    report: Report
    charts: Path

    @property
    def html(self) -> str:
        return self.report.path.read_text("utf-8")


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    folder = tmp_path_factory.mktemp("reporting")
    release, results = folder / "release", folder / "results"
    eccdata.build(
        "eccbench",
        out=release,
        configs=["text", "video-spatial"],
        settings={"lengths": (8, 32), "streams": 2, "queries": 4},
    )
    for arm in ("none", "a", "b"):
        eccdata.evaluate(
            release,
            config="text",
            options={"arm": arm},
            system="window",
            system_options={"bits": 64},
            out=results / f"window-{arm}",
        )
    eccdata.evaluate(release, config="video-spatial", system="exact", out=results / "video", limit=4)
    write_run(results / "evil", evil_questions(), model=f"evil {EVIL}", dataset="sha256:lost")
    audited(results / "evil" / "card.json")
    charts = folder / "charts"
    made = eccdata.report(
        [results], out=folder / "report.html", charts=charts, title=f"Report {EVIL}", per_cell=4
    )
    return Reported(results, release, made, charts)


def audited(path: Path) -> None:
    """Write into a card that clips were shown, and what the audit found."""
    card = json.loads(path.read_text())
    faults = [f"The server counted 7 tokens and not 12: {EVIL}"]
    tokens = {"right": 20, "wrong": 1, "untold": 2}
    card["media"] = {"vision_tokens": tokens, "faults": faults, "accept_audit_failures": True}
    card["outcome"]["stopped"] = "ten failures in a row"
    path.write_text(json.dumps(card))


def evil_questions() -> list[dict[str, object]]:
    """Responses of all outcomes; replies and failures hold markup."""
    questions = cell(["rrww-mox", "rwrw-mox"], length=8) + cell(["rrww-mox"], length=8, band="max")
    for question in questions:
        if question["letter"] == "x":
            question["error"] = f"HTTP 500 {EVIL}"
        else:
            question["reply"] = f"{EVIL} so {{0}}" if question["letter"] in "rw" else EVIL
            question["commit_char"] = len(f"{EVIL} so ") if question["letter"] in "rw" else None
    return questions
