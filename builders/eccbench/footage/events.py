"""The event categories, which `events.yaml` declares: what an annotation says of each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field

from .annotations import Annotation

Seconds = Annotated[float, Field(ge=0)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Pattern(_Model):
    """Which annotations are meant: those to which all that is named here fits."""

    words: tuple[str, ...] = ()
    verbs: Mapping[int, str] = {}
    nouns: Mapping[int, str] = {}
    noun_words: tuple[str, ...] = ()
    without: Mapping[int, str] = {}
    besides: Mapping[int, str] = {}
    shown: bool | None = None

    def fits(self, annotation: Annotation, *, main_noun: bool) -> bool:
        """Whether it is one of them.

        Args:
            annotation: What was annotated.
            main_noun: Look for nouns in the place of the main one alone, not among all.

        """
        classes = annotation.noun_classes[:1] if main_noun else annotation.noun_classes
        nouns = annotation.nouns[:1] if main_noun else annotation.nouns
        return (
            (not self.words or any(_is_word(annotation.words, word) for word in self.words))
            and (not self.verbs or annotation.verb_class in self.verbs)
            and (not self.nouns or any(number in self.nouns for number in classes))
            and (not self.noun_words or any(part in self.noun_words for n in nouns for part in n.split(":")))
            and not any(number in self.without for number in annotation.noun_classes)
            and (not self.besides or any(number not in self.besides for number in annotation.noun_classes))
            and (self.shown is None or annotation.shown == self.shown)
        )


class Category(_Model):
    """One kind of event.

    Attributes:
        source: The source whose clips it is asked of.
        question: The question, as it stands in the prompt.
        happens: Which annotations are the event.
        unclear: Which leave open whether it happened.
        guard_s: Seconds before and after those that are unfit for negatives too.
        extent_s: Seconds before and after a moment during which the event is seen.

    """

    source: str
    question: str
    happens: tuple[Pattern, ...]
    unclear: tuple[Pattern, ...]
    guard_s: tuple[Seconds, Seconds]
    extent_s: tuple[Seconds, Seconds] = (0, 0)

    def is_event(self, annotation: Annotation) -> bool:
        """Whether an annotation is the event."""
        return any(pattern.fits(annotation, main_noun=True) for pattern in self.happens)

    def leaves_open(self, annotation: Annotation) -> bool:
        """Whether an annotation leaves open that the event happened (as the event itself does)."""
        return self.is_event(annotation) or any(
            pattern.fits(annotation, main_noun=False) for pattern in self.unclear
        )

    def seen_s(self, annotation: Annotation) -> tuple[float, float]:
        """From when to when it is seen."""
        return annotation.start_s - self.extent_s[0], annotation.end_s + self.extent_s[1]


@cache
def categories() -> dict[str, Category]:
    """The categories by name, in the order of the paper."""
    text = files(__package__).joinpath("events.yaml").read_text(encoding="utf-8")
    return {name: Category.model_validate(values) for name, values in yaml.safe_load(text).items()}


def _is_word(said: str, word: str) -> bool:
    return said == word or said.startswith(f"{word}-")
