"""Clips as files, for this machine alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from eccdata.errors import EccdataError, problem
from eccdata.video.clips import Frame, clip_times, frames_at, write_clip

NOTICE = "NOT-FOR-REDISTRIBUTION.txt"
RELEASE = "build.json"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A clip that is to be cut.

    Attributes:
        clip_id: Its name.
        path: The video's file.
        start_s: Where it begins in the video.
        end_s: Where it ends.

    """

    clip_id: str
    path: Path
    start_s: float
    end_s: float

    def times_s(self, length: int) -> list[float]:
        """Times of its frames in the video."""
        return clip_times(self.start_s, self.end_s, length)

    def frames(self, length: int) -> Iterator[Frame]:
        """Decode its frames."""
        return frames_at(self.path, self.times_s(length))


def clip_path(folder: Path, clip_id: str) -> Path:
    """Where the file of a clip is."""
    return folder / f"{clip_id}.mp4"


def write_clips(folder: Path, wanted: Sequence[Wanted], length: int, terms: str) -> None:
    """Cut clips, each into a file of its own at one frame a second; those that are there already are kept.

    Args:
        folder: Where to put them. A notice beside them says on which terms the footage is given out.
        wanted: The clips.
        length: Frames of each.
        terms: The terms.

    Raises:
        EccdataError: The folder is a release or within one, or clips could not be cut; the others are.

    """
    for above in (folder.resolve(), *folder.resolve().parents):
        if (above / RELEASE).is_file():
            raise EccdataError(
                f"clips={folder} lies in the release {above}, which may be handed on. Give a folder outside."
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NOTICE).write_text(
            f"These clips are cut from footage that may not be handed on.\n\n{terms}\n", encoding="utf-8"
        )
    except OSError as error:
        raise EccdataError(f"clips={folder} cannot be written: {error.strerror}.") from error
    wrong = []
    for clip in wanted:
        target = clip_path(folder, clip.clip_id)
        if target.is_file():
            continue
        try:
            write_clip(target, clip.frames(length))
        except EccdataError as error:
            wrong.append(str(error))
    if wrong:
        raise problem("Clips could not be cut:", wrong, "The others are there; mend these videos and go on.")
