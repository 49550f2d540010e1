"""The whole way on video: rendered streams put to a real SGLang, with two tiny random models that see.

What they say is noise. That they saw every frame is not: the token audit says so, and says where they did not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import eccdata
from eccdata.run import Run
from support.sglang_environment import Environment
from support.sglang_server import Server

pytestmark = pytest.mark.server

LIMIT_S = 300.0
CONFIGS = ("video-sequential", "video-spatial", "easyhuman-video")
HOW: dict[str, dict[str, Any]] = {
    "video": {"frame_multiple": 2},
    "frames": {"layout": "frames", "times": True},
}


@dataclass(frozen=True)
class Asking:
    """Evaluations of one release, with the key that the server wants."""

    releases: Path
    server: Server
    out: Path

    def run(self, config: str, **options: Any) -> Run:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_API_KEY", self.server.key)
            return eccdata.evaluate(
                self.releases / config,
                config=config,
                protocol="membership-video",
                options={"max_tokens": 8, **options},
                system="sglang",
                system_options={"base_url": self.server.base_url},
                out=self.out,
                concurrency=4,
            )

    def command(self, config: str, *arguments: str) -> tuple[int, str]:
        command = [
            *(sys.executable, "-m", "eccdata", "evaluate", str(self.releases / config), "--config", config),
            *("--protocol", "membership-video", "--system", "sglang", "--base-url", self.server.base_url),
            *("--out", str(self.out), "--max-tokens", "8", "--concurrency", "4", *arguments),
        ]
        environment = {**os.environ, "OPENAI_API_KEY": self.server.key, "COLUMNS": "200"}
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=LIMIT_S, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def rows(self) -> list[dict[str, Any]]:
        return pl.read_parquet(self.out / "responses" / "*.parquet").to_dicts()

    def card(self) -> Any:
        return json.loads((self.out / "card.json").read_text())


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("video")
    for config in CONFIGS:
        lengths = (32,) if config == "easyhuman-video" else (8, 16)
        settings = {"lengths": lengths, "streams": 1, "queries": 4}
        eccdata.build("eccbench", out=folder / config, configs=[config], settings=settings)
    return folder


@pytest.fixture(scope="module", params=["qwen2_5_vl", "qwen3_vl"])
def server(
    request: pytest.FixtureRequest, sglang_env: Environment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One family after the other; the last test of the second one restarts it."""
    model = sglang_env.model(f"tiny-{request.param}")
    log = tmp_path_factory.mktemp(request.param) / "server.log"
    made = Server(sglang_env, model, log, name=request.param, context_length=4096)
    made.arguments["mm-attention-backend"] = "sdpa"
    with made:
        yield made


@pytest.mark.parametrize("config", CONFIGS)
def test_the_model_sees_every_frame(config: str, releases: Path, server: Server, tmp_path: Path) -> None:
    for layout, options in HOW.items():
        asking = Asking(releases, server, tmp_path / layout)
        done = asking.run(config, **options)
        assert done.complete, str(done)
        rows = asking.rows()
        assert len(rows) >= 8
        for row in rows:
            main, option = row["media"]
            assert row["layout"] == layout
            assert row["vision_tokens_expected"] == row["vision_tokens_reported"] > 0
            assert main["indices"] == list(range(row["length"]))
            assert main["times_s"] == list(map(float, range(row["length"])))
            assert (main["width"], main["height"], main["sampler"]) == (448, 448, "eccbench")
            assert main["decoder"] == ("none" if layout == "video" else "pyav")
            assert row["frames_sent"] == len(main["indices"]) + len(option["indices"])
            assert layout == "frames" or len(option["indices"]) % 2 == 0
        told = asking.card()["media"]
        assert told["vision_tokens"] == {"right": len(rows)}
        assert (told["rules"], told["faults"]) == ("checkpoint", [])
    # the same call asks nothing again, and writes the same
    before = server.chats()
    assert asking.run(config, **options).asked == 0
    assert server.chats() == before
    assert asking.rows() == rows


def test_an_odd_frame_that_the_server_drops_stops_the_run(
    releases: Path, server: Server, tmp_path: Path
) -> None:
    done = Asking(releases, server, tmp_path / "run").run("video-sequential")
    assert not done.complete
    assert "The token audit failed at question" in str(done.stopped)
    assert "whole groups alone" in str(done.stopped)
    assert "frame_multiple=2" in str(done.stopped)


def test_a_server_that_samples_again_stops_the_run_unless_told_to_go_on(
    releases: Path, server: Server, tmp_path: Path
) -> None:
    """By the command line, on the second server, which is started anew for it."""
    if server.name != "qwen3_vl":
        pytest.skip("one start more would say the same")
    server.restart(mm_process_config='{"video":{"max_frames":4}}')
    asking = Asking(releases, server, tmp_path / "run")
    how = ("--protocol-option", "frame_multiple=2")
    code, said = asking.command("video-sequential", *how)
    assert code == 1, said
    assert "The token audit failed at question" in said
    assert "max_frames" in said
    card = asking.card()
    assert not card["outcome"]["complete"]
    assert "token audit failed" in card["outcome"]["stopped"]

    code, said = asking.command("video-sequential", *how, "--accept-audit")
    assert code == 0, said
    assert "was told to go on" in said
    rows = asking.rows()
    assert len(rows) == 16
    assert all(row["vision_tokens_reported"] != row["vision_tokens_expected"] for row in rows)
    card = asking.card()
    assert card["media"]["vision_tokens"] == {"wrong": 16}
    assert card["media"]["accept_audit_failures"] is True
    assert "not what they cost" in (asking.out / "card.md").read_text()
