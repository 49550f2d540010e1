"""Events in natural clips: did this happen in the video? (eccbench.txt 4.1, B.1, B.6, B.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from eccdata.evaluator import Row
from eccdata.requests import Request, Search

from .prompts import NATURAL, NATURAL_OPTIONS, PAYOFFS
from .showing import Showing


@dataclass(frozen=True)
class Natural(Showing):
    """The paper's protocol on natural clips.

    A question is one user message: the clip, and after it the prompt (B.1) with the row's question as written, and the
    arm's sentence as its next line (B.8). Questions about one clip share their longest prefix this way.

    Rows refer to clips of footage that everybody has to get themselves. The builder cuts them into files, one a clip
    (`--set clips=FOLDER`), which are read here.

    Attributes:
        clips: The folder with those files, `<clip_id>.mp4`.

    """

    clips: str = "clips"

    markers: ClassVar[Mapping[str, str]] = NATURAL_OPTIONS
    protocol: ClassVar[str] = "natural"
    version: ClassVar[int] = 1
    carried: ClassVar[Mapping[str, pa.DataType]] = {
        "clip_id": pa.string(),
        "length": pa.int32(),
        "source": pa.string(),
        "category": pa.string(),
        "slowdown": pa.float64(),
        "density_score": pa.float64(),
        "density_band": pa.string(),
        "encoder_missed_target": pa.bool_(),
        "license": pa.string(),
    }

    @property
    def base_prompt(self) -> str:
        """The prompt for natural video (B.1)."""
        return NATURAL

    def needs(self) -> tuple[str, ...]:
        """The columns without which nothing can be asked."""
        return ("question_id", "clip_id", "question", "answer")

    def request(self, question: Row) -> Request:
        """Put one question: the clip and the prompt."""
        text = self.prompt.replace("{question}", question["question"])
        content = [{"type": "media", "media": "clip"}, {"type": "text", "text": text}]
        clip = Path(self.clips).expanduser() / f"{question['clip_id']}.mp4"
        return Request(
            question_id=question["question_id"],
            protocol=self.name_and_version,
            messages=self.messages(content),
            decoding=self.decoding,
            options=self.markers,
            payoff=PAYOFFS[self.arm],
            media=(self.medium("clip", clip),),
            search=Search("clip", text=question["question"]),
        )
