"""What the rows of video claim, worked out again: from the columns, and from the pixels of the videos themselves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eccdata.errors import EccdataError
from eccdata.streams.lempel_ziv import lempel_ziv_rate
from eccdata.video.glyphs import LETTERS
from eccdata.video.lanes import LANES, LaneMode
from eccdata.video.reading import read_video

from .checks import YES, byte_lists, question_problems
from .common import MembershipConfig, list_array
from .video_questions import SPATIAL, WRONG_BELT

MEDIA = ("video", "candidate_video")


def video_problems(
    table: pa.Table, config: MembershipConfig, mode: LaneMode, variants: tuple[str, ...]
) -> list[str]:
    """Check a table of one row a question, and decode every video in it once."""
    lists = {name: byte_lists(table[name]) for name in ("stream", "lanes", "candidate", "candidate_lanes")}
    rows = table.drop_columns(list(MEDIA))
    found = list(_shape_problems(rows["question_id"].to_pylist(), lists))
    if not found:
        for name, lanes in (("stream", "lanes"), ("candidate", "candidate_lanes")):
            rows = rows.append_column(f"shown_{name}", joint_lists(table[name], table[lanes]))
        found += question_problems(rows, config, stream="shown_stream", candidate="shown_candidate")
        plain = rows.drop_columns(["shown_stream", "shown_candidate", *lists]).to_pylist()
        shown = [{**row, **{name: lists[name][i] for name in lists}} for i, row in enumerate(plain)]
        for row in shown:
            found += [f"{row['question_id']}: {wrong}" for wrong in _row_problems(row, mode, variants)]
        found += _stream_problems(shown)
        found += _balance_problems(shown)
        found += _media_problems(table, shown)
    return found


def joint_lists(symbols: pa.ChunkedArray, lanes: pa.ChunkedArray) -> pa.ListArray:
    """The pairs of symbol and lane, as numbers symbol × 3 + lane."""
    sizes = symbols.combine_chunks().value_lengths().to_numpy()
    pairs = [b"".join(byte_lists(column)) for column in (symbols, lanes)]
    codes, belts = (np.frombuffer(part, dtype=np.uint8) for part in pairs)
    return list_array(sizes, pa.array((codes * LANES + belts).astype(np.uint8)))


def _shape_problems(names: list[str], lists: dict[str, list[bytes]]) -> Iterator[str]:
    for symbols, lanes in (("stream", "lanes"), ("candidate", "candidate_lanes")):
        for name, letters, belts in zip(names, lists[symbols], lists[lanes], strict=True):
            if len(letters) != len(belts):
                yield f"{name}: {lanes} has {len(belts)} belts, and {symbols} has {len(letters)} letters"
            elif max(belts, default=0) >= LANES or max(letters, default=0) >= len(LETTERS):
                yield f"{name}: a letter of {symbols} is none of {len(LETTERS)}, or its belt none of {LANES}"


def _row_problems(row: dict[str, Any], mode: LaneMode, variants: tuple[str, ...]) -> Iterator[str]:
    variant, kind = row["variant"], row["negative_kind"]
    if variant not in variants:
        yield f"variant is {variant}, and the release has {' and '.join(variants)}"
    if row["answer"] != YES and (kind == WRONG_BELT) != (variant == SPATIAL):
        yield f"a negative of the {variant} variant is of kind {kind}"
    if mode == "per-letter":
        belts: dict[int, set[int]] = {}
        events = [*zip(row["stream"], row["lanes"], strict=True)]
        if kind != WRONG_BELT:
            events += zip(row["candidate"], row["candidate_lanes"], strict=True)
        for letter, belt in events:
            belts.setdefault(letter, set()).add(belt)
        several = [LETTERS[letter] for letter, found in sorted(belts.items()) if len(found) > 1]
        if several:
            yield f"letters change belts, where each keeps one: {', '.join(several)}"
    if kind == WRONG_BELT:
        yield from _wrong_belt_problems(row, mode)
    elif row["window_position"] != -1:
        yield f"window_position is {row['window_position']}, and only a negative of kind {WRONG_BELT} has one"


def _wrong_belt_problems(row: dict[str, Any], mode: LaneMode) -> Iterator[str]:
    candidate, start = row["candidate"], row["window_position"]
    window = slice(start, start + len(candidate))
    if start < 0 or row["stream"][window] != candidate:
        yield f"the window at {start} does not have the candidate's letters"
        return
    moved = [a != b for a, b in zip(row["lanes"][window], row["candidate_lanes"], strict=True)]
    letters, belts = set(compress(candidate, moved)), set(compress(row["candidate_lanes"], moved))
    if len(letters) != 1 or len(belts) != 1:
        yield f"{len(letters)} letters are on another belt than in the window at {start}, not exactly one"
        return
    if mode == "per-event":
        if sum(moved) != 1:
            yield f"{sum(moved)} letters are on another belt than in the window at {start}, not exactly one"
        return
    counts = Counter(candidate)
    (letter,) = letters
    if sum(moved) != counts[letter]:
        yield f"the letter {LETTERS[letter]} is on two belts, which shows that the answer is no"
    elif counts[letter] > 1 and 1 in counts.values():
        yield f"the letter {LETTERS[letter]} moved {counts[letter]} times, where another occurs once"


def _stream_problems(rows: list[dict[str, Any]]) -> Iterator[str]:
    rates: dict[tuple[bytes, bytes], float] = {}
    for row in {(row["stream_id"], row["joint_lz_rate"]): row for row in rows}.values():
        shown = row["stream"], row["lanes"]
        if shown not in rates:
            symbols, lanes = (np.frombuffer(part, np.uint8) for part in shown)
            rates[shown] = lempel_ziv_rate(symbols * LANES + lanes)
        said = row["joint_lz_rate"]
        if said is None or not math.isclose(said, rates[shown], rel_tol=1e-9):
            yield f"{row['stream_id']}: joint_lz_rate is {said}, and the stream's is {rates[shown]:.6f}"


def _balance_problems(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Count: in each variant both answers have the same candidate lengths."""
    lengths: dict[tuple[str, str], tuple[Counter[int], Counter[int]]] = {}
    for row in rows:
        both = lengths.setdefault((row["stream_id"], row["variant"]), (Counter(), Counter()))
        both[row["answer"] == YES][len(row["candidate"])] += 1
    for (name, variant), (no, yes) in lengths.items():
        if no != yes:
            yield f"{name}: positives and negatives of the {variant} variant differ in the lengths of their candidates"


