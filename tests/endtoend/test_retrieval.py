"""Retrieval on rendered video against two real SGLang servers with tiny random models, one of which embeds.

What they say and find is noise. What was sent, counted, kept and written is not.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import eccdata
from support.sglang_environment import Environment
from support.sglang_server import Server
from support.tables import row

pytestmark = pytest.mark.server

LIMIT_S = 120.0
AT_ONCE = 2
# Known to have a price by these names, which the tiny models are but served under.
ANSWERER, EMBEDDER = "Qwen/Qwen3-VL-8B-Instruct", "Qwen/Qwen3-VL-Embedding-8B"
LENGTHS = (18, 24)
WINDOWS = {18: 2, 24: 3}


@dataclass(frozen=True)
class Asking:
    """Evaluations by a command of its own, against both servers."""

    release: Path
    answerer: Server
    embedder: Server
    folder: Path

    def start(self, system: str, *options: str) -> subprocess.Popen[str]:
        command = [
            *(
                sys.executable,
                "-m",
                "eccdata",
                "evaluate",
                str(self.release),
                "--protocol",
                "membership-video",
            ),
            *("--system", system, "--base-url", self.answerer.base_url, "--out", str(self.folder / system)),
            *("--max-tokens", "8", "--concurrency", "8", "--protocol-option", "frame_multiple=2"),
            *(part for option in options for part in ("--option", option)),
        ]
        keys = {"OPENAI_API_KEY": self.answerer.key, "EMBEDDER_API_KEY": self.embedder.key, "COLUMNS": "200"}
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **keys}
        )

    def retrieve(self) -> subprocess.Popen[str]:
        return self.start(
            "retrieval",
            f"embedder_url={self.embedder.base_url}",
            f"index={self.index}",
            f"embedder_concurrency={AT_ONCE}",
        )

    @property
    def index(self) -> Path:
        return self.folder / "index"

    def kept(self) -> list[Path]:
        return sorted(self.index.glob("**/*.parquet"))

    def rows(self) -> list[dict[str, Any]]:
        return pl.read_parquet(self.folder / "retrieval" / "responses" / "*.parquet").to_dicts()


@pytest.fixture(scope="module")
def asking(sglang_env: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    folder = tmp_path_factory.mktemp("retrieval")
    settings = {"lengths": LENGTHS, "streams": 1, "queries": 4}
    eccdata.build("eccbench", out=folder / "release", configs=["video-sequential"], settings=settings)
    model = sglang_env.model("tiny-qwen3_vl")
    servers = [
        Server(
            sglang_env,
            model,
            folder / f"{part}.log",
            name=name,
            context_length=4096,
            embeds=part == "embedder",
        )
        for part, name in (("answerer", ANSWERER), ("embedder", EMBEDDER))
    ]
    for server in servers:
        server.arguments["mm-attention-backend"] = "sdpa"
    try:
        for server in servers:
            server.begin()
        for server in servers:
            server.wait_until_healthy()
        yield Asking(folder / "release", servers[0], servers[1], folder)
    finally:
        for server in servers:
            server.stop()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate(timeout=LIMIT_S)
    return process.returncode, said


def test_the_whole_way(asking: Asking) -> None:
    # killed while it embeds
    killed = asking.retrieve()
    end = time.monotonic() + LIMIT_S
    while len(asking.kept()) < 3:
        assert killed.poll() is None, killed.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    before = {path: path.stat().st_mtime_ns for path in asking.kept()}
    assert before

    # goes on, and embeds nothing again
    code, said = ended(asking.retrieve())
    assert code == 0, said
    after = {path: path.stat().st_mtime_ns for path in asking.kept()}
    assert before.items() <= after.items()
    asked = asking.embedder.embeddings()
    assert set(asked) == {200}
    probes, under_way = 2, AT_ONCE
    assert len(after) <= asked[200] - probes <= len(after) + under_way

    rows = asking.rows()
    assert len(rows) == 16
    assert {row["status"] for row in rows} <= {"ok", "truncated"}
    for one in rows:
        main, option = one["media"]
        (found,) = one["retrieved"]
        assert one["windows"] == WINDOWS[one["length"]]
        assert found["frames"] == one["composed_frames"] == 16
        assert main["indices"] == list(range(found["first_frame"], found["first_frame"] + 16))
        assert one["query_frames"] == len(set(option["indices"]))
        assert -1 <= found["similarity"] <= 1.000001
        assert (one["hit"] is None) == (one["answer"] == "no")
        # what the answerer really got is what it counts
        assert one["vision_tokens_reported"] == one["vision_tokens_expected"] > 0
        assert one["frames_sent"] == 16 + len(option["indices"])
        assert 0 < one["flops_query"] < one["flops_index"] == one["flops_write"]
        assert one["flops_read"] == pytest.approx(one["flops_query"] + one["flops_answer"])
    card = json.loads((asking.folder / "retrieval" / "card.json").read_text())
    assert card["media"]["vision_tokens"] == {"right": 16}
    assert card["system"]["facts"]["disclosure"] in (asking.folder / "retrieval" / "card.md").read_text()
    secrets = (asking.answerer.key.encode(), asking.embedder.key.encode())
    for path in (asking.folder / "retrieval").rglob("*"):
        assert path.is_dir() or not any(secret in path.read_bytes() for secret in secrets), path

    # once more: nothing is asked of either
    chats = asking.answerer.chats()
    code, said = ended(asking.retrieve())
    assert code == 0, said
    assert "0 asked now" in said
    assert asking.answerer.chats() == chats
    assert asking.embedder.embeddings()[200] == asked[200] + 1
    assert asking.rows() == rows

    # beside the same model on whole videos
    code, said = ended(asking.start("sglang"))
    assert code == 0, said
    table = row(asking.folder, "retrieval", corpus="synthetic", length=24)
    assert (table["answerer"], table["n"], table["n_full"]) == ("Qwen3-VL (8B)", 8, 8)
    assert min(table["index_flops"], table["answer_flops"], table["answer_flops_full"]) > 0
    assert table["one_query_flops"] == pytest.approx(table["index_flops"] + table["answer_flops"])


def test_two_servers_of_the_same_kind_are_told_apart(asking: Asking) -> None:
    """An embedder that is asked to answer would die of it, and a model that answers embeds nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", asking.answerer.key)
        patch.setenv("EMBEDDER_API_KEY", asking.answerer.key)
        options = {"base_url": asking.answerer.base_url, "embedder_url": asking.answerer.base_url}
        with pytest.raises(eccdata.EccdataError, match="serves a model that answers"):
            eccdata.evaluate(
                asking.release, system="retrieval", system_options=options, out=asking.folder / "wrong"
            )
