"""What counts as a commitment, reply by reply, and that the scan agrees with its definition."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eccdata.answers import Abstention, Answer, Marker, committed, last_marker, visible
from eccdata.requests import Response, Status

OPTIONS = {"{0}": "yes", "{1}": "no", "{2}": "abstain"}
NATURAL = {"{0}": "yes", "{1}": "no", "{uncertain}": "abstain"}

# What models really write, and what of it is a commitment: the meaning and the marker as the reply spells it.
# The marker is the last place where that spelling stands.
REPLIES: list[tuple[str, str | None, str]] = [
    ("{0}", "yes", "{0}"),
    ("{1}", "no", "{1}"),
    ("{2}", "abstain", "{2}"),
    ("{0}\n", "yes", "{0}"),
    ("The candidate sequence appears at position 17. {0}", "yes", "{0}"),
    ("Answer: {1}.", "no", "{1}"),
    ("I am not sure, so I answer {2}!", "abstain", "{2}"),
    # what SmolLM2 says: a set in braces is no marker
    (
        "{2}\n\nThe candidate appears as a contiguous subsequence of the main sequence, {8, 1, 4, 6, 2}.",
        "abstain",
        "{2}",
    ),
    ("The candidate {8, 1, 4} is in {8, 1, 4, 6, 2}, so {0}.", "yes", "{0}"),
    ("The candidate has {3} symbols and occurs {4} times: {0}; see {15}.", "yes", "{0}"),
    # markdown
    ("**{0}**", "yes", "{0}"),
    ("**Answer:** *{1}*", "no", "{1}"),
    ("__{0}__", "yes", "{0}"),
    ("The answer is _{1}_", "no", "{1}"),
    ("# Final answer\n\n> {1}", "no", "{1}"),
    ("`{0}`", "yes", "{0}"),
    ("```\n{1}\n```", "no", "{1}"),
    ("```json\n{0}\n```\nThe sequence occurs once.", "yes", "{0}"),
    ("- yes: ~~{0}~~\n- no: {1}", "no", "{1}"),
    ("| candidate | answer |\n|---|---|\n| 1, 2, 3 | {0} |", "yes", "{0}"),
    ("{**0**}", "yes", "{**0**}"),
    ("{`1`}", "no", "{`1`}"),
    # blanks and quotes
    ("{ 0 }", "yes", "{ 0 }"),
    ("{\n1\n}", "no", "{\n1\n}"),
    ("{\u00a02}", "abstain", "{\u00a02}"),
    ('{"0"}', "yes", '{"0"}'),
    ("{'1'}", "no", "{'1'}"),
    ("{“2”}", "abstain", "{“2”}"),
    # LaTeX
    (r"\boxed{0}", "yes", "{0}"),
    (r"$\boxed{1}$", "no", "{1}"),
    (r"The final answer is: $\boxed{\{0\}}$", "yes", r"\{0\}"),
    (r"\{0\}", "yes", r"\{0\}"),
    (r"$\{1\}$", "no", r"\{1\}"),
    (r"\[ \left\{ 1 \right\} \]", "no", r"\{ 1 \right\}"),
    (r"\text{0}", "yes", "{0}"),
    (r"$\boxed{\text{1}}$", "no", "{1}"),
    (r"$\{\text{2}\}$", "abstain", "{2}"),
    (r"\(\mathbf{0}\)", "yes", "{0}"),
    (r"Since $x_{1} = 4$ and $x_{2} = 6$, the sequence does not occur: {1}", "no", "{1}"),
    (
        r"{1} because $s_{0} \neq s_{2}$ and $2^{2} = 4$, a chance of $\frac{0}{2}$, about $\sqrt{2}$",
        "no",
        "{1}",
    ),
    (r"\\{1\\}", "no", r"\\{1\\}"),
    (r"\left{0\right}", "yes", r"{0\right}"),
    # groups that LaTeX gives to something: after the answer they do no harm, and alone they are none
    *[
        (reply.format(tex), meaning, spelling)
        for tex in (
            *(r"\binom{1}{2}", r"\binom{n}{2}", r"\dbinom{x_{3}}{1}", r"\cfrac{1}{2}", r"\frac{\sqrt{3}}{1}"),
            *(r"\frac {1} {2}", r"\frac{a + {1}}{b}", r"\frac{\boxed{1}}{2}", r"\sqrt[3]{2}", r"\pmod{2}"),
            *(
                r"\pmod {2}",
                r"\log{1}",
                r"\log_2{1}",
                r"\log_{2}{1}",
                r"\sum_{i=1}^n{2}",
                r"\operatorname*{1}",
            ),
            *(r"\ref{1}", r"\label{1}", r"\cite[p. 7]{1}", r"\phantom{1}", r"\phantom{\text{1}}"),
            *(r"\color{red}{1}", r"\textcolor{red}{1}", r"\color{1}", r"\begin{1}", r"\overline{1}"),
            *(r"x_{\text{1}}", r"x_\text{1}", r"x_\mathrm{2}", r"2^\mathbf{1}", r"x_{{1}}", r"2^{{{1}}}"),
            *(r"x_{i, \text{1}}", r"2^{-{1}}", r"x_{\text{max},{1}}"),
        )
        for reply, meaning, spelling in (("{}", None, ""), ("{{0}}, as ${}$ says.", "yes", "{0}"))
    ],
    # ones that it shows as they are, and commands that take none
    *[
        (reply, "yes", "{0}")
        for reply in (
            *(r"\textbf{0}", r"\boxed {0}", r"\fbox{0}", r"$\mathrm{0}$", r"\emph{0}", r"\boldsymbol{0}"),
            *(
                r"\textbf{Answer:} {0}",
                r"\textbf{Answer: {0}}",
                r"\emph{so it is {0}}",
                r"\section*{Answer} {0}",
            ),
            *(
                r"\begin{center}{0}\end{center}",
                r"x \equiv 1 \pmod{2}{0}",
                r"\boxed{\boxed{0}}",
                r"\boxed{{0}}",
            ),
            *(
                r"Answer:\quad{0}",
                r"\Rightarrow{0}",
                r"\therefore {0}",
                r"{\bf{0}}",
                r"\,{0}",
            ),
            *(r"\textcolor{red}{\boxed{0}}", r"\color{red}{\text{0}}", r"{\color{red} \boxed{0}}"),
            *(
                r'{"answer": "It is there.\n{0}"}',
                r"yes.\t{0}",
                r"It is.\nAnswer{0}",
                r"\\ {0}",
                r"\text{1}{0}",
            ),
            *(r"an x_{ never closed, so {0}", "2^{ or x_{\n{0}", "_Final answer_ {0}", r"\hline" + "\n{0}"),
        )
    ],
    # other braces and digits
    ("｛0｝", "yes", "｛0｝"),
    ("答案是｛１｝。", "no", "｛１｝"),
    ("❴1❵", "no", "❴1❵"),
    ("﹛2﹜", "abstain", "﹛2﹜"),
    ("｛0}", "yes", "｛0}"),
    ("{{0}}", "yes", "{0}"),
    # several markers: the last one counts
    ("{0} {1}", "no", "{1}"),
    ("{0}{1}{2}", "abstain", "{2}"),
    ("At first I thought {0}. On a closer look, symbol 7 is missing, so {1}.", "no", "{1}"),
    ("{1}\n\nWait, at position 40: 3, 3, 9. Yes.\n\n{0}\n\nI hope this helps!", "yes", "{0}"),
    # the prompt quoted: before the answer it does no harm, and alone it ends on {2}
    (
        "You ask for {0} if it appears, {1} if it does not, or {2} if I am unsure. It appears: {0}",
        "yes",
        "{0}",
    ),
    ("Please put your answer in curly braces, e.g, {2}.", "abstain", "{2}"),
    # JSON and code
    ('{"answer": "{0}", "position": 12}', "yes", "{0}"),
    ('{"answer": 0}', None, ""),
    ("{answer: 1}", None, ""),
    ("if found:\n    print('{0}')\nelse:\n    print('{1}')", "no", "{1}"),
    # special tokens that a server leaves in
    ("<|begin_of_box|>{0}<|end_of_box|>", "yes", "{0}"),
    ("<answer>{1}</answer>", "no", "{1}"),
    # no marker
    ("", None, ""),
    ("Yes, it appears.", None, ""),
    ("0", None, ""),
    ("[0]", None, ""),
    ("(1)", None, ""),
    ("【0】", None, ""),
    ("<0>", None, ""),
    ("{yes}", None, ""),
    ("{}", None, ""),
    ("{0, 1}", None, ""),
    ("{0:} or {-1}? {", None, ""),
    ("{00}", None, ""),
    ("{0.}", None, ""),
    ("{3}", None, ""),
    ("{uncertain}", None, ""),
    ("{X}", None, ""),
    ("{0", None, ""),
    ("0}", None, ""),
    # reasoning that the server did not take out
    ("<think>It could be {0}.</think>\n\n{1}", "no", "{1}"),
    ("so the answer must be {0}\n</think>\n\n{1}", "no", "{1}"),
    ("<think>It could be {0}.</think>\n\nIt does not appear.", None, ""),
    ("<think>Let me look for {0", None, ""),
    ("<think>I would say {0}, but let me check again.", None, ""),
    ("<think>a</think>{0}<think>or rather {1}</think>{2}", "abstain", "{2}"),
    ("<think>a</think> {0} <think>or rather {1}", "yes", "{0}"),
]


def test_there_are_fifty_replies() -> None:
    assert len(REPLIES) >= 50


@pytest.mark.parametrize(("reply", "meaning", "spelling"), REPLIES)
def test_reply(reply: str, meaning: str | None, spelling: str) -> None:
    marker = last_marker(reply, OPTIONS)
    if meaning is None:
        assert marker is None
    else:
        option = next(option for option, of in OPTIONS.items() if of == meaning)
        assert marker is not None
        assert (marker.option, marker.meaning, marker.start) == (option, meaning, reply.rindex(spelling))
        name = unicodedata.normalize("NFKC", reply[marker.name_start :])
        assert name.lower().startswith(option[1:-1])


@pytest.mark.parametrize(
    ("reply", "meaning"),
    [
        ("{uncertain}", "abstain"),
        ("{Uncertain}", "abstain"),
        ("{ UNCERTAIN }", "abstain"),
        ("{0} … no, {uncertain}", "abstain"),
        ("{uncertain} … no, {1}", "no"),
        (r"\{uncertain\}", "abstain"),
        ("｛uncertain｝", "abstain"),
    ],
)
def test_uncertain_counts_where_the_prompt_uses_it(reply: str, meaning: str) -> None:
    marker = last_marker(reply, NATURAL)
    assert marker is not None
    assert marker.meaning == meaning


@pytest.mark.parametrize(
    "reply", ["{2}", "{unsure}", "uncertain", "{uncertaın}", "{not uncertain}", "{uncertain: 1}"]
)
def test_only_the_prompts_own_markers_count(reply: str) -> None:
    assert last_marker(reply, NATURAL) is None


@pytest.mark.parametrize("option", ["0", "{}", "{a b}", "{0", "(0)", "{ä}"])
def test_an_option_must_be_a_name_in_braces(option: str) -> None:
    with pytest.raises(ValueError, match="name in braces"):
        last_marker("{0}", {option: "yes"})


def test_abstentions_keep_their_kind() -> None:
    def kind(text: str, status: Status = Status.OK, finish_reason: str | None = "stop") -> Answer | None:
        return committed(Response(status, text, finish_reason=finish_reason), OPTIONS)

    assert kind("{0}") == Answer("yes", None, 0)
    assert kind("unsure: {2}") == Answer("abstain", Abstention.EXPLICIT, 8)
    assert kind("I do not know.") == Answer("abstain", Abstention.FORMAT, None)
    assert kind("") == Answer("abstain", Abstention.FORMAT, None)
    assert kind("Let me go through", Status.TRUNCATED, "length") == Answer(
        "abstain", Abstention.OVERFLOW, None
    )
    assert kind("Let me go through", Status.OK, "length") == Answer("abstain", Abstention.OVERFLOW, None)
    assert kind("<think>{0}? Let me", Status.TRUNCATED, "length") == Answer(
        "abstain", Abstention.OVERFLOW, None
    )
    # what was said before the cut counts
    assert kind("{1} because", Status.TRUNCATED, "length") == Answer("no", None, 0)
    assert kind("{2} because", Status.TRUNCATED, "length") == Answer("abstain", Abstention.EXPLICIT, 0)


@pytest.mark.parametrize("status", [status for status in Status if not status.answered])
def test_a_failure_committed_to_nothing(status: Status) -> None:
    assert committed(Response(status, "{0}", error="broken"), OPTIONS) is None


def test_separated_reasoning_is_not_read() -> None:
    response = Response(Status.OK, "It does not occur.", reasoning="It is {0}.", finish_reason="stop")
    assert committed(response, OPTIONS) == Answer("abstain", Abstention.FORMAT, None)


# Braces twice, so that they meet more often.
PIECES = [*'{}{}0123 \n*\\_^x,"$｛❵０', "\\right", "<think>", "</think>"]
COMMANDS = ["\\frac", "\\sqrt", "\\text", "\\color", "\\log", "\\quad", "\\n", "[0]"]


@settings(max_examples=400)
@given(st.lists(st.sampled_from([*PIECES, *COMMANDS]), max_size=60).map("".join))
def test_agrees_with_the_definition(text: str) -> None:
    assert last_marker(text, OPTIONS) == naive(text)


def naive(text: str) -> Marker | None:
    """The definition, word by word: of all pieces of the visible text that are markers, the last."""
    begin, end = visible(text)
    shown = text[begin:end]
    found = None
    for i in range(len(shown)):
        for j in range(i + 3, len(shown) + 1):
            name = name_in(shown[i:j])
            if name is None:
                continue
            before = shown[:i]
            bare = before.rstrip("\\")
            if before == bare and is_given(before, shown[j:]):
                continue
            name_start = j - len(shown[i + 1 : j].lstrip(" \n*`\"'$"))
            found = Marker(f"{{{name}}}", OPTIONS[f"{{{name}}}"], begin + len(bare), begin + name_start)
    return found


def name_in(piece: str) -> str | None:
    if piece[0] not in "{｛❴﹛" or piece[-1] not in "}｝❵﹜":
        return None
    inner = piece[1:-1].rstrip("\\")
    stripped = inner.rstrip()
    if stripped.endswith("\\right"):
        inner = stripped.removesuffix("\\right")
    inner = inner.strip(" \n*`\"'$").translate({ord("０"): "0"})
    return inner if inner in ("0", "1", "2") else None


def is_given(before: str, after: str) -> bool:
    if is_mathematics(before) or is_of_a_command(before):
        return True
    near = before[-64:]
    # each group around the piece is told by what is left of it: cut at every opening brace that is not closed again
    openings = [at for at, brace in enumerate(near) if is_brace(near, before, at, "{")]
    around = [at for at in openings if not closed_at(before, len(before) - len(near) + at)]
    closings = 0
    for at in range(min(64, len(after))):
        whole = before + "{0}" + after
        place = len(before) + 3 + at
        if whole[place] == "}" and whole[place - 1] != "\\":
            depth = balance(after, at)
            closings = max(closings, -depth)
    return any(is_mathematics(before[: len(before) - len(near) + at]) for at in around[::-1][:closings])


def is_brace(near: str, before: str, at: int, brace: str) -> bool:
    place = len(before) - len(near) + at
    return near[at] == brace and before[place - 1 : place] != "\\"


def closed_at(before: str, opening: int) -> bool:
    """Whether the brace at `opening` is closed within `before`."""
    depth = 0
    for at in range(opening, len(before)):
        if before[at] in "{}" and before[at - 1 : at] != "\\":
            depth += 1 if before[at] == "{" else -1
            if depth == 0:
                return True
    return False


def balance(after: str, last: int) -> int:
    depth = 0
    for at in range(last + 1):
        if after[at] in "{}" and (at == 0 or after[at - 1] != "\\"):
            depth += 1 if after[at] == "{" else -1
    return depth


def without_group(text: str) -> str | None:
    """What is left where a balanced group, at most three deep, is taken off the end; escapes do not count here."""
    depth = deepest = 0
    for at in range(len(text) - 1, -1, -1):
        depth += {"}": 1, "{": -1}.get(text[at], 0)
        deepest = max(deepest, depth)
        if depth <= 0:
            return text[:at] if text.endswith("}") and deepest <= 3 else None
    return None


def without_option(text: str) -> str:
    opened = text.rfind("[")
    inside = text[opened + 1 : -1]
    return text[:opened] if text.endswith("]") and opened >= 0 and "]" not in inside else text


def is_mathematics(before: str) -> bool:
    before = before[-64:]
    stripped = before.rstrip()
    for base in (before, stripped.removesuffix("\\text") if stripped.endswith("\\text") else before):
        if base.rstrip().endswith("^"):
            return True
        if base.endswith("_") and (base[-2:-1].isalnum() or base[-2:-1] in tuple(")]}'")):
            return True
    if any(text.rstrip().endswith("\\sqrt") for text in (stripped, without_option(stripped))):
        return True
    group = without_group(stripped)
    return stripped.endswith("\\frac") or (group is not None and group.rstrip().endswith("\\frac"))


def is_of_a_command(before: str) -> bool:
    before = before[-64:]
    group = without_group(before.rstrip())
    if group is not None and group.rstrip().endswith("\\color"):
        return True
    seen, bases = set(), [before]
    while bases:  # indices may be taken off the end in any way
        base = bases.pop()
        if base in seen:
            continue
        seen.add(base)
        for plain in (base, without_option(base)):
            if any(map(names_a_command, (plain, plain.removesuffix("*")))):
                return True
        options = [base[:-1]] if base[-1:].isalnum() or base[-1:] == "_" else []
        command = base.rstrip("abcdefghijklmnopqrstuvwxyz")
        options += [command[:-1]] if command != base and command.endswith("\\") else []
        options += [group] if (group := without_group(base)) is not None else []
        bases += [rest[:-1] for rest in options if rest.endswith(("_", "^"))]
    return False


def names_a_command(text: str) -> bool:
    _, slash, name = text.rpartition("\\")
    shown_or_bare = ("text", "quad", "right", "n")
    return bool(slash) and name.isascii() and name.isalpha() and name not in shown_or_bare
