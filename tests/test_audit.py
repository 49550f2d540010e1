"""How many tokens clips cost: the paper's own numbers (B.3), and what processors really do."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eccdata.audit import Audit
from eccdata.vision_tokens import Family, families, grid_size, vision_tokens

LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024)
FAMILIES = {family.name: family for family in families()}


def tokens(name: str, frames: int, **changed: Any) -> int | None:
    video = FAMILIES[name].video
    assert video is not None
    return vision_tokens({**video, **changed}, frames, 448, 448)


def bucket(steps: float) -> int:
    return next(size for size in (1, 2, 4, 8) if steps <= size)


@pytest.mark.parametrize("frames", [*LENGTHS, 3, 5, 181, 1023])
def test_what_the_paper_counts(frames: int) -> None:
    unbounded = {"max_pixels": 2**60}
    assert tokens("Qwen2.5-VL", frames) == 256 * math.ceil(frames / 2)
    assert tokens("GLM-4.5V", frames, **unbounded) == 256 * math.ceil(frames / 2)
    assert tokens("Qwen3-VL", frames, **unbounded) == 196 * math.ceil(frames / 2)
    assert tokens("Qwen3-Omni", frames) == 196 * math.ceil(frames / 2)
    assert tokens("InternVL3.5", frames) == 256 * frames
    assert tokens("MiniCPM-V 2.6", frames) == 64 * frames
    pack = min(6, max(1, math.ceil(frames / 180)))
    assert tokens("MiniCPM-V 4.5", frames) == 64 * math.ceil(frames / pack)
    assert tokens("LongVILA", frames) == 257 * (frames // (4 * bucket(frames / 256)))
    assert tokens("Phi-4-MM", frames) == 545 * frames


def test_qwen3_shrinks_long_videos_by_its_own_limit() -> None:
    """Its processor's limit counts the pixels of all frames: at 448×448 it is reached beyond 125 of them."""
    video = FAMILIES["Qwen3-VL"].video
    assert video is not None
    assert grid_size(video, 124, 448, 448) == (448, 448)
    assert grid_size(video, 128, 448, 448) == (416, 416)
    assert grid_size(video, 1024, 448, 448) == (128, 128)
    assert tokens("Qwen3-VL", 1024) == 16 * 512


def test_a_size_that_no_rule_speaks_of_is_not_guessed() -> None:
    assert vision_tokens(FAMILIES["InternVL3.5"].image, 1, 448, 448) == 256
    assert vision_tokens(FAMILIES["InternVL3.5"].image, 1, 640, 360) is None
    assert vision_tokens(FAMILIES["LongVILA"].image, 1, 448, 448) is None
    assert tokens("LongVILA", 4096) is None


def test_natural_clips() -> None:
    qwen = FAMILIES["Qwen2.5-VL"].video
    assert qwen is not None
    assert grid_size(qwen, 8, 640, 360) == (644, 364)
    assert vision_tokens(qwen, 8, 640, 360) == 4 * 23 * 13


@settings(deadline=None, max_examples=200)
@given(
    frames=st.integers(2, 300),
    width=st.integers(56, 2000),
    height=st.integers(56, 2000),
    least=st.sampled_from([3136, 12544, 100352]),
    most=st.sampled_from([150000, 602112, 47040000]),
)
def test_grids_are_those_of_the_real_processors(
    frames: int, width: int, height: int, least: int, most: int
) -> None:
    qwen2 = pytest.importorskip("transformers.models.qwen2_vl.image_processing_pil_qwen2_vl")
    glm = pytest.importorskip("transformers.models.glm4v.image_processing_pil_glm4v")
    rule = {"patch": 14, "merge": 2, "frames_per_group": 2, "min_pixels": least, "max_pixels": most}
    limits = {"min_pixels": least, "max_pixels": most}
    assert grid_size({**rule, "limits": "frame"}, frames, width, height)[::-1] == qwen2.smart_resize(
        height, width, 28, **limits
    )
    assert grid_size({**rule, "limits": "video"}, frames, width, height)[::-1] == glm.smart_resize(
        frames, height, width, 2, 28, **limits
    )


def facts(architecture: str | None, **checkpoint: Any) -> dict[str, Any]:
    return {"model_info": {"architectures": [architecture] if architecture else []}, "checkpoint": checkpoint}


def test_a_family_is_found_by_what_the_server_says() -> None:
    assert Audit.of(facts("Qwen3VLMoeForConditionalGeneration")).family == FAMILIES["Qwen3-VL"]
    assert Audit.of(facts("InternVLChatModel")).family == FAMILIES["InternVL3.5"]
    minicpm = Audit.of(facts("MiniCPMV", config={"version": 4.5})).family
    assert isinstance(minicpm, Family)
    assert minicpm.name == "MiniCPM-V 4.5"


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (facts(None), "does not say what its model is"),
        (facts("MiniCPMV"), "stands for several"),
        (facts("LlamaForCausalLM"), "models of architecture LlamaForCausalLM are not known"),
        ({}, "does not say what its model is"),
    ],
)
def test_what_is_not_known_is_said(told: dict[str, Any], why: str) -> None:
    audit = Audit.of(told)
    assert audit.family is None
    assert why in str(audit.ignorance)
    assert audit.facts()["family"] is None


def test_the_checkpoints_own_numbers_go_before_the_familys() -> None:
    video = {"patch_size": 16, "merge_size": 2, "size": {"shortest_edge": 4096, "longest_edge": 524288}}
    audit = Audit.of(facts("Qwen3VLForConditionalGeneration", video=video))
    assert audit.rules == "checkpoint"
    assert audit.family is not None
    assert vision_tokens(audit.family.video, 8, 448, 448) == 256
    assert vision_tokens(audit.family.video, 16, 448, 448) == 200
    # an older checkpoint names its limits otherwise
    older = {"min_pixels": 3136, "max_pixels": 50176}
    found = Audit.of(facts("Qwen2_5_VLForConditionalGeneration", video=older, image=older)).family
    assert found is not None
    assert vision_tokens(found.image, 1, 448, 448) == 64
