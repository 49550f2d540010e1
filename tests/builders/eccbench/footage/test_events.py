from __future__ import annotations

import pytest

from eccdata.builders.eccbench.footage.annotations import Annotation
from eccdata.builders.eccbench.footage.collections import SOURCES
from eccdata.builders.eccbench.footage.events import categories
from support.footage import ACTS

ELEVEN = (
    "open_fridge open_cupboard open_drawer pour_water cut_nontomato rinse_X turn_on_tap wipe_surface clean_counter "
    "wash_plate red_card"
)


def of(what: str) -> Annotation:
    verb, verb_class, nouns = ACTS[what]
    return Annotation(
        "a", 1, 2, verb, verb_class, tuple(name for name, _ in nouns), tuple(number for _, number in nouns)
    )


def verdict(category: str, annotation: Annotation) -> str:
    found = categories()[category]
    if found.is_event(annotation):
        assert found.leaves_open(annotation)
        return "yes"
    return "unclear" if found.leaves_open(annotation) else "no"


def test_the_categories_are_the_papers() -> None:
    assert " ".join(categories()) == ELEVEN
    assert [name for name, found in categories().items() if found.source == "soccernet"] == ["red_card"]
    assert {found.source for found in categories().values()} == set(SOURCES)
    for name, found in categories().items():
        if name == "red_card":
            assert found.question == "Did a red card appear in this video?"
        else:
            assert found.question.startswith("Did the person ")
            assert found.question.endswith(" in this video?")


@pytest.mark.parametrize(
    ("category", "what", "expected"),
    [
        ("open_fridge", "open fridge", "yes"),
        ("open_fridge", "close fridge", "unclear"),
        ("open_fridge", "take milk from fridge", "unclear"),
        ("open_fridge", "open door", "unclear"),
        ("open_fridge", "open cupboard", "no"),
        ("open_cupboard", "open cupboard", "yes"),
        ("open_cupboard", "open door", "unclear"),
        ("open_drawer", "open drawer", "yes"),
        ("open_drawer", "open cupboard", "no"),
        ("pour_water", "pour water", "yes"),
        ("pour_water", "pour oil", "no"),
        ("cut_nontomato", "cut onion", "yes"),
        ("cut_nontomato", "cut tomato", "no"),
        ("cut_nontomato", "cut tomato with knife", "unclear"),
        ("rinse_X", "rinse cup", "yes"),
        ("rinse_X", "wash plate", "unclear"),
        ("rinse_X", "wipe surface", "no"),
        ("turn_on_tap", "turn on tap", "yes"),
        ("turn_on_tap", "rinse cup", "unclear"),
        ("wipe_surface", "wipe surface", "yes"),
        ("wipe_surface", "clean counter", "unclear"),
        ("clean_counter", "clean counter", "yes"),
        ("clean_counter", "wipe surface", "unclear"),
        ("wash_plate", "wash plate", "yes"),
        ("wash_plate", "rinse cup", "no"),
        ("red_card", "open fridge", "no"),
    ],
)
def test_what_annotations_say_of_categories(category: str, what: str, expected: str) -> None:
    assert verdict(category, of(what)) == expected


def test_red_cards() -> None:
    def card(label: str, shown: bool) -> str:
        return verdict("red_card", Annotation("a", 1, 1, label, shown=shown))

    assert card("Red card", True) == card("Yellow->red card", True) == "yes"
    assert card("Red card", False) == "unclear"
    assert card("Yellow card", True) == "no"


def test_words_with_an_ending_count_and_words_within_words_do_not() -> None:
    def wiped(verb: str) -> str:
        return verdict("wipe_surface", Annotation("a", 1, 2, verb, 2, ("surface",), (42,)))

    assert wiped("wipe") == wiped("wipe-down") == "yes"
    assert wiped("swipe") == wiped("wiper") == "unclear"
