"""The user's own copies of both sources: what is there, what is missing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from eccdata.errors import EccdataError, problem
from eccdata.local_copies import Source, missing_files
from eccdata.video.sources import open_video

from . import epic, soccernet
from .annotations import Footage
from .selection import Clip

SOURCES: Mapping[str, Source] = {source.name: source for source in (epic.EPIC, soccernet.SOCCERNET)}

READERS = {epic.EPIC.name: epic, soccernet.SOCCERNET.name: soccernet}

SLACK_S = 0.5
"""How much shorter than its clips a video may be by its own account: the last frame is shown for a while."""


@dataclass(frozen=True)
class Collections:
    """The folders that were given.

    Attributes:
        roots: Folder of each source that was given, by its name, in the order of `SOURCES`.
        resolution: Which of SoccerNet's files are meant.

    """

    roots: Mapping[str, Path]
    resolution: str

    @classmethod
    def of(cls, data_dirs: Mapping[str, str], resolution: str) -> Collections:
        """Take folders as they stand in the settings."""
        return cls(
            {name: Path(data_dirs[name]).expanduser() for name in SOURCES if name in data_dirs}, resolution
        )

    @property
    def left_out(self) -> list[Source]:
        """The sources that were not given."""
        return [source for name, source in SOURCES.items() if name not in self.roots]

    def digests(self) -> dict[str, str]:
        """SHA-256 over the annotations of each source that has them all."""
        return {
            name: READERS[name].annotations_digest(root)
            for name, root in self.roots.items()
            if root.is_dir() and not READERS[name].missing_annotations(root)
        }

    def fingerprint(self, with_presence: bool) -> str:
        """Digest of all that the choice of clips depends on.

        Args:
            with_presence: Whether it depends on which videos are there.

        """
        found: dict[str, object] = {"annotations": self.digests()}
        if with_presence:
            found["videos"] = {
                name: sorted(
                    path.relative_to(root).as_posix()
                    for ending in ("*.mkv", "*.MP4", "*.mp4")
                    for path in root.rglob(ending)
                )
                for name, root in self.roots.items()
            }
        return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()

    def read(self, *, only_present: bool) -> list[Footage]:
        """Read all annotations.

        Args:
            only_present: Leave out videos whose files are not there.

        Raises:
            EccdataError: Annotations are missing (of both sources at once), or cannot be read.

        """
        missing = {
            SOURCES[name]: [f"{root}/{file}" for file in lacking]
            for name, root in self.roots.items()
            if (lacking := READERS[name].missing_annotations(root))
        }
        if missing:
            raise missing_files(missing)
        found = []
        for name, root in self.roots.items():
            footage = (
                epic.read_footage(root)
                if name == epic.EPIC.name
                else soccernet.read_footage(root, self.resolution)
            )
            if only_present:
                there = tuple(video for video in footage.videos if (root / video.path).is_file())
                footage = replace(footage, videos=there)
            found.append(footage)
        return found

    def video(self, source: str, path: str) -> Path:
        """Where the file of a video is."""
        return self.roots[source] / path

    def require_videos(self, clips: Iterable[Clip]) -> None:
        """Make sure that the videos of clips are there, can be opened, and last long enough by their own account.

        Raises:
            EccdataError: Naming each that is missing, with where it is to be had; or else each that is broken.

        """
        needed_s: dict[tuple[str, str], float] = {}
        for clip in clips:
            place = clip.source, clip.timeline.video.path
            needed_s[place] = max(needed_s.get(place, 0.0), clip.end_s)
        missing: dict[Source, list[str]] = {}
        for source, path in sorted(needed_s):
            if not self.video(source, path).is_file():
                missing.setdefault(SOURCES[source], []).append(str(self.video(source, path)))
        if missing:
            raise missing_files(missing)
        wrong = [
            fault
            for (source, path), end_s in sorted(needed_s.items())
            if (fault := _fault(self.video(source, path), end_s))
        ]
        if wrong:
            raise problem(
                "Videos are not what their annotations speak of:",
                wrong,
                "Copy them anew, or set videos=present after removing them.",
            )


def _fault(path: Path, end_s: float) -> str:
    try:
        with open_video(path) as (container, stream):
            if stream.duration is not None and stream.time_base is not None:
                duration_s = float(stream.duration * stream.time_base)
            elif container.duration is not None:
                duration_s = container.duration / 1_000_000
            else:
                return ""  # says nothing of its length; cutting will tell
    except EccdataError as error:
        return str(error)
    if duration_s + SLACK_S < end_s:
        return f"{path} lasts {duration_s:.2f} s, and a clip of it ends at {end_s:.2f} s"
    return ""
