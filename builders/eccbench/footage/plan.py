"""How many clips of each source and length, and which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .annotations import Footage
from .events import categories
from .selection import Generator, Question, ask_more, choose
from .timelines import Timeline, timelines

LENGTHS = (8, 16, 64, 128, 512, 1024)
"""Frames of a clip (eccbench.txt, B.6.1)."""

CLIPS = {8: 252, 16: 252, 64: 252, 128: 110, 512: 110, 1024: 52}
"""Clips of each length."""

SOCCERNET_CLIPS = {8: 16, 16: 16, 64: 16, 128: 10, 512: 10, 1024: 10}
"""How many of them are from SoccerNet; the others are from EPIC-KITCHENS-100."""

QUESTIONS = {8: 1, 16: 1, 64: 1, 128: 3, 512: 3, 1024: 3}
"""The most questions on a clip: table 7 has 1 a clip at 64 frames and 2.7 above."""

Lines = Mapping[str, Mapping[str, Sequence[Timeline]]]
"""The timelines of each category, by source."""


def lay_out(footage: Sequence[Footage], chosen: Sequence[str], max_gap_s: float) -> Lines:
    """Lay out the videos of each source under each of its categories."""
    return {
        one.source: {
            name: timelines(one, category, max_gap_s)
            for name, category in categories().items()
            if name in chosen and category.source == one.source
        }
        for one in footage
    }


def clips_of(source: str, length: int, clips: int) -> int:
    """How many of `clips` are from a source: the paper's share at this length, or at the nearest that it has."""
    nearest = min(CLIPS, key=lambda known: abs(known - length))
    soccernet = 2 * round(clips / 2 * SOCCERNET_CLIPS[nearest] / CLIPS[nearest])
    return soccernet if source == "soccernet" else clips - soccernet


def questions(
    length: int, clips: int, lines: Lines, *, questions_per_clip: int, max_slowdown: float, rng: Generator
) -> list[Question]:
    """Choose the clips of one length and the questions on them, in the order of their rows.

    The order is that of the categories; within one it is random, so that a row's place says nothing of its answer.

    Args:
        length: Frames of a clip.
        clips: How many clips of all sources together, were all given.
        lines: The timelines.
        questions_per_clip: The most questions on one clip.
        max_slowdown: The most that a clip may be slowed down.
        rng: Makes the random generator of a category and purpose.

    Source:
        eccbench.txt, B.6.1.

    """
    found: list[Question] = []
    for source, own in lines.items():
        pairs = clips_of(source, length, clips) // 2
        chosen = choose(length, pairs, own, source=source, max_slowdown=max_slowdown, rng=rng)
        found += chosen
        if questions_per_clip > 1:
            found += ask_more(chosen, own, questions_per_clip=questions_per_clip, rng=rng)
    rows = []
    for name in categories():
        of = [question for question in found if question.category == name]
        rows += [of[at] for at in rng(name, "order").permutation(len(of))]
    return rows
