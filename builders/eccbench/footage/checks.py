"""What the rows of `natural` claim, worked out again from the rows alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from ..common import ANSWERS
from .collections import SOURCES
from .events import categories

YES = ANSWERS.str2int("yes")
MEASURED = (
    "density_score",
    "density_band",
    "density_cutoff",
    "density_model_digest",
    "bits_per_frame",
    "encoder_missed_target",
)
OF_CLIP = ("length", "source", "video_id", "video_path", "start_s", "end_s", "slowdown", *MEASURED)


def clip_problems(table: pa.Table, max_slowdown: float) -> list[str]:
    """Check the questions on clips of one length."""
    rows = table.to_pylist()
    found = [f"{row['question_id']}: {wrong}" for row in rows for wrong in _row_problems(row, max_slowdown)]
    found += _balance_problems(rows)
    clips: dict[str, dict[str, Any]] = {}
    for row in rows:
        first = clips.setdefault(row["clip_id"], row)
        wrong = [name for name in OF_CLIP if first[name] != row[name]]
        if wrong:
            found.append(
                f"{row['question_id']}: {', '.join(wrong)} not as in {first['question_id']}, of the same clip"
            )
    found += _overlaps(list(clips.values()))
    asked = Counter((row["clip_id"], row["category"]) for row in rows)
    found += [f"{clip}: asked {n} times about {name}" for (clip, name), n in asked.items() if n > 1]
    return found


def _row_problems(row: dict[str, Any], max_slowdown: float) -> Iterator[str]:
    category = categories().get(row["category"])
    if category is None:
        yield f"there is no category {row['category']!r}"
    else:
        if row["question"] != category.question:
            yield f"question is {row['question']!r}, the category's is {category.question!r}"
        if row["source"] != category.source:
            yield f"source is {row['source']!r}, the category's is {category.source!r}"
    source = SOURCES.get(row["source"])
    if source is not None and row["license"] != source.license:
        yield f"license is {row['license']!r}, the source's is {source.license!r}"
    path = PurePosixPath(row["video_path"])
    if path.is_absolute() or ".." in path.parts:
        yield f"video_path {row['video_path']!r} does not lie below the source's folder"
    if (row["answer"] == YES) != bool(row["annotation_ids"]):
        yield "the answer is yes exactly where annotations are named, and here it is not"
    seconds = row["end_s"] - row["start_s"]
    if row["start_s"] < 0 or seconds <= 0:
        yield f"the clip lasts from {row['start_s']} to {row['end_s']} s"
    elif not math.isclose(row["slowdown"], row["length"] / seconds, rel_tol=1e-9):
        yield f"slowdown is {row['slowdown']}, {row['length']} frames in {seconds} s make {row['length'] / seconds}"
    elif not 1 - 1e-9 <= row["slowdown"] <= max_slowdown + 1e-9:
        yield f"slowdown is {row['slowdown']}, and must be from 1 to {max_slowdown}"
    empty = [name for name in MEASURED if row[name] is None]
    if empty and len(empty) < len(MEASURED):
        yield f"measured, but without {', '.join(empty)}"
    elif not empty:
        band = "low" if row["density_score"] < row["density_cutoff"] else "high"
        if row["density_band"] != band:
            yield f"density_band is {row['density_band']!r}, score and cutoff say {band!r}"


def _balance_problems(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    asked = Counter((row["length"], row["category"], row["answer"] == YES) for row in rows)
    for length, name in dict.fromkeys((length, name) for length, name, _ in asked):
        yes, no = asked[length, name, True], asked[length, name, False]
        if yes != no:
            yield f"length {length}, {name}: {yes} yes and {no} no"


def _overlaps(clips: Sequence[dict[str, Any]]) -> Iterator[str]:
    in_order = sorted(clips, key=lambda c: (c["length"], c["source"], c["video_id"], c["start_s"]))
    for one, other in pairwise(in_order):
        same = all(one[name] == other[name] for name in ("length", "source", "video_id"))
        if same and other["start_s"] < one["end_s"]:
            yield f"{other['clip_id']}: begins before {one['clip_id']} ends"
