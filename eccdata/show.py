"""`eccdata show`: one question of a release as a person sees it, as a picture or as a page with players.

What is drawn is taken from the row as it stands in the file. Frames are decoded from the row's own videos, so that
what is wrong with them shows.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eccdata.errors import SHOWN, EccdataError, problem, unknown
from eccdata.release.record import Record, read_record
from eccdata.release.staging import told
from eccdata.video.glyphs import LETTERS

FACTS = (
    "variant",
    "band",
    "structure",
    "length",
    "alphabet_size",
    "lz_rate",
    "joint_lz_rate",
    "negative_kind",
    "frames_digest",
    "candidate_frames_digest",
)
"""Columns that are told beside a question, where a row has them."""


@dataclass(frozen=True)
class Exhibit:
    """One question, ready to be shown.

    Attributes:
        question_id: Its name.
        config: The configuration that it stands in.
        asked: The question, as a sentence.
        answer: `yes` or `no`.
        because: What follows from the row: where the candidate occurs, or what is wrong with it.
        stream: What stands at each place of the stream: `12`, or `C2` for the letter C on belt 2.
        candidate: The same of the candidate.
        marked: The places of the stream that are marked: the first match, or the window that a negative is like.
        wrong: The places of the candidate whose letter is on a wrong belt.
        facts: Further columns of the row, by name.
        videos: The MP4 files of stream and candidate; None where there are none.

    """

    question_id: str
    config: str
    asked: str
    answer: str
    because: str
    stream: tuple[str, ...]
    candidate: tuple[str, ...]
    marked: range
    wrong: tuple[int, ...]
    facts: dict[str, str]
    videos: tuple[bytes, bytes] | None


def show(release: str | os.PathLike[str], *, config: str, question: str, out: str | os.PathLike[str]) -> Path:
    """Draw one question of a release.

    Args:
        release: The release's folder.
        config: The configuration, such as `video-spatial`.
        question: The question's id; where a row has many questions, its stream's id and the question's index, such as
            `tokens-test-s000003-q07`.
        out: `….png` for a contact sheet, `….html` for a page of its own with both videos.

    Returns:
        The file that was written.

    Raises:
        EccdataError: There is no such release, configuration or question, its rows cannot be shown, a video cannot be
            decoded, or the file cannot be written.

    """
    target = Path(out)
    if target.suffix.lower() not in (".png", ".html"):
        raise EccdataError(
            f"{target} is neither a .png nor a .html file; the name's ending says what is drawn."
        )
    shown = exhibit(Path(release), config, question)
    if target.suffix.lower() == ".png":
        from eccdata.contact_sheet import contact_sheet

        data = contact_sheet(shown)
    else:
        from eccdata.question_page import question_page

        data = question_page(shown).encode()
    with told(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return target


def exhibit(release: Path, config: str, question: str) -> Exhibit:
    """Read one question of a release (see `show`)."""
    record = read_record(release)
    if config not in record.configs:
        raise unknown(f"configuration in {release}", config, record.configs)
    row, features = _find(release, record, config, question)
    if isinstance(row.get("answer"), int):
        row["answer"] = features["answer"].int2str(row["answer"])
    return exhibit_row(row, config)


def exhibit_row(row: Mapping[str, Any], config: str) -> Exhibit:
    """Make a row ready to be shown, whose labels are their names.

    Raises:
        EccdataError: If it lacks what a question of a candidate in a stream has.

    """
    missing = [
        name for name in ("question_id", "stream", "candidate", "answer", "position") if name not in row
    ]
    if missing:
        raise problem(f"Rows of {config} cannot be shown: they lack the columns", missing)
    on_belts = "lanes" in row
    stream = _places(row["stream"], row.get("lanes"))
    candidate = _places(row["candidate"], row.get("candidate_lanes"))
    start, unit = row["position"], "frames" if on_belts else "places"
    window = row.get("window_position", -1)
    wrong: tuple[int, ...] = ()
    if start >= 0:
        times = sum(stream[i : i + len(candidate)] == candidate for i in range(len(stream)))
        where = f"{unit} {start} to {start + len(candidate) - 1} of the stream"
        because = f"It occurs once: {where}." if times == 1 else f"It occurs {times} times, first: {where}."
    elif window >= 0:
        there = stream[window : window + len(candidate)]
        wrong = tuple(i for i, (a, b) in enumerate(zip(candidate, there, strict=True)) if a != b)
        moves = dict.fromkeys(
            f"{candidate[i][0]} is on belt {there[i][1]}, not {candidate[i][1]}" for i in wrong
        )
        moved = ", ".join(moves)
        because = (
            f"It does not occur. The letters of {unit} {window} to {window + len(candidate) - 1} are the same, and "
            f"there {moved}."
        )
        start = window
    else:
        because = "It does not occur."
    medium = ("option video", "main video") if on_belts else ("candidate", "stream")
    return Exhibit(
        question_id=row["question_id"],
        config=config,
        asked=f"Did the {medium[0]} occur in the {medium[1]} as one contiguous run?",
        answer=str(row["answer"]),
        because=because,
        stream=stream,
        candidate=candidate,
        marked=range(start, start + len(candidate)) if start >= 0 else range(0),
        wrong=wrong,
        facts={name: _plain(row[name]) for name in FACTS if row.get(name) is not None},
        videos=(row["video"]["bytes"], row["candidate_video"]["bytes"]) if "video" in row else None,
    )


def _places(symbols: list[int], lanes: list[int] | None) -> tuple[str, ...]:
    if lanes is None:
        return tuple(map(str, symbols))
    return tuple(f"{LETTERS[symbol]}{lane + 1}" for symbol, lane in zip(symbols, lanes, strict=True))


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _find(
    release: Path, record: Record, config: str, question: str
) -> tuple[dict[str, Any], datasets.Features]:
    """Find a question's row by the ids alone; then read the row group that it stands in."""
    stream, _, number = question.rpartition("-q")
    near: list[str] = []
    for shard in record.configs[config].shards:
        try:
            with pq.ParquetFile(release / shard.path) as file:
                features = datasets.Features.from_arrow_schema(file.schema_arrow)
                several = "queries" in features and number.isascii() and number.isdigit()
                for group in range(file.num_row_groups):
                    ids = file.read_row_group(group, columns=file.schema_arrow.names[:1]).column(0)
                    at = pc.index(ids, stream if several else question).as_py()
                    if at < 0:
                        near = difflib.get_close_matches(question, [*near, *ids.to_pylist()], n=SHOWN)
                        continue
                    row: dict[str, Any] = file.read_row_group(group).slice(at, 1).to_pylist()[0]
                    return (
                        _one_of_several(row, features, question, int(number)) if several else (row, features)
                    )
        except (OSError, pa.ArrowException) as error:
            raise EccdataError(f"{release / shard.path} cannot be read: {error}") from error
    raise problem(
        f"There is no question {question!r} in {config} of {release}.{' Near it there is:' if near else ''}",
        near,
    )


def _one_of_several(
    row: dict[str, Any], features: datasets.Features, question: str, index: int
) -> tuple[dict[str, Any], datasets.Features]:
    queries = row["queries"]
    if index >= len(queries):
        raise EccdataError(
            f"{row['stream_id']} has the questions q00 to q{len(queries) - 1:02d}, and no {question}."
        )
    inner = features["queries"].feature
    return {**row, **queries[index], "question_id": question}, datasets.Features({**features, **inner})
