"""Tests that measure run alone, and what shares fixtures stays together."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from support import parallel


def test_many_take_turns_together_and_one_alone(tmp_path: Path) -> None:
    told: list[str] = []
    alone, later = threading.Event(), threading.Event()

    def measure() -> None:
        with parallel.turn(tmp_path, alone=True):
            told.append("alone")
            alone.set()
            later.wait(0.3)
            told.append("done")

    def come_later() -> None:
        with parallel.turn(tmp_path, alone=False):
            told.append("later")
            later.set()

    measuring, coming = threading.Thread(target=measure), threading.Thread(target=come_later)
    with parallel.turn(tmp_path, alone=False), parallel.turn(tmp_path, alone=False):
        measuring.start()
        time.sleep(0.1)
        coming.start()  # it does not slip in before who has waited longer
        assert not alone.wait(0.3), "others are still there"
        assert told == []
    measuring.join(10)
    coming.join(10)
    assert told == ["alone", "done", "later"], "nobody comes in meanwhile"


def test_a_turn_ends_with_what_is_done_in_it_even_if_that_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), parallel.turn(tmp_path, alone=True):
        _ = 1 / 0
    with parallel.turn(tmp_path, alone=True):
        pass


def test_files_that_share_fixtures_are_one_unit() -> None:
    assert parallel.unit("tests/endtoend/test_text.py::test_a[x]") == "tests/endtoend"
    assert parallel.unit("tests/test_cli.py::test_a") == "tests/test_cli.py"
    assert parallel.unit("tests/trainings.py::test_a") == "tests/trainings.py"
