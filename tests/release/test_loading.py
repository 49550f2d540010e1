"""Releases in plain `datasets`, in processes of their own that know nothing of this package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest

import eccdata
from eccdata import EccdataError
from eccdata.release import Release
from support.toy import Toy

Make = Callable[..., Release]

FRESH = """
import json, sys
from datasets import load_dataset
print(json.dumps([{code} for folder in sys.argv[1:]]))
assert "eccdata" not in sys.modules
"""


def fresh(code: str, cache: Path, *folders: Path) -> list[Any]:
    """Evaluate `code` for each folder in a new process that shares the cache."""
    done = subprocess.run(
        [sys.executable, "-c", FRESH.replace("{code}", code), *map(str, folders)],
        env={**os.environ, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def rows_of(release: Release, split: str = "test") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(
        release.path / f"data/digits/{split}-00000-of-00001.parquet"
    ).to_pylist()
    return rows


def test_a_release_loads_with_datasets_alone_whole_filtered_in_columns_and_streamed(
    make: Make, tmp_path: Path
) -> None:
    release = make()
    code = """[
        list(load_dataset(folder, "digits", split="test")),
        list(load_dataset(folder, "digits", split="test", filters=[("length", "==", 16)])),
        list(load_dataset(folder, "digits", split="test", columns=["question_id", "answer"])),
        list(load_dataset(folder, "digits", split="test", streaming=True)),
        list(load_dataset(folder, "digits", split="test", streaming=True, filters=[("length", "==", 16)])),
        load_dataset(folder, "digits", split="test").features["answer"].names,
        {name: len(split) for name, split in load_dataset(folder, "list").items()},
    ]"""
    whole, filtered, columns, streamed, streamed_filtered, names, splits = fresh(
        code, tmp_path / "cache", release.path
    )[0]
    rows = rows_of(release)
    assert whole == streamed == rows
    assert filtered == streamed_filtered == [row for row in rows if row["length"] == 16]
    assert columns == [{"question_id": row["question_id"], "answer": row["answer"]} for row in rows]
    assert names == ["yes", "no"]
    assert splits == {"train": 6, "test": 12}


def test_a_release_that_was_built_again_is_never_stale(make: Make, tmp_path: Path) -> None:
    code = """list(load_dataset(folder, "digits", split="test"))"""
    for seed in (0, 1):
        release = make(seed=seed, force=True)
        assert fresh(code, tmp_path / "cache", release.path) == [rows_of(release)]


def test_two_releases_of_one_folder_name_do_not_mix(make: Make, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = make("one/release"), make("two/release", seed=1)
    code = """list(load_dataset(folder, "digits", split="test"))"""
    assert fresh(code, tmp_path / "cache", one.path, two.path) == [rows_of(one), rows_of(two)]


def test_load_dataset_gives_the_rows_of_a_release(make: Make, tmp_path: Path) -> None:
    release = make(seed=2, settings={"rows": 4})
    arguments: dict[str, Any] = {"seed": 2, "rows": 4, "cache_dir": str(tmp_path / "cache")}
    both = eccdata.load_dataset("toybench", "digits", **arguments)
    assert isinstance(both, datasets.DatasetDict)
    assert list(both["test"]) == rows_of(release)
    assert list(both["train"]) == rows_of(release, "train")
    test = eccdata.load_dataset("toybench", "digits", split="test", **arguments)
    assert isinstance(test, datasets.Dataset)
    assert test.features == Toy.features()
    streamed = eccdata.load_dataset("toybench", "digits", split="test", streaming=True, **arguments)
    assert list(streamed) == list(test)
    assert len(eccdata.load_dataset("toybench", "digits", split="test[:3]+train", **arguments)) == 7


def test_load_dataset_gives_the_only_split_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Toy.cells
    monkeypatch.setattr(Toy, "cells", lambda self: [c for c in original(self) if c.split == "test"])
    loaded = eccdata.load_dataset("toybench", "digits", cache_dir=str(tmp_path))
    assert isinstance(loaded, datasets.Dataset)


def test_load_dataset_tells_settings_apart_in_its_cache(tmp_path: Path) -> None:
    cache = str(tmp_path)
    lengths = [
        eccdata.load_dataset("toybench", "digits", split="test", cache_dir=cache, lengths=value)["length"][:]
        for value in ([8], [16], "8", [8, 16])
    ]
    assert lengths == [[8] * 6, [16] * 6, [8] * 6, [8] * 6 + [16] * 6]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"split": "tests"}, "Did you mean 'test'"),
        ({"colour": "red"}, "colour: no such setting"),
        ({"lengths": "long"}, "lengths"),
        ({"split": "test[:3]", "streaming": True}, "cannot be streamed"),
    ],
)
def test_load_dataset_says_what_is_wrong(tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(EccdataError, match=said.replace("[", r"\[")):
        eccdata.load_dataset("toybench", "digits", cache_dir=str(tmp_path), **arguments)


@pytest.mark.parametrize(
    ("wanted", "drawn"), [({}, False), ({"HF_DATASETS_DISABLE_PROGRESS_BARS": "0"}, True)]
)
def test_no_bars_go_where_nobody_looks(tmp_path: Path, wanted: dict[str, str], drawn: bool) -> None:
    code = (
        "import datasets, eccdata; eccdata.load_dataset('eccbench', 'text', lengths=(8,), streams=1, queries=2);"
        "print(datasets.are_progress_bars_disabled())"
    )
    kept = {key: value for key, value in os.environ.items() if key != "HF_DATASETS_DISABLE_PROGRESS_BARS"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "HF_HOME": str(tmp_path), **wanted},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ("Generating test split" in done.stderr) == drawn
    assert drawn or done.stderr == ""
    assert done.stdout == "False\n"