def _media_problems(table: pa.Table, rows: list[dict[str, Any]]) -> Iterator[str]:
    for column, symbols, lanes, digest, name in (
        ("video", "stream", "lanes", "frames_digest", "stream_id"),
        ("candidate_video", "candidate", "candidate_lanes", "candidate_frames_digest", "question_id"),
    ):
        seen: dict[tuple[Any, ...], str] = {}
        data = pc.struct_field(table[column], "bytes")
        for row, scalar in zip(rows, data, strict=True):
            video = scalar.as_py()
            told = row[symbols], row[lanes], row[digest], row[name]
            key = (hash(video), *told)
            if key in seen:
                continue
            seen[key] = row["question_id"]
            yield from (f"{row[name]}: {column}: {wrong}" for wrong in _video_problems(video, *told[:3]))


def _video_problems(video: bytes | None, symbols: bytes, lanes: bytes, digest: str) -> Iterator[str]:
    if video is None:
        yield "it is missing"
        return
    try:
        reading = read_video(video)
    except EccdataError as error:
        yield " ".join(str(error).split())
        return
    expected = np.stack([np.frombuffer(part, np.uint8) for part in (symbols, lanes)], axis=1)
    if len(reading.events) != len(expected):
        yield f"it has {len(reading.events)} frames, and the row {len(expected)} letters"
        return
    wrong = np.flatnonzero((reading.events != expected).any(axis=1))
    if len(wrong):
        at = int(wrong[0])
        yield (
            f"{len(wrong)} frames show another letter or belt than the row says, the first is frame {at}: "
            f"{_event(reading.events[at])}, not {_event(expected[at])}"
        )
    elif reading.frames_digest != digest:
        yield "its pixels are not those that the row gives the digest of"


def _event(event: Any) -> str:
    return f"{LETTERS[event[0]]} on belt {event[1] + 1}"
