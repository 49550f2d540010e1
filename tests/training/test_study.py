from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from eccdata.errors import EccdataError
from eccdata.training import Study, study

TINY: dict[str, Any] = {
    "widths": [16],
    "settings": {"layers": 1, "epochs": 1},
    "data_settings": {"sequences": 100, "test_lengths": "64", "test_streams": 2},
    "device": "cpu",
}


def files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return study(tmp_path_factory.mktemp("studies") / "study", names=["gru"], **TINY)


def test_a_study_goes_from_rows_to_a_report(done: Study) -> None:
    results = {path.name for path in (done.folder / "results").iterdir()}
    expected = {"gru-d16", "bag-1", "bag-2", "bag-3"}
    assert results == {name + arm for name in expected for arm in ("", "-a", "-b")}
    tables = {table.name: table for table in done.tables}
    summary = tables["backbones"]
    assert [(row["label"], row["length"]) for row in summary.rows] == [
        ("GRU, D=16, layers=1", 64),
        *((f"bag(k={k})", 64) for k in (1, 2, 3)),
    ]
    assert all(row["n"] == 2 * 2 * 32 for row in summary.rows)
    assert tables["backbone-curves"].made
    assert tables["backbone-frontiers"].made
    assert not [table.error for table in done.tables if table.name.startswith("backbone") and table.error]
    if importlib.util.find_spec("vl_convert") is not None:
        assert done.report is not None
        assert "Transf. Conv4" in done.report.read_text(encoding="utf-8")


def test_one_epoch_is_one(done: Study) -> None:
    (trained,) = done.trained
    for line in str(trained).splitlines():
        assert "1 epochs" not in line
    assert "after 1 epoch, " in str(trained)


def test_it_shows_what_it_made(done: Study) -> None:
    console = Console(record=True, width=80, file=io.StringIO())
    console.print(done)
    shown = console.export_text()
    assert "bag(k=1)" in shown
    assert "GRU" in shown
    assert str(done.folder)[:30] in shown.replace("\n", "")


def test_again_it_trains_and_asks_nothing_anew_and_others_can_be_added(
    done: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eccdata.tables", lambda *_, **__: [], raising=False)
    monkeypatch.setattr("eccdata.report", lambda *_, **__: None, raising=False)
    training = files(done.folder / "training")
    release = files(done.folder / "release")
    again = study(done.folder, names=["gru", "Transformer (conv)"], **TINY)
    assert [trained.name for trained in again.trained] == ["GRU", "Transformer (conv)"]
    now = files(done.folder / "training")
    assert {k: v for k, v in now.items() if "gru" in k and "configuration" in k} == {
        k: v for k, v in training.items() if "configuration" in k
    }
    assert files(done.folder / "release") == release


def test_what_cannot_be_is_refused(done: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EccdataError, match="holds a study of other rows"):
        study(done.folder, names=["gru"], **{**TINY, "data_settings": {"sequences": 50}})
    with pytest.raises(EccdataError, match="no architecture called 'lstm'"):
        study(tmp_path / "new", names=["lstm"])
    with pytest.raises(EccdataError, match="cannot be 20 wide"):
        study(tmp_path / "new", widths=[20])
    with pytest.raises(EccdataError, match="settings have no place"):
        study(tmp_path / "new", data="somewhere", data_settings={"sequences": 3})
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(EccdataError, match="A study is one process"):
        study(tmp_path / "new")
    monkeypatch.delenv("WORLD_SIZE")
    (tmp_path / "notes.txt").touch()
    with pytest.raises(EccdataError, match="holds something else than a study"):
        study(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
