"""Declaring models into the user's own file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from eccdata.errors import EccdataError
from eccdata.flops import architecture, price
from eccdata.flops.architectures import FILE_VARIABLE
from eccdata.flops.declaring import declare
from support.hub import Hub, running_hub

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
}


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "settings" / "mine.yaml"
    monkeypatch.setenv(FILE_VARIABLE, str(path))
    return path


def checkpoint(folder: Path, **changed: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(LLAMA | changed))
    return folder


def test_a_declared_model_has_a_price(tmp_path: Path, mine: Path) -> None:
    folder = checkpoint(tmp_path / "llama")
    made = declare(str(folder), name="my-llama")
    assert made.added
    assert str(mine) in str(made)
    assert price("my-llama", prompt_tokens=100).total == price(str(folder), prompt_tokens=100).total
    source = architecture("my-llama").source
    assert source is not None
    assert source.sha256 == hashlib.sha256((folder / "config.json").read_bytes()).hexdigest()


def test_by_its_config_json_and_by_its_own_name(tmp_path: Path, mine: Path) -> None:
    config = checkpoint(tmp_path / "llama") / "config.json"
    assert declare(str(config)).architecture.name == str(config.parent)


def test_what_stands_in_the_file_is_left_as_it_is(tmp_path: Path, mine: Path) -> None:
    mine.parent.mkdir()
    by_hand = (
        "# of mine\nmodels:\n- name: by-hand # a good one\n  language: {layers: 2, width: 8, heads: 2, kv_heads: 1, "
        "head_width: 4, ffn: 16, vocabulary: 100}\n\n"
    )
    mine.write_text(by_hand)
    declare(str(checkpoint(tmp_path / "one")), name="one")
    declare(str(checkpoint(tmp_path / "two", num_hidden_layers=7)), name="two")
    assert mine.read_text().startswith(by_hand.rstrip())
    assert [each["name"] for each in yaml.safe_load(mine.read_text())["models"]] == ["by-hand", "one", "two"]
    assert architecture("two").language.layers == 7


def test_the_same_again_changes_nothing(tmp_path: Path, mine: Path) -> None:
    folder = str(checkpoint(tmp_path / "llama"))
    declare(folder, name="one")
    before = mine.read_bytes()
    again = declare(folder, name="one")
    assert not again.added
    assert "before" in str(again)
    assert mine.read_bytes() == before


def test_what_many_declare_at_a_time_is_all_there(tmp_path: Path, mine: Path) -> None:
    names = sorted(str(checkpoint(tmp_path / f"llama-{place}")) for place in range(8))
    with ThreadPoolExecutor(len(names)) as at_once:
        assert all(made.added for made in at_once.map(declare, names))
    assert sorted(each["name"] for each in yaml.safe_load(mine.read_text())["models"]) == names


def test_an_empty_list_is_filled(tmp_path: Path, mine: Path) -> None:
    mine.parent.mkdir()
    mine.write_text("models: []\n")
    declare(str(checkpoint(tmp_path / "llama")), name="one")
    assert architecture("one").context == 8192


def test_a_name_that_has_a_price_is_not_given_another(tmp_path: Path, mine: Path) -> None:
    folder = checkpoint(tmp_path / "llama")
    with pytest.raises(EccdataError, match=r"Qwen3-VL has a price already.*Table 2"):
        declare(str(folder), name="Qwen3-VL")
    declare(str(folder), name="one")
    checkpoint(folder, num_hidden_layers=3)
    with pytest.raises(EccdataError, match="Take it out of that file first"):
        declare(str(folder), name="one")
    assert architecture("one").language.layers == 30


def test_a_file_that_cannot_be_added_to_says_what_to_put_there(tmp_path: Path, mine: Path) -> None:
    mine.parent.mkdir()
    language = "{layers: 2, width: 8, heads: 2, kv_heads: 1, head_width: 4, ffn: 16, vocabulary: 9}"
    inline = f"models: [{{name: a, language: {language}}}]\n"
    mine.write_text(inline)
    with pytest.raises(EccdataError, match="Put this into its list of models:\nname: one"):
        declare(str(checkpoint(tmp_path / "llama")), name="one")
    assert mine.read_text() == inline


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A stand-in for the Hub, with nothing on it."""
    with running_hub() as running:
        pattern = "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE"
        monkeypatch.setattr(pattern, running.url + "/{repo_id}/resolve/{revision}/{filename}")
        yield running


@pytest.mark.parametrize(
    "given", ["./mistyped", "~/mistyped", "a/b/c", "some/config.json", "/nowhere/at-all"]
)
def test_a_mistyped_path_does_not_go_to_the_hub(given: str, mine: Path, hub: Hub) -> None:
    with pytest.raises(EccdataError, match=f"There is no {re.escape(given)} on this machine"):
        declare(given)
    assert hub.log == []


def test_the_hub_is_asked_once_and_what_it_said_is_told(mine: Path, hub: Hub) -> None:
    with pytest.raises(EccdataError, match=r"of the Hub was heard: .*404"):
        declare("nobody/has-this-model")
    assert len(hub.log) == 1
    assert not mine.exists()


def test_where_no_hub_is_it_is_tried_once(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[float] = []
    monkeypatch.setattr("time.sleep", tried.append)
    pattern = "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE"
    monkeypatch.setattr(pattern, "http://127.0.0.1:9/{repo_id}/resolve/{revision}/{filename}")
    with pytest.raises(EccdataError, match=r"of the Hub was heard: .*refused"):
        declare("nobody/has-this-model")
    assert tried == [], "it waits to try again"


def test_what_cannot_be_declared_is_told(tmp_path: Path, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(EccdataError, match=r"cannot be had: .*offline mode"):
        declare("nobody/has-this-model")
    with pytest.raises(EccdataError, match=r"is no checkpoint: it holds no config\.json"):
        declare(str(tmp_path))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(EccdataError, match="is no JSON"):
        declare(str(tmp_path))
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(EccdataError, match="holds no JSON object"):
        declare(str(tmp_path))
    with pytest.raises(EccdataError, match="num_key_value_heads: missing"):
        declare(str(checkpoint(tmp_path / "old", num_key_value_heads=None)))
    assert not mine.exists()
