from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eccdata.builders.eccbench.footage.annotations import Annotation, Footage, Video, ordered
from eccdata.builders.eccbench.footage.events import categories
from eccdata.builders.eccbench.footage.timelines import Timeline, timelines
from support.footage import ACTS

FRIDGE = categories()["open_fridge"]


def said(*acts: tuple[float, float, str]) -> tuple[Annotation, ...]:
    found = []
    for index, (start, end, what) in enumerate(acts):
        verb, verb_class, nouns = ACTS[what]
        found.append(
            Annotation(
                str(index),
                start,
                end,
                verb,
                verb_class,
                tuple(name for name, _ in nouns),
                tuple(number for _, number in nouns),
            )
        )
    in_order: tuple[Annotation, ...] = ordered(found)
    return in_order


def line(*acts: tuple[float, float, str], end_s: float = 100, dense: bool = True) -> Timeline:
    video = Video("v", "v.mp4", end_s, said(*acts))
    (found,) = timelines(Footage("epic", (video,), dense), FRIDGE, max_gap_s=10)
    return found


def test_absent_is_where_others_were_described_and_nothing_is_near() -> None:
    found = line((0, 30, "stir food"), (35, 38, "open fridge"), (39, 60, "stir food"), (75, 90, "stir food"))
    assert [(one.annotation_id, one.span) for one in found.seen] == [("1", (35, 38))]
    # two seconds of guard around the event; 60 to 75 was described by nobody; before 0 and after 90 neither
    assert found.absent == ((0, 33), (40, 60), (75, 90))


def test_what_leaves_it_open_is_neither_seen_nor_absent() -> None:
    found = line((0, 30, "stir food"), (30, 32, "close fridge"), (32, 60, "stir food"))
    assert not found.seen
    assert found.absent == ((0, 28), (34, 60))


def test_where_all_was_looked_through_gaps_do_not_matter() -> None:
    found = line((10, 12, "stir food"), (80, 82, "open fridge"), dense=False)
    assert found.absent == ((0, 78), (84, 100))


def test_a_clip_that_touches_an_event_is_neither_yes_nor_no() -> None:
    found = line((0, 50, "stir food"), (40, 44, "open fridge"), (50, 90, "stir food"))
    assert found.within(38, 46, 1) == ("1",)
    assert found.within(40, 44, 1) == ("1",)
    assert found.within(41, 49, 1) == ()
    assert not found.is_absent(41, 49)
    assert not found.is_absent(45, 53)
    assert found.is_absent(46, 54)
    # an event that lasts no frame may fall between two
    assert found.within(38, 46, 5) == ()


def test_a_moment_is_seen_for_a_while() -> None:
    card = categories()["red_card"]
    video = Video(
        "g/1",
        "g/1.mkv",
        1000,
        (
            Annotation("0", 0, 0, "Red card"),
            Annotation("1", 500, 500, "Red card"),
            Annotation("2", 998, 998, "Red card"),
        ),
    )
    (found,) = timelines(Footage("soccernet", (video,), dense=False), card, max_gap_s=0)
    # those at the very edges are not seen whole
    assert [one.span for one in found.seen] == [(499, 504)]
    assert found.absent == ((124, 484), (624, 982))


@given(
    st.lists(
        st.tuples(st.integers(0, 90), st.integers(1, 9), st.sampled_from(sorted(ACTS))),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 90),
    st.integers(1, 20),
)
def test_seen_and_absent_exclude_each_other(
    acts: list[tuple[int, int, str]], start: int, length: int
) -> None:
    found = line(*((a, a + n, what) for a, n, what in acts))
    assert list(found.absent) == sorted(found.absent)
    if found.is_absent(start, start + length):
        assert not found.within(start, start + length, 0)
        for annotation in found.video.annotations:
            if FRIDGE.leaves_open(annotation):
                assert annotation.end_s + 2 <= start or start + length <= annotation.start_s - 2
