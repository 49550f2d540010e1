from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from eccdata.analysis.files import ReadOnlyFiles


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(bytes(i % 251 for i in range(100_000)))
    return path


def test_threads_share_a_handle_without_reading_each_others_places(file: Path) -> None:
    data = file.read_bytes()
    wrong = []
    with ReadOnlyFiles({"0/0": file}).open("results://0/0", "rb") as handle:

        def read(seed: int) -> None:
            rng = random.Random(seed)
            for _ in range(2000):
                start, size = rng.randrange(len(data)), rng.randrange(1, 200)
                handle.seek(start)
                if handle.read(size) != data[start : start + size]:
                    wrong.append(start)

        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_seek_tell_read(file: Path) -> None:
    handle = ReadOnlyFiles({"0/0": file}).open("results://0/0", "rb")
    assert handle.seek(-3, 2) == 99_997
    assert len(handle.read()) == 3
    assert handle.tell() == 100_000
    assert handle.seek(10) == 10
    assert handle.seek(5, 1) == 15
    assert handle.read(1) == bytes([15])
    handle.close()
    assert handle.closed


@pytest.mark.parametrize("mode", ["wb", "ab", "r+b", "xb"])
def test_nothing_is_written(file: Path, mode: str) -> None:
    with pytest.raises((PermissionError, ValueError), match=r"read-only|mode|xb"):
        ReadOnlyFiles({"0/0": file}).open("results://0/0", mode)
    assert file.stat().st_size == 100_000


def test_only_its_own_files(file: Path) -> None:
    files = ReadOnlyFiles({"0/0": file})
    assert files.exists("results://0/0")
    assert not files.exists(f"results://{file}")
    assert files.glob("results://*") == []
    with pytest.raises(FileNotFoundError):
        files.open(f"results://{file}")
