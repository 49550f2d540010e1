from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from eccdata.analysis import Format, QueryTable, Written, sql
from eccdata.errors import EccdataError
from support.peak import PEAK_KIB
from support.results import cell, write_run

COUNTS = "SELECT arm, count(*) AS n, avg(correct::INT) AS accuracy FROM responses GROUP BY ALL ORDER BY ALL"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    write_run(tmp_path / "results" / "a", cell(["rw-m", "rrox"]), arm="a")
    write_run(tmp_path / "results" / "b", cell(["rwrr", "rrox"]), arm="b")
    return tmp_path / "results"


def test_table(results: Path) -> None:
    answer = sql(COUNTS, [results])
    assert isinstance(answer, QueryTable)
    assert answer.columns == ("arm", "n", "accuracy")
    assert answer.types == ("VARCHAR", "BIGINT", "DOUBLE")
    assert answer.rows == (("a", 8, 3 / 7), ("b", 8, 5 / 7))
    assert not answer.more
    assert re.search(r"arm +n +accuracy\n.*\n *a +8 +0\.428571\n", str(answer))


def test_a_long_table_says_that_there_is_more(results: Path) -> None:
    answer = sql("SELECT i, NULL AS nothing, '[b]' AS markup FROM range(1000) AS t(i)", [results])
    assert isinstance(answer, QueryTable)
    assert len(answer.rows) == 200
    assert answer.more
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(answer)
    text = console.export_text()
    assert "The first 200 rows" in text
    assert "null" in text
    assert "[b]" in text


