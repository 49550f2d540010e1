"""What the sources say happened when, in one form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Annotation:
    """Something that was seen to happen in a video.

    Attributes:
        annotation_id: The source's own name of it, unique in the source.
        start_s: When it begins, seconds from the start of the video file.
        end_s: When it ends; equal to `start_s` where the source marks a moment.
        words: What was done, in the annotator's words: the verb, or a sport's label.
        verb_class: The source's class of the verb; -1 where it has none.
        nouns: The nouns in the annotator's words, the main one first.
        noun_classes: Their classes, in the same order.
        shown: Whether the picture shows it.

    """

    annotation_id: str
    start_s: float
    end_s: float
    words: str
    verb_class: int = -1
    nouns: tuple[str, ...] = ()
    noun_classes: tuple[int, ...] = ()
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Video:
    """A video of a source with all its annotations.

    Attributes:
        video_id: Its name in the source.
        path: Where the file stands, relative to the source's folder.
        end_s: Up to where footage is known to be there, in seconds.
        annotations: By start, then end.

    """

    video_id: str
    path: str
    end_s: float
    annotations: tuple[Annotation, ...]


@dataclass(frozen=True, slots=True)
class Footage:
    """The videos of one source.

    Attributes:
        source: Its name.
        videos: By id.
        dense: Whether annotators described whatever happened, so that a stretch without annotations is one that
            nobody described; otherwise they looked through all of it for a list of events.

    """

    source: str
    videos: tuple[Video, ...] = field(repr=False)
    dense: bool


def ordered(annotations: Sequence[Annotation]) -> tuple[Annotation, ...]:
    """Annotations by start, then end, then name."""
    return tuple(sorted(annotations, key=lambda a: (a.start_s, a.end_s, a.annotation_id)))
