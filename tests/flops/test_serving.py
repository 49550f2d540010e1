"""Which price a run's responses have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from eccdata.flops.architectures import FILE_VARIABLE, architecture
from eccdata.flops.config import numbers
from eccdata.flops.serving import served

QWEN3_VL: dict[str, Any] = {
    "architectures": ["Qwen3VLForConditionalGeneration"],
    "model_type": "qwen3_vl",
    "text_config": {
        "model_type": "qwen3_vl_text",
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
    },
    "vision_config": {
        "depth": 27,
        "hidden_size": 1152,
        "intermediate_size": 4304,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "deepstack_visual_indexes": [8, 16, 24],
    },
}


def card(config: dict[str, Any] | None = None, path: str | None = None, **checkpoint: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"model_info": {"model_path": path}, "checkpoint": checkpoint}
    if config is not None:
        facts["model_info"]["architectures"] = config["architectures"]
        facts["checkpoint"] |= {"config": numbers(config), "config_sha256": "0" * 64}
    return {"system": {"name": "sglang", "facts": facts}}


def priced(model: str, told: dict[str, Any]) -> str | None:
    found = served(model, told)
    return None if found is None else found.architecture.name


def test_by_the_models_name_and_by_the_checkpoint_that_the_server_names() -> None:
    assert priced("Qwen/Qwen3-VL-8B-Instruct", {}) == "Qwen3-VL (8B)"
    assert priced("served-as", card(path="zai-org/GLM-4.5V")) == "GLM-4.5V (104B, A12B)"


@pytest.mark.parametrize("model", ["window", "exact", "qwen3-vl", "gpt-x"])
def test_what_nobody_declared_has_none(model: str) -> None:
    assert served(model, {}) is None
    assert served(model, card({"architectures": ["X"], "model_type": "mamba"})) is None


def test_by_the_checkpoints_own_numbers_where_the_card_has_them() -> None:
    small = QWEN3_VL | {
        "text_config": QWEN3_VL["text_config"] | {"num_hidden_layers": 28, "hidden_size": 2048}
    }
    found = served("my-model", card(small))
    assert found is not None
    assert found.architecture.name == "my-model"
    assert found.architecture.language.layers == 28
    # what ran goes before what it is called
    renamed = served("Qwen3-VL", card(small))
    assert renamed is not None
    assert renamed.architecture.language.layers == 28
    # and where both are the same, it is called as the paper does
    assert priced("Qwen3-VL", card(QWEN3_VL)) == "Qwen3-VL (8B)"


def test_a_card_that_does_not_say_enough_leaves_it_to_the_name() -> None:
    assert priced(
        "Qwen3-VL", card({"architectures": QWEN3_VL["architectures"], "model_type": "qwen3_vl"})
    ) == ("Qwen3-VL (8B)")


def test_a_users_declaration_goes_before_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    language = {
        "layers": 2,
        "width": 8,
        "heads": 2,
        "kv_heads": 1,
        "head_width": 4,
        "ffn": 16,
        "vocabulary": 100,
    }
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"models": [{"name": "Qwen3-VL", "language": language}]}))
    monkeypatch.setenv(FILE_VARIABLE, str(path))
    assert priced("Qwen3-VL", card(QWEN3_VL)) == "Qwen3-VL"
    found = served("Qwen3-VL", card(QWEN3_VL))
    assert found is not None
    assert found.architecture.language.layers == 2


def test_clips_are_counted_by_the_checkpoints_own_limits() -> None:
    limit = {"patch_size": 16, "merge_size": 2, "size": {"shortest_edge": 4096, "longest_edge": 524288}}
    found = served("Qwen3-VL", card(QWEN3_VL, video=limit))
    assert found is not None
    assert found.rules is not None
    assert found.rules.video is not None
    assert found.rules.video["max_pixels"] == 524288
    plain = served("Qwen3-VL", {})
    assert plain is not None
    assert plain.rules == architecture("Qwen3-VL").rules
