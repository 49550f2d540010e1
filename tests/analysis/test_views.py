from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from eccdata.analysis import connect
from eccdata.errors import EccdataError
from support.results import SCHEMA, cell, write_run


@pytest.fixture
def results(tmp_path: Path) -> Path:
    write_run(tmp_path / "none", cell(["rw-m", "rrox"]), parts=3)
    write_run(tmp_path / "a", cell(["rw-m", "rrox"]), arm="a")
    return tmp_path


def digest(folder: Path) -> dict[str, str]:
    return {
        str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def test_responses(results: Path) -> None:
    with connect([results]) as con:
        rows = con.execute(
            "SELECT run, label, arm, count(*), count(*) FILTER (failed), count(prediction) FROM responses "
            "GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        columns = {name for name, *_ in con.execute("DESCRIBE responses").fetchall()}
    assert rows == [("a", "model", "a", 8, 1, 7), ("none", "model", "none", 8, 1, 7)]
    assert {*SCHEMA.names, "run", "label", "failed", "variant", "clip_id", "density_band"} <= columns


def test_runs(results: Path) -> None:
    with connect([results / "a"]) as con:
        row = con.execute("""
            SELECT run, label, benchmark, config, protocol, system, model, options ->> 'arm', dataset, server,
                responses, failed, unasked, started_at::VARCHAR, folder, card -> 'outcome' ->> 'questions'
            FROM runs
        """).fetchall()
    assert row == [
        (
            *(
                "a",
                "model",
                "eccbench",
                "text",
                "membership",
                "sglang",
                "model",
                "a",
                "sha256:data",
                ["server"],
            ),
            *(8, 1, 0, "2026-01-01 00:00:00+00", str(results / "a"), "8"),
        )
    ]


def test_columns_are_united_by_name(tmp_path: Path) -> None:
    write_run(tmp_path / "old", cell(["r"]), schema=pa.schema([f for f in SCHEMA if f.name != "reasoning"]))
    write_run(tmp_path / "new", cell(["r"]), arm="a", schema=pa.schema(reversed(list(SCHEMA))))
    with connect([tmp_path]) as con:
        assert con.execute("SELECT run, reasoning FROM responses ORDER BY run").fetchall() == [
            ("new", None),
            ("old", None),
        ]


def test_paths_are_never_globs(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "it's [a] *run* {x}?", cell(["rr"]))
    with connect([folder]) as con:
        assert con.execute("SELECT run, count(*) FROM responses GROUP BY ALL").fetchall() == [
            (folder.name, 2)
        ]


def test_a_connection_can_read_nothing_else_and_write_nothing(results: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    duckdb.execute(f"COPY (SELECT 1 AS a) TO '{other}'")
    before = digest(tmp_path)
    real = results / "a" / "responses" / "part-00000.parquet"
    with connect([results]) as con:
        for statement in (
            f"FROM read_parquet('{other}')",
            f"FROM '{other}'",
            f"FROM read_parquet('{real}')",
            "FROM glob('/*')",
            "FROM read_text('/etc/hostname')",
            "FROM read_csv('https://example.org/x.csv')",
            f"COPY (SELECT 1) TO '{tmp_path}/new.csv'",
            f"COPY (SELECT 1) TO '{real}' (FORMAT parquet, USE_TMP_FILE false)",
            "COPY (SELECT 1) TO 'results://0/0.parquet' (FORMAT parquet, USE_TMP_FILE false)",
            "COPY (SELECT 1) TO 'results://0/0.parquet' (FORMAT parquet)",
            "COPY (SELECT 1) TO 'results://new.parquet'",
            "WITH x AS (COPY (SELECT 1) TO 'results://0/0.parquet' (FORMAT parquet, USE_TMP_FILE false)) FROM x",
            f"ATTACH '{tmp_path}/new.db'",
            f"EXPORT DATABASE '{tmp_path}/export'",
            "SET enable_external_access = true",
            "SET allowed_directories = ['/']",
            "SET lock_configuration = false",
            f"SET temp_directory = '{tmp_path}'",
            "INSTALL httpfs",
            "INSERT INTO responses SELECT * FROM responses",
        ):
            with pytest.raises(duckdb.Error):
                con.execute(statement).fetchall()
        assert con.execute("SELECT count(*) FROM responses").fetchall() == [(16,)]
    assert digest(tmp_path) == before


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_many_threads_read_one_file(tmp_path: Path, threads: int) -> None:
    questions = [row for i in range(40) for row in cell(["rwrw-rmx"] * 50, length=i)]
    write_run(tmp_path / "run", questions)
    with connect([tmp_path], threads=threads) as con:
        for _ in range(20):
            assert con.execute("SELECT count(*), sum(length), count(correct) FROM responses").fetchall() == [
                (16_000, 312_000, 14_000)
            ]


def test_what_does_not_fit_in_memory_is_spilled_and_cleared_away(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with connect([results], threads=2, memory_limit="80MB") as con:
        query = "SELECT count(*) FROM (SELECT DISTINCT i, repeat('x', 40) || i AS s FROM range(1500000) t(i))"
        assert con.execute(query).fetchall() == [(1_500_000,)]
        assert list(temporary.iterdir())
    assert not list(temporary.iterdir())


def test_settings_that_do_not_fit(results: Path) -> None:
    with pytest.raises(EccdataError, match="cannot be opened"):
        connect([results], memory_limit="a lot")


def test_columns_that_no_run_has_are_null(results: Path) -> None:
    """Those of other protocols of the benchmark, and of systems."""
    with connect([results]) as con:
        query = "SELECT DISTINCT variant, clip_id, density_score, answerer, hit, typeof(hit) FROM responses"
        assert con.execute(query).fetchall() == [(None, None, None, None, None, "BOOLEAN")]
