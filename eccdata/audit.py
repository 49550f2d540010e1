"""The token audit: did the model see the frames that were sent? Held against the server's count of vision tokens.

A server may sample a video again, scale its frames, or take a fixed number of them, and say nothing. But how many
tokens a clip costs follows from the architecture's own rules, so that the server's `usage` gives it away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eccdata.errors import SHOWN
from eccdata.media import Media
from eccdata.requests import Json, Request, Response, Status
from eccdata.vision_tokens import Family, as_configured, families, family_of, grid_size, vision_tokens

ROOM_PER_FRAME = 16
"""The most tokens of text, such as times and brackets, that templates put around a frame."""
ROOM_PER_PROMPT = 256
"""The most that they put around a prompt."""

FIXED_FRAMES = 64
"""So many frames and fewer are tried where a server may have taken a fixed number of them."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Vision tokens of a request: of its images and of its videos."""

    image: int = 0
    video: int = 0

    @property
    def total(self) -> int:
        """Both."""
        return self.image + self.video


@dataclass
class Audit:
    """What a model's requests must cost, and what came of holding them to it.

    Attributes:
        architecture: What the server says that its model is; None where it says nothing.
        family: The family whose rules are used; None where it is not known.
        rules: Where the numbers of the rules come from: `checkpoint`, or `defaults` of the family.
        config: What the server was told about processing media, where it says so.
        faults: What was wrong, each in a sentence; the first ten.
        scaled: How often frames were scaled by the model's own processor, by what they were and became.

    """

    architecture: str | None = None
    family: Family | None = None
    rules: str = "defaults"
    config: Json = None
    faults: list[str] = field(default_factory=list)
    scaled: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, facts: Mapping[str, Json]) -> Audit:
        """Find the rules from what a system says of itself (`System.facts`)."""
        info = _mapping(facts.get("model_info"))
        checkpoint = _mapping(facts.get("checkpoint"))
        config = _mapping(checkpoint.get("config"))
        named = info.get("architectures") or config.get("architectures") or ()
        architecture = str(named[0]) if named else None
        found = family_of(architecture, config)
        processing = _mapping(facts.get("server_info")).get("mm_process_config")
        audit = cls(architecture=architecture, family=found, config=processing or None)
        if found is not None and (checkpoint.get("video") or checkpoint.get("image")):
            audit.rules = "checkpoint"
            audit.family = replace(
                found,
                video=as_configured(found.video, _mapping(checkpoint.get("video"))),
                image=as_configured(found.image, _mapping(checkpoint.get("image"))),
            )
        return audit

    def expected(self, request: Request) -> Tokens | None:
        """What a request must cost; None where no rule says so."""
        if self.family is None or not request.media:
            return None
        image = video = 0
        for medium in request.media:
            tokens = self._tokens(medium)
            if tokens is None:
                return None
            if medium.recipe.layout == "video":
                video += tokens
            else:
                image += tokens
        return Tokens(image, video)

    def judge(self, request: Request, response: Response) -> str | None:
        """Hold one response against the rules; gives what is wrong, None if nothing is or nobody can say."""
        if not request.media:
            return None
        if not response.status.answered:
            return self._refused(request, response)
        must = self.expected(request)
        if must is None:
            return None
        self._note_scaling(request)
        got = Tokens(response.image_tokens or 0, response.video_tokens or 0)
        if got.total:
            fault = self._compare(request, must, got)
        elif response.prompt_tokens is not None:
            fault = self._compare_length(request, must, response.prompt_tokens)
        else:
            return None
        return self._told(fault) if fault else None

    def facts(self) -> dict[str, Json]:
        """What the card tells about it."""
        return {
            "architecture": self.architecture,
            "family": self.family.name if self.family else None,
            "rules": self.rules if self.family else None,
            "server_media_options": self.config,
            "scaled_by_the_model": dict(sorted(self.scaled.items())),
            "faults": self.faults,
        }

    @property
    def ignorance(self) -> str | None:
        """Why nothing can be checked, in a sentence; None where it can."""
        if self.family is not None:
            return None
        known = ", ".join(family.name for family in families())
        what = (
            f"the server does not say what its model is, or a name that stands for several ({self.architecture})"
            if self.architecture is None or any(self.architecture in f.architectures for f in families())
            else f"models of architecture {self.architecture} are not known to it"
        )
        return f"The token audit cannot check what the model sees: {what}. It knows {known}."

    # -- how it is held against ------------------------------------------------------------------------------

    def _compare(self, request: Request, must: Tokens, got: Tokens) -> str | None:
        if got == must:
            return None
        if must.video and not got.video:
            return f"the server took video for images: it counts {got.image} image tokens and none of video"
        if must.image and not got.image:
            return f"the server took images for video: it counts {got.video} video tokens and none of images"
        return self._wrong_count(request, must.total, f"{got.total}", got.total)

    def _compare_length(self, request: Request, must: Tokens, prompt_tokens: int) -> str | None:
        frames = sum(len(medium.ready.manifest.indices) for medium in request.media)
        # a token of text is at least a byte
        most = must.total + _text_bytes(request) + ROOM_PER_FRAME * frames + ROOM_PER_PROMPT
        if must.total <= prompt_tokens <= most:
            return None
        said = f"a whole prompt of {prompt_tokens}"
        return self._wrong_count(request, must.total, said, prompt_tokens)

    def _wrong_count(self, request: Request, must: int, said: str, got: int) -> str:
        clips = " and ".join(
            f"{medium.name}: {len(medium.ready.manifest.indices)} frames of "
            f"{medium.ready.manifest.width}×{medium.ready.manifest.height} as {medium.recipe.layout}"
            for medium in request.media
        )
        return (
            f"the model did not see what was sent ({clips}): that costs {must} tokens by the rules of "
            f"{self.family.name if self.family else '?'}, and the server counts {said}{self._as_if(request, got)}"
        )

    def _as_if(self, request: Request, got: int) -> str:
        """What would explain a count: fewer frames of each clip, whole groups alone, or a fixed number."""
        sent = [len(medium.ready.manifest.indices) for medium in request.media]
        group = self._group()
        ways: list[tuple[str, Callable[[int, int], int], Iterable[int]]] = [
            ("whole groups alone, and no last frame of an odd number", lambda n, _: n // group * group, (0,)),
            ("at most {} frames of each clip", min, range(max(sent), 0, -1)),
            (
                "at most {} frames of each clip, in whole groups",
                lambda n, most: min(n, most) // group * group,
                range(max(sent), 0, -1),
            ),
            ("{} frames of each clip, however many it has", lambda _, most: most, range(FIXED_FRAMES, 0, -1)),
        ]
        for what, taken, limits in ways:
            for most in limits:
                counts = [
                    self._tokens(medium, taken(frames, most))
                    for medium, frames in zip(request.media, sent, strict=True)
                ]
                if None not in counts and sum(filter(None, counts)) == got:
                    return f", as if it had taken {what.format(most)}"
        return ""

    def _told(self, fault: str) -> str:
        said = f"{fault}.{self._advice()}"
        if len(self.faults) < SHOWN:
            self.faults.append(said)
        return said

    def _advice(self) -> str:
        hints = []
        if self.config:
            hints.append(f"It was started with --mm-process-config {self.config}.")
        if self.family is not None and self.family.hint:
            hints.append(self.family.hint)
        grid = _mapping(self.family.video if self.family else None)
        if grid.get("rule") == "grid":
            group = grid["frames_per_group"]
            hints.append(
                f"SGLang takes a multiple of {group} frames of a video for this family, by default at most 768: "
                f"frame_multiple={group} repeats the last frame where the number is odd, as the family's own "
                "processor does, and --mm-process-config sets max_frames."
            )
        return "".join(f" {hint}" for hint in hints)

    def _refused(self, request: Request, response: Response) -> str | None:
        """A clip that is too short for the server is a fault of the set-up, and not of one question."""
        short = [
            medium.name
            for medium in request.media
            if medium.recipe.layout == "video" and len(medium.ready.manifest.indices) < self._group()
        ]
        if response.status is not Status.INVALID_REQUEST or not short:
            return None
        return self._told(
            f"the server does not take a video of fewer than {self._group()} frames ({', '.join(short)}): "
            f"{response.error}"
        )

    def _group(self) -> int:
        grid = _mapping(self.family.video if self.family else None)
        return int(grid.get("frames_per_group", 2))

    # -- the rules -------------------------------------------------------------------------------------------

    def _tokens(self, medium: Media, frames: int | None = None) -> int | None:
        manifest = medium.ready.manifest
        frames = len(manifest.indices) if frames is None else frames
        width, height = manifest.width, manifest.height
        assert self.family is not None
        if medium.recipe.layout == "video":
            return vision_tokens(self.family.video, frames, width, height)
        one = vision_tokens(self.family.image, 1, width, height)
        return None if one is None else frames * one

    def _note_scaling(self, request: Request) -> None:
        assert self.family is not None
        for medium in request.media:
            rule = self.family.video if medium.recipe.layout == "video" else self.family.image
            if rule is None or rule["rule"] != "grid":
                continue
            manifest = medium.ready.manifest
            frames = len(manifest.indices) if medium.recipe.layout == "video" else 1
            width, height = grid_size(rule, frames, manifest.width, manifest.height)
            if (width, height) != (manifest.width, manifest.height):
                self.scaled[f"{manifest.width}×{manifest.height} → {width}×{height}"] += 1


def _text_bytes(request: Request) -> int:
    total = 0
    for message in request.messages:
        content = message.get("content")
        parts = [{"text": content}] if isinstance(content, str) else content or ()
        total += sum(len(str(part.get("text", "")).encode()) for part in parts)
    return total + sum(len(text) for medium in request.media if medium.timed for text in medium.texts())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
