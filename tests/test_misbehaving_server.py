"""Ten thousand questions to a server that does everything wrong, asked by a client that is killed over and over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from eccdata import catalog, rows
from eccdata.errors import EccdataError
from eccdata.store import Store
from support.questions import questions
from support.scripted_server import answer_to, spawn

QUESTIONS = 10_000
CONCURRENCY = 64

CLIENT = f"""
import sys
from eccdata.evaluation import evaluate
from support.questions import questions
run = evaluate(
    questions({QUESTIONS}), config="text", split="test", protocol="membership", system="sglang",
    system_options={{"base_url": sys.argv[1], "backoff_s": 0.001, "backoff_limit_s": 0.1, "retries": 12}},
    out=sys.argv[2], concurrency={CONCURRENCY},
)
print(run)
sys.exit(0 if run.complete else 1)
"""


def test_nothing_is_lost_nothing_is_double_and_every_answer_is_the_servers(tmp_path: Path) -> None:
    out = tmp_path / "run"
    rng = np.random.default_rng(7)
    kills = 0
    with spawn("misbehaving") as url:
        while True:
            command = [sys.executable, "-c", CLIENT, url, str(out)]
            client = subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True)
            if kills < 4:
                # Somewhere in the midst of the asking: so many answers further than the last time.
                _wait_until_answered(url, int((kills + rng.uniform(0.2, 0.8)) * QUESTIONS / 5), client)
                os.kill(client.pid, signal.SIGKILL)
                client.communicate()
                kills += 1
                continue
            said, _ = client.communicate(timeout=120)
            break
        counts = _counts(url)
    assert client.returncode == 0, said
    prompts = _prompts()
    (path,) = (out / "responses").glob("*.parquet")
    table = pq.read_table(path)
    # Nothing lost, nothing double.
    assert table["question_id"].to_pylist() == list(prompts)
    assert set(table["status"].to_pylist()) == {"ok"}
    # Every answer is the one that the server gave to this very question.
    assert table["reply"].to_pylist() == [answer_to(prompt) for prompt in prompts.values()]
    # Each was asked for once, save those that were under way when the client was killed.
    distinct = set(prompts.values())
    assert set(counts) == distinct
    assert sum(counts.values()) - len(distinct) <= kills * CONCURRENCY
    with Store.open(out / "store.sqlite3") as store:
        assert len(store) == len(distinct)
        outcomes = Counter(str(session["outcome"]) for session in store.sessions())
    assert outcomes == {"killed": kills, "done": 1}
    card = json.loads((out / "card.json").read_text())
    assert sum(session["answers"] for session in card["sessions"]) == len(distinct)


def _prompts() -> dict[str, str]:
    evaluator = catalog.evaluator("eccbench", "membership")()
    requests = (evaluator.request(row) for row in rows.iterate(questions(QUESTIONS)))
    return {request.question_id: str(request.messages[-1]["content"]) for request in requests}


def _counts(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}/counts", timeout=10) as reply:
        counts: dict[str, int] = json.load(reply)
    return counts


def _answered(url: str) -> int:
    with urllib.request.urlopen(f"{url}/answered", timeout=10) as reply:
        return int(json.load(reply))


def _wait_until_answered(url: str, count: int, client: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while _answered(url) < count:
        if client.poll() is not None or time.monotonic() > deadline:
            raise EccdataError("The client ended by itself, or the server answers nothing.")
        time.sleep(0.01)
