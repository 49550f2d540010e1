"""The commands that read results: exit codes, and what goes to standard output."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from support.results import cell, write_run


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for arm in ("a", "b"):
        write_run(tmp_path / "results" / arm, cell(["rrow", "rwr-"]), arm=arm)
    return tmp_path / "results"


def eccdata(*arguments: object, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[bytes]:
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


def test_a_file_whose_ending_says_something_else_is_misuse(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.parquet"
    done = eccdata("sql", "SELECT 7 AS a", results, "--format", "csv", "--out", out)
    assert done.returncode == 2
    assert not out.exists()
    done = eccdata("sql", "SELECT 7 AS a", results, "--out", out)
    assert done.returncode == 0
    assert b"1 row written" in done.stdout


def test_a_table_asked_for_by_name_and_not_made_is_a_failure(results: Path) -> None:
    done = eccdata("tables", results, "--table", "easyhuman")
    assert done.returncode == 1
    assert b"not made" in done.stdout
    assert eccdata("tables", results, "--table", "coverage").returncode == 0


def test_all_tables_there_can_be_are_no_failure(results: Path) -> None:
    done = eccdata("tables", results)
    assert done.returncode == 0
    assert b"not made" in done.stdout


def test_a_broken_query_is_a_failure_that_leaves_the_other_tables(results: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.sql").write_text("SELECT 1")
    script = f"""
from pathlib import Path
from eccdata import catalog, cli
installed = catalog.queries
catalog.queries = lambda of: {{"broken": Path({str(tmp_path)!r}) / "broken.sql", **installed(of)}}
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", script, "tables", results], capture_output=True, check=False)
    assert done.returncode == 1
    assert b"eccbench/broken: not made" in done.stdout
    assert b"Coverage under each arm" in done.stdout


def test_tables_do_not_go_into_a_release(results: Path, tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "README.md").write_text("a card")
    done = eccdata("tables", results, "--table", "coverage", "--out", tmp_path / "release")
    assert done.returncode == 2
    assert (tmp_path / "release" / "README.md").read_text() == "a card"


def test_tables_that_are_written_do_not_run_past_as_well(results: Path, tmp_path: Path) -> None:
    done = eccdata("tables", results, "--out", tmp_path / "tables")
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 1
    assert f"are in {tmp_path / 'tables'}".encode() in done.stdout
    assert (tmp_path / "tables" / "README.md").exists()
