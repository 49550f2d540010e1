"""ECCBench's questions as they are shown: belts for the stream and its candidates, and the two kinds of negatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eccdata.errors import EccdataError
from eccdata.streams.queries import Query
from eccdata.video.lanes import LaneMode, draw_event_lanes, draw_letter_lanes, joint_symbols
from eccdata.video.wrong_belts import wrong_belts

SEQUENTIAL, SPATIAL = VARIANTS = ("sequential", "spatial")
WRONG_BELT = "wrong-belt"


@dataclass(frozen=True, slots=True)
class Main:
    """A stream as it is shown.

    Attributes:
        symbols: Its letters, a byte each.
        lanes: Their belts, a byte each.
        letters: The belt that each letter of the alphabet keeps, uint8 [alphabet_size]; None if they keep none.

    """

    symbols: bytes
    lanes: bytes
    letters: NDArray[np.uint8] | None

    @classmethod
    def draw(cls, symbols: bytes, mode: LaneMode, rng: np.random.Generator, alphabet_size: int) -> Main:
        """Draw the belts of a stream."""
        if mode == "per-event":
            return cls(symbols, draw_event_lanes(rng, len(symbols)).tobytes(), None)
        letters = draw_letter_lanes(rng, alphabet_size)
        return cls(symbols, letters[_numbers(symbols)].tobytes(), letters)

    @property
    def mode(self) -> LaneMode:
        """What has a belt."""
        return "per-event" if self.letters is None else "per-letter"

    @property
    def events(self) -> NDArray[np.uint8]:
        """Letter and belt of each frame, uint8 [length, 2]."""
        return _events(self.symbols, self.lanes)

    @property
    def joint(self) -> bytes:
        """The pairs of letter and belt, a byte each."""
        return _joint(self.symbols, self.lanes)


@dataclass(frozen=True, slots=True)
class Shown:
    """A question as it is shown.

    Attributes:
        query: The question; `position` is where its letters occur on their belts.
        lanes: The belts of the candidate's letters, a byte each.
        variant: Which of `VARIANTS`.
        window_position: Of a spatial negative, where the window stands whose letters it has; -1 for others.

    """

    query: Query
    lanes: bytes
    variant: str
    window_position: int = -1

    @property
    def events(self) -> NDArray[np.uint8]:
        """Letter and belt of each of the candidate's frames, uint8 [length, 2]."""
        return _events(self.query.candidate, self.lanes)


def shown_questions(
    queries: Sequence[Query],
    main: Main,
    variants: Sequence[str],
    rng: np.random.Generator,
    negatives_rng: np.random.Generator,
    *,
    alphabet_size: int,
    cell: str,
) -> list[Shown]:
    """Show the questions on a stream's letters: in the same order, with the same answers and positives.

    Questions are taken in pairs of a positive and a negative of one length, and both are of one variant. A
    sequential negative is the negative on letters. A spatial one has the letters of its pair's positive, one of them
    on another belt: so the two classes show the very same letters in the same order, and who does not remember belts
    cannot tell them apart at all.

    Args:
        queries: The questions on the letters.
        main: The stream.
        variants: Dealt out to the pairs in turn.
        rng: Where the draws come from that all configurations share.
        negatives_rng: Where the pairs and the wrong belts come from.
        alphabet_size: How many letters there are.
        cell: What the stream is called in errors.

    Raises:
        EccdataError: Every letter of every window of a length occurs on every belt.

    """
    shown = [_on_belts(query, main, rng) for query in queries]
    asked: set[bytes] = set()
    for turn, (yes, no) in enumerate(
        _pairs(queries, negatives_rng), int(negatives_rng.integers(len(variants)))
    ):
        variant = variants[turn % len(variants)]
        shown[yes] = replace(shown[yes], variant=variant)
        shown[no] = replace(shown[no], variant=variant)
        if variant == SPATIAL:
            shown[no] = _on_a_wrong_belt(shown[yes], main, asked, negatives_rng, alphabet_size, cell)
            asked.add(_joint(shown[no].query.candidate, shown[no].lanes))
    return shown


def _on_belts(query: Query, main: Main, rng: np.random.Generator) -> Shown:
    """Give a question's letters their belts: a positive those of one of its occurrences."""
    if query.position >= 0:
        starts = _occurrences(query.candidate, main)
        start = starts[int(rng.integers(len(starts)))]
        lanes = main.lanes[start : start + len(query.candidate)]
        query = replace(query, position=main.joint.find(_joint(query.candidate, lanes)))
    elif main.letters is not None:
        lanes = main.letters[_numbers(query.candidate)].tobytes()
    else:
        lanes = draw_event_lanes(rng, len(query.candidate)).tobytes()
    return Shown(query, lanes, SEQUENTIAL)


def _on_a_wrong_belt(
    positive: Shown, main: Main, asked: set[bytes], rng: np.random.Generator, alphabet_size: int, cell: str
) -> Shown:
    """Move one letter of a positive, to where the candidate neither occurs nor was asked if that can be."""
    asked_already = None
    for start in _windows(positive, main, rng):
        window = slice(start, start + len(positive.lanes))
        letters = main.symbols[window]
        for lanes in wrong_belts(letters, main.lanes[window], main.mode, rng, alphabet_size):
            joint = _joint(letters, lanes)
            if joint in main.joint:
                continue
            found = Shown(Query(letters, -1, WRONG_BELT), lanes, SPATIAL, start)
            if joint not in asked:
                return found
            asked_already = asked_already or found
        if asked_already is not None:
            return asked_already
    raise EccdataError(
        f"{cell}: each window of {len(positive.lanes)} letters occurs with any of its letters on any belt, so that "
        "none can be shown on a wrong one. Use longer candidates, shorter streams or lanes=per-letter."
    )


def _windows(positive: Shown, main: Main, rng: np.random.Generator) -> Iterator[int]:
    """Where the positive stands; after that, all other windows of its length."""
    yield positive.query.position
    yield from rng.permutation(len(main.symbols) - len(positive.lanes) + 1).tolist()


def _pairs(queries: Sequence[Query], rng: np.random.Generator) -> list[tuple[int, int]]:
    """Pair the positives and negatives of each length, at random; lengths ascend."""
    sides: dict[tuple[int, bool], list[int]] = {}
    for place in rng.permutation(len(queries)).tolist():
        query = queries[place]
        sides.setdefault((len(query.candidate), query.position >= 0), []).append(place)
    return [
        pair
        for length in sorted({length for length, _ in sides})
        for pair in zip(sides[length, True], sides[length, False], strict=True)
    ]


def _occurrences(candidate: bytes, main: Main) -> list[int]:
    """Where a candidate's letters stand in the stream, at least once."""
    if main.letters is not None:
        return [main.symbols.find(candidate)]  # on the same belts everywhere
    found, at = [], main.symbols.find(candidate)
    while at >= 0:
        found.append(at)
        at = main.symbols.find(candidate, at + 1)
    return found


def _joint(symbols: bytes, lanes: bytes) -> bytes:
    return joint_symbols(_numbers(symbols), _numbers(lanes)).tobytes()


def _events(symbols: bytes, lanes: bytes) -> NDArray[np.uint8]:
    return np.stack([_numbers(symbols), _numbers(lanes)], axis=1)


def _numbers(symbols: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(symbols, dtype=np.uint8)
