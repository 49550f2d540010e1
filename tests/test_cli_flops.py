"""The command `eccdata flops`: what it prints, draws and declares, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from eccdata.cli import app
from eccdata.errors import EccdataError
from eccdata.flops import price
from eccdata.flops.architectures import FILE_VARIABLE
from eccdata.flops.plotting import curve
from eccdata.flops.showing import TERMS, Asked

LLAMA = {
    "model_type": "llama", "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152,
}  # fmt: skip


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mine.yaml"
    monkeypatch.setenv(FILE_VARIABLE, str(path))
    monkeypatch.setenv("COLUMNS", "100")
    return path


def flops(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["flops", *map(str, arguments)])


def refused(*arguments: object) -> str:
    done = flops(*arguments)
    assert isinstance(done.exception, EccdataError), done.output
    return str(done.exception)


def test_a_breakdown() -> None:
    done = flops("Qwen3-VL (8B)", "--frames", 64, "--size", "448x448")
    assert done.exit_code == 0, done.output
    lines = {" ".join(line.split()[:-2]): line for line in done.output.splitlines() if "%" in line}
    for name, printed in (("vision tower", "23.2 TF"), ("connector", "2.01 TF"), ("prefill", "101 TF")):
        assert any(key.startswith(name) and printed in line for key, line in lines.items()), done.output
    assert "39.1 GF" in done.output
    assert "N = 6,400 tokens, 6,272 of vision" in done.output


def test_as_json_it_is_the_price() -> None:
    done = flops(
        "Qwen/Qwen3-VL-8B-Instruct",
        *("--frames", 64, "--frames", 6, "--size", "448x448", "--size", "640x360"),
        *("--prompt-tokens", 200, "--answer-tokens", 7.5, "--queries", 16, "--json"),
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    cost = price(
        "Qwen3-VL",
        clips=[(64, (448, 448)), (6, (640, 360))],
        prompt_tokens=200,
        answer_tokens=7.5,
        queries=16,
    )
    for name in (*(term for term, _ in TERMS), "write", "read", "total", "per_query"):
        assert told[f"flops_{name}"] == getattr(cost, name)
    assert told["context_tokens"] == cost.context
    assert told["clips"][1] == {"frames": 6, "frame_size_px": [640, 360]}
    # every number's name says its unit, but for counts
    numbers = {name for name, value in told.items() if isinstance(value, (int, float))} - {"queries"}
    assert all(name.startswith("flops_") or name.endswith("_tokens") for name in numbers)
    assert told["model"] == "Qwen3-VL (8B)"


def test_several_models_and_a_context_that_is_exceeded() -> None:
    done = flops("GLM-4.5V", "InternVL3.5 8B", "--frames", 1024, "--size", "448x448")
    assert "GLM-4.5V (104B, A12B): 1024 frames of 448×448" in done.output
    assert "more than the 40,960 that it was trained on" in " ".join(done.output.split())
    told = json.loads(flops("GLM-4.5V", "InternVL3.5 8B", "--json").output)
    assert [each["model"] for each in told] == ["GLM-4.5V (104B, A12B)", "InternVL3.5 (8B)"]


def test_limits_and_layout_are_those_of_the_price() -> None:
    shrunk = json.loads(flops("Qwen3-VL", "--frames", 1024, "--size", "448x448", "--limits", "--json").output)
    assert shrunk["vision_tokens"] == 16 * 512
    images = json.loads(
        flops("Qwen3-VL", "--frames", 3, "--size", "448x448", "--layout", "frames", "--json").output
    )
    assert images["vision_tokens"] == 3 * 196


def test_all_that_have_a_price_are_listed(mine: Path) -> None:
    done = flops()
    assert "Phi-4-MM (6B)" in done.output
    assert "not there yet" in " ".join(done.output.split())
    told = json.loads(flops("--json").output)
    assert len(told) == 12
    assert told[1]["b_flops_per_token"] == 13_891_534_848


def test_a_model_is_declared_and_priced(tmp_path: Path, mine: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    done = flops("add", tmp_path / "config.json", "--name", "mine")
    assert done.exit_code == 0, done.output
    assert str(mine) in done.output.replace("\n", "")
    assert "mine: 512 tokens of text" in flops("mine", "--prompt-tokens", 512).output
    assert json.loads(flops("--json").output)[0]["model"] == "mine"
    elsewhere = tmp_path / "elsewhere.yaml"
    assert flops("add", tmp_path, "--name", "other", "--file", elsewhere).exit_code == 0
    assert elsewhere.exists()
    assert "There is no model" in refused("other")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["Qwen3-VL", "--frames", "3"], "Give frame_size (--size WIDTHxHEIGHT)"),
        (["Qwen3-VL", "--frames", "3", "--size", "448"], "--size 448 is no size of a frame"),
        (["Qwen3-VL", "--frames", "3", *["--size", "4x4"] * 2], "There are 1 clips and 2 sizes"),
        (["nothing"], "There is no model with a price called 'nothing'"),
        (["--plot", "x.svg"], "name at least one model"),
        (["Qwen3-VL", "--plot", "x.pdf"], "Known are .svg, .png, .html"),
        (["add", "nothing/here"], "cannot be had"),
    ],
)
def test_what_is_refused(arguments: Sequence[str], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert told in refused(*arguments)


@pytest.mark.parametrize(
    ("ending", "begins"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".html", b"<!DOCTYPE html>")]
)
def test_cost_is_drawn_against_length(ending: str, begins: bytes, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    path = tmp_path / "plots" / f"cost{ending}"
    done = flops("Qwen3-VL", "--frames", 64, "--size", "448x448", "--plot", path)
    assert done.exit_code == 0, done.output
    content = path.read_bytes()
    assert content.lstrip().startswith(begins)
    if ending == ".html":
        assert b'src="http' not in content, "nothing is fetched"
    if ending == ".svg":
        assert b"vision tower" in content


def test_the_curve_is_the_price_at_each_length() -> None:
    from eccdata.flops import architecture

    asked = Asked(((64, (448, 448)), (6, (448, 448))), 128, 3.0, 4)
    rows = curve([architecture("Qwen3-VL")], asked)
    assert {row["series"] for row in rows} == {*(name for _, name in TERMS), "total"}
    for row in rows[:: len(rows) // 20]:
        cost = price(
            "Qwen3-VL",
            clips=[(row["length"], (448, 448)), (6, (448, 448))],
            prompt_tokens=128,
            answer_tokens=3,
            queries=4,
        )
        if row["series"] == "total":
            assert row["flops"] == cost.per_query
        else:
            term = next(term for term, name in TERMS if name == row["series"])
            value = getattr(cost, term)
            assert row["flops"] == (value if term == "decode" else value / 4)
    texts = curve([architecture("Qwen3-VL"), architecture("GLM-4.5V")], Asked((), 10, 1.0, 1))
    assert {row["series"] for row in texts} == {"Qwen3-VL (8B)", "GLM-4.5V (104B, A12B)"}
    assert max(row["length"] for row in texts) == 131_072