def test_csv_json_parquet(results: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(sql(COUNTS, [results], format="csv"))))
    assert [row["n"] for row in rows] == ["8", "8"]
    assert float(rows[0]["accuracy"]) == 3 / 7
    assert json.loads(sql(COUNTS, [results], format="json"))[1] == {"arm": "b", "n": 8, "accuracy": 5 / 7}
    table = pq.read_table(io.BytesIO(sql(COUNTS, [results], format="parquet")))
    assert table.to_pydict() == {"arm": ["a", "b"], "n": [8, 8], "accuracy": [3 / 7, 5 / 7]}
    assert json.loads(sql("SELECT 1 AS a WHERE false", [results], format="json")) == []
    nested = json.loads(
        sql("SELECT wilson(1, 2) AS w, [1, 2] AS l, NULL AS n, 'é\n\"' AS s", [results], format="json")
    )
    assert nested[0]["l"] == [1, 2]
    assert nested[0]["s"] == 'é\n"'
    assert nested[0]["w"]["low"] == pytest.approx(0.0945, abs=1e-4)


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "table"])
def test_files(results: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "it's here" / f"answer.{kind}"
    written = sql(COUNTS, [results], format=kind, out=out)  # type: ignore[call-overload]
    assert written == Written(out, 2)
    assert str(written) == f"2 rows written to {out}."
    assert out.stat().st_size > 0
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_a_failed_query_leaves_the_file_as_it_was(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "answer.csv"
    out.write_text("before")
    query = "SELECT CASE WHEN i < 100000 THEN i ELSE error('no luck') END FROM range(200000) AS t(i)"
    with pytest.raises(EccdataError, match="no luck"):
        sql(query, [results], format="csv", out=out)
    assert out.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["answer.csv"]


@pytest.mark.parametrize(
    "query",
    [
        "FROM responses LIMIT 1;",
        "-- a comment\nWITH x AS (SELECT 1 AS a) SELECT * FROM x -- another",
        "VALUES (1)",
        "TABLE runs",
        "DESCRIBE responses",
        "SUMMARIZE responses",
        "SHOW TABLES",
        "EXPLAIN SELECT * FROM responses",
        "EXPLAIN ANALYZE SELECT count(*) FROM responses",
        "EXPLAIN (FORMAT json) SELECT 1",
        "PIVOT responses ON arm IN ('a', 'b') USING count(*) GROUP BY label",
        "UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b",
        "WITH RECURSIVE t AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM t WHERE i < 5) FROM t",
        "SELECT 1 UNION SELECT 2 ORDER BY 1",
        "SELECT list_transform([1, 2], lambda x: x + 1)",
        "SELECT max(length) OVER (PARTITION BY arm) FROM responses QUALIFY row_number() OVER () = 1",
        "SELECT bootstrap_share(correct, n), wilson(1, 2) FROM stream_counts GROUP BY arm",
    ],
)
@pytest.mark.parametrize("kind", ["table", "csv"])
def test_queries_that_read(results: Path, query: str, kind: str) -> None:
    assert sql(query, [results], format=kind)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("COPY responses TO '{out}'", "COPY"),
        ("WITH x AS (COPY responses TO '{out}') SELECT 1", "COPY"),
        ("WITH y AS (SELECT 1), x AS (COPY y TO '{out}' (USE_TMP_FILE false)) FROM y", "COPY"),
        ("EXPLAIN ANALYZE COPY responses TO '{out}'", "EXPLAIN"),
        ("EXPLAIN ANALYZE WITH x AS (COPY responses TO '{out}') SELECT 1", "COPY"),
        ("/* SELECT */ EXPLAIN ANALYZE /* */ COPY responses TO '{out}'", "EXPLAIN"),
        ("CREATE TABLE t AS SELECT 1", "CREATE"),
        ("CREATE OR REPLACE VIEW responses AS SELECT 1", "CREATE"),
        ("DROP VIEW responses", "DROP"),
        ("INSERT INTO runs (run) VALUES ('x')", "INSERT"),
        ("UPDATE runs SET label = 'better'", "UPDATE"),
        ("DELETE FROM runs", "DELETE"),
        ("WITH x AS (DELETE FROM runs RETURNING *) FROM x", "DELETE"),
        ("WITH x AS (UPDATE runs SET label = 'x' RETURNING *) FROM x", "UPDATE"),
        ("ATTACH '{out}'", "ATTACH"),
        ("EXPORT DATABASE '{out}'", "EXPORT"),
        ("SET threads = 1", "SET"),
        ("PRAGMA database_list", "PRAGMA"),
        ("CALL pragma_version()", "CALL"),
        ("INSTALL httpfs", "LOAD"),
        ("LOAD httpfs", "LOAD"),
        ("BEGIN", "TRANSACTION"),
        ("PREPARE q AS SELECT 1", "PREPARE"),
        ("VACUUM", "VACUUM"),
        ("PIVOT responses ON arm USING count(*)", "a PIVOT whose values are not written out"),
    ],
)
def test_queries_that_write_are_refused_in_one_way(
    results: Path, tmp_path: Path, query: str, what: str
) -> None:
    before = {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(EccdataError, match=f"Only a query that reads can be run here, and this is {what}"):
        sql(query.replace("{out}", str(tmp_path / "stolen.csv")), [results])
    after = {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in tmp_path.rglob("*") if p.is_file()}
    assert after == before


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT lenght FROM responses", r'(?s)"lenght" not found.*Candidate bindings:.*"length"'),
        ("SELECT * FROM response", r'(?s)response does not exist.*Did you mean "responses"'),
        ("SELEC 1", "syntax error"),
        ("SELECT 'a'::INT", "Could not convert string 'a' to INT32"),
        ("SELECT avg(label) FROM responses", r"(?s)No function matches.*Candidate functions"),
        ("SELECT label - 1 + 'x'::BLOB FROM responses", r"… and \d+ more"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("", "no statement"),
        ("-- nothing", "no statement"),
        ("SELECT * FROM '/etc/hostname'", "does not exist"),
        ("SELECT * FROM read_text('/etc/hostname')", "disabled by configuration"),
    ],
)
@pytest.mark.parametrize("kind", ["table", "csv"])
def test_mistakes_are_told_in_duckdbs_words(results: Path, query: str, words: str, kind: str) -> None:
    with pytest.raises(EccdataError, match=words) as caught:
        sql(query, [results], format=kind)  # type: ignore[call-overload]
    assert "Traceback" not in str(caught.value)
    assert len(str(caught.value).splitlines()) < 25


def test_results_are_no_place_for_answers(results: Path) -> None:
    with pytest.raises(EccdataError, match="lies in the folder of the run a"):
        sql(COUNTS, [results], format="csv", out=results / "a" / "answer.csv")
    with pytest.raises(EccdataError, match="lies in the folder of the run a"):
        sql(
            COUNTS,
            [results],
            format="csv",
            out=results / "x" / ".." / "a" / "responses" / "part-00000.parquet",
        )


