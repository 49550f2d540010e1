from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from eccdata import EccdataError
from eccdata.builder import Cell
from eccdata.release import Release, build
from support.toy import Toy

Make = Callable[..., Release]


def sums(release: Release) -> str:
    return (release.path / "SHA256SUMS").read_text()


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def test_a_release_has_all_its_files_and_their_sums(make: Make) -> None:
    release = make(configs=["digits"])
    expected = {
        "LICENSE",
        "README.md",
        "SHA256SUMS",
        "build.json",
        "croissant.json",
        "questions_dataset.json",
        "data/digits/test-00000-of-00001.parquet",
        "data/digits/train-00000-of-00001.parquet",
        "manifests/digits/test/length-16/manifest.json",
        "manifests/digits/test/length-8/manifest.json",
        "manifests/digits/train/length-4/manifest.json",
    }
    there = {p.relative_to(release.path).as_posix() for p in release.path.rglob("*") if p.is_file()}
    assert there == expected
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=release.path, capture_output=True, text=True
    )
    assert checked.returncode == 0
    assert checked.stdout.count(": OK") == len(expected) - 1
    assert release.rows == {"digits": {"train": 6, "test": 12}}
    assert "digits/test: 12 rows" in str(release)


def test_a_cell_is_a_row_group_compressed_with_zstd_in_shards_of_so_many(make: Make) -> None:
    release = make(configs=["digits"], settings={"lengths": (8, 16, 32)})
    files = sorted((release.path / "data/digits").glob("test-*"))
    assert [f.name for f in files] == ["test-00000-of-00002.parquet", "test-00001-of-00002.parquet"]
    lengths = []
    for path in files:
        with pq.ParquetFile(path) as file:
            for index in range(file.num_row_groups):
                lengths.append(set(file.read_row_group(index)["length"].to_pylist()))
                assert file.metadata.row_group(index).column(0).compression == "ZSTD"
    assert lengths == [{8}, {16}, {32}]


def test_rows_and_features_are_the_builders(make: Make, tmp_path: Path) -> None:
    release = make(configs=["digits"], seed=3)
    builder = Toy.create(cache_dir=str(tmp_path / "cache"), seed=3)
    expected = pa.concat_tables(builder.table(c) for c in builder.cells() if c.split == "test")
    found = pq.read_table(release.path / "data/digits/test-00000-of-00001.parquet")
    assert found.equals(expected)
    assert datasets.Features.from_arrow_schema(found.schema) == Toy.features()


@pytest.mark.parametrize("num_proc", [2, 4])
@pytest.mark.parametrize("configs", [["digits"], ["digits", "list"]])
def test_the_bytes_do_not_depend_on_the_number_of_workers(
    make: Make, num_proc: int, configs: list[str]
) -> None:
    settings = {"lengths": "8,16,32,64,128"}
    one = make("one", configs=configs, settings=settings)
    several = make("several", configs=configs, settings=settings, num_proc=num_proc)
    assert sums(one) == sums(several)
    assert one.digest == several.digest


def test_the_bytes_depend_on_seed_and_settings_and_not_on_the_order_of_configs(make: Make) -> None:
    first = make("first")
    assert sums(first) == sums(make("again", configs=["list", "digits", "list"]))
    assert sums(first) != sums(make("seed", seed=1))
    assert sums(first) != sums(make("settings", settings={"rows": 5}))


