"""The whole way on text: a release is built, put to a real SGLang server by the command line, and counted.

Two servers: SmolLM2, whose replies are realistic and awkward, and a random model for what only needs an engine.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import polars as pl
import pytest

import eccdata
from eccdata.analysis import connect
from eccdata.evaluators.eccbench.prompts import TEXT
from eccdata.store import Store
from support.sglang_environment import Environment
from support.sglang_server import Server

pytestmark = pytest.mark.server

MEANINGS = {"{0}": "yes", "{1}": "no", "{2}": "abstain"}
# In a first run a server compiles some of its kernels, and CI has two slow cores.
LIMIT_S = 300.0


@dataclass(frozen=True)
class Asking:
    """One evaluation by the command line."""

    release: Path
    server: Server
    out: Path
    arguments: tuple[str, ...]

    def start(self, *more: str) -> subprocess.Popen[str]:
        command = [
            *(sys.executable, "-m", "eccdata", "evaluate", str(self.release), "--config", "text"),
            *("--protocol", "membership", "--system", "sglang", "--base-url", self.server.base_url),
            *("--model", self.server.name, "--out", str(self.out), *self.arguments, *more),
        ]
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "OPENAI_API_KEY": self.server.key, "COLUMNS": "200"},
        )

    def run(self, *more: str) -> tuple[int, str]:
        with self.start(*more) as process:
            said, _ = process.communicate(timeout=LIMIT_S)
        return process.returncode, said

    def rows(self) -> list[dict[str, Any]]:
        return pl.read_parquet(self.out / "responses" / "*.parquet").sort("question_id").to_dicts()


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two questions, a yes and a no, of each band at lengths 8 to 64: what SmolLM2 answers in half a minute."""
    folder = tmp_path_factory.mktemp("text") / "release"
    eccdata.build(
        "eccbench",
        out=folder,
        configs=["text"],
        settings={"lengths": (8, 16, 32, 64), "streams": 1, "queries": 2},
    )
    return folder


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 questions at length 16."""
    folder = tmp_path_factory.mktemp("many") / "release"
    eccdata.build(
        "eccbench", out=folder, configs=["text"], settings={"lengths": (16,), "streams": 3, "queries": 8}
    )
    return folder


@pytest.fixture(scope="module")
def engine(
    sglang_env: Environment, tiny_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """The random model behind a server of its own, which tests may stop and start."""
    log = tmp_path_factory.mktemp("engine") / "server.log"
    with Server(sglang_env, tiny_model, log, name="tiny", context_length=2048) as server:
        yield server


def questions(release: Path, cache: Path) -> dict[str, dict[str, Any]]:
    """The release's rows by question, read with `datasets` alone."""
    loaded = datasets.load_dataset(str(release), "text", split="test", cache_dir=str(cache))
    return {row["question_id"]: row for row in loaded}