def test_an_unknown_format(results: Path) -> None:
    with pytest.raises(EccdataError, match="Did you mean 'csv'"):
        sql(COUNTS, [results], format="cvs")  # type: ignore[call-overload]


def test_what_has_to_be_said_about_runs_stands_below_the_table(results: Path) -> None:
    write_run(results / "a-again", cell(["r"]), arm="a", dataset="other")
    answer = sql(COUNTS, [results])
    assert isinstance(answer, QueryTable)
    assert "kept apart" in str(answer) or "rows, for its runs differ" in str(answer)


def test_rows_stream_to_a_file(results: Path, tmp_path: Path) -> None:
    """Two gigabytes of rows pass through a process that may hold a third of that."""
    script = f"""
from eccdata.analysis import sql
written = sql("SELECT i, repeat('x', 1000) AS s FROM range(2000000) AS t(i)", [{str(results)!r}], format="parquet",
    out={str(tmp_path / "big.parquet")!r})
print(written.rows, {PEAK_KIB})
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    rows, peak_kib = map(int, done.stdout.split())
    assert rows == 2_000_000
    assert peak_kib < 700 * 1024


WIDE = "SELECT {} FROM range(2) AS t(i)".format(", ".join(f"i + {n} AS column_{n}" for n in range(40)))


def printed(results: Path, query: str, width: int) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(sql(query, [results]))
    return console.export_text()


@pytest.mark.parametrize("width", [80, 200])
def test_a_table_too_wide_to_read_is_records(results: Path, width: int) -> None:
    text = printed(results, WIDE, width)
    assert re.findall(r"row \d", text) == ["row 1", "row 2"]
    values = [(f"column_{n}", str(i + n)) for i in range(2) for n in range(40)]
    assert re.findall(r"(column_\d+) +(\d+)", text) == values
    assert max(map(len, text.splitlines())) <= width


def test_long_text_is_folded_and_whole(results: Path) -> None:
    letters = "abcdefghij" * 30
    text = printed(results, f"SELECT 7 AS n, '{letters}' AS reply", 80)
    assert "row 1" not in text
    assert letters in re.sub(r"[\s7]", "", text)
    records = printed(results, WIDE.replace("FROM", f", '{letters}' AS reply FROM"), 80)
    assert letters in re.sub(r"\s", "", records)


def test_responses_as_they_are_can_be_read_on_80_columns(results: Path) -> None:
    text = printed(results, "FROM responses LIMIT 1", 80)
    assert re.search(r"(?m)^question_id +text-L0512-low-s00-q00 *$", text)


@pytest.mark.parametrize("query", ["FROM responses WHERE length = 3", "SELECT 1 AS a WHERE false"])
def test_no_rows_are_told(results: Path, query: str) -> None:
    assert printed(results, query, 80).strip() == "0 rows"


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "txt", "PARQUET"])
def test_the_ending_says_the_format(results: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"answer.{ending}"
    written = sql("SELECT 1 AS a", [results], out=out)
    assert str(written) == f"1 row written to {out}."
    match ending:
        case "csv":
            assert out.read_text() == "a\n1\n"
        case "json":
            assert json.loads(out.read_text()) == [{"a": 1}]
        case "txt":
            assert re.fullmatch(r"\s*a\s+─+\s+1\s*", out.read_text())
        case _:
            assert pq.read_table(out).to_pydict() == {"a": [1]}


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("x.parquet", "csv", r"ends in \.parquet, which is not csv"),
        ("x.csv", "table", r"ends in \.csv, which is not table"),
        ("x.dat", None, r"cannot be told from its ending.*\.parquet"),
        ("x", None, "cannot be told from its ending"),
    ],
)
def test_an_ending_that_says_something_else(
    results: Path, tmp_path: Path, name: str, kind: Format | None, words: str
) -> None:
    with pytest.raises(EccdataError, match=words):
        sql("SELECT 1 AS a", [results], format=kind, out=tmp_path / name)
    assert not (tmp_path / name).exists()
