"""What is read of a checkpoint, in all the forms in which they come."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from eccdata.systems.checkpoint import checkpoint_facts

CONFIG = {
    "architectures": ["Qwen3VLForConditionalGeneration"],
    "model_type": "qwen3_vl",
    "hidden_size": 64,
    "torch_dtype": "bfloat16",
}
IMAGE = {"patch_size": 16, "size": {"longest_edge": 65536, "shortest_edge": 4096}, "image_mean": [0.5]}
VIDEO = {"patch_size": 16, "size": {"longest_edge": 524288, "shortest_edge": 4096}, "fps": 2}


def facts(folder: Path, **files: Any) -> Any:
    for name, content in files.items():
        (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return checkpoint_facts(str(folder))


def test_one_file_for_both_processors(tmp_path: Path) -> None:
    both = {"image_processor": IMAGE, "video_processor": VIDEO}
    found = facts(tmp_path, config=CONFIG, processor_config=both)
    assert found["config"] == {name: CONFIG[name] for name in ("architectures", "model_type", "hidden_size")}
    assert found["config_sha256"] == hashlib.sha256(json.dumps(CONFIG).encode()).hexdigest()
    assert found["image"] == {"patch_size": 16, "size": IMAGE["size"]}
    assert found["video"] == {"patch_size": 16, "size": VIDEO["size"]}


def test_a_file_each(tmp_path: Path) -> None:
    found = facts(tmp_path, preprocessor_config=IMAGE, video_preprocessor_config=VIDEO)
    assert (found["image"]["size"], found["video"]["size"]) == (IMAGE["size"], VIDEO["size"])


def test_an_image_processor_alone_is_the_videos_too(tmp_path: Path) -> None:
    found = facts(tmp_path, preprocessor_config=IMAGE)
    assert found["video"] == found["image"]


def test_a_model_of_text_alone_has_no_processors(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(IMAGE))
    assert checkpoint_facts(str(tmp_path), sees=False).keys() == {"config", "config_sha256"}


@pytest.mark.parametrize("content", ["", "[1]", "{"])
def test_what_cannot_be_read_is_nothing(content: str, tmp_path: Path) -> None:
    assert facts(tmp_path, config=content, preprocessor_config=content) == {}


def test_a_place_that_is_not_there_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert checkpoint_facts(str(tmp_path / "missing")) == {}
    assert checkpoint_facts("nobody/has-this-model") == {}
