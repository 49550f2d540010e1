r"""What a reply committed to: the last option marker in it, and the character where that marker stands.

A protocol names its markers and what they mean, such as `{"{0}": "yes", "{1}": "no", "{2}": "abstain"}`
(`Request.options`). As in eccbench.txt B.1, the committed answer is the last marker of the visible reply; a
reply without one is an implicit abstention (B.8).

**What counts as a marker**: braces around an option's name and nothing else, wherever they stand. So `{0}`
counts in prose, in bold, in code, in JSON strings, in a quotation of the prompt: a rule that guessed which
markers were meant would guess wrong somewhere, and the paper has none. Since the same braces reach us in many
spellings, these count too:

- blanks, emphasis or quotes inside the braces, and another case: `{ 0 }`, `{**0**}`, `{"0"}`, `{Uncertain}`;
- LaTeX: escaped braces `\{0\}`, `\left\{0\right\}` (or escaped twice, `\\{0\\}`), and a group that is shown,
  `\boxed{0}`, `\text{0}`, `\mathbf{1}`: so models that were trained on mathematics hand in an answer;
- Unicode braces ｛0｝ ❴1❵ ﹛2﹜ and full-width digits ｛０｝, in any mixture;
- doubled braces `{{0}}`, from models that saw format strings.

**What does not**: braces that hold anything else (`{3}`, `{8, 1, 4}`, `{0, 1}`, `{yes}`, `{answer: 0}`,
`{"answer": 0}`), other brackets (`[0]`, `(0)`, `<0>`, 【0】), a bare `0`, and the braces in which LaTeX puts
an index, an exponent or a fraction (`x_{1}`, `2^{1}`, `\frac{1}{2}`, `\sqrt{2}`): these are mathematics.

**Reasoning.** Where the server tells reasoning and reply apart, only the reply is read. Where it does not and
the text holds `<think>…</think>`, the visible reply begins after the last `</think>` (whose opening tag is
often part of the prompt) and ends at a `<think>` that is never closed; an unclosed one at the start leaves
nothing visible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from eccdata.requests import Response, Status

ABSTAIN = "abstain"
"""The meaning of the marker with which a reply declines to answer."""

_OPENING = "{｛❴﹛"
_CLOSING = "}｝❵﹜"
# What may stand between a brace and the name: it decorates the name and says nothing else.
_DECORATION = r"[\s*`\"'“”‘’$]*+"
# What stands before braces that hold mathematics. An underscore makes an index only after something that can
# have one: _{0}_ is emphasis. Searched only in the few characters before a marker.
_MATHEMATICS = re.compile(
    r"(?:(?:[^\W_]|[)\]}'])_|\^|\\[dt]?frac(?:\s*\{[^{}]*\})?|\\sqrt(?:\[[^\[\]]*\])?)\s*\Z"
)
_BEFORE = 64
_FULL_WIDTH = {ord("0") + digit: ord("０") + digit for digit in range(10)}
_ASCII = {wide: digit for digit, wide in _FULL_WIDTH.items()}


class Abstention(StrEnum):
    """The three ways to abstain (eccbench.txt B.8)."""

    EXPLICIT = "explicit"
    """The reply's marker says so."""
    FORMAT = "format"
    """The reply ended and holds no marker."""
    OVERFLOW = "overflow"
    """The reply was cut at the token limit before it held one."""


@dataclass(frozen=True, slots=True)
class Marker:
    """An option marker in a reply.

    Attributes:
        option: The option as the protocol writes it, such as `{0}`.
        meaning: What it stands for, such as `yes`.
        start: Index of its first character in the whole reply (the brace, or the backslash that escapes it).

    """

    option: str
    meaning: str
    start: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a response committed to.

    Attributes:
        prediction: An option's meaning; `abstain` for every abstention.
        abstention: Its kind, where it is one.
        commit_char: Index in the reply where the committing marker starts (the i of eccbench.txt B.3, "The
            cost of a response"); None where there is no marker.

    """

    prediction: str
    abstention: Abstention | None
    commit_char: int | None


def committed(response: Response, options: Mapping[str, str]) -> Answer | None:
    """Read what a response committed to.

    Args:
        response: What the system gave back.
        options: What each marker stands for; each is an ASCII name in braces.

    Returns:
        The committed answer, or None for a failure, which committed to nothing.

    """
    if not response.status.answered:
        return None
    marker = last_marker(response.text, options)
    if marker is not None:
        kind = Abstention.EXPLICIT if marker.meaning == ABSTAIN else None
        return Answer(marker.meaning, kind, marker.start)
    cut = response.status is Status.TRUNCATED or response.finish_reason == "length"
    return Answer(ABSTAIN, Abstention.OVERFLOW if cut else Abstention.FORMAT, None)


def last_marker(text: str, options: Mapping[str, str]) -> Marker | None:
    """Find the last option marker of the visible reply; see the module's docstring for what counts.

    Args:
        text: The reply, as long as it likes: the scan is linear.
        options: What each marker stands for; each is an ASCII name in braces.

    Raises:
        ValueError: If an option is not an ASCII name in braces.

    """
    pattern, names = _reader(tuple(options))
    begin, end = visible(text)
    for match in reversed(list(pattern.finditer(text, begin, end))):
        start = match.start()
        while start > begin and text[start - 1] == "\\":
            start -= 1
        escaped = start < match.start()
        if escaped or not _MATHEMATICS.search(text, max(begin, start - _BEFORE), start):
            option = names[match[1].translate(_ASCII).lower()]
            return Marker(option, options[option], start)
    return None


def visible(text: str) -> tuple[int, int]:
    """Tell which part of a reply is not reasoning: its first index and the index after its last."""
    closed = text.rfind("</think>")
    begin = 0 if closed < 0 else closed + len("</think>")
    unclosed = text.find("<think>", begin)
    return begin, len(text) if unclosed < 0 else unclosed


@lru_cache(maxsize=64)
def _reader(options: tuple[str, ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """The pattern that finds `options`, and the option that each name it captures belongs to."""
    names = {}
    for option in options:
        if not re.fullmatch(r"\{\w+\}", option, re.ASCII):
            raise ValueError(
                f"An option is an ASCII name in braces, such as {{0}}, and this is not: {option!r}"
            )
        names[option[1:-1].lower()] = option
    spellings = sorted({s for name in names for s in (name, name.translate(_FULL_WIDTH))})
    # Case is ASCII's alone, so that whatever matches is found in `names`.
    name = f"((?ai:{'|'.join(map(re.escape, spellings))}))"
    # \right stands only before the closing brace of \left\{0\right\}
    end = rf"(?:\\right\s*+)?+\\*+[{_CLOSING}]"
    return re.compile(f"[{_OPENING}]{_DECORATION}{name}{_DECORATION}{end}"), names
