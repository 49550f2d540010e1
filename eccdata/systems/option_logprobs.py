r"""What a model gave each option at the token that commits its reply, read from a chat completion's log-probabilities.

The place is where the option's name begins inside the last marker (`eccdata.answers.last_marker`): at that token the
model chose between the markers, whatever it said before. A token may hold the brace too (`{0`, ` {1`) or the whole
marker (`{2}`), and a name may take several (`{uncertain}`: the first of them counts).

**Which token that is.** A server's list of tokens covers all that the model wrote: reasoning that a parser split off,
special tokens that no text shows, characters that several tokens make up together. So the reply is found in it from
the marker to its end, as the last such place, by its printable ASCII characters alone: blanks are lost where a server
decodes tokens one by one, and halves of other characters come as U+FFFD.

**Which tokens speak for an option.** Those that begin as the chosen one does up to the name (blanks at either end
aside), go on with the option's name or the beginning of it, and, if with more than the name, with its closing brace:
beside `{0` these are ` {1`, `{2}` and `{unc`, and neither `{3`, `0`, nor `{0,`. Another division of the same
characters (`{` and then `0`, where the model wrote `{0`) is a token that leaves the option open and counts for none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eccdata.answers import CLOSING, DECORATION, last_marker

SURE_WITHIN = 0.01
"""How much P(yes) may depend on an option that the list of most probable tokens does not hold, and be stated."""

_ENDED = re.compile(rf"{DECORATION}\\*(?:[{CLOSING}].*)?", re.DOTALL)
_DECORATED = re.compile(DECORATION)
_UNPRINTABLE = re.compile(rb"[^!-~]+")
_SLACK = 1.001
"""Sums of probabilities may exceed 1 by what single precision rounds."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the options got at the committing token.

    Attributes:
        likely: The probability of each, by meaning, the chosen one's among them; they add up to 1 at most. An option
            that the list of most probable tokens does not hold is absent.
        yes: P(yes) among yes and no, whatever an abstention got. One of the two that is absent counts as nothing:
            it has at most what the list leaves over, and at most what the last of the list has. None where this
            could move P(yes) by more than `SURE_WITHIN`, and where both are absent.

    """

    likely: Mapping[str, float]
    yes: float | None


def read_options(text: str, logprobs: Any, options: Mapping[str, str]) -> Options | None:
    """Read what each option got at the committing token.

    Args:
        text: The visible reply.
        logprobs: The choice's `logprobs` as it came: `{"content": [{"token", "bytes", "logprob", "top_logprobs"}]}`.
        options: What each marker stands for, each an ASCII name in braces.

    Returns:
        None where the reply has no marker, or the server gave no log-probabilities that can be read.

    """
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not options or not isinstance(content, list) or not content:
        return None
    marker = last_marker(text, options)
    if marker is None:
        return None
    found = _token_at(content, _ascii(text[marker.start :]), _ascii(text[marker.start : marker.name_start]))
    if found is None:
        return None
    entry, before = found
    names = {option[1:-1].lower(): meaning for option, meaning in options.items()}
    alternatives = list(_alternatives(entry))
    likely: dict[str, float] = {}
    for token, probability in alternatives:
        meaning = _meaning(token, before, names)
        if meaning is not None:
            likely[meaning] = likely.get(meaning, 0.0) + probability
    listed = sum(probability for _, probability in alternatives)
    # a token that does not speak for the option it was found in is no evidence of any
    if marker.meaning not in likely or listed > _SLACK:
        return None
    likely = {meaning: value / max(listed, 1.0) for meaning, value in likely.items()}
    unlisted = min(1.0 - min(listed, 1.0), min(probability for _, probability in alternatives))
    return Options(likely, _yes(likely, unlisted))


def _yes(likely: Mapping[str, float], unlisted: float) -> float | None:
    told = likely.get("yes", 0.0) + likely.get("no", 0.0)
    if told <= 0:
        return None
    if not {"yes", "no"} <= likely.keys() and unlisted / (told + unlisted) > SURE_WITHIN:
        return None
    return likely.get("yes", 0.0) / told


def _token_at(content: list[Any], tail: bytes, before: bytes) -> tuple[Mapping[str, Any], str] | None:
    """The entry of the token in which the option's name begins, and what of that token stands before the name.

    Args:
        content: The entries, a token each.
        tail: What the reply says from the marker to its end, as `_ascii` gives it.
        before: What of it stands before the name.

    """
    pieces: list[bytes] = []
    for entry in reversed(content):
        spelled = _spelled(entry)
        if spelled is None:
            return None
        pieces.append(spelled)
    pieces.reverse()
    said = b"".join(_UNPRINTABLE.sub(b"", piece) for piece in pieces)
    start = said.rfind(tail)
    if start < 0:
        return None
    place = start + len(before)
    for entry, piece in zip(content, pieces, strict=True):
        printable = _UNPRINTABLE.sub(b"", piece)
        if place < len(printable):
            return entry, _first_printable(piece, place)
        place -= len(printable)
    return None


def _first_printable(piece: bytes, count: int) -> str:
    """The beginning of a token, up to the printable character that has `count` of them before it."""
    for at, byte in enumerate(piece):
        if 0x21 <= byte <= 0x7E:
            if count == 0:
                return piece[:at].decode("utf-8", "replace")
            count -= 1
    raise AssertionError("the token is shorter than that")


def _ascii(text: str) -> bytes:
    return _UNPRINTABLE.sub(b"", text.encode("utf-8", "replace"))


def _spelled(entry: Any) -> bytes | None:
    """A token's bytes: as they are told, or else those of its text. None where there are neither."""
    if not isinstance(entry, Mapping):
        return None
    told, token = entry.get("bytes"), entry.get("token")
    if isinstance(told, list):
        try:
            return bytes(told)
        except (TypeError, ValueError):
            return None
    return token.encode("utf-8", "replace") if isinstance(token, str) else None


def _alternatives(entry: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Each token that could have stood there, the chosen one first, with its probability; no token twice."""
    top = entry.get("top_logprobs")
    seen: set[bytes] = set()
    for one in [entry, *(top if isinstance(top, list) else ())]:
        spelled = _spelled(one)
        logprob = one.get("logprob") if spelled is not None else None
        if spelled is None or isinstance(logprob, bool) or not isinstance(logprob, int | float):
            continue
        if spelled not in seen and not math.isnan(logprob):
            seen.add(spelled)
            yield spelled.decode("utf-8", "replace"), math.exp(min(logprob, 0.0))


def _meaning(token: str, before: str, names: Mapping[str, str]) -> str | None:
    """The option that a token speaks for, where `before` stands before the name in the chosen one."""
    token, before = token.strip(), before.strip()
    if not token.startswith(before):
        return None
    rest = token[len(before) :]
    rest = rest[_DECORATED.match(rest).end() :].lower()  # type: ignore[union-attr]
    if not rest:
        return None
    for name, meaning in names.items():
        if rest.startswith(name) and _ENDED.fullmatch(rest, len(name)):
            return meaning
    begun = {meaning for name, meaning in names.items() if name.startswith(rest)}
    return begun.pop() if len(begun) == 1 else None
