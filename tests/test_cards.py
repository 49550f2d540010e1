from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eccdata import cards, cli
from eccdata.evaluation import evaluate
from support.questions import questions


def command(**changes: object) -> str:
    given: dict[str, object] = {
        "dataset": "release",
        "revision": None,
        "config": "text",
        "split": "test",
        "benchmark": "eccbench",
        "protocol": "membership",
        "options": {},
        "system": "window",
        "system_options": {},
        "where": None,
        "limit": None,
        "concurrency": 64,
        "out": "results/window",
        **changes,
    }
    return cards.command(**given)  # type: ignore[arg-type]


def test_the_command_is_one_that_the_command_line_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}

    class Done:
        complete = True

    def record(dataset: str, **options: object) -> Done:
        seen.update(options, dataset=dataset)
        return Done()

    monkeypatch.setattr("eccdata.evaluation.evaluate", record)
    line = command(
        revision="v1.0",
        options={"arm": "a", "temperature": 0.5, "thinking": True},
        system="sglang",
        system_options={"base_url": "http://h:1", "model": "org/m", "extra": {"top_k": 20}},
        where="length <= 64 and band = 'low'",
        limit=100,
        out="results/it's here",
    )
    result = CliRunner().invoke(cli.app, shlex.split(line)[1:])
    assert result.exit_code == 0, result.output
    assert seen["dataset"] == "release"
    assert seen["revision"] == "v1.0"
    assert seen["options"] == {"arm": "a", "temperature": "0.5", "thinking": "true"}
    assert seen["system_options"] == {"base_url": "http://h:1", "model": "org/m", "extra": '{"top_k": 20}'}
    assert seen["where"] == "length <= 64 and band = 'low'"
    assert (seen["limit"], seen["concurrency"], seen["out"]) == (100, 64, Path("results/it's here"))


def test_a_card_holds_what_it_takes_to_do_it_again(tmp_path: Path) -> None:
    run = evaluate(
        questions(64),
        protocol="membership",
        options={"arm": "b"},
        system="chance",
        out=tmp_path,
        where="answer = 'yes'",
        limit=20,
    )
    card = json.loads((tmp_path / "card.json").read_text())
    assert set(card) == {field.name for field in dataclasses.fields(cards.Card)}
    assert card["run_id"] == run.run_id
    assert card["dataset"]["where"] == "answer = 'yes'"
    assert (card["dataset"]["limit"], card["dataset"]["rows"]) == (20, 64)
    assert len(card["dataset"]["digest"]) == len(card["protocol"]["prompts"]) == 64
    assert card["protocol"]["options"]["arm"] == "b"
    assert card["protocol"]["decoding"]["max_tokens"] == 8192
    assert card["outcome"]["complete"] is True
    assert sum(card["outcome"]["status"].values()) == card["outcome"]["questions"] == 20
    assert sum(card["outcome"]["abstention"].values()) == 20
    (session,) = card["sessions"]
    assert (session["outcome"], session["answers"], session["concurrency"]) == ("done", 20, 64)
    assert {"python", "eccdata", "datasets", "pyarrow", "aiohttp"} <= set(card["versions"])
    text = (tmp_path / "card.md").read_text()
    for said in (
        run.run_id,
        "complete",
        "20 of 20 questions replied",
        "| accuracy, abstentions as wrong | 0.0% |",
        "| coverage, answered of replied | 0.0% |",
        "| accuracy on answered | none |",
        "| decoding | does not apply",
        "| prompt tokens | not told |",
        card["dataset"]["digest"],
        card["command"],
    ):
        assert said in text
    assert "max_tokens" not in text
    assert card["outcome"]["tokens"]["prompt_tokens"] is None
    assert not list(tmp_path.glob(".*"))


def test_the_prompts_digest_is_of_the_prompts(tmp_path: Path) -> None:
    def prompts(name: str, **options: object) -> str:
        evaluate(questions(16), protocol="membership", system="chance", out=tmp_path / name, options=options)
        card = json.loads((tmp_path / name / "card.json").read_text())
        return str(card["protocol"]["prompts"])

    assert prompts("one") == prompts("two", max_tokens=64)
    assert prompts("three", arm="a") != prompts("one")
