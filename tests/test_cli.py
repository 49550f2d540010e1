"""The commands that read results: exit codes, and what goes to standard output."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from eccdata import catalog, cli
from support.results import cell, write_run

Here = Callable[..., tuple[int, bytes]]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for arm in ("a", "b"):
        write_run(tmp_path / "results" / arm, cell(["rrow", "rwr-"]), arm=arm)
    return tmp_path / "results"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Here:
    """Run a command in this process; gives its exit code and its standard output."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object) -> tuple[int, bytes]:
        monkeypatch.setattr(sys, "argv", ["eccdata", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), capfdbinary.readouterr().out

    return run


def eccdata(*arguments: object, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[bytes]:
    """Run one in a process of its own, whose standard output is a pipe or what is given."""
    command = [sys.executable, "-m", "eccdata.cli", *map(str, arguments)]
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, check=False, env={**os.environ, "COLUMNS": "80"}
    )


def test_parquet_goes_to_a_pipe_as_it_is(results: Path) -> None:
    done = eccdata("sql", "SELECT 7 AS a", results, "--format", "parquet")
    assert done.returncode == 0, done.stderr
    assert pq.read_table(io.BytesIO(done.stdout)).to_pydict() == {"a": [7]}


def test_parquet_does_not_go_to_a_terminal(results: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        done = eccdata("sql", "SELECT 7 AS a", results, "--format", "parquet", stdout=theirs)
    finally:
        os.close(theirs)
        os.close(ours)
    assert done.returncode == 2
    assert b"Parquet is not for a terminal" in done.stderr


def test_text_goes_to_a_pipe_as_it_is(results: Path) -> None:
    done = eccdata("sql", "SELECT ':smile:' || chr(9) || '[b]' AS a", results, "--format", "csv")
    assert done.stdout.decode() == "a\n:smile:\t[b]\n"


def test_a_file_whose_ending_says_something_else_is_misuse(here: Here, results: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.parquet"
    code, _ = here("sql", "SELECT 7 AS a", results, "--format", "csv", "--out", out)
    assert code == 2
    assert not out.exists()
    code, said = here("sql", "SELECT 7 AS a", results, "--out", out)
    assert code == 0
    assert b"1 row written" in said


def test_a_table_asked_for_by_name_and_not_made_is_a_failure(here: Here, results: Path) -> None:
    code, said = here("tables", results, "--table", "easyhuman")
    assert code == 1
    assert b"not made" in said
    assert here("tables", results, "--table", "coverage")[0] == 0


def test_all_tables_there_can_be_are_no_failure(here: Here, results: Path) -> None:
    code, said = here("tables", results)
    assert code == 0
    assert b"not made" in said


def test_a_broken_query_is_a_failure_that_leaves_the_other_tables(
    here: Here, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.sql").write_text("SELECT 1")
    installed = catalog.queries
    monkeypatch.setattr(catalog, "queries", lambda of: {"broken": tmp_path / "broken.sql", **installed(of)})
    code, said = here("tables", results)
    assert code == 1
    assert b"eccbench/broken: not made" in said
    assert b"Coverage under each arm" in said


def test_tables_do_not_go_into_a_release(here: Here, results: Path, tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "README.md").write_text("a card")
    assert here("tables", results, "--table", "coverage", "--out", tmp_path / "release")[0] == 2
    assert (tmp_path / "release" / "README.md").read_text() == "a card"


def test_tables_that_are_written_do_not_run_past_as_well(here: Here, results: Path, tmp_path: Path) -> None:
    code, said = here("tables", results, "--out", tmp_path / "tables")
    assert code == 0
    assert said.count(b"\n") == 1
    assert f"are in {tmp_path / 'tables'}".encode() in said
    assert (tmp_path / "tables" / "README.md").exists()
