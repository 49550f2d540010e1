"""That a server's environment is made once and whole, and that a machine without it says so."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from support.sglang_environment import NotHere, digest, environment, made_once, run_logged

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ECCDATA_TEST_CACHE", str(tmp_path))
    return tmp_path


def test_it_is_made_once_however_many_ask(cache: Path) -> None:
    made: list[Path] = []

    def make(folder: Path, log: Path) -> None:
        made.append(folder)
        time.sleep(0.1)
        (folder / "whole").touch()

    def ask() -> None:
        assert (made_once("thing", make) / "whole").exists()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert not made[0].exists()  # it was made elsewhere and moved


def test_an_interrupted_making_leaves_nothing_that_counts(cache: Path) -> None:
    def killed(folder: Path, log: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made_once("thing", killed)
    assert not (cache / "thing").exists()
    assert list(made_once("thing", lambda folder, log: (folder / "whole").touch()).iterdir()) == [
        cache / "thing" / "whole"
    ]
    assert not list(cache.glob("thing.half-*"))


def test_a_failing_command_tells_its_last_words(tmp_path: Path) -> None:
    script = "print('\\n'.join(map(str, range(100)))); raise SystemExit('no wheel for this machine')"
    with pytest.raises(NotHere, match=r"exited with 1.*\n86\n(.*\n)*no wheel for this machine"):
        run_logged([sys.executable, "-c", script], tmp_path / "log", 60, dict(os.environ))
    assert "\n1\n" in (tmp_path / "log").read_text()


def test_a_command_that_hangs_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(NotHere, match="did not end within 0 s"):
        run_logged([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path / "log", 0.3, {})


def test_another_platform_cannot_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(NotHere, match="darwin"):
        environment()


def test_a_digest_covers_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    before = digest("3.11", tmp_path / "a")
    (tmp_path / "a").write_text("two")
    assert digest("3.11", tmp_path / "a") != before


@pytest.mark.parametrize(("required", "outcome", "processes"), [("", "1 skipped", 2), ("1", "1 error", 0)])
def test_a_machine_that_cannot_have_it_says_so_aloud(
    tmp_path: Path, required: str, outcome: str, processes: int
) -> None:
    (tmp_path / "file").touch()
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "tests/endtoend/test_text.py",
            "-k",
            "overflow",
            f"-n{processes}",
            "-p",
            "no:cacheprovider",
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "ECCDATA_TEST_CACHE": str(tmp_path / "file" / "cache"),
            "ECCDATA_REQUIRE_SERVER": required,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert outcome in run.stdout
    assert run.returncode == (1 if required else 0)
    assert "NOT tested: anything against a real SGLang server" in run.stdout
    assert "cannot be made" in run.stdout
