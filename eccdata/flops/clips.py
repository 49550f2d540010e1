"""What looking at a clip costs: tower and connector, and how many tokens reach the language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from eccdata.flops import formulas
from eccdata.flops.architectures import Architecture
from eccdata.media import Layout
from eccdata.vision_tokens import Family, pack_size, unlimited, vision_tokens


class Clip(NamedTuple):
    """A clip as a model gets it.

    Attributes:
        frames: How many frames.
        width: Of each, in pixels.
        height: Of each, in pixels.
        layout: As one file (`video`), or each frame as an image of its own (`frames`).

    """

    frames: int
    width: int
    height: int
    layout: Layout = "video"


@dataclass(frozen=True, slots=True)
class Look:
    """What clips cost.

    Attributes:
        tokens: V_LLM.
        vision: F_vis.
        connector: F_conn.

    """

    tokens: int = 0
    vision: int = 0
    connector: int = 0

    def __add__(self, other: Look) -> Look:
        """Both."""
        return Look(self.tokens + other.tokens, self.vision + other.vision, self.connector + other.connector)


@lru_cache(maxsize=65_536)
def look(model: Architecture, clip: Clip) -> Look | None:
    """What a clip costs by the paper's rules: its frames at their own size, in whole merged patches, however many.

    Returns:
        None where no rule says so: the model has no tower, or its family no rule for such a clip.

    """
    family = model.rules
    if family is None:
        return None if clip.frames else Look()
    return look_by(model, clip, family.image if clip.layout == "frames" else family.video, limits=False)


def look_by(
    model: Architecture, clip: Clip, rule: Mapping[str, Any] | None, *, limits: bool = True
) -> Look | None:
    """What a clip costs by a rule of `eccdata.vision_tokens`.

    Args:
        model: The model.
        clip: The clip.
        rule: How its processor counts: the model's family's, or what a checkpoint's own files make of it.
        limits: Whether frames are scaled to the rule's limits on pixels, as the checkpoint's processor does.

    Returns:
        None where the rule does not say.

    """
    if clip.frames == 0:
        return Look()
    if rule is None or model.vision is None:
        return None
    images = clip.layout == "frames"
    if not images:
        free = unlimited(rule)
        rule = {**free, **{key: rule[key] for key in ("min_pixels", "max_pixels") if limits and key in rule}}
    # an image is read by itself, whatever stands next to it
    repeats, frames = (clip.frames, 1) if images else (1, clip.frames)
    tokens = vision_tokens(rule, frames, clip.width, clip.height)
    if tokens is None:
        return None
    one = _one(model, frames, tokens, rule)
    return Look(repeats * one.tokens, repeats * one.vision, repeats * one.connector)


def _one(model: Architecture, frames: int, tokens: int, rule: Mapping[str, Any]) -> Look:
    vision, connector = model.vision, model.connector
    assert vision is not None
    assert connector is not None
    if vision.pass_patches is None:
        groups = formulas.groups(vision, frames)
        merged = rule["merge"] ** 2
        seen = groups * formulas.tower(vision, tokens * merged // groups)
    else:
        seen = frames * vision.passes_per_frame * formulas.tower(vision, vision.pass_patches)
    if connector.kind == "resampler":
        assert vision.pass_patches is not None
        pack = pack_size(rule, frames)
        full, rest = divmod(frames, pack)
        mapped = full * formulas.resampler(model, pack * vision.pass_patches)
        # the last pack at its true size
        mapped += formulas.resampler(model, rest * vision.pass_patches) if rest else 0
    else:
        given = tokens if connector.tokens_per_frame is None else connector.tokens_per_frame * frames
        mapped = given * formulas.per_token_connector(model)
    return Look(tokens, seen, mapped)


def rule_of(family: Family | None, clip: Clip) -> Mapping[str, Any] | None:
    """A family's rule for a clip's layout."""
    if family is None:
        return None
    return family.image if clip.layout == "frames" else family.video
