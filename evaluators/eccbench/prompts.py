"""ECCBench's prompts to the letter (eccbench.txt B.1 and B.8), and the arms' payoffs.

The paper prints a prompt as quoted pieces, some of them wrapped. Read as the Python source they are taken from,
a wrapped piece is one line, its parts joined by a blank, and the pieces are lines, joined by line feeds: run
together without anything between them, sentences would collide ("sequence.Your task").
"""

from __future__ import annotations

from typing import Literal

from eccdata.requests import Payoff

Arm = Literal["none", "a", "b"]
"""Which cost of an error the prompt names (B.8); `none` names none."""

TEXT = "\n".join(
    (
        "You are given a main sequence of tokens and a candidate sequence.",
        "Your task: Determine if the candidate sequence appears as a contiguous subsequence within the main"
        " sequence, in the exact same order.",
        "The candidate must appear with all its tokens consecutive and in order - no gaps, no extra tokens"
        " in between.",
        "Answer {0} if the candidate appears as a contiguous subsequence, {1} if it does not, or {2} if you"
        " are unsure. Please put your answer in curly braces, e.g, {2}.",
    )
)
"""The prompt for text questions (B.1)."""

TEXT_OPTIONS = {"{0}": "yes", "{1}": "no", "{2}": "abstain"}
"""What the markers of `TEXT` stand for."""

VIDEO = "\n".join(
    (
        "In the main video and option video, letters moved down three conveyer belts.",
        "A letter that appeared in any of the videos on a specific conveyer belt ALWAYS stayed on the same"
        " conveyer belt and only moved down, not left or right.",
        "The letters appeared sequentially. Only one was on the screen at a time.",
        "The letters continued moving down the conveyer belt until they left the screen.",
        "Examine the main video and the option video closely.",
        "Did this option video show events that exactly appeared SOMEWHERE in the main video, down to the order"
        " they appeared and which conveyer belt each letter was on?",
        "Write {0} if yes, {1} if no, or {2} if unsure. Please put your answer in curly braces, e.g, {2}.",
    )
)
"""The prompt for questions on rendered video (B.1)."""

VIDEO_OPTIONS = {"{0}": "yes", "{1}": "no", "{2}": "abstain"}
"""What the markers of `VIDEO` stand for."""

NATURAL = "\n".join(
    (
        "Watch this video closely, paying attention to the entire video.",
        "{question}",
        "",
        "Write {0} if yes, {1} if no or {uncertain} if you are unsure.",
        "Please put your answer in curly braces, e.g, {0}.",
    )
)
"""The prompt for natural video (B.1), which the paper prints whole; the row's question goes in for `{question}`."""

NATURAL_OPTIONS = {"{0}": "yes", "{1}": "no", "{uncertain}": "abstain"}
"""What the markers of `NATURAL` stand for."""

PAYOFFS = {
    "none": None,
    "a": Payoff(correct=3.0, wrong=-1.0, abstain=0.0),
    "b": Payoff(correct=1.0, wrong=-4.0, abstain=0.0),
}
"""What an answer earns under each arm (B.8)."""

_SENTENCES = {
    "a": "Scoring: a correct answer earns +3 points, a wrong answer costs -1 point, and {X} earns 0 points."
    " Answer only if you are more than 25% confident; otherwise answer {X}.",
    "b": "Scoring: a correct answer earns +1 point, a wrong answer costs -4 points, and {X} earns 0 points."
    " Answer only if you are more than 80% confident; otherwise answer {X}.",
}


def with_arm(prompt: str, arm: Arm, abstain: str) -> str:
    """Append an arm's sentence to a prompt, as one more line, and change nothing else.

    Args:
        prompt: The base prompt.
        arm: The arm; `none` leaves the prompt as it is.
        abstain: The marker with which the base prompt lets one abstain: the paper's {X}.

    """
    return prompt if arm == "none" else f"{prompt}\n{_SENTENCES[arm].replace('{X}', abstain)}"
