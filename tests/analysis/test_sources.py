from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from eccdata.analysis import tables
from eccdata.analysis.footers import read_footer
from eccdata.analysis.runs import TOLD
from eccdata.analysis.views import open_views
from support.results import cell, write_run

QUESTIONS = cell(["rw", "x-"])


@pytest.mark.parametrize(("name", "itself"), [("it's k=v", True), ("a*[b]", False), ("{c}", False)])
def test_paths_are_never_taken_for_patterns(tmp_path: Path, name: str, itself: bool) -> None:
    write_run(tmp_path / name / "run", QUESTIONS)
    write_run(tmp_path / name / "more", cell(["r"], variant="x"), arm="a", protocol="membership-video")
    views = open_views([tmp_path / name], only_reading=True)
    try:
        assert views.sources.itself == itself
        assert views.connection.execute("SELECT count(*), count(variant) FROM responses").fetchall() == [
            (5, 1)
        ]
        assert "k" not in views.connection.execute("FROM responses LIMIT 0").df().columns
    finally:
        views.close()
    (table,) = tables([tmp_path / name], names=["accuracy"])
    assert [row["n"] for row in table.rows] == [3]


def test_no_other_file_is_read(tmp_path: Path) -> None:
    write_run(tmp_path / "run", QUESTIONS)
    other = write_run(tmp_path / "other", QUESTIONS, arm="a") / "responses" / "part-00000.parquet"
    for only_reading in (False, True):
        views = open_views([tmp_path / "run"], only_reading=only_reading, beside=1)
        try:
            for connection in (views.connection, *views.beside):
                with pytest.raises(duckdb.PermissionException):
                    connection.execute(f"FROM read_parquet('{other}')")
        finally:
            views.close()


def test_a_footer_tells_what_has_one_value(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", QUESTIONS, server="s1")
    footer = read_footer(run / "responses" / "part-00000.parquet", (*TOLD, "abstention", "structure"))
    assert footer.rows == 4
    assert footer.constant["model"] == "model"
    assert footer.constant["abstention"] == "explicit"
    assert footer.constant["structure"] is None
    assert "status" not in footer.constant
    assert {"model", "server"} <= footer.complete
    assert not footer.complete & {"abstention", "structure", "status"}
