"""When an event is seen in a video, when it surely is not, and what that says of a clip."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .annotations import Annotation, Footage, Video
from .events import Category

Span = tuple[float, float]
"""From when to when, in seconds from the start of the video."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One time that the event is seen.

    Attributes:
        annotation_id: The annotation that says so.
        span: From when to when.

    """

    annotation_id: str
    span: Span

    @property
    def length_s(self) -> float:
        """How long it is seen."""
        return self.span[1] - self.span[0]


@dataclass(frozen=True, slots=True)
class Timeline:
    """One video under one category.

    Attributes:
        video: The video.
        seen: The times that the event is seen, by start.
        absent: Where it surely is not seen, by start; far from annotations that leave it open, and, in densely
            annotated videos, where somebody described what happens.

    """

    video: Video
    seen: tuple[Seen, ...]
    absent: tuple[Span, ...]

    def within(self, start_s: float, end_s: float, frame_s: float) -> tuple[str, ...]:
        """Annotations of the times that are seen whole in a clip and last a frame of it at least."""
        return tuple(
            one.annotation_id
            for one in self.seen
            if start_s <= one.span[0] and one.span[1] <= end_s and one.length_s >= frame_s
        )

    def is_absent(self, start_s: float, end_s: float) -> bool:
        """Whether the event surely is not seen in a clip."""
        return any(first <= start_s and end_s <= last for first, last in self.absent)


def timelines(footage: Footage, category: Category, max_gap_s: float) -> tuple[Timeline, ...]:
    """Lay out every video of a source under one category.

    Args:
        footage: The source's videos.
        category: The kind of event.
        max_gap_s: In a densely annotated video, how long a stretch without any annotation may be.

    """
    verdicts: dict[tuple[object, ...], tuple[bool, bool]] = {}

    def verdict(annotation: Annotation) -> tuple[bool, bool]:
        # many annotations say the same of different times
        key = (
            annotation.words,
            annotation.verb_class,
            annotation.nouns,
            annotation.noun_classes,
            annotation.shown,
        )
        if key not in verdicts:
            verdicts[key] = category.is_event(annotation), category.leaves_open(annotation)
        return verdicts[key]

    return tuple(_timeline(video, category, footage.dense, max_gap_s, verdict) for video in footage.videos)


def _timeline(
    video: Video,
    category: Category,
    dense: bool,
    max_gap_s: float,
    verdict: Callable[[Annotation], tuple[bool, bool]],
) -> Timeline:
    before_s, after_s = category.guard_s
    seen: list[Seen] = []
    open_: list[Span] = []
    for annotation in video.annotations:
        happens, leaves_open = verdict(annotation)
        if not leaves_open:
            continue
        first, last = category.seen_s(annotation)
        open_.append((first - before_s, last + after_s))
        if happens and first >= 0 and last <= video.end_s:
            seen.append(Seen(annotation.annotation_id, (first, last)))
    described = _described(video, max_gap_s) if dense else [(0.0, video.end_s)]
    return Timeline(video, tuple(seen), tuple(_without(described, open_)))


def _described(video: Video, max_gap_s: float) -> list[Span]:
    """Stretches in which annotations follow one another closely."""
    return _joined(((a.start_s, a.end_s) for a in video.annotations), max_gap_s)


def _without(spans: Sequence[Span], holes: Sequence[Span]) -> list[Span]:
    """What is left of `spans`, which are apart and in order, without `holes`."""
    left = []
    joined = _joined(holes, 0.0)
    for first, last in spans:
        at = first
        for hole_first, hole_last in joined:
            if hole_last <= at:
                continue
            if hole_first >= last:
                break
            if hole_first > at:
                left.append((at, hole_first))
            at = hole_last
        if at < last:
            left.append((at, last))
    return left


def _joined(spans: Iterable[Span], max_gap_s: float) -> list[Span]:
    """Join spans that overlap or are no further apart than `max_gap_s`."""
    joined: list[Span] = []
    for first, last in sorted(spans):
        if joined and first - joined[-1][1] <= max_gap_s:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined
