"""The token audit: did the model see the frames that were sent? Held against the server's count of vision tokens.

A server may sample a video again, scale its frames, or take a fixed number of them, and say nothing. But how many
tokens a clip costs follows from the architecture's own rules, so that the server's `usage` gives it away.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml

from eccdata.errors import SHOWN
from eccdata.media import Media
from eccdata.requests import Json, Request, Response, Status

ROOM_PER_FRAME = 16
"""The most tokens of text, such as times and brackets, that templates put around a frame."""
ROOM_PER_PROMPT = 256
"""The most that they put around a prompt."""

FIXED_FRAMES = 64
"""So many frames and fewer are tried where a server may have taken a fixed number of them."""

Rule = Callable[[Mapping[str, Any], int, int, int], int | None]
"""From a rule's numbers, frames, width and height to tokens; None where it does not say."""


@dataclass(frozen=True, slots=True)
class Family:
    """Models that count alike.

    Attributes:
        name: What it is called.
        architectures: Names in a checkpoint's `architectures`.
        when: Fields of its configuration that tell it from others of the same architecture.
        video: The rule of a video, and its numbers.
        image: That of an image.
        hint: What is known to go wrong.

    """

    name: str
    architectures: tuple[str, ...]
    when: Mapping[str, Json]
    video: Mapping[str, Any] | None
    image: Mapping[str, Any] | None
    hint: str = ""


@cache
def families() -> tuple[Family, ...]:
    """All known families, as `data/vision_tokens.yaml` has them."""
    text = files("eccdata").joinpath("data/vision_tokens.yaml").read_text(encoding="utf-8")
    return tuple(
        Family(
            name=entry["name"],
            architectures=tuple(entry["architectures"]),
            when=entry.get("when", {}),
            video=entry.get("video"),
            image=entry.get("image"),
            hint=entry.get("hint", ""),
        )
        for entry in yaml.safe_load(text)["families"]
    )


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
        found = _family(architecture, config)
        processing = _mapping(facts.get("server_info")).get("mm_process_config")
        audit = cls(architecture=architecture, family=found, config=processing or None)
        if found is not None and (checkpoint.get("video") or checkpoint.get("image")):
            audit.rules = "checkpoint"
            audit.family = replace(
                found,
                video=_as_configured(found.video, _mapping(checkpoint.get("video"))),
                image=_as_configured(found.image, _mapping(checkpoint.get("image"))),
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


def vision_tokens(rule: Mapping[str, Any] | None, frames: int, width: int, height: int) -> int | None:
    """How many tokens of a clip reach the language model.

    Args:
        rule: A family's rule, see `data/vision_tokens.yaml`; None where the family has none.
        frames: Frames that are sent.
        width: Pixels.
        height: Pixels.

    Returns:
        Tokens; None where the rule does not say.

    Source:
        eccbench.txt, B.3 ("How many tokens reach the language model").

    """
    return None if rule is None else RULES[rule["rule"]](rule, frames, width, height)


def grid_size(rule: Mapping[str, Any], frames: int, width: int, height: int) -> tuple[int, int]:
    """Width and height to which a processor of the Qwen kind scales frames: whole merged patches, within limits."""
    side = rule["patch"] * rule["merge"]
    group = rule["frames_per_group"]
    # what the limits count: pixels of one frame, of a group, or of all frames
    exact = {"frame": 1, "group": group, "video": frames}[rule["limits"]]
    rounded = round(exact / group) * group if rule["limits"] == "video" else exact
    if rule["limits"] == "video" and frames < group:
        exact = rounded = group
    columns, rows = max(1, round(width / side)), max(1, round(height / side))
    pixels = rounded * columns * rows * side**2
    if pixels > rule["max_pixels"]:
        shrink = math.sqrt(exact * width * height / rule["max_pixels"])
        columns = max(1, math.floor(width / shrink / side))
        rows = max(1, math.floor(height / shrink / side))
    elif pixels < rule["min_pixels"]:
        grow = math.sqrt(rule["min_pixels"] / (exact * width * height))
        columns, rows = math.ceil(width * grow / side), math.ceil(height * grow / side)
    return columns * side, rows * side


def _grid(rule: Mapping[str, Any], frames: int, width: int, height: int) -> int:
    side: int = rule["patch"] * rule["merge"]
    groups = math.ceil(frames / rule["frames_per_group"])
    scaled_width, scaled_height = grid_size(rule, frames, width, height)
    tokens: int = groups * (scaled_width // side) * (scaled_height // side)
    return tokens


def _per_frame(rule: Mapping[str, Any], frames: int, width: int, height: int) -> int | None:
    tokens: int = rule["tokens"]
    return tokens * frames if _of_size(rule, width, height) else None


def _packs(rule: Mapping[str, Any], frames: int, width: int, height: int) -> int | None:
    pack = min(rule["largest"], max(1, math.ceil(frames / rule["frames_per_step"])))
    return rule["tokens"] * math.ceil(frames / pack) if _of_size(rule, width, height) else None


def _pooled(rule: Mapping[str, Any], frames: int, width: int, height: int) -> int | None:  # noqa: ARG001
    steps = frames / rule["unit"]
    bucket = next((bucket for bucket in rule["buckets"] if steps <= bucket), None)
    return None if bucket is None else rule["tokens"] * (frames // (rule["base"] * bucket))


def _of_size(rule: Mapping[str, Any], width: int, height: int) -> bool:
    return "size" not in rule or width == height == rule["size"]


RULES: Mapping[str, Rule] = MappingProxyType(
    {"grid": _grid, "per_frame": _per_frame, "packs": _packs, "pooled": _pooled}
)


def _family(architecture: str | None, config: Mapping[str, Any]) -> Family | None:
    for family in families():
        if architecture in family.architectures and all(
            str(config.get(name)) == str(value) for name, value in family.when.items()
        ):
            return family
    return None


def _as_configured(rule: Mapping[str, Any] | None, config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A rule with the numbers that a checkpoint's processor file gives."""
    if rule is None or rule["rule"] != "grid" or not config:
        return rule
    size = _mapping(config.get("size"))
    given = {
        "patch": config.get("patch_size"),
        "merge": config.get("merge_size"),
        "frames_per_group": config.get("temporal_patch_size"),
        # older files have the limits by these names
        "min_pixels": size.get("shortest_edge") or config.get("min_pixels"),
        "max_pixels": size.get("longest_edge") or config.get("max_pixels"),
    }
    return {**rule, **{name: value for name, value in given.items() if isinstance(value, int)}}


def _text_bytes(request: Request) -> int:
    total = 0
    for message in request.messages:
        content = message.get("content")
        parts = [{"text": content}] if isinstance(content, str) else content or ()
        total += sum(len(str(part.get("text", "")).encode()) for part in parts)
    return total + sum(len(text) for medium in request.media if medium.timed for text in medium.texts())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
