from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from eccdata.backbones import MemoryBackbone
from eccdata.backbones.settings import SLUGS
from eccdata.errors import EccdataError
from eccdata.training import train
from eccdata.training.folders import (
    BEST,
    CARD,
    CHECKPOINTS,
    CURVE,
    SELECTION,
    run_folder,
    selected_checkpoint,
)

TINY: dict[str, Any] = {"layers": 1, "batch_size": 16, "epochs": 2}


def tiny(release: Path, out: Path, name: str = "gru", **options: Any) -> Any:
    options["settings"] = {**TINY, **options.get("settings", {})}
    return train(name, out=out, width=16, data=release, smoke=True, device="cpu", **options)


def weights(out: Path, number: int = 1) -> dict[str, torch.Tensor]:
    return load_file(run_folder(out, number) / BEST / "model.safetensors")


def last(out: Path, number: int = 1) -> dict[str, torch.Tensor]:
    *_, checkpoint = sorted((run_folder(out, number) / CHECKPOINTS).glob("step-*"))
    return load_file(checkpoint / "model.safetensors")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def card(out: Path, number: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run_folder(out, number) / CARD).read_text())
    return found


def curve(out: Path, number: int = 1) -> list[dict[str, str]]:
    with (run_folder(out, number) / CURVE).open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", SLUGS)
def test_every_architecture_takes_steps_and_its_loss_falls(name: str, release: Path, tmp_path: Path) -> None:
    trained = tiny(release, tmp_path / "run", name, settings={"epochs": 3, "batch_size": 64})
    rows = curve(tmp_path / "run")
    assert [float(row["epoch"]) for row in rows] == [1, 2, 3]
    assert float(rows[-1]["training_loss"]) < float(rows[0]["training_loss"])
    model = MemoryBackbone.from_pretrained(trained.checkpoint)
    assert (model.config.architecture, model.config.width, model.config.layers) == (SLUGS[name], 16, 1)


def test_a_run_leaves_its_card_its_curve_and_its_best_weights(release: Path, tmp_path: Path) -> None:
    trained = tiny(release, tmp_path / "run", settings={"epochs": 3})
    found = card(tmp_path / "run")
    assert found["identity"]["settings"]["batch_size"] == 16
    assert found["identity"]["architecture"] == "GRU"
    assert found["identity"]["data"].keys() == {"train", "validation"}
    assert found["data"]["rows"] == {"train": 270, "validation": 30}
    assert found["versions"]["torch"] == torch.__version__
    assert found["outcome"]["ended"] == "epochs"
    assert found["outcome"]["bags"].keys() == {"bag(k=1)", "bag(k=2)", "bag(k=3)"}
    assert 0.5 < found["outcome"]["bags"]["bag(k=1)"] < 1
    rows = curve(tmp_path / "run")
    accuracies = [float(row["validation_accuracy"]) for row in rows]
    assert found["outcome"]["accuracy"] == max(accuracies)
    assert [float(row["bag(k=1)"]) for row in rows] == [found["outcome"]["bags"]["bag(k=1)"]] * 3
    # a warm-up of 1 % of 54 steps is one step, and the cosine ends at 0
    rates = [float(row["learning_rate"]) for row in rows]
    assert rates[0] > rates[1] > rates[2] == 0
    assert selected_checkpoint(tmp_path / "run") == trained.checkpoint
    assert "bag(k=2)" in str(trained)


def test_the_best_weights_are_those_of_the_epoch_that_validation_judged_best(
    release: Path, tmp_path: Path
) -> None:
    from eccdata.training.loop import Loop, new_accelerator
    from eccdata.training.rows import open_splits
    from eccdata.training.settings import TrainingSettings

    trained = tiny(release, tmp_path / "run", settings={"epochs": 4, "learning_rate": 0.02})
    splits = open_splits(release)
    loop = Loop(
        tmp_path / "other",
        name="GRU",
        width=16,
        settings=TrainingSettings(learning_rate=1e-3, batch_size=7, layers=1),
        splits=splits,
        accelerator=new_accelerator("cpu"),
    )
    loop.model.load_state_dict(weights(tmp_path / "run"))
    _, accuracy = loop.judge(splits.validation)
    assert accuracy == trained.runs[1]["outcome"]["accuracy"]


KILLED = """
import sys, torch
torch.set_num_threads(1)
from eccdata.training import train
train("transformer-conv", out=sys.argv[2], width=16, data=sys.argv[1], smoke=True, device="cpu",
      settings={"layers": 2, "batch_size": 16, "epochs": 4, "checkpoint_every": 7})
"""


