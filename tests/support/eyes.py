"""A system that looks at clips as a server of Qwen2.5-VL does: it decodes what it is sent and counts what it sees."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from PIL import Image

from eccdata.requests import Json, Request, Response, Status
from eccdata.video.probing import probe

TOKENS = 256
"""Of a group of two frames, or of an image, of 448×448 pixels."""


@dataclass(frozen=True)
class Eyes:
    """A model that answers `{0}`.

    Attributes:
        architecture: What it says that it is.
        takes: Frames it takes of a video of so many.
        tells: What it tells of the tokens: `kinds`, or only the `length` of the prompt, or `nothing`.
        mixed_up: It counts video for images and images for video.
        seen: What it was shown: frames and bytes of each clip.

    """

    architecture: str = "Qwen2_5_VLForConditionalGeneration"
    takes: Callable[[int], int] = lambda frames: frames
    tells: str = "kinds"
    mixed_up: bool = False
    seen: list[tuple[int, int]] = field(default_factory=list)

    reads_media: ClassVar[bool] = True
    label: ClassVar[str] = "eyes"

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    def fingerprint(self) -> Mapping[str, Json]:
        """The same whatever it takes, so that a run goes on with another."""
        return {"system": "eyes"}

    def facts(self) -> Mapping[str, Json]:
        """As SGLang tells it."""
        return {"model_info": {"architectures": [self.architecture]}}

    async def respond(self, request: Request) -> Response:
        """Look, count and answer."""
        image = video = 0
        for medium in request.media:
            contents = [file.read() for file in medium.ready.files]
            if medium.recipe.layout == "video":
                frames = probe(contents[0]).frame_count
                if frames < 2:
                    why = "nframes should in interval [2, 1], but got 0."
                    return Response(Status.INVALID_REQUEST, error=f"HTTP 400: {why}")
                video += TOKENS * math.ceil(self.takes(frames) / 2)
            else:
                frames = len(contents)
                assert {Image.open(io.BytesIO(content)).size for content in contents} == {(448, 448)}
                image += TOKENS * frames
            self.seen.append((frames, sum(map(len, contents))))
        if self.mixed_up:
            image, video = video, image
        counts: dict[str, Any] = {"kinds": {"image_tokens": image or None, "video_tokens": video or None}}
        return Response(
            Status.OK,
            text="{0}",
            finish_reason="stop",
            prompt_tokens=None if self.tells == "nothing" else image + video + 220,
            completion_tokens=3,
            **counts.get(self.tells, {}),
        )
