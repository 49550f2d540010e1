"""What `verify` finds in rows of video that are not what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eccdata
from eccdata import catalog
from eccdata.builder import Builder
from eccdata.video.mp4 import frames_digest, mp4_bytes

Rows = list[dict[str, Any]]


@pytest.fixture
def spatial(tmp_path: Path) -> Builder:
    return catalog.builder("eccbench", "video-spatial").create(
        cache_dir=str(tmp_path), lengths=(32,), streams=1, bands=("max",)
    )


def rows_of(builder: Builder) -> Rows:
    return builder.table(builder.cells()[0]).to_pylist()  # type: ignore[no-any-return]


def said(builder: Builder, rows: Rows) -> str:
    return "\n".join(builder.check(pa.Table.from_pylist(rows, schema=builder.features().arrow_schema)))


def events(symbols: list[int], lanes: list[int]) -> list[list[int]]:
    return [list(event) for event in zip(symbols, lanes, strict=True)]


def another_frame(row: dict[str, Any]) -> None:
    shown = events(row["candidate"], row["candidate_lanes"])
    shown[1] = [(shown[1][0] + 1) % 16, shown[1][1]]
    row["candidate_video"]["bytes"] = mp4_bytes(shown)


def a_frame_less(row: dict[str, Any]) -> None:
    row["candidate_video"]["bytes"] = mp4_bytes(events(row["candidate"], row["candidate_lanes"])[:-1])


def cut_short(row: dict[str, Any]) -> None:
    row["candidate_video"]["bytes"] = row["candidate_video"]["bytes"][:-700]


def another_picture(row: dict[str, Any]) -> None:
    """A picture whose bytes are damaged, which a decoder may paint over with the one before."""
    data = bytearray(row["candidate_video"]["bytes"])
    data[-300:-100] = bytes(200)
    row["candidate_video"]["bytes"] = bytes(data)


def no_video(row: dict[str, Any]) -> None:
    row["candidate_video"] = None


def another_digest(row: dict[str, Any]) -> None:
    row["candidate_frames_digest"] = "0" * 64


def another_rate(row: dict[str, Any]) -> None:
    row["joint_lz_rate"] += 0.5


def a_belt_too_many(row: dict[str, Any]) -> None:
    row["candidate_lanes"] = [3, *row["candidate_lanes"][1:]]


def a_belt_too_few(row: dict[str, Any]) -> None:
    row["candidate_lanes"] = row["candidate_lanes"][1:]


def another_variant(row: dict[str, Any]) -> None:
    row["variant"] = "sequential"


def another_window(row: dict[str, Any]) -> None:
    row["window_position"] = 32


def on_the_right_belt(row: dict[str, Any]) -> None:
    """A negative that occurs after all, with a video that shows it."""
    start = row["window_position"]
    row["candidate_lanes"] = row["lanes"][start : start + len(row["candidate"])]
    shown = events(row["candidate"], row["candidate_lanes"])
    row["candidate_video"]["bytes"] = mp4_bytes(shown)
    row["candidate_frames_digest"] = frames_digest(shown)


def two_letters_moved(row: dict[str, Any]) -> None:
    start = row["window_position"]
    true = row["lanes"][start : start + len(row["candidate"])]
    row["candidate_lanes"] = [(lane + 1) % 3 for lane in true]


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (
            another_frame,
            "candidate_video: 1 frames show another letter or belt",
        ),
        (a_frame_less, "frames, and the row"),
        (cut_short, "candidate_video: The video"),
        (another_picture, "candidate_video:"),
        (no_video, "candidate_video: it is missing"),
        (another_digest, "candidate_video: its pixels are not those that the row gives the digest of"),
        (another_rate, "joint_lz_rate is"),
        (a_belt_too_many, "its belt none of 3"),
        (a_belt_too_few, "letters"),
        (another_variant, "variant is sequential"),
        (another_window, "does not have the candidate's letters"),
        (on_the_right_belt, "the answer is no, and the candidate occurs at"),
        (two_letters_moved, "letters are on another belt than in the window"),
    ],
)
def test_a_row_that_is_not_what_it_says_is_found(
    spatial: Builder, damage: Callable[[dict[str, Any]], None], found: str
) -> None:
    rows = rows_of(spatial)
    assert said(spatial, rows) == ""
    row = next(
        row for row in rows if row["answer"] == 1 and len(set(row["candidate"])) == len(row["candidate"])
    )
    damage(row)
    problems = said(spatial, rows)
    assert found in problems
    assert row["question_id"] in problems or row["stream_id"] in problems


def test_a_wrong_frame_of_the_main_video_is_found_once(spatial: Builder) -> None:
    rows = rows_of(spatial)
    shown = events(rows[0]["stream"], rows[0]["lanes"])
    shown[9] = [shown[9][0], (shown[9][1] + 1) % 3]
    for row in rows:
        row["video"]["bytes"] = mp4_bytes(shown)
    (problem,) = said(spatial, rows).splitlines()
    assert problem.startswith(f"{rows[0]['stream_id']}: video: 1 frames show another")
    assert "frame 9" in problem
    rows = rows_of(spatial)
    rows[5]["video"]["bytes"] = mp4_bytes(shown)
    assert "frame 9" in said(spatial, rows)


def test_a_letter_on_two_belts_is_found(spatial: Builder) -> None:
    rows = rows_of(spatial)
    row = next(row for row in rows if row["answer"] == 0)
    row["candidate_lanes"] = [(lane + 1) % 3 for lane in row["candidate_lanes"]]
    assert f"{row['question_id']}: letters change belts" in said(spatial, rows)


def test_verify_reads_the_pixels_of_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release whose files, sums and columns agree with each other, and whose pictures are wrong."""
    from eccdata.builders.eccbench import video_common

    right = mp4_bytes

    def wrong(shown: Any) -> bytes:
        return right([(13, 2), *shown[1:].tolist()])

    monkeypatch.setattr(video_common, "mp4_bytes", wrong)
    settings = {"lengths": (16,), "streams": 1, "queries": 2, "bands": ("max",)}
    release = eccdata.build(
        "eccbench", out=tmp_path / "release", configs=["video-sequential"], settings=settings
    )
    found = eccdata.verify(release.path)
    assert not found.ok
    assert all("the first is frame 0: X on belt 3" in problem for problem in found.problems), found.problems
    monkeypatch.undo()
    assert "is not what its builder makes" in str(eccdata.verify(release.path))