def test_killed_and_called_again_it_comes_to_the_same_weights(release: Path, tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", KILLED, str(release)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen([*arguments, str(tmp_path / "killed")], env=environment)
    kept = run_folder(tmp_path / "killed", 1) / CHECKPOINTS
    deadline = time.monotonic() + 120
    while not any(kept.glob("step-*")):
        assert child.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    (first, *_) = sorted(kept.glob("step-*"))
    assert card(tmp_path / "killed")["outcome"]["ended"] is None
    assert int(first.name.removeprefix("step-")) < 4 * 18, "it was killed on its way"

    options = {"settings": {"layers": 2, "batch_size": 16, "epochs": 4, "checkpoint_every": 7}}
    tiny(release, tmp_path / "killed", "transformer-conv", **options)
    tiny(release, tmp_path / "whole", "transformer-conv", **options)
    assert same(last(tmp_path / "killed"), last(tmp_path / "whole"))
    assert same(weights(tmp_path / "killed"), weights(tmp_path / "whole"))
    timeless = [
        [{name: value for name, value in row.items() if name != "seconds"} for row in curve(tmp_path / which)]
        for which in ("killed", "whole")
    ]
    assert timeless[0] == timeless[1]


def test_a_checkpoint_that_was_not_finished_is_none(release: Path, tmp_path: Path) -> None:
    tiny(release, tmp_path / "whole", settings={"checkpoint_every": 5})
    tiny(release, tmp_path / "run", settings={"checkpoint_every": 5}, hours=1e-9)
    assert card(tmp_path / "run")["outcome"]["ended"] is None
    stale = run_folder(tmp_path / "run", 1) / CHECKPOINTS / ".step-0000009999.incomplete"
    stale.mkdir()
    tiny(release, tmp_path / "run", settings={"checkpoint_every": 5})
    assert not stale.exists()
    assert same(last(tmp_path / "run"), last(tmp_path / "whole"))


def test_hours_that_are_up_stop_a_run_and_more_of_them_let_it_go_on(release: Path, tmp_path: Path) -> None:
    stopped = tiny(release, tmp_path / "run", hours=1e-9)
    outcome = stopped.runs[1]["outcome"]
    assert outcome["ended"] is None
    assert 0 < outcome["epochs"] < 2
    assert "run the same command again" in str(stopped)
    assert stopped.checkpoint.is_dir(), "what there is was judged and kept"
    again = tiny(release, tmp_path / "run", hours=1e-9)
    assert again.runs[1]["outcome"]["step"] == outcome["step"], "no time, no steps"
    tiny(release, tmp_path / "run", hours=1)
    tiny(release, tmp_path / "whole")
    assert same(last(tmp_path / "run"), last(tmp_path / "whole"))


def test_training_ends_once_validation_reaches_the_target(release: Path, tmp_path: Path) -> None:
    trained = tiny(release, tmp_path / "run", settings={"target_accuracy": 0.2, "epochs": 50})
    assert trained.runs[1]["outcome"]["ended"] == "target"
    assert trained.runs[1]["outcome"]["epochs"] == 1


def test_a_finished_run_is_left_as_it_is(release: Path, tmp_path: Path) -> None:
    tiny(release, tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in run_folder(tmp_path / "run", 1).rglob("*")}
    tiny(release, tmp_path / "run")
    assert {path: path.stat().st_mtime_ns for path in run_folder(tmp_path / "run", 1).rglob("*")} == before


def test_the_best_configuration_is_selected_and_others_can_come_later(release: Path, tmp_path: Path) -> None:
    slow = {"learning_rate": 1e-6}
    tiny(release, tmp_path / "run", numbers=[1], settings=slow)
    trained = tiny(release, tmp_path / "run", numbers=[2, 4])
    assert set(trained.runs) == {1, 2, 4}
    accuracies = {number: found["outcome"]["accuracy"] for number, found in trained.runs.items()}
    assert trained.selected == max(accuracies, key=lambda number: accuracies[number])
    selection = json.loads((tmp_path / "run" / SELECTION).read_text())
    assert selection["accuracy"] == {str(number): value for number, value in accuracies.items()}
    assert set(selection["bags"]) == {"bag(k=1)", "bag(k=2)", "bag(k=3)"}


def test_what_cannot_be_is_refused_before_anything_is_trained(release: Path, tmp_path: Path) -> None:
    tiny(release, tmp_path / "run")
    with pytest.raises(EccdataError) as told:
        tiny(release, tmp_path / "run", settings={"epochs": 3, "seed": 1})
    assert "settings.epochs: 2 → 3" in str(told.value)
    assert "settings.seed: 0 → 1" in str(told.value)
    with pytest.raises(EccdataError, match="architecture: GRU → RetNet"):
        tiny(release, tmp_path / "run", "retnet")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").touch()
    with pytest.raises(EccdataError, match="holds something else than training runs"):
        tiny(release, tmp_path / "foreign")
    with pytest.raises(EccdataError, match=r"There are configurations 1 to 4[\s\S]*- 5"):
        tiny(release, tmp_path / "new", numbers=[5])
    with pytest.raises(EccdataError, match=r"epoch: no such setting \(did you mean epochs"):
        tiny(release, tmp_path / "new", settings={"epoch": 3})
    with pytest.raises(EccdataError, match="hours=0"):
        tiny(release, tmp_path / "new", hours=0)
    assert not (tmp_path / "new").exists()


def test_several_processes_train_one_model(release: Path, tmp_path: Path) -> None:
    program = KILLED.replace("transformer-conv", "mom").replace('"epochs": 4', '"epochs": 1')
    (tmp_path / "program.py").write_text(program)
    subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0"),
            *("--standalone", str(tmp_path / "program.py"), str(release), str(tmp_path / "run")),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
        capture_output=True,
        timeout=300,
    )
    found = card(tmp_path / "run")
    assert found["identity"]["processes"] == 2
    assert found["outcome"]["ended"] == "epochs"
    # 270 sequences of five lengths in batches of 16 at most: 17 to 22, half of them each
    assert 9 <= found["outcome"]["step"] <= 11
    with pytest.raises(EccdataError, match="processes: 2 → 1"):
        tiny(release, tmp_path / "run", "mom", settings={"layers": 2, "epochs": 1, "checkpoint_every": 7})