def plain_replies(server: Server, asked: dict[str, dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """What the server says to the same prompts, written and sent without the project's evaluator and driver."""

    def ask(row: dict[str, Any]) -> Any:
        stream, candidate = (", ".join(map(str, row[name])) for name in ("stream", "candidate"))
        content = f"{TEXT}\n\nMain sequence: {stream}\nCandidate sequence: {candidate}"
        status, reply = server.chat([{"role": "user", "content": content}], **fields)
        assert status == 200, reply
        return reply

    with ThreadPoolExecutor(16) as pool:
        return dict(zip(asked, pool.map(ask, asked.values()), strict=True))


def wait_for_replies(server: Server, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until the server has answered so many chat completions in all, while the client is at work."""
    end = time.monotonic() + LIMIT_S
    while server.chats()[200] < count:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.02)


def same_as_plain(rows: list[dict[str, Any]], plain: dict[str, Any]) -> None:
    """Every question has one row, and its reply is the one a plain request gets, to the character."""
    assert [row["question_id"] for row in rows] == sorted(plain)
    for row in rows:
        (choice,) = plain[row["question_id"]]["choices"]
        usage = plain[row["question_id"]]["usage"]
        assert row["reply"] == choice["message"]["content"]
        assert row["finish_reason"] == choice["finish_reason"]
        assert row["status"] == {"stop": "ok", "length": "truncated"}[choice["finish_reason"]]
        assert row["prompt_tokens"] == usage["prompt_tokens"]
        assert row["completion_tokens"] == usage["completion_tokens"]


def test_what_smollm2_says_is_what_the_tables_count(
    release: Path, sglang_server: Server, tmp_path: Path
) -> None:
    asking = Asking(release, sglang_server, tmp_path / "results" / "smollm2", ("--max-tokens", "24"))
    code, said = asking.run()
    assert code == 0, said
    asked, rows = questions(release, tmp_path / "cache"), asking.rows()
    assert len(rows) == 16
    same_as_plain(rows, plain_replies(sglang_server, asked, max_tokens=24))
    for row in rows:
        marker = (re.findall(r"\{[012]\}", row["reply"]) or [None])[-1]
        answer = ("yes", "no")[asked[row["question_id"]]["answer"]]
        assert row["answer"] == answer
        assert row["prediction"] == MEANINGS.get(marker, "abstain")
        assert row["correct"] == (row["prediction"] == answer)
        assert (row["abstention"] is None) == (row["prediction"] != "abstain")
        assert row["token_limit"] == 24
    assert {row["abstention"] for row in rows} & {"explicit", "format", "overflow"}

    tables = eccdata.tables([asking.out], out=tmp_path / "tables")
    assert any(
        path.suffix == ".csv" and "smollm2" in path.read_text() for path in (tmp_path / "tables").rglob("*")
    ), tables
    # nobody has declared what it costs: that follows from the checkpoint that the server names
    b, a = 2 * 30 * (2 * 576**2 + 2 * 576 * 192 + 3 * 576 * 1536), 4 * 30 * 576
    with connect([asking.out]) as connection:
        costs = connection.execute("SELECT prompt_tokens, flops_write, flops_read FROM responses").fetchall()
    for n, write, read in costs:
        assert write == pytest.approx(b * n + a * n * (n + 1) / 2)
        assert 0 < read < write
    # nothing is asked again, and the key that SGLang itself tells to everybody who asks is nowhere
    before = sglang_server.chats()
    assert asking.run()[0] == 0
    assert sglang_server.chats() == before
    assert asking.rows() == rows
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or sglang_server.key.encode() not in path.read_bytes(), path


def test_what_smollm2_gave_each_option_is_what_the_results_say(
    release: Path, sglang_server: Server, tmp_path: Path
) -> None:
    """Worked out once more from a plain reply's log-probabilities; SmolLM2 writes brace, digit and brace apart."""
    arguments = ("--max-tokens", "8", "--where", "length = 8", "--option", "top_logprobs=20")
    asking = Asking(release, sglang_server, tmp_path / "run", arguments)
    code, said = asking.run()
    assert code == 0, said
    asked = {
        question: row
        for question, row in questions(release, tmp_path / "cache").items()
        if row["length"] == 8
    }
    plain = plain_replies(sglang_server, asked, max_tokens=8, logprobs=True, top_logprobs=20)
    rows = asking.rows()
    same_as_plain(rows, plain)
    committed = 0
    for row in rows:
        options = {meaning: row[f"option_{meaning}"] for meaning in ("yes", "no", "abstain")}
        tokens = plain[row["question_id"]]["choices"][0]["logprobs"]["content"]
        words = [token["token"].strip() for token in tokens]
        places = [
            at + 1
            for at in range(len(words) - 2)
            if "".join(words[at : at + 3]) in MEANINGS and words[at] == "{"
        ]
        if not places:
            assert (*options.values(), row["probability"]) == (None,) * 4
            continue
        committed += 1
        top = {token["token"]: math.exp(token["logprob"]) for token in tokens[places[-1]]["top_logprobs"]}
        # sums in single precision depend a little on what is computed together
        expected = {meaning: top[marker[1]] for marker, meaning in MEANINGS.items()}
        assert options == pytest.approx(expected, rel=1e-3)
        assert row["probability"] == pytest.approx(top["0"] / (top["0"] + top["1"]), rel=1e-3)
        # greedy: what it chose is what it held most probable
        assert max(options, key=lambda meaning: options[meaning]) == row["prediction"]
    assert committed


def test_replies_cut_at_the_limit_are_overflow(release: Path, sglang_server: Server, tmp_path: Path) -> None:
    arguments = ("--max-tokens", "1", "--where", "length = 8")
    asking = Asking(release, sglang_server, tmp_path / "run", arguments)
    code, said = asking.run()
    assert code == 0, said
    rows = asking.rows()
    assert len(rows) == 4
    for row in rows:
        assert (row["status"], row["finish_reason"]) == ("truncated", "length")
        assert (row["completion_tokens"], row["token_limit"]) == (1, 1)
        assert (row["prediction"], row["abstention"], row["correct"]) == ("abstain", "overflow", False)


@pytest.mark.parametrize("limit", ["8192", "1000"])
def test_prompts_and_limits_that_the_context_cannot_hold(
    limit: str, sglang_server: Server, tmp_path: Path
) -> None:
    """SGLang has one 400 for a limit above the context, another for prompt and limit together, and a third for a
    prompt above it. The reply gets the room there is; only the last of them is a failure."""
    settings = {"lengths": (8, 512), "bands": ("max",), "streams": 1, "queries": 2}
    release = tmp_path / "release"
    eccdata.build("eccbench", out=release, configs=["text"], settings=settings)
    asking = Asking(release, sglang_server, tmp_path / "run", ("--max-tokens", limit))
    for replies in (2, 0):  # the rerun asks the failures alone
        before = sglang_server.chats()
        code, said = asking.run()
        assert code == 1, said
        assert "2 context_exceeded" in said
        rows = asking.rows()
        assert len(rows) == 4
        for row in rows:
            if row["length"] == 8:
                assert row["status"] == "ok"
                assert row["token_limit"] == 1024 - row["prompt_tokens"]
                assert row["reply"]
            else:
                assert row["status"] == "context_exceeded"
                assert "longer than the model's context length (1024 tokens)" in row["error"]
                assert (row["reply"] or "", row["prediction"], row["correct"]) == ("", None, None)
        assert sglang_server.chats()[200] - before[200] == replies


def test_a_killed_client_asks_nothing_twice(many: Path, engine: Server, tmp_path: Path) -> None:
    concurrency = 4
    arguments = ("--max-tokens", "48", "--concurrency", str(concurrency))
    asking = Asking(many, engine, tmp_path / "run", arguments)
    asked = questions(many, tmp_path / "cache")
    kept = 0
    for answered in (1, 20):  # killed at the first reply, and half-way
        start = engine.chats()[200]
        with asking.start() as process:
            wait_for_replies(engine, start + answered, process)
            seen = engine.chats()[200] - start
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        engine.wait_until_idle()
        with Store.open(asking.out / "store.sqlite3") as store:
            assert kept + seen - concurrency <= len(store) <= kept + engine.chats()[200] - start
            kept = len(store)
    assert kept < len(asked)
    before = engine.chats()
    code, said = asking.run()
    assert code == 0, said
    assert engine.chats() - before == {200: len(asked) - kept}
    same_as_plain(asking.rows(), plain_replies(engine, asked, max_tokens=48))


def test_a_server_that_is_stopped_and_started_half_way(many: Path, engine: Server, tmp_path: Path) -> None:
    arguments = ("--max-tokens", "48", "--concurrency", "4")
    asking = Asking(many, engine, tmp_path / "run", arguments)
    asked = questions(many, tmp_path / "cache")
    patience = ("--option", "retries=1000", "--option", "backoff_limit_s=1")

    start = engine.chats()[200]
    with asking.start("--limit", "40", *patience) as process:
        wait_for_replies(engine, start + 10, process)
        engine.crash()
        engine.start()
        said, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, said
    rows = asking.rows()
    assert len(rows) == 40
    assert len({row["server"] for row in rows}) == 1
    assert max(row["attempts"] for row in rows) > 1

    engine.restart(random_seed=2)
    before = engine.chats()
    code, said = asking.run()
    assert code == 2, said
    assert "random_seed: 1 → 2" in said
    assert engine.chats() == before
    assert asking.rows() == rows

    code, said = asking.run("--accept-server")
    assert code == 0, said
    assert engine.chats() - before == {200: 8}
    (first,) = {row["server"] for row in rows}
    assert [row["server"] == first for row in asking.rows()].count(True) == 40
    same_as_plain(asking.rows(), plain_replies(engine, asked, max_tokens=48))
