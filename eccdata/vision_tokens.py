"""How many tokens of images and videos reach a language model, by the rules of its family."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml

from eccdata.requests import Json

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


def pack_size(rule: Mapping[str, Any], frames: int) -> int:
    """How many frames of a clip are packed into one call of the resampler; 1 by any rule that packs none."""
    if rule["rule"] != "packs":
        return 1
    return int(min(rule["largest"], max(1, math.ceil(frames / rule["frames_per_step"]))))


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
    tokens: int = rule["tokens"]
    return tokens * math.ceil(frames / pack_size(rule, frames)) if _of_size(rule, width, height) else None


def _pooled(rule: Mapping[str, Any], frames: int, width: int, height: int) -> int | None:  # noqa: ARG001
    steps = frames / rule["unit"]
    bucket = next((bucket for bucket in rule["buckets"] if steps <= bucket), None)
    return None if bucket is None else rule["tokens"] * (frames // (rule["base"] * bucket))


def _of_size(rule: Mapping[str, Any], width: int, height: int) -> bool:
    return "size" not in rule or width == height == rule["size"]


RULES: Mapping[str, Rule] = MappingProxyType(
    {"grid": _grid, "per_frame": _per_frame, "packs": _packs, "pooled": _pooled}
)


def family_of(architecture: str | None, config: Mapping[str, Any]) -> Family | None:
    """The family of a checkpoint, from its architecture's name and its config.json; None where none is known."""
    for family in families():
        if architecture in family.architectures and all(
            str(config.get(name)) == str(value) for name, value in family.when.items()
        ):
            return family
    return None


def unlimited(rule: Mapping[str, Any]) -> Mapping[str, Any]:
    """A video's rule as eccbench.txt, B.3 applies it: to frames of any size, without limits on pixels."""
    return {
        **{key: value for key, value in rule.items() if key != "size"},
        "min_pixels": 0,
        "max_pixels": math.inf,
    }


def as_configured(rule: Mapping[str, Any] | None, config: Mapping[str, Any]) -> Mapping[str, Any] | None:
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


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
