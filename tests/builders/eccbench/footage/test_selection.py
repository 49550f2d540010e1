from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from eccdata.builders.eccbench.footage.annotations import Annotation, Footage, Video
from eccdata.builders.eccbench.footage.plan import CLIPS, LENGTHS, clips_of, lay_out, questions
from eccdata.builders.eccbench.footage.selection import Question, ask_more, choose
from eccdata.streams.seeding import generator
from support.footage import EVENTS, Kitchen, cooking

NAMES = list(EVENTS)


def video(name: str, kitchen: Kitchen) -> Video:
    return Video(
        name,
        f"{name}.MP4",
        kitchen.duration_s,
        tuple(
            Annotation(
                f"{name}_{index}",
                one.start_s,
                one.stop_s,
                one.verb,
                one.verb_class,
                tuple(noun for noun, _ in one.nouns),
                tuple(number for _, number in one.nouns),
            )
            for index, one in enumerate(kitchen.acts)
        ),
    )


def footage(videos: int, duration_s: float, every: int = 6, kinds: int = 3) -> Footage:
    return Footage(
        "epic",
        tuple(
            video(
                f"P{index:02d}_01",
                cooking(index, duration_s, [NAMES[(index + k) % len(NAMES)] for k in range(kinds)], every),
            )
            for index in range(videos)
        ),
        dense=True,
    )


def rng(category: str, purpose: str) -> np.random.Generator:
    return generator(0, "test", category, purpose)


def chosen(of: Footage, length: int, pairs: int, max_slowdown: float = 3.0) -> list[Question]:
    lines = lay_out([of], NAMES, 60.0)["epic"]
    found: list[Question] = choose(length, pairs, lines, source="epic", max_slowdown=max_slowdown, rng=rng)
    return found


def assert_sound(found: list[Question], length: int) -> None:
    """Hold the questions against the annotations themselves."""
    for question in found:
        clip = question.clip
        line = clip.timeline
        assert clip.length == length
        assert 0 <= clip.start_s < clip.end_s <= line.video.end_s + 1e-9
        assert clip.slowdown >= 1 - 1e-12
        whole = {
            one.annotation_id
            for one in line.seen
            if clip.start_s <= one.span[0] and one.span[1] <= clip.end_s
        }
        if question.happens:
            assert question.annotation_ids
            assert set(question.annotation_ids) <= whole
        else:
            assert not question.annotation_ids
            assert all(
                one.span[1] + 2 <= clip.start_s + 1e-9 or clip.end_s <= one.span[0] - 2 + 1e-9
                for one in line.seen
            )


def assert_apart(found: list[Question]) -> None:
    spans = sorted((q.clip.timeline.video.video_id, q.clip.start_s, q.clip.end_s) for q in found)
    for (one, _, end), (other, start, _) in pairwise(spans):
        assert one != other or end <= start


@pytest.mark.parametrize("length", [8, 16, 64, 128])
def test_pairs_are_balanced_apart_and_true(length: int) -> None:
    found = chosen(footage(24, 900), length, 23)
    assert len(found) == 46
    assert_sound(found, length)
    assert_apart(found)
    yes = Counter(q.category for q in found if q.happens)
    assert yes == Counter(q.category for q in found if not q.happens)
    # 23 pairs on ten categories: two or three each, in their order
    assert [yes[name] for name in NAMES] == [3, 3, 3, 2, 2, 2, 2, 2, 2, 2]
    assert all(q.clip.slowdown == 1 for q in found)


def test_clips_are_slowed_down_only_where_none_is_left_at_native_speed() -> None:
    short, long = footage(20, 70), footage(2, 400)
    renamed = tuple(
        Video(f"Q{index}", one.path, one.end_s, one.annotations) for index, one in enumerate(long.videos)
    )
    both = Footage("epic", (*short.videos, *renamed), dense=True)
    found = chosen(both, 128, 12)
    assert_sound(found, 128)
    assert_apart(found)
    slowed = [q for q in found if q.clip.slowdown > 1]
    assert slowed
    assert max(q.clip.slowdown for q in slowed) <= 3
    for name in NAMES:
        for happens in (True, False):
            factors = [q.clip.slowdown for q in found if (q.category, q.happens) == (name, happens)]
            # native ones first, then the longest first
            assert factors == sorted(factors)
    assert not chosen(short, 128, 12, max_slowdown=1.0)


def test_a_category_without_footage_leaves_its_share_to_the_others() -> None:
    lines = lay_out([footage(12, 900)], NAMES, 60.0)["epic"]
    lines = {**lines, "wash_plate": ()}
    found = choose(16, 20, lines, source="epic", max_slowdown=3, rng=rng)
    counts = Counter(q.category for q in found)
    assert len(found) == 40
    assert "wash_plate" not in counts
    assert set(counts.values()) <= {4, 6}


def test_what_there_is_no_more_of_is_not_made_up() -> None:
    few = footage(2, 120)
    found = chosen(few, 64, 50)
    assert 0 < len(found) < 100
    assert_sound(found, 64)
    assert_apart(found)


def test_a_choice_depends_on_its_own_key_alone() -> None:
    of = footage(10, 600)
    lines = lay_out([of], NAMES, 60.0)
    again = lay_out([of], NAMES, 60.0)

    def ids(laid: object) -> list[tuple[str, float, str, bool]]:
        found = questions(16, 20, laid, questions_per_clip=2, max_slowdown=3, rng=rng)
        return [(q.clip.timeline.video.video_id, q.clip.start_s, q.category, q.happens) for q in found]

    assert ids(lines) == ids(again)


def test_more_questions_on_a_clip_are_balanced_true_and_no_more_than_asked_for() -> None:
    of = footage(24, 900)
    lines = lay_out([of], NAMES, 60.0)["epic"]
    first = choose(128, 20, lines, source="epic", max_slowdown=3, rng=rng)
    more = ask_more(first, lines, questions_per_clip=3, rng=rng)
    assert more
    assert_sound(more, 128)
    assert Counter(q.category for q in more if q.happens) == Counter(
        q.category for q in more if not q.happens
    )
    of_clip = Counter((q.clip.timeline.video.video_id, q.clip.start_s) for q in [*first, *more])
    assert max(of_clip.values()) == 3
    asked = Counter((q.clip.timeline.video.video_id, q.clip.start_s, q.category) for q in [*first, *more])
    assert max(asked.values()) == 1


def test_the_papers_sizes_and_mix() -> None:
    assert LENGTHS == (8, 16, 64, 128, 512, 1024)
    mix = {
        length: (clips_of("epic", length, CLIPS[length]), clips_of("soccernet", length, CLIPS[length]))
        for length in LENGTHS
    }
    assert mix == {
        8: (236, 16),
        16: (236, 16),
        64: (236, 16),
        128: (100, 10),
        512: (100, 10),
        1024: (42, 10),
    }
