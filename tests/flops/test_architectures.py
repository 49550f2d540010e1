"""Architectures as data: which name means which, and what a file of declarations may hold."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from eccdata.errors import EccdataError
from eccdata.flops import architecture, architectures
from eccdata.flops.architectures import FILE_VARIABLE, declared, find, read, shipped, user_file


def entry(**changed: Any) -> dict[str, Any]:
    language = {
        "layers": 2,
        "width": 8,
        "heads": 2,
        "kv_heads": 1,
        "head_width": 4,
        "ffn": 16,
        "vocabulary": 100,
    }
    return {"name": "small", "language": language} | changed


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Qwen3-VL (8B) (+Thinking)", "Qwen3-VL (8B)"),
        ("Qwen3-VL Thinking", "Qwen3-VL (8B)"),
        ("Qwen/Qwen3-VL-8B-Thinking", "Qwen3-VL (8B)"),
        ("Qwen/Qwen3-VL-8B-Instruct", "Qwen3-VL (8B)"),
        ("InternVL3.5 30B", "InternVL3.5 (30B, A3B)"),
        ("InternVL3.5 Thinking (30B, A3B)", "InternVL3.5 (30B, A3B)"),
        ("InternVL3.5 Thinking 8B", "InternVL3.5 (8B)"),
        ("OpenGVLab/InternVL3_5-38B", "InternVL3.5 (38B)"),
        ("GLM-4.5V", "GLM-4.5V (104B, A12B)"),
        ("zai-org/GLM-4.5V", "GLM-4.5V (104B, A12B)"),
        ("MIMO-VL", "MIMO-VL (7B)"),
        ("Phi-4-MM", "Phi-4-MM (6B)"),
        ("microsoft/Phi-4-multimodal-instruct", "Phi-4-MM (6B)"),
    ],
)
def test_the_names_in_the_papers_tables_and_the_checkpoints(name: str, model: str) -> None:
    assert architecture(name).name == model


@pytest.mark.parametrize("name", ["InternVL3.5", "qwen3-vl", "Qwen3-VL-8B-Instruct", "Qwen3-VL (8B) ", ""])
def test_names_are_matched_to_the_letter(name: str) -> None:
    assert find(name) is None
    with pytest.raises(EccdataError, match="There is no model with a price called"):
        architecture(name)


def test_no_name_means_two_models() -> None:
    names = [name for each in shipped() for name in each.all_names]
    assert len(set(names)) == len(names)


def test_every_number_that_ships_is_said_on_purpose() -> None:
    """The file and what is read from it are the same, so that no field is passed over."""
    raw = yaml.safe_load(files("eccdata.flops").joinpath("architectures.yaml").read_text("utf-8"))["models"]
    assert [each.model_dump(mode="json", exclude_unset=True) for each in shipped()] == raw


def test_a_file_that_is_nested_without_end_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    for text in ("[" * 1000 + "]" * 1000, "models: " + "{a: " * 1500 + "1" + "}" * 1500):
        path.write_text(text)
        with pytest.raises(EccdataError, match=r"mine\.yaml holds no architectures: .*nested too deeply"):
            declared(path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([], "one key, `models`"),
        ({"models": {}}, "one key, `models`"),
        ({"models": [], "more": 1}, "one key, `models`"),
        ({"models": [3]}, "model 1: as a whole"),
        ({"models": [{"name": "x"}]}, "x: language: Field required"),
        ({"models": [entry(language={"layers": 2})]}, "small: language.kv_heads: Field required"),
        (
            {"models": [entry(language=entry()["language"] | {"layers": 0})]},
            "layers: Input should be greater",
        ),
        (
            {"models": [entry(language=entry()["language"] | {"layers": "2"})]},
            "layers: Input should be a valid",
        ),
        ({"models": [entry(colour="red")]}, "small: colour: Extra inputs"),
        ({"models": [entry(), entry()]}, "small: stands for more than one model"),
        (
            {"models": [entry(family="Qwen3-VL")]},
            "small: as a whole: family, vision and connector go together",
        ),
        (
            {"models": [entry(language=entry()["language"] | {"experts": {"count": 2, "active": 3}})]},
            "more experts are active than there are",
        ),
        (
            {"models": [entry(language=entry()["language"] | {"dense_layers": {"count": 1, "ffn": 3}})]},
            "dense_layers are the first layers of a mixture",
        ),
        (
            {"models": [entry(vision={"layers": 1, "width": 1, "ffn": 1, "gated": False, "patch": 14})]},
            "either frames_per_group",
        ),
    ],
)
def test_what_a_declaration_lacks_is_told(content: Any, told: str) -> None:
    with pytest.raises(EccdataError) as caught:
        read(content, "mine.yaml")
    assert told in str(caught.value)
    assert "mine.yaml" in str(caught.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(EccdataError) as caught:
        read({"models": [{"name": "x"}, entry(language={"layers": 2})]}, "mine.yaml")
    assert "x: language" in str(caught.value)
    assert "small: language.vocabulary" in str(caught.value)


def test_a_users_own_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.yaml"
    monkeypatch.setenv(FILE_VARIABLE, str(path))
    assert user_file() == path
    assert declared() == ()
    path.write_text(yaml.safe_dump({"models": [entry(names=["Qwen3-VL"])]}))
    assert architecture("small").language.layers == 2
    assert architecture("Qwen3-VL").name == "small"
    assert architectures()[0].name == "small"
    assert len(architectures()) == 13
    path.write_text("models: [")
    with pytest.raises(EccdataError, match="is no YAML file"):
        architecture("small")


def test_where_a_users_own_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FILE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert user_file() == tmp_path / "eccdata" / "architectures.yaml"
