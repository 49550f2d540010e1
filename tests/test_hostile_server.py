"""Whole runs on servers that say what no server should: every run ends with its results, and none holds a secret."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest

from eccdata.evaluation import evaluate
from eccdata.run import Run
from support.questions import questions
from support.scripted_server import Call, Handler, Reply, completion, models, serve

COUNTS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")


@pytest.fixture(scope="module")
def dataset() -> datasets.Dataset:
    return questions(16)


def run(dataset: datasets.Dataset, handler: Handler, out: Path, **options: Any) -> Run:
    with serve(handler) as url:
        return evaluate(
            dataset,
            config="text",
            split="test",
            protocol="membership",
            system="sglang",
            system_options={"base_url": url, "backoff_s": 0.001, "retries": 2, **options},
            out=out,
            concurrency=4,
        )


def columns_of(out: Path) -> dict[str, list[Any]]:
    (path,) = (out / "responses").glob("*.parquet")
    columns: dict[str, list[Any]] = pq.read_table(path).to_pydict()
    return columns


def with_usage(usage: Any) -> Handler:
    def handler(call: Call) -> Reply:
        return models(call) or Reply({**completion("{0}"), "usage": usage})

    return handler


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 2**62, "completion_tokens": 2**40, "total_tokens": 1e300},
        {"prompt_tokens": -5, "completion_tokens": True, "reasoning_tokens": 5.7},
        [1, 2],
    ],
    ids=["huge", "odd", "list"],
)
def test_counts_that_cannot_be_leave_answers_without_counts(
    dataset: datasets.Dataset, tmp_path: Path, usage: Any
) -> None:
    assert run(dataset, with_usage(usage), tmp_path / "run").complete
    columns = columns_of(tmp_path / "run")
    assert set(columns["reply"]) == {"{0}"}
    for name in COUNTS:
        assert columns[name] == [None] * 16


def test_counts_that_cannot_be_and_are_stored_already_do_not_stop_the_results(
    dataset: datasets.Dataset, tmp_path: Path
) -> None:
    out, handler = tmp_path / "run", with_usage({"prompt_tokens": 9, "completion_tokens": 4})
    with serve(handler) as url:
        how: dict[str, Any] = {
            "config": "text",
            "split": "test",
            "protocol": "membership",
            "system": "sglang",
            "system_options": {"base_url": url},
            "out": out,
        }
        evaluate(dataset, **how)
        with sqlite3.connect(out / "store.sqlite3") as store:
            store.execute("update responses set completion_tokens = 1099511627776, cached_tokens = -1")
        store.close()
        assert evaluate(dataset, **how).complete
    columns = columns_of(out)
    assert columns["prompt_tokens"] == [9] * 16
    assert columns["completion_tokens"] == columns["cached_tokens"] == [None] * 16


KEY = "sk-very-secret-0123456789"


def echoing(call: Call) -> Reply:
    """Says the key wherever it can be said."""
    if call.path == "/server_info":
        said = {
            "version": "1",
            "note": f"asked with {KEY}",
            f"of {KEY}": 1,
            "list": [f"x{KEY}", {"deep": KEY}],
            "json": f'["a", "{KEY}"]',
        }
        return Reply(said)
    if call.path == "/model_info":
        return Reply({"model_path": f"org/{KEY}"})
    if call.path == "/v1/models":
        return Reply({"data": [{"id": f"m-{KEY}", "object": "model", "owned_by": KEY}]})
    if call.path != "/v1/chat/completions":
        return Reply(b"", status=404)
    kind = sum(call.body) % 6
    if kind == 0:
        return Reply(f"{'x' * 485} {KEY}".encode(), status=400)
    if kind == 1:
        return Reply({"error": {"message": f"bad key {KEY}"}}, status=400)
    if kind == 2:
        return Reply(completion(None, finish_reason=f"because {KEY}"))
    if kind == 3:
        return Reply(
            {"choices": [{"message": {"content": "", "refusal": KEY}, "finish_reason": "content_filter"}]}
        )
    return Reply(completion(f"{{0}} {KEY}", reasoning=f"hm {KEY}", finish_reason=f"stop {KEY}"))


def test_the_key_is_written_nowhere_wherever_it_is_echoed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    result = run(questions(64), echoing, tmp_path / "run")
    assert result.replied
    assert {"invalid_request", "malformed", "refused"} <= result.failed.keys()
    assert KEY not in str(result)
    columns = columns_of(tmp_path / "run")
    # Read as values: Parquet is compressed, and compression would hide what this looks for.
    assert KEY[:12] not in repr(columns)
    assert "{0} ***" in columns["reply"]
    assert set(columns["model"]) == {"m-***"}
    for path in (tmp_path / "run").rglob("*"):
        if path.is_file():
            assert KEY[:12].encode() not in path.read_bytes(), path


def test_a_wait_that_is_cut_short_is_told_with_the_run(dataset: datasets.Dataset, tmp_path: Path) -> None:
    asked: set[bytes] = set()

    def slow(call: Call) -> Reply:
        known = models(call)
        if known is None and call.body not in asked:
            asked.add(call.body)
            return Reply(b"", status=429, headers={"Retry-After": "1e9"})
        return known or Reply(completion("{0}"))

    result = run(dataset, slow, tmp_path / "run", backoff_limit_s=0.05)
    assert result.complete
    assert "asked to be left alone for up to 1000000000 s" in str(result)


def test_a_base_url_with_a_query_is_misuse_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "eccdata.cli", "evaluate", tmp_path / "release"]
    command += ["--protocol", "eccbench.membership", "--system", "sglang", "--out", tmp_path / "run"]
    done = subprocess.run(
        [*map(str, command), "--base-url", "http://127.0.0.1:9/v1?api_key=hidden"],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "base_url has a query string" in done.stderr
    assert "hidden" not in done.stdout + done.stderr
    assert not (tmp_path / "run").exists()
