"""SoccerNet-v2: `Labels-v2.json` of each game, and its halves as .mkv."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from eccdata.errors import problem
from eccdata.local_copies import Source, files_digest

from .annotations import Annotation, Footage, Video, ordered

SOCCERNET = Source(
    name="soccernet",
    title="SoccerNet-v2",
    url="https://www.soccer-net.org (pip install SoccerNet)",
    terms="Labels are free to download; videos are given out to those who sign its non-disclosure agreement, and "
    "may not be handed on.",
    license="SoccerNet-NDA",
)

LABELS = "Labels-v2.json"
GAMES = f"*/*/*/{LABELS}"
"""League, season and game."""
GAME_TIME = re.compile(r"([12]) - (\d+):(\d\d)")


def missing_annotations(root: Path) -> list[str]:
    """Names of the annotation files that are not there: none if there is any game."""
    return [] if _labels(root) else [f"LEAGUE/SEASON/GAME/{LABELS}"]


def annotations_digest(root: Path) -> str:
    """Digest of the labels of all games."""
    return files_digest(root, _labels(root))


def read_footage(root: Path, resolution: str) -> Footage:
    """Read the labels of all games; each half is a video.

    Positions are milliseconds from the start of the half, in text. The labels do not say how long a half is: it is
    known to last until its last event.

    Args:
        root: The folder that holds the leagues.
        resolution: Which files are meant, `720p` or `224p`.

    Raises:
        EccdataError: Labels cannot be read; names file and annotation.

    """
    videos: list[Video] = []
    wrong: list[str] = []
    for path in _labels(root):
        game = path.parent.relative_to(root).as_posix()
        try:
            labels = json.loads(path.read_text(encoding="utf-8"))["annotations"]
            entries = list(enumerate(labels))
        except (OSError, ValueError, KeyError, TypeError) as error:
            wrong.append(f"{game}/{LABELS}: {type(error).__name__}: {error}")
            continue
        halves: dict[str, list[Annotation]] = {}
        for index, entry in entries:
            try:
                half, annotation = _annotation(game, index, entry)
            except (ValueError, KeyError, TypeError) as error:
                wrong.append(f"{game}/{LABELS}, annotation {index}: {type(error).__name__}: {error}")
            else:
                halves.setdefault(half, []).append(annotation)
        videos += [
            Video(
                video_id=f"{game}/{half}",
                path=f"{game}/{half}_{resolution}.mkv",
                end_s=max(a.start_s for a in annotations),
                annotations=ordered(annotations),
            )
            for half, annotations in halves.items()
        ]
    if wrong:
        raise problem(f"The labels in {root} cannot be read:", wrong, "Download them anew.")
    return Footage(SOCCERNET.name, tuple(sorted(videos, key=lambda v: v.video_id)), dense=False)


def _annotation(game: str, index: int, entry: dict[str, Any]) -> tuple[str, Annotation]:
    time = GAME_TIME.fullmatch(entry["gameTime"].strip())
    if time is None:
        raise ValueError(f"gameTime {entry['gameTime']!r} is not of the form '1 - 12:34'")
    position_s = int(entry["position"]) / 1000
    annotation = Annotation(
        annotation_id=f"{game}#{index}",
        start_s=position_s,
        end_s=position_s,
        words=entry["label"],
        shown=entry["visibility"] == "visible",
    )
    return time[1], annotation


def _labels(root: Path) -> list[Path]:
    return sorted(root.glob(GAMES))
