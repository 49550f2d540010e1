from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from eccdata import cli_train, training
from eccdata.cli import app
from eccdata.errors import EccdataError

RUN = CliRunner()
TINY = ("--width", "16", "--smoke", "--device", "cpu", "--set", "layers=1", "--set", "epochs=1")


def test_train_says_what_it_came_to_and_how_to_go_on(release: Path, tmp_path: Path) -> None:
    done = RUN.invoke(app, ["train", "GRU", "-o", str(tmp_path / "run"), "--data", str(release), *TINY])
    assert done.exit_code == 0, done.output
    assert "configuration 1: 0." in done.output
    assert "on the same rows: bag(k=1) 0." in done.output
    assert f"--option checkpoint={tmp_path / 'run'}" in done.output.replace("\n", "")


def test_all_trains_each_in_a_folder_of_its_own(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eccdata.backbones.settings.SLUGS", {"gru": "GRU", "retnet": "RetNet"})
    arguments = ["train", "all", "-o", str(tmp_path), "--data", str(release), "--configuration", "2", *TINY]
    done = RUN.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert {path.name for path in tmp_path.iterdir()} == {"gru-d16", "retnet-d16"}
    assert (tmp_path / "gru-d16" / "configuration-2" / "best" / "model.safetensors").exists()


def test_configurations_are_numbers_or_all() -> None:
    assert cli_train._numbers("all") == [1, 2, 3, 4]
    assert cli_train._numbers("1,3") == [1, 3]
    with pytest.raises(EccdataError, match="--configuration best: takes a number from 1 to 4, or all"):
        cli_train._numbers("best")


@pytest.mark.parametrize("missing", ["torch", "accelerate"])
def test_without_the_extra_one_is_told_to_install_it(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(EccdataError, match=rf"needs {missing}[\s\S]*pip install 'eccdata\[models\]'"):
        _ = training.train
