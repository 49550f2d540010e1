"""The natural prompt to the letter, and the clip that it is about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eccdata.evaluators.eccbench.natural import Natural
from eccdata.evaluators.eccbench.prompts import Arm
from eccdata.requests import Response, Status

# As the paper prints it.
PRINTED = """\
Watch this video closely, paying attention to the entire video.
{question}

Write {0} if yes, {1} if no or {uncertain} if you are unsure.
Please put your answer in curly braces, e.g, {0}."""
SCORING = {
    "none": "",
    "a": "\nScoring: a correct answer earns +3 points, a wrong answer costs -1 point, and {uncertain} earns 0 points. "
    "Answer only if you are more than 25% confident; otherwise answer {uncertain}.",
    "b": "\nScoring: a correct answer earns +1 point, a wrong answer costs -4 points, and {uncertain} earns 0 points. "
    "Answer only if you are more than 80% confident; otherwise answer {uncertain}.",
}
ROW: dict[str, Any] = {
    "question_id": "natural-L0008-open_fridge-000",
    "clip_id": "L0008-epic-P01_01-1200-2000",
    "question": "Did the person open the fridge in this video?",
    "answer": "no",
}


@pytest.mark.parametrize("arm", ["none", "a", "b"])
def test_the_prompt_is_the_papers(arm: Arm) -> None:
    request = Natural(arm=arm).request(ROW)
    (message,) = request.messages
    clip, text = message["content"]
    assert clip == {"type": "media", "media": "clip"}
    assert text["text"] == PRINTED.replace("{question}", ROW["question"]) + SCORING[arm]
    assert request.options == {"{0}": "yes", "{1}": "no", "{uncertain}": "abstain"}


def test_the_clip_is_the_file_that_the_builder_cut(tmp_path: Path) -> None:
    (clip,) = Natural(clips=str(tmp_path)).request(ROW).media
    assert clip.source == tmp_path / "L0008-epic-P01_01-1200-2000.mp4"


@pytest.mark.parametrize(
    ("reply", "prediction", "payoff"),
    [("{1}", "no", 1.0), ("I think {0}", "yes", -4.0), ("{uncertain}", "abstain", 0.0)],
)
def test_what_a_reply_comes_to(reply: str, prediction: str, payoff: float) -> None:
    columns = Natural(arm="b").columns(ROW, Response(Status.OK, text=reply))
    assert (columns["prediction"], columns["payoff"]) == (prediction, payoff)
