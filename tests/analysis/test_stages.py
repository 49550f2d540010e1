from __future__ import annotations

from pathlib import Path

import pytest

from eccdata import catalog
from eccdata.analysis import connect, tables
from eccdata.analysis.stages import KeptStages, create_stages
from eccdata.errors import EccdataError
from support.results import cell, write_run


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    write_run(folder / "none", cell(["rw-m", "rrox"]), arm="none")
    write_run(folder / "a", cell(["rwrw", "rr-x"]), arm="a")
    write_run(folder / "b", cell(["-rmr", "orrr"])[:-1] + cell(["rr"], length=8), arm="b")
    return folder


def test_a_stage_is_a_view(results: Path) -> None:
    with connect([results]) as con:
        rows = con.execute("""
            SELECT stream_id, n, failed, answered, correct, explicit, format, overflow, n_yes, answered_yes,
                correct_yes, payoff, variant
            FROM stream_counts WHERE arm = 'none' ORDER BY stream_id
        """).fetchall()
    assert rows == [
        ("text-L0512-low-s00", 4, 0, 2, 1, 1, 1, 0, 2, 1, 0, None, None),
        ("text-L0512-low-s01", 3, 1, 2, 2, 0, 0, 1, 1, 1, 1, None, None),
    ]


def test_arms_are_matched_question_by_question(results: Path) -> None:
    with connect([results]) as con:
        cursor = con.execute("SELECT * FROM arm_pairs ORDER BY length, stream_id")
        names = [column[0] for column in cursor.description or ()]
        short, first, second = (dict(zip(names, row, strict=True)) for row in cursor.fetchall())
    counts = {name: value for name, value in first.items() if value and not isinstance(value, str)}
    # rwrw against -rmr
    assert counts == {
        "length": 512,
        "n": 4,
        "answered_a": 4,
        "answered_b": 2,
        "right_a": 2,
        "right_b": 2,
        "explicit_b": 1,
        "format_b": 1,
        "kept": 2,
        "declined": 2,
        "declined_right": 2,
        "declined_explicit": 1,
        "declined_format": 1,
        "a_paid_a": 4,
        "b_paid_a": 6,
        "a_paid_b": -6,
        "b_paid_b": 2,
    }
    # rr-x against orr: the last question was asked under one arm alone
    assert (second["n"], second["failed"], second["unmatched"]) == (3, 0, 1)
    assert (second["declined"], second["declined_right"], second["declined_overflow"]) == (1, 1, 1)
    assert (second["kept"], second["kept_right"], second["explicit_a"]) == (1, 1, 1)
    assert (short["n"], short["unmatched"]) == (0, 2)


def test_a_stage_that_is_kept_has_the_views_rows(results: Path) -> None:
    with connect([results]) as con:
        before = con.execute("FROM arm_pairs ORDER BY ALL").fetchall()
        kept = KeptStages(con)
        kept.keep(con, "-- stream_counts\nSELECT 1 FROM arm_pairs")
        kept.keep(con, "FROM arm_pairs")
        assert con.execute("FROM arm_pairs ORDER BY ALL").fetchall() == before
        views = {name for (name,) in con.execute("SELECT view_name FROM duckdb_views()").fetchall()}
    # what it reads is kept too
    assert not views & {"arm_pairs", "stream_counts"}
    assert {"responses", "pooled_pairs"} <= views


def test_tables_read_stages(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = tmp_path / "t.sql"
    query.write_text("""\
-- title: A table
-- needs: a run
-- counts: true
-- rows: label
-- column: label | text | Model
-- column: n | integer | n
SELECT label, sum(n)::BIGINT AS n FROM stream_counts GROUP BY label
""")
    monkeypatch.setattr(catalog, "queries", lambda _: {"one": query, "two": query})
    assert [[dict(row) for row in table.rows] for table in tables([results])] == [
        [{"label": "model", "n": 23}]
    ] * 2


def test_stages_of_one_name_are_told(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect([results]) as con:
        monkeypatch.setattr(catalog, "stages", lambda _: {"x": results / "x.sql"})
        (results / "x.sql").write_text("SELECT 1 AS a")
        with pytest.raises(EccdataError, match="one and two both have a stage x"):
            create_stages(con, ["one", "two"])


def test_a_stage_may_read_another(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect([results]) as con:
        texts = {
            "a1": "SELECT 2 * sum(x) AS y FROM z1",
            "z1": "SELECT n AS x FROM stream_counts",
            "alone": "SELECT 1 AS a",
        }
        for name, text in texts.items():
            (results / f"{name}.sql").write_text(text)
        monkeypatch.setattr(catalog, "stages", lambda _: {name: results / f"{name}.sql" for name in texts})
        create_stages(con, ["one"])
        expected = con.execute("FROM a1").fetchall()
        KeptStages(con).keep(con, "FROM a1")
        assert con.execute("FROM a1").fetchall() == expected == [(2 * 23,)]
        views = {
            name
            for (name,) in con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        }
        assert "alone" in views
        assert not views & {"a1", "z1", "stream_counts"}


def test_stages_in_a_circle_are_told(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect([results]) as con:
        (results / "a1.sql").write_text("FROM b1")
        (results / "b1.sql").write_text("FROM a1")
        monkeypatch.setattr(
            catalog, "stages", lambda _: {name: results / f"{name}.sql" for name in ("a1", "b1")}
        )
        with pytest.raises(EccdataError, match=r"in a circle: .*a1"):
            create_stages(con, ["one"])
