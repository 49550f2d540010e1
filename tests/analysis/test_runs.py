from __future__ import annotations

import json
import shutil
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from eccdata import report, tables
from eccdata.analysis.runs import find_runs
from eccdata.analysis.views import open_views
from eccdata.cli import app
from eccdata.errors import EccdataError
from support.results import SCHEMA, cell, write_run

QUESTIONS = cell(["rw", "r-"])


def labels(*folders: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    views = open_views(folders)
    views.connection.close()
    return {run.name: run.label for run in views.runs}, views.notes


def test_a_run_or_a_folder_of_runs(tmp_path: Path) -> None:
    one = write_run(tmp_path / "results" / "one", QUESTIONS, parts=2)
    two = write_run(tmp_path / "results" / "two", QUESTIONS, arm="a")
    (tmp_path / "results" / "tables").mkdir()
    (tmp_path / "results" / "note.txt").write_text("no run")
    runs, notes = find_runs([tmp_path / "results"])
    assert [run.folder for run in runs] == [one, two]
    assert [run.name for run in runs] == ["one", "two"]
    assert [len(run.files) for run in runs] == [2, 1]
    assert notes == []
    again, _ = find_runs([str(two), tmp_path / "results", one])
    assert [run.name for run in again] == ["two", "one"]


def test_names_take_parents_where_they_must(tmp_path: Path) -> None:
    for seed in ("s0", "s1"):
        write_run(tmp_path / seed / "window", QUESTIONS, dataset=seed)
    runs, _ = find_runs([tmp_path / "s0", tmp_path / "s1"])
    assert [run.name for run in runs] == ["s0/window", "s1/window"]


def test_the_card_is_read(tmp_path: Path) -> None:
    write_run(
        tmp_path / "run", QUESTIONS, arm="b", dataset="sha256:abc", unasked=7, options={"max_tokens": 9}
    )
    (run,), _ = find_runs([tmp_path / "run"])
    assert run.options == {"arm": "b", "max_tokens": 9}
    assert run.dataset == "sha256:abc"
    assert run.unasked == 7
    assert run.started_at is not None
    assert run.started_at.isoformat() == "2026-01-01T00:00:00+00:00"


def test_wrong_results_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    begun = tmp_path / "begun"
    (begun / "responses").mkdir(parents=True)
    with pytest.raises(EccdataError) as caught:
        find_runs([tmp_path / "empty", tmp_path / "file", tmp_path / "nowhere", begun])
    message = str(caught.value)
    for words in (
        "empty: is no run and holds none",
        "file: is no folder",
        "nowhere: does not exist",
        "begun: has no responses",
    ):
        assert words in message
    with pytest.raises(EccdataError, match="No results"):
        find_runs([])


def test_a_run_that_has_only_begun_is_left_out_of_a_folder_of_runs(tmp_path: Path) -> None:
    write_run(tmp_path / "done", QUESTIONS)
    (tmp_path / "begun" / "responses").mkdir(parents=True)
    (tmp_path / "none" / "responses").mkdir(parents=True)
    pq.write_table(SCHEMA.empty_table(), tmp_path / "none" / "responses" / "part.parquet")
    runs, notes = find_runs([tmp_path])
    assert [run.name for run in runs] == ["done"]
    assert len(notes) == 2
    assert "begun has no responses yet" in notes[0]


def test_damaged_and_foreign_files_are_told_together(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", QUESTIONS)
    (run / "responses" / "x.parquet").write_bytes(b"PAR1 and then nothing")
    pq.write_table(pa.table({"a": [1]}), run / "responses" / "y.parquet")
    with pytest.raises(EccdataError, match=r"(?s)x\.parquet.*y\.parquet: lacks run_id, benchmark"):
        find_runs([run])


def test_a_broken_card_is_told(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", QUESTIONS)
    (run / "card.json").write_text("{")
    with pytest.raises(EccdataError, match=r"card\.json is no JSON"):
        find_runs([run])


def test_a_run_without_a_card_is_told_wherever_runs_are_read(tmp_path: Path) -> None:
    write_run(tmp_path / "results" / "whole", QUESTIONS)
    bare = write_run(tmp_path / "results" / "bare", QUESTIONS, arm="a")
    (bare / "card.json").unlink()
    _, notes = find_runs([tmp_path / "results"])
    (note,) = notes
    assert note.startswith(f"{bare} has no card.json: ")
    assert "evaluate` again" in note
    tables([tmp_path / "results"], names=["accuracy"], out=tmp_path / "tables")
    assert note in (tmp_path / "tables" / "README.md").read_text("utf-8")
    told = CliRunner().invoke(app, ["tables", str(tmp_path / "results"), "--table", "accuracy"])
    assert f"Note: {note}" in told.stderr
    pytest.importorskip("jinja2")
    page = report([tmp_path / "results"], out=tmp_path / "report.html").path.read_text("utf-8")
    assert f"{bare} has no card.json" in page


@pytest.mark.parametrize("of", [99, None, "2"])
def test_a_card_of_another_format_is_refused(tmp_path: Path, of: object) -> None:
    run = write_run(tmp_path / "run", QUESTIONS)
    card = orjson.loads((run / "card.json").read_bytes())
    (run / "card.json").write_bytes(orjson.dumps({**card, "format": of}))
    with pytest.raises(EccdataError, match=rf"(?s)/run: card\.json has format {of}.*evaluate` again"):
        find_runs([run])


@pytest.mark.parametrize(
    ("what", "where"),
    [
        ({"dataset": {"digest": 5}}, r"dataset\.digest is '5'"),
        ({"outcome": {"unasked": "many"}}, r"outcome\.unasked is 'many'"),
        ({"protocol": {"options": [1]}}, r"protocol\.options is '\[1\]'"),
        ({"sessions": 3}, "sessions is '3'"),
        ({"sessions": [1]}, r"sessions is '\[1\]'"),
        ({"sessions": [{"started_at": "x"}]}, "sessions is "),
        ({"sessions": [{"started_at": 10**300}]}, "sessions is "),
    ],
)
def test_a_card_that_holds_what_no_card_does_is_told(
    tmp_path: Path, what: dict[str, object], where: str
) -> None:
    run = write_run(tmp_path / "run", QUESTIONS)
    card = json.loads((run / "card.json").read_bytes())
    (run / "card.json").write_text(json.dumps({**card, **what}))
    with pytest.raises(EccdataError, match=rf"(?s)/run: {where}.*evaluate` again"):
        find_runs([run])


def test_runs_that_lack_what_their_protocol_finds_are_told_together(tmp_path: Path) -> None:
    def without(*names: str) -> pa.Schema:
        return pa.schema([field for field in SCHEMA if field.name not in names])

    write_run(tmp_path / "good", QUESTIONS)
    write_run(tmp_path / "old", QUESTIONS, arm="a", schema=without("payoff", "correct"))
    write_run(tmp_path / "older", QUESTIONS, arm="b", schema=without("stream_id"))
    with pytest.raises(EccdataError, match=r"(?s)lack columns.*/old: correct, payoff\n.*/older: stream_id\n"):
        open_views([tmp_path])


def test_a_run_may_have_more_columns_and_its_protocol_need_not_be_installed(tmp_path: Path) -> None:
    more = pa.schema([*SCHEMA, pa.field("note", pa.string())])
    run = write_run(tmp_path / "more", QUESTIONS, schema=more)
    open_views([run]).connection.close()
    part = run / "responses" / "part-00000.parquet"
    table = pq.read_table(part).drop_columns(["payoff"])
    place = table.column_names.index("protocol")
    strange = pa.array(["strange"] * table.num_rows)
    pq.write_table(table.set_column(place, "protocol", strange), part)
    open_views([run]).connection.close()


def test_the_same_run_twice(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", QUESTIONS)
    shutil.copytree(one, tmp_path / "copy")
    with pytest.raises(EccdataError, match=r"(?s)more than once.*/one, .*/copy"):
        open_views([one, tmp_path / "copy"])


def test_two_runs_in_one_folder(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", QUESTIONS)
    two = write_run(tmp_path / "two", QUESTIONS, arm="a")
    shutil.copy(two / "responses" / "part-00000.parquet", one / "responses" / "part-00001.parquet")
    with pytest.raises(EccdataError, match="a folder of its own"):
        open_views([one])


def test_a_card_of_another_run(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", QUESTIONS)
    two = write_run(tmp_path / "two", QUESTIONS, arm="a")
    shutil.copy(two / "card.json", one / "card.json")
    with pytest.raises(EccdataError, match=r"card\.json is of run"):
        open_views([one])


def test_an_incomplete_run_is_noted(tmp_path: Path) -> None:
    write_run(tmp_path / "run", QUESTIONS, unasked=12)
    _, notes = labels(tmp_path / "run")
    assert notes == ("run is incomplete: 12 of its questions have not been asked.",)
