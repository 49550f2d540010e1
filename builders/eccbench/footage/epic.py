"""EPIC-KITCHENS-100: the official annotation CSVs and video layout."""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from eccdata.errors import EccdataError, problem
from eccdata.local_copies import Source, files_digest

from .annotations import Annotation, Footage, Video, ordered

EPIC = Source(
    name="epic",
    title="EPIC-KITCHENS-100",
    url="https://epic-kitchens.github.io (annotations: https://github.com/epic-kitchens/epic-kitchens-100-annotations)",
    terms="It is licensed CC BY-NC 4.0: for non-commercial use, with attribution.",
    license="CC-BY-NC-4.0",
)

LABELS = ("EPIC_100_train.csv", "EPIC_100_validation.csv")
"""The files with verbs and nouns. Those of the test set have times alone, so that nothing is known to be absent."""
INFO = "EPIC_100_video_info.csv"
FOLDERS = (".", "epic-kitchens-100-annotations", "annotations", "EPIC-KITCHENS")
"""Where the annotations may lie below the folder that is given."""

LABEL_COLUMNS = (
    "narration_id",
    "video_id",
    "start_timestamp",
    "stop_timestamp",
    "verb",
    "verb_class",
    "noun",
    "noun_class",
    "all_nouns",
    "all_noun_classes",
)
INFO_COLUMNS = ("video_id", "duration")


def missing_annotations(root: Path) -> list[str]:
    """Names of the annotation files that are not there."""
    return [name for name in (*LABELS, INFO) if _annotations(root, name) is None]


def annotations_digest(root: Path) -> str:
    """Digest of the annotation files; all must be there."""
    found = {name: _require(root, name) for name in (*LABELS, INFO)}
    return files_digest(found[INFO].parent, found.values())


def read_footage(root: Path) -> Footage:
    """Read the annotations of the training and validation sets.

    Start and end come from the timestamps: the frame numbers beside them count the frames that the authors
    extracted, which are not those of the videos. Annotations that end before they begin, or lie beyond the end of
    the video, are left out; one that runs over the end is cut there.

    Args:
        root: The folder that is given for the source.

    Raises:
        EccdataError: Columns are missing, or rows cannot be read; names file and rows.

    """
    durations = {row["video_id"]: float(row["duration"]) for row in _rows(_require(root, INFO), INFO_COLUMNS)}
    of: dict[str, list[Annotation]] = {}
    wrong: list[str] = []
    for name in LABELS:
        for number, row in enumerate(_rows(_require(root, name), LABEL_COLUMNS), 2):
            try:
                annotation = _annotation(row)
                duration_s = durations[row["video_id"]]
            except KeyError:
                wrong.append(f"{name}, line {number}: {INFO} has no video {row['video_id']!r}")
                continue
            except (ValueError, SyntaxError, TypeError) as error:
                wrong.append(f"{name}, line {number} ({row['narration_id']}): {error}")
                continue
            if annotation.start_s < min(annotation.end_s, duration_s):
                of.setdefault(row["video_id"], []).append(_cut(annotation, duration_s))
    if wrong:
        raise problem(
            f"The annotations in {root} cannot be read:", wrong, "Take them anew from their repository."
        )
    videos = tuple(
        Video(video_id, _video_path(root, video_id), durations[video_id], ordered(of[video_id]))
        for video_id in sorted(of)
    )
    return Footage(EPIC.name, videos, dense=True)


def seconds(timestamp: str) -> float:
    """Read `HH:MM:SS.cc`.

    Raises:
        ValueError: It is not of that form.

    """
    parts = timestamp.strip().split(":")
    if len(parts) != 3:
        raise ValueError(f"{timestamp!r} is no time of the form HH:MM:SS.cc")
    hours, minutes, rest = int(parts[0]), int(parts[1]), float(parts[2])
    if not (hours >= 0 and 0 <= minutes < 60 and 0 <= rest < 60):
        raise ValueError(f"{timestamp!r} is no time of the form HH:MM:SS.cc")
    return hours * 3600 + minutes * 60 + rest


def _annotation(row: dict[str, str]) -> Annotation:
    # the main noun first; it stands in the list too
    nouns = (row["noun"], *_strings(row["all_nouns"]))
    classes = (int(row["noun_class"]), *_integers(row["all_noun_classes"]))
    return Annotation(
        annotation_id=row["narration_id"],
        start_s=seconds(row["start_timestamp"]),
        end_s=seconds(row["stop_timestamp"]),
        words=row["verb"],
        verb_class=int(row["verb_class"]),
        nouns=tuple(dict.fromkeys(nouns)),
        noun_classes=tuple(dict.fromkeys(classes)),
    )


def _cut(annotation: Annotation, end_s: float) -> Annotation:
    if annotation.end_s <= end_s:
        return annotation
    return replace(annotation, end_s=end_s)


def _strings(literal: str) -> list[str]:
    return [str(value) for value in _list(literal)]


def _integers(literal: str) -> list[int]:
    return [int(value) for value in _list(literal)]


@cache
def _list(literal: str) -> tuple[str | int, ...]:
    # a Python list with single quotes, which is no JSON
    value = ast.literal_eval(literal)
    if not isinstance(value, list):
        raise ValueError(f"{literal!r} is no list")
    return tuple(value)


def _video_path(root: Path, video_id: str) -> str:
    """Path of a video as the official downloader lays it out, in either spelling of its ending."""
    participant = video_id.partition("_")[0]
    below = [
        f"{top}{participant}/videos/{video_id}{ending}"
        for top in ("EPIC-KITCHENS/", "")
        for ending in (".MP4", ".mp4")
    ]
    return next((path for path in below if (root / path).is_file()), below[0])


def _rows(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                raise problem(
                    f"{path} lacks these columns:", missing, f"It has to be the official {path.name}."
                )
            yield from reader
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise EccdataError(f"{path} cannot be read: {error}") from error


def _annotations(root: Path, name: str) -> Path | None:
    return next((root / below / name for below in FOLDERS if (root / below / name).is_file()), None)


def _require(root: Path, name: str) -> Path:
    found = _annotations(root, name)
    if found is None:
        raise EccdataError(f"There is no {name} in {root}. {EPIC.remedy}")
    return found