def test_the_record_says_how_to_build_it_again(make: Make) -> None:
    release = make(configs=["digits"], seed=7, settings={"lengths": [8, 32]})
    record = json.loads((release.path / "build.json").read_text())
    assert record["configs"]["digits"]["settings"] == {"seed": 7, "lengths": [8, 32], "rows": 6}
    assert record["given"] == {"lengths": [8, 32]}
    assert record["revision"] == "0" * 40
    command = "eccdata build toybench --config digits --seed 7 --set lengths=8,32 --out DIR"
    assert command in (release.path / "README.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"configs": ["digit"]}, "Did you mean 'digits'"),
        ({"configs": []}, "no configuration to build"),
        ({"seed": -1}, "seed is -1"),
        ({"num_proc": 0}, "num_proc is 0"),
        ({"settings": {"length": 3, "colour": 1}}, "- length"),
        ({"settings": {"seed": 3}}, "- seed"),
        ({"settings": {"rows": "many"}}, "rows"),
    ],
)
def test_what_was_asked_wrongly_is_said_and_leaves_nothing(
    make: Make, tmp_path: Path, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(EccdataError, match=said):
        make(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_benchmark_is_said(tmp_path: Path) -> None:
    with pytest.raises(EccdataError, match="Did you mean 'toybench'"):
        build("toybensh", out=tmp_path / "release")


def test_progress_counts_cells(make: Make) -> None:
    told: list[tuple[int, int | None, str]] = []
    make(num_proc=2, progress=lambda *step: told.append(step))
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert told[-1] == (6, 6, "Building cells")


def test_a_folder_that_is_there_is_replaced_only_with_force(make: Make) -> None:
    old = make()
    before = sums(old)
    with pytest.raises(EccdataError, match="--force"):
        make(seed=1)
    assert sums(old) == before
    assert sums(make(seed=1, force=True)) != before
    assert hidden(old.path.parent) == []


def test_force_replaces_nothing_but_releases(make: Make, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(EccdataError, match="no release made by"):
        make(force=True)
    assert (folder / "thesis.tex").read_text() == "years of work"
    (tmp_path / "file").write_text("")
    with pytest.raises(EccdataError, match="is no folder"):
        make("file", force=True)
    with pytest.raises(EccdataError, match="cannot be written"):
        make("file/inside")


def test_the_folder_may_be_given_in_any_way(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    build("toybench", out="../b")
    assert (tmp_path / "b/README.md").is_file()
    with pytest.raises(EccdataError, match="cannot be a release's folder"):
        build("toybench", out="/")


def test_an_empty_folder_may_be_filled(make: Make, tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    assert (make().path / "README.md").is_file()


def test_a_build_that_fails_leaves_the_old_release(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    old = make()
    before = sums(old)

    def broken(self: Toy, cell: Cell) -> pa.Table:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Toy, "table", broken)
    for num_proc in (1, 2):
        with pytest.raises(RuntimeError, match="a bug"):
            make(seed=1, force=True, num_proc=num_proc)
    assert sums(old) == before
    assert hidden(old.path.parent) == []


def test_a_replacement_killed_between_its_renames_is_undone(make: Make, tmp_path: Path) -> None:
    old = make()
    before = sums(old)
    old.path.rename(tmp_path / ".release.replaced")
    with pytest.raises(EccdataError, match="--force"):
        make(seed=1)
    assert sums(old) == before


def test_two_builds_of_one_folder_do_not_meet(make: Make, tmp_path: Path) -> None:
    with (
        FileLock(tmp_path / ".release.lock"),
        pytest.raises(EccdataError, match="Another process is building"),
    ):
        make()
    assert make().path.is_dir()


def test_a_full_disk_is_one_clear_error(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: pq.ParquetWriter, *arguments: object, **named: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    for num_proc in (1, 2):
        with pytest.raises(EccdataError, match="no space left for"):
            make(num_proc=num_proc)
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_another_schema_is_refused_by_name(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Toy.table
    monkeypatch.setattr(Toy, "table", lambda self, cell: original(self, cell).drop_columns(["rate"]))
    with pytest.raises(EccdataError, match="rate: missing, features say double"):
        make()


def test_a_killed_worker_is_one_clear_error(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: Toy, cell: Cell) -> pa.Table:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    monkeypatch.setattr(Toy, "table", killed)
    with pytest.raises(EccdataError, match="want of memory"):
        make(num_proc=2)
    assert list(tmp_path.iterdir()) == []


KILLED = """
import sys, time
from pathlib import Path
import pytest
from support import toy
from eccdata.release import build

patch = pytest.MonkeyPatch()
folder = Path(sys.argv[1])
toy.install(patch, folder)
original = toy.Toy.table

def slow(self, cell):
    (folder / "started").touch()
    if cell.split == "test":
        time.sleep(60)
    return original(self, cell)

toy.Toy.table = slow
build("toybench", out=folder / "release", num_proc=int(sys.argv[2]))
"""


def children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(line) for line in listed.stdout.split()]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("num_proc", [1, 2])
def test_kill_9_leaves_no_release_and_no_worker_and_the_next_build_is_clean(
    make: Make, tmp_path: Path, num_proc: int
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path), str(num_proc)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    workers = children(process.pid)
    assert len(workers) == (num_proc if num_proc > 1 else 0)
    process.kill()
    process.wait()
    assert not (tmp_path / "release").exists()
    assert ".release.building" in hidden(tmp_path)
    while any(alive(worker) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    killed_then_built = make()
    assert hidden(tmp_path) == []
    assert sums(killed_then_built) == sums(make("never-killed"))


INTERRUPTED = """
import sys, time
from pathlib import Path
import pytest
from support import toy
from eccdata.cli import main

folder = Path(sys.argv[1])
toy.install(pytest.MonkeyPatch(), folder)

def slow(self, cell):
    (folder / "started").touch()
    time.sleep(60)

toy.Toy.table = slow
sys.argv = ["eccdata", "build", "toybench", "--out", str(folder / "release"), "--num-proc", sys.argv[2]]
main()
"""


@pytest.mark.parametrize("num_proc", [1, 2])
def test_an_interrupted_build_says_so_in_one_line_and_leaves_nothing(tmp_path: Path, num_proc: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path), str(num_proc)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert said == (
        f"Interrupted: {tmp_path / 'release'} is as it was, for a release is there whole or not at all. "
        "Run it again to build it.\n"
    )
    assert not (tmp_path / "release").exists()
    assert hidden(tmp_path) == []
