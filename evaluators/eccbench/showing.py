"""What ECCBench's protocols on video share: which frames of a clip are sent, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from eccdata.errors import EccdataError
from eccdata.evaluator import Row
from eccdata.media import LAYOUTS, Layout, Media, Recipe
from eccdata.requests import Json, Response
from eccdata.video.decoding import AUTO, DECODERS
from eccdata.video.sampling import sampler

from .answering import Answering


@dataclass(frozen=True)
class Showing(Answering):
    """A protocol that shows clips.

    Attributes:
        layout: `video` sends the chosen frames as one file, each a second long, so that a server that samples again
            keeps them all; `frames` sends each as an image.
        times: Of layout `frames`: the time of each frame goes before it, as text (`<3.0 seconds>`).
        sampler: Which frames are taken; by default the paper's, one a second and all of them.
        sampler_parameters: What the sampler takes, such as `{"n": 32}`.
        decoder: What decodes the frames, where they have to be.
        frame_multiple: Of layout `video`: the last frame is repeated until their number is a multiple of this. Some
            models read frames in pairs, and SGLang drops the last one of an odd number where their own processors
            repeat it.

    """

    layout: Layout = "video"
    times: bool = False
    sampler: str = "eccbench"
    sampler_parameters: Mapping[str, Json] = field(default_factory=dict)
    decoder: str = "pyav"
    frame_multiple: int = 1

    shows_media: ClassVar[bool] = True
    schema: ClassVar[pa.Schema] = pa.schema([pa.field("layout", pa.string()), *Answering.schema])

    def problems(self) -> list[str]:
        """What is wrong with the options."""
        wrong = super().problems()
        if self.layout not in LAYOUTS:
            wrong.append(f"layout={self.layout}: one of {', '.join(LAYOUTS)}")
        if self.times and self.layout != "frames":
            wrong.append("times=true: goes with layout=frames")
        if self.decoder not in (*DECODERS, AUTO):
            wrong.append(f"decoder={self.decoder}: one of {', '.join((*DECODERS, AUTO))}")
        if self.frame_multiple < 1 or (self.frame_multiple > 1 and self.layout != "video"):
            wrong.append(f"frame_multiple={self.frame_multiple}: 1, or more with layout=video")
        try:
            sampler(self.sampler, **self.sampler_parameters)
        except EccdataError as error:
            wrong.append(str(error))
        return wrong

    @cached_property
    def recipe(self) -> Recipe:
        """How clips are sent."""
        chosen = sampler(self.sampler, **self.sampler_parameters)
        return Recipe(self.layout, chosen, self.decoder, self.frame_multiple)

    def medium(self, name: str, source: Path | bytes, *, repeated: int = 0) -> Media:
        """A clip as this protocol sends it; `repeated` of its last frames are but the one before them again."""
        return Media(name, source, self.recipe, timed=self.times, repeated=repeated)

    def columns(self, question: Row, response: Response) -> dict[str, Any]:
        """Score one response, and say how the clips were sent."""
        return super().columns(question, response) | {"layout": self.layout}
