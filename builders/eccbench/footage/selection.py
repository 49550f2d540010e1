"""Which clips are asked about: balanced by category, apart from one another, slowed down only where need be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from .timelines import Span, Timeline

Generator = Callable[[str, str], np.random.Generator]
"""Makes the random generator of one category and purpose."""

TICK = 100
"""Times are cut to hundredths of a second, the finest that annotations have."""
PLACEMENTS = 8
"""How often a place for a clip is drawn before the next event is tried."""


@dataclass(frozen=True, slots=True)
class Clip:
    """A piece of a video that is shown as `length` frames, one a second.

    Attributes:
        source: The source of the video.
        timeline: The video, under the category that the clip was chosen for.
        start_s: Where it begins in the video.
        end_s: Where it ends.
        length: Frames.

    """

    source: str
    timeline: Timeline
    start_s: float
    end_s: float
    length: int

    @property
    def slowdown(self) -> float:
        """How much slower than life it is shown: 1 is native speed."""
        # in hundredths, so that native speed is exactly 1
        return self.length * TICK / round((self.end_s - self.start_s) * TICK)

    @property
    def frame_s(self) -> float:
        """Seconds of the video from one frame to the next."""
        return (self.end_s - self.start_s) / self.length


@dataclass(frozen=True, slots=True)
class Question:
    """A clip and a category that it is asked about.

    Attributes:
        clip: The clip.
        category: The category.
        happens: The answer.
        annotation_ids: The annotations that make the answer yes.

    """

    clip: Clip
    category: str
    happens: bool
    annotation_ids: tuple[str, ...]


def choose(
    length: int,
    pairs: int,
    lines: Mapping[str, Sequence[Timeline]],
    *,
    source: str,
    max_slowdown: float,
    rng: Generator,
) -> list[Question]:
    """Choose pairs of clips of one source, one with and one without the event, for its categories in turn.

    Clips at native speed come first, in random order; where a category has no more of them, the longest that there
    are shown more slowly. Clips of one call do not overlap. A category that can give no further pair drops out, and
    the others take its share.

    Args:
        length: Frames of a clip.
        pairs: Pairs wanted; fewer come out where the footage has no more.
        lines: The timelines of each category, of the same videos.
        source: Their source.
        max_slowdown: The largest factor.
        rng: Random generators.

    """
    taken: dict[str, list[Span]] = {}

    def free(clip: Clip) -> bool:
        spans = taken.get(clip.timeline.video.video_id, ())
        return all(clip.end_s <= first or last <= clip.start_s for first, last in spans)

    def take(clip: Clip) -> None:
        taken.setdefault(clip.timeline.video.video_id, []).append((clip.start_s, clip.end_s))

    supplies = {
        name: (
            chain(
                _native_positives(length, own, source, rng(name, "yes"), free),
                _slow_positives(length, own, source, max_slowdown),
            ),
            chain(
                _native_negatives(length, own, source, rng(name, "no")),
                _slow_negatives(length, own, source, max_slowdown),
            ),
        )
        for name, own in lines.items()
    }
    chosen: list[Question] = []
    while supplies and len(chosen) < 2 * pairs:
        for name in list(supplies):
            if len(chosen) >= 2 * pairs:
                break
            yes = next((clip for clip in supplies[name][0] if free(clip)), None)
            if yes is not None:
                take(yes)
            no = next((clip for clip in supplies[name][1] if free(clip)), None)
            if yes is None or no is None:
                if yes is not None:
                    taken[yes.timeline.video.video_id].pop()
                del supplies[name]
                continue
            take(no)
            chosen += [_question(yes, name, happens=True), _question(no, name, happens=False)]
    return chosen


def ask_more(
    chosen: Sequence[Question],
    lines: Mapping[str, Sequence[Timeline]],
    *,
    questions_per_clip: int,
    rng: Generator,
) -> list[Question]:
    """Ask about chosen clips under further categories, as many yes as no in each.

    Args:
        chosen: Questions on the clips of one source, one a clip.
        lines: The timelines of each category, of the same videos.
        questions_per_clip: The most that one clip may have, with the first.
        rng: Random generators.

    """
    room = {_key(question.clip): questions_per_clip - 1 for question in chosen}
    of = {name: {line.video.video_id: line for line in own} for name, own in lines.items()}
    supplies: dict[str, tuple[list[Question], list[Question]]] = {}
    for name in lines:
        order = rng(name, "more").permutation(len(chosen))
        others = [
            replace(chosen[at].clip, timeline=of[name][chosen[at].clip.timeline.video.video_id])
            for at in order
            if chosen[at].category != name
        ]
        supplies[name] = (
            [q for clip in others if (q := _question(clip, name, happens=True)).annotation_ids],
            [
                _question(clip, name, happens=False)
                for clip in others
                if clip.timeline.is_absent(clip.start_s, clip.end_s)
            ],
        )
    more: list[Question] = []
    while supplies:
        for name in list(supplies):
            found = []
            for half in supplies[name]:
                fitting = (at for at, question in enumerate(half) if room[_key(question.clip)] > 0)
                at = next(fitting, None)
                if at is not None:
                    found.append(half.pop(at))
            if len(found) < 2:
                del supplies[name]
                continue
            for question in found:
                room[_key(question.clip)] -= 1
            more += found
    return more


def _question(clip: Clip, category: str, *, happens: bool) -> Question:
    ids = clip.timeline.within(clip.start_s, clip.end_s, clip.frame_s) if happens else ()
    return Question(clip, category, happens, ids)


def _native_positives(
    length: int,
    lines: Sequence[Timeline],
    source: str,
    rng: np.random.Generator,
    free: Callable[[Clip], bool],
) -> Iterator[Clip]:
    """Clips that have an event in them whole, at a random place."""
    events = [
        (line, one.span)
        for line in lines
        if line.video.end_s >= length
        for one in line.seen
        # an event that lasts no frame may fall between two
        if 1 <= one.length_s <= length
    ]
    for at in rng.permutation(len(events)):
        line, (first, last) = events[at]
        earliest = math.ceil(max(0.0, last - length) * TICK)
        latest = math.floor(min(first, line.video.end_s - length) * TICK)
        if earliest > latest:
            continue
        for start in rng.integers(earliest, latest, endpoint=True, size=PLACEMENTS) / TICK:
            clip = Clip(source, line, float(start), round(float(start) + length, 2), length)
            if free(clip) and line.within(clip.start_s, clip.end_s, clip.frame_s):
                yield clip
                break


def _native_negatives(
    length: int, lines: Sequence[Timeline], source: str, rng: np.random.Generator
) -> Iterator[Clip]:
    """Clips in stretches where the event is absent, as many as fit beside one another."""
    slots = [
        (line, span, slot)
        for line in lines
        for span in line.absent
        for slot in range(int((span[1] - span[0]) // length))
    ]
    for at in rng.permutation(len(slots)):
        line, (first, last), slot = slots[at]
        # a slot is as wide as all of the stretch allows, so that its clip can lie anywhere and slots stay apart
        width = (last - first) / int((last - first) // length)
        earliest = math.ceil((first + slot * width) * TICK)
        spare = math.floor((width - length) * TICK)
        start = (earliest + int(rng.integers(0, max(spare, 0), endpoint=True))) / TICK
        clip = Clip(source, line, start, round(start + length, 2), length)
        if line.is_absent(clip.start_s, clip.end_s):
            yield clip


def _slow_positives(
    length: int, lines: Sequence[Timeline], source: str, max_slowdown: float
) -> Iterator[Clip]:
    """Whole videos with an event in them, the longest first."""
    whole = [(line, (0.0, line.video.end_s)) for line in lines if line.seen]
    for clip in _slowed(length, whole, source, max_slowdown):
        if clip.timeline.within(clip.start_s, clip.end_s, clip.frame_s):
            yield clip


def _slow_negatives(
    length: int, lines: Sequence[Timeline], source: str, max_slowdown: float
) -> Iterator[Clip]:
    """Whole stretches without the event, the longest first."""
    yield from _slowed(length, [(line, span) for line in lines for span in line.absent], source, max_slowdown)


def _slowed(
    length: int, spans: Sequence[tuple[Timeline, Span]], source: str, max_slowdown: float
) -> Iterator[Clip]:
    clips = [
        Clip(source, line, math.ceil(first * TICK) / TICK, math.floor(last * TICK) / TICK, length)
        for line, (first, last) in spans
        if last - first > 2 / TICK
    ]
    # at equal length by place, so that the order is one
    for clip in sorted(clips, key=lambda c: (c.start_s - c.end_s, c.timeline.video.video_id, c.start_s)):
        if 1 < clip.slowdown <= max_slowdown:
            yield clip


def _key(clip: Clip) -> tuple[str, float]:
    return clip.timeline.video.video_id, clip.start_s
