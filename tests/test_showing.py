"""Clips in an evaluation: what is sent and recorded, and what the audit makes of servers that see something else."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import polars as pl
import pytest

import eccdata
from eccdata.errors import EccdataError
from eccdata.requests import Request, Response
from eccdata.run import Run
from eccdata.video.clips import write_clip
from eccdata.video.preparing import MediaLibrary
from support.eyes import Eyes

SETTINGS = {"lengths": (8, 16), "streams": 1, "queries": 4}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("video") / "release"
    eccdata.build("eccbench", out=out, configs=["video-spatial"], settings=SETTINGS)
    return out


def run(release: Path, out: Path, system: Any, /, accept: bool = False, **options: Any) -> Run:
    return eccdata.evaluate(
        release,
        protocol="membership-video",
        system=system,
        out=out,
        options=options,
        concurrency=3,
        accept_audit_failures=accept,
    )


def rows(out: Path) -> list[dict[str, Any]]:
    return pl.read_parquet(out / "responses" / "*.parquet").to_dicts()


def card(out: Path) -> Any:
    return json.loads((out / "card.json").read_text())


def test_every_row_says_which_frames_were_sent(release: Path, tmp_path: Path) -> None:
    eyes = Eyes()
    done = run(release, tmp_path / "run", eyes)
    assert done.complete, str(done)
    assert done.notes == ()
    loaded = datasets.load_dataset(str(release), split="test", cache_dir=str(tmp_path / "cache"))
    asked = {row["question_id"]: row for row in loaded}
    for row in rows(tmp_path / "run"):
        question = asked[row["question_id"]]
        main, option = row["media"]
        assert (main["name"], option["name"]) == ("main", "option")
        for clip, column, symbols in ((main, "video", "stream"), (option, "candidate_video", "candidate")):
            frames = len(question[symbols])
            # the row's own file is what is sent
            assert clip["sha256"] == hashlib.sha256(question[column]["bytes"]).hexdigest()
            assert clip["indices"] == list(range(frames))
            assert clip["times_s"] == [float(i) for i in range(frames)]
            assert (clip["width"], clip["height"], clip["mime"]) == (448, 448, "video/mp4")
            assert (clip["sampler"], clip["decoder"]) == ("eccbench", "none")
        assert row["frames_sent"] == len(question["stream"]) + len(question["candidate"])
        assert row["clips"] == [
            {"frames": len(question[symbols]), "width": 448, "height": 448, "layout": "video"}
            for symbols in ("stream", "candidate")
        ]
        assert row["vision_tokens_expected"] == row["vision_tokens_reported"]
        assert row["layout"] == "video"
    assert card(tmp_path / "run")["media"]["vision_tokens"] == {"right": 16}
    assert not list((tmp_path / "run" / "media").glob("*.mp4")), "what is sent as it is need not be kept"


def test_frames_are_sent_as_the_pictures_that_there_are(release: Path, tmp_path: Path) -> None:
    eyes = Eyes()
    assert run(release, tmp_path / "run", eyes, layout="frames", times=True).complete
    for row in rows(tmp_path / "run"):
        main, option = row["media"]
        assert main["indices"] == list(range(row["length"]))
        assert (main["mime"], main["decoder"]) == ("image/png", "pyav")
        assert {clip["layout"] for clip in row["clips"]} == {"frames"}
        assert main["decoder_version"]
        assert row["vision_tokens_expected"] == 256 * (row["length"] + len(option["indices"]))
    # there are 48 pictures, however many frames
    assert len(list((tmp_path / "run" / "media").glob("*.png"))) <= 48


def test_a_sampler_takes_what_it_takes(release: Path, tmp_path: Path) -> None:
    eyes = Eyes()
    options: dict[str, Any] = {"sampler": "uniform", "sampler_parameters": {"n": 4}}
    assert run(release, tmp_path / "run", eyes, **options).complete
    for row in rows(tmp_path / "run"):
        main = row["media"][0]
        assert main["indices"] == ([0, 2, 4, 7] if row["length"] == 8 else [0, 5, 10, 15])
        assert main["sampler_parameters"]["n"] == 4
        assert (main["sampler"], main["decoder"]) == ("uniform", "pyav")
    assert {frames for frames, _ in eyes.seen} == {4}


def test_the_last_frame_is_repeated_where_frames_go_in_pairs(release: Path, tmp_path: Path) -> None:
    eyes = Eyes(takes=lambda frames: frames // 2 * 2)
    stopped = run(release, tmp_path / "odd", eyes)
    assert not stopped.complete
    assert "whole groups alone" in str(stopped.stopped)
    assert run(release, tmp_path / "even", eyes, frame_multiple=2).complete
    for row in rows(tmp_path / "even"):
        option = row["media"][1]
        assert len(option["indices"]) % 2 == 0
        assert option["decoder"] == "none"
        if option["indices"][-1] == option["indices"][-2]:
            assert option["times_s"][-1] == option["times_s"][-2] == option["indices"][-1]


@pytest.mark.parametrize("layout", ["video", "frames"])
def test_a_run_goes_on_where_it_was_and_asks_nothing_twice(
    layout: str, release: Path, tmp_path: Path
) -> None:
    eyes = Eyes()
    assert run(release, tmp_path / "run", eyes, layout=layout).complete
    first, seen = rows(tmp_path / "run"), len(eyes.seen)
    assert run(release, tmp_path / "run", eyes, layout=layout).asked == 0
    assert (rows(tmp_path / "run"), len(eyes.seen)) == (first, seen)
    # what was made ready is only kept to save time
    for path in (tmp_path / "run" / "media").rglob("*.*"):
        path.unlink()
    assert run(release, tmp_path / "run", eyes, layout=layout).asked == 0
    assert rows(tmp_path / "run") == first


FAULTS: dict[str, tuple[Eyes, str]] = {
    "resampled": (Eyes(takes=lambda frames: min(frames, 4)), "at most 4 frames of each clip"),
    "doubled": (Eyes(takes=lambda frames: 2 * frames), "counts"),
    "fixed": (Eyes(takes=lambda frames: 32), "32 frames of each clip, however many it has"),
    "mixed up": (Eyes(mixed_up=True), "took video for images"),
    "resampled, of which it tells the prompt's length alone": (
        Eyes(takes=lambda frames: 2, tells="length"),
        "a whole prompt of",
    ),
}


@dataclass(frozen=True)
class HalfLook(Eyes):
    """A system that shows a model the option video alone, twice."""

    async def respond(self, request: Request) -> Response:
        _, option = request.media
        sent = replace(request, media=(replace(option, name="main"), option))
        return replace(await super().respond(sent), sent=sent)


def test_what_a_system_sent_instead_is_recorded_and_audited(release: Path, tmp_path: Path) -> None:
    assert run(release, tmp_path / "run", HalfLook()).complete
    before = rows(tmp_path / "run")
    for row in before:
        main, option = row["media"]
        assert {**main, "name": "option"} == option
        assert row["frames_sent"] == 2 * len(option["indices"])
        assert row["vision_tokens_expected"] == row["vision_tokens_reported"]
    assert card(tmp_path / "run")["media"]["vision_tokens"] == {"right": 16}
    # the same from the store, which has nothing of the request
    assert run(release, tmp_path / "run", HalfLook()).asked == 0
    assert rows(tmp_path / "run") == before
    stopped = run(release, tmp_path / "other", HalfLook(takes=lambda frames: 2))
    assert "The token audit failed at question" in str(stopped.stopped)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_sees_something_else_stops_the_run(fault: str, release: Path, tmp_path: Path) -> None:
    eyes, reason = FAULTS[fault]
    eyes = replace(eyes, seen=[])
    stopped = run(release, tmp_path / "run", eyes)
    assert not stopped.complete
    assert stopped.replied == 0, "what a model saw wrongly is no answer"
    assert "The token audit failed at question" in str(stopped.stopped)
    assert reason in str(stopped.stopped)
    assert "--accept-audit; in Python accept_audit_failures=True" in str(stopped.stopped)
    assert len(eyes.seen) <= 2 * 3, "it stops early"
    told = card(tmp_path / "run")
    assert told["media"]["faults"]
    assert "token audit failed" in told["outcome"]["stopped"]


def test_a_run_goes_on_all_the_same_where_it_is_told_to(release: Path, tmp_path: Path) -> None:
    eyes = Eyes(takes=lambda frames: min(frames, 4))
    assert not run(release, tmp_path / "run", eyes).complete
    accepted = run(release, tmp_path / "run", eyes, accept=True)
    assert accepted.complete
    assert any("was told to go on" in note for note in accepted.notes)
    told = card(tmp_path / "run")["media"]
    assert told["accept_audit_failures"] is True
    assert told["vision_tokens"] == {"wrong": 16}
    assert len(told["faults"]) == 10
    assert "**the server's count is not what they cost**" in (tmp_path / "run" / "card.md").read_text()


def test_a_clip_of_one_frame_stops_the_run_with_the_remedy(release: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"sampler": "uniform", "sampler_parameters": {"n": 1}}
    stopped = run(release, tmp_path / "run", Eyes(), **options)
    assert "does not take a video of fewer than 2 frames" in str(stopped.stopped)
    assert "frame_multiple=2" in str(stopped.stopped)


def test_a_model_that_is_not_known_is_unaudited_and_said_so_once(release: Path, tmp_path: Path) -> None:
    done = run(release, tmp_path / "run", Eyes(architecture="NobodyKnowsForConditionalGeneration"))
    assert done.complete
    (note,) = done.notes
    assert "NobodyKnowsForConditionalGeneration" in note
    assert str(done).count("NobodyKnows") == 1
    assert card(tmp_path / "run")["media"]["vision_tokens"] == {"unaudited": 16}
    assert {row["vision_tokens_expected"] for row in rows(tmp_path / "run")} == {None}


def test_a_server_that_tells_nothing_is_untold(release: Path, tmp_path: Path) -> None:
    assert run(release, tmp_path / "run", Eyes(tells="nothing")).complete
    assert card(tmp_path / "run")["media"]["vision_tokens"] == {"untold": 16}


def test_memories_answer_what_is_shown_from_its_symbols(release: Path, tmp_path: Path) -> None:
    done = run(release, tmp_path / "run", "exact")
    assert done.complete
    found = rows(tmp_path / "run")
    assert all(row["correct"] for row in found)
    assert {row["media"] for row in found if row["media"] is None} == {None}
    assert card(tmp_path / "run")["media"] is None


def test_videos_that_cannot_be_sent_are_all_named_before_anything_is_asked(
    release: Path, tmp_path: Path
) -> None:
    whole = datasets.load_dataset(str(release), split="test", cache_dir=str(tmp_path / "cache"))

    def spoil(row: dict[str, Any], index: int) -> dict[str, Any]:
        content = row["candidate_video"]["bytes"]
        broken = {3: b"", 5: content[:900], 7: b"no video at all" * 9}.get(index, content)
        return {"candidate_video": {"bytes": broken, "path": None}}

    spoiled = whole.map(spoil, with_indices=True, features=whole.features)
    eyes = Eyes()
    with pytest.raises(EccdataError, match="These clips cannot be sent") as error:
        eccdata.evaluate(
            spoiled,
            benchmark="eccbench",
            config="video-spatial",
            split="test",
            protocol="membership-video",
            system=eyes,
            out=tmp_path / "run",
        )
    assert str(error.value).count("\n  - ") == 3
    assert eyes.seen == []


def test_natural_clips_are_sent_from_the_folder_that_the_builder_filled(tmp_path: Path) -> None:
    gray = np.full((540, 640), 90, np.uint8)
    write_clip(tmp_path / "clips" / "one.mp4", [gray + 3 * index for index in range(8)])
    questions = [
        {"question_id": f"q{i}", "clip_id": clip, "question": "Did it happen in this video?", "answer": i % 2}
        for i, clip in enumerate(("one", "one", "two"))
    ]
    rows_ = datasets.Dataset.from_list(questions)
    rows_ = rows_.cast_column("answer", datasets.ClassLabel(names=["yes", "no"]))

    def ask(where: str | None = None) -> Run:
        return eccdata.evaluate(
            rows_,
            benchmark="eccbench",
            config="natural",
            split="test",
            protocol="natural",
            options={"clips": str(tmp_path / "clips"), "arm": "a"},
            system=Eyes(architecture="Unheard"),
            where=where,
            out=tmp_path / (where or "all"),
        )

    with pytest.raises(EccdataError, match=r"two\.mp4"):
        ask()
    assert ask("clip_id = 'one'").complete
    first, second = rows(tmp_path / "clip_id = 'one'")
    assert first["media"] == second["media"]
    (clip,) = first["media"]
    assert (clip["indices"], clip["width"], clip["height"]) == (list(range(8)), 640, 360)
    assert (first["correct"], second["correct"]) == (True, False)
    assert (first["payoff"], second["payoff"]) == (3.0, -1.0)


def test_stopped_while_clips_are_made_ready_it_goes_on_later(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(self: MediaLibrary, requests: Any, report: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return asyncio.sleep(60)

    with monkeypatch.context() as patch:
        patch.setattr(MediaLibrary, "prepare", stop)
        with pytest.raises(KeyboardInterrupt):
            run(release, tmp_path / "run", Eyes())
    assert card(tmp_path / "run")["outcome"]["unasked"] == 16
    assert run(release, tmp_path / "run", Eyes()).complete
