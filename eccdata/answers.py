r"""What a reply committed to: the last option marker in it, and the character where that marker stands.

A protocol names its markers and what they mean, such as `{"{0}": "yes", "{1}": "no", "{2}": "abstain"}`
(`Request.options`). As in eccbench.txt B.1, the committed answer is the last marker of the visible reply; a
reply without one is an implicit abstention (B.8).

**What counts as a marker**: braces around an option's name and nothing else, wherever they stand. So `{0}`
counts in prose, in bold, in code, in JSON strings, in a quotation of the prompt: a rule that guessed which
markers were meant would guess wrong somewhere, and the paper has none. Since the same braces reach us in many
spellings, these count too:

- blanks, emphasis or quotes inside the braces, and another case: `{ 0 }`, `{**0**}`, `{"0"}`, `{Uncertain}`;
- LaTeX: escaped braces `\{0\}`, `\left\{0\right\}` (or escaped twice, `\\{0\\}`), and a group that is shown
  as it is, `\boxed{0}`, `\text{0}`, `\mathbf{1}` (all of `_SHOWING`): so models that were trained on mathematics
  hand in an answer. A group after a command that takes no argument, `\quad{0}`, `\Rightarrow{0}` (all of
  `_BARE`), or after a written-out line break or tab, `\n{0}`, stands by itself;
- Unicode braces ｛0｝ ❴1❵ ﹛2﹜ and full-width digits ｛０｝, in any mixture;
- doubled braces `{{0}}`, from models that saw format strings.

**What does not**: braces that hold anything else (`{3}`, `{8, 1, 4}`, `{0, 1}`, `{yes}`, `{answer: 0}`,
`{"answer": 0}`), other brackets (`[0]`, `(0)`, `<0>`, 【0】), a bare `0`, and groups that LaTeX gives to
something (found in the 64 characters before them):

- an index or an exponent, `x_{1}`, `2^{1}`, `x_\text{1}`; the two arguments of a fraction or a binomial,
  `\frac{1}{2}`, `\binom{1}{2}`; the argument of `\sqrt`, `\pmod`, `\phantom`, `\ref` and `\label`. Nor does
  what stands inside such a group, in whatever it is wrapped: `x_{\text{1}}`, `2^{{1}}`, `\frac{\boxed{1}}{2}`
  (both braces of the group at most 64 characters away);
- what directly follows any other command, its star, its option or its indices: `\log{1}`, `\log_2{1}`,
  `\sum_{i}^n{2}`, `\cite[p. 7]{1}`; and what follows a colour, `\color{red}{1}`, `\textcolor{red}{1}`.
  A marker deeper inside these counts: `\textcolor{red}{\boxed{0}}`, `\emph{it is {0}}`.

**Reasoning.** Where the server tells reasoning and reply apart, only the reply is read. Where it does not and
the text holds `<think>…</think>`, the visible reply begins after the last `</think>` (whose opening tag is
often part of the prompt) and ends at a `<think>` that is never closed; an unclosed one at the start leaves
nothing visible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from eccdata.requests import Response, Status

ABSTAIN = "abstain"
"""The meaning of the marker with which a reply declines to answer."""

_OPENING = "{｛❴﹛"
CLOSING = "}｝❵﹜"
"""The braces that end a marker."""
DECORATION = r"[\s*`\"'“”‘’$]*+"
"""What may stand between a brace and the name, as a pattern: it decorates the name and says nothing else."""
# Commands that show their argument as it is.
_SHOWING = (
    "boxed|fbox|mbox|hbox|text|textbf|textit|textrm|textsf|texttt|textnormal|textup|emph|underline|"
    "mathbf|mathrm|mathit|mathsf|mathtt|boldsymbol|bm|ensuremath|answer"
)
# Commands that take no argument and are often followed by what is the answer.
_BARE = (
    "quad|qquad|to|rightarrow|Rightarrow|longrightarrow|Longrightarrow|implies|iff|therefore|because|colon|"
    "item|par|newline|linebreak|left|right|big|Big|bigl|Bigl|displaystyle|textstyle|"
    "bf|bfseries|it|itshape|rm|sf|tt|large|Large|LARGE|huge|Huge|centering|noindent|hfill"
)
_GROUP = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
_OPTION = r"(?:\[[^\[\]]*+\])?"
# What stands before braces that hold mathematics, whatever is inside them. An underscore makes an index only after
# something that can have one and directly before the braces: _{0}_ and _Answer_ {0} are emphasis. Searched only in
# the few characters before a brace.
_MATHEMATICS = re.compile(
    rf"(?:(?:(?:[^\W_]|[)\]}}'])_|\^\s*)(?:\\(?:{_SHOWING})\s*)?"
    rf"|\\(?:[cdt]?frac|[dt]?binom)\s*(?:{_GROUP}\s*)?"
    rf"|\\(?:sqrt|pmod|phantom|ref|label)\s*{_OPTION}\s*)\Z"
)
# What stands before braces that a command takes. \n, \t and \r before anything but a small letter are written-out
# white space, as in JSON.
_COMMAND = re.compile(
    rf"(?:\\(?!(?:{_SHOWING}|{_BARE})(?![A-Za-z])|[ntr](?![a-z]))[A-Za-z]++\*?{_OPTION}"
    rf"(?:[_^](?:\w|\\[A-Za-z]++|{_GROUP}))*+"
    rf"|\\(?:text)?color\s*{_GROUP}\s*)\Z"
)
_NO_LATEX = re.compile(r"[^\\_^]*+")
_NEAR = 64
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


class Marker(NamedTuple):
    """An option marker in a reply.

    Attributes:
        option: The option as the protocol writes it, such as `{0}`.
        meaning: What it stands for, such as `yes`.
        start: Index of its first character in the whole reply (the brace, or the backslash that escapes it).
        name_start: Index of the first character of the option's name.

    """

    option: str
    meaning: str
    start: int
    name_start: int


class Answer(NamedTuple):
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
        if escaped or not _given(text, begin, match.start(), match.end(), end):
            option = names[match[1].translate(_ASCII).lower()]
            return Marker(option, options[option], start, match.start(1))
    return None


def visible(text: str) -> tuple[int, int]:
    """Tell which part of a reply is not reasoning: its first index and the index after its last."""
    closed = text.rfind("</think>")
    begin = 0 if closed < 0 else closed + len("</think>")
    unclosed = text.find("<think>", begin)
    return begin, len(text) if unclosed < 0 else unclosed


def _given(text: str, begin: int, start: int, stop: int, end: int) -> bool:
    """Whether LaTeX gives the group `text[start:stop]`, or one around it, to something; looks `_NEAR` only."""
    # whatever a group can be given to begins with one of these
    if _NO_LATEX.fullmatch(text, max(begin, start - 2 * _NEAR), start):
        return False
    near = max(begin, start - _NEAR)
    if _MATHEMATICS.search(text, near, start) or _COMMAND.search(text, near, start):
        return True
    around = _unmatched(text, range(start - 1, near - 1, -1), "}")
    # a brace that is never closed is no group
    closed = _unmatched(text, range(stop, min(end, stop + _NEAR)), "{")
    return any(_MATHEMATICS.search(text, max(begin, brace - _NEAR), brace) for brace in around[: len(closed)])


def _unmatched(text: str, places: range, partner: str) -> list[int]:
    """Where, going along `places`, braces stand whose `partner` did not come before; escaped ones are no braces."""
    found, depth = [], 0
    for at in places:
        if text[at] in "{}" and text[at - 1 : at] != "\\":
            depth += 1 if text[at] == partner else -1
            if depth < 0:
                found.append(at)
                depth = 0
    return found


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
    end = rf"(?:\\right\s*+)?+\\*+[{CLOSING}]"
    return re.compile(f"[{_OPENING}]{DECORATION}{name}{DECORATION}{end}"), names
