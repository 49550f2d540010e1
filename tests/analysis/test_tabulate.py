from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from eccdata import catalog
from eccdata.analysis import TableResult, connect, tables
from eccdata.analysis.adhoc import reading_query
from eccdata.analysis.header import parse_header
from eccdata.errors import EccdataError
from support.results import cell, write_run

EVERY_TABLE = list(catalog.queries("eccbench"))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    for arm in ("none", "a", "b"):
        questions = cell(["rw-m", "rrox"], length=512) + cell(["wwrr", "rr-w"], length=512, band="max")
        write_run(folder / f"full-{arm}", questions, model="full", arm=arm)
    write_run(folder / "half-a", cell(["rw-m", "rrox"], length=1024), model="half", arm="a")
    return folder


def named(results: Path, name: str, **options: object) -> TableResult:
    (table,) = tables([results], names=[name], **options)  # type: ignore[arg-type]
    return table


VIDEO = "config video-sequential and video-spatial; config natural"


def test_every_table_is_one_select_with_a_header(results: Path) -> None:
    with connect([results]) as con:
        for name, path in catalog.queries("eccbench").items():
            sql = path.read_text(encoding="utf-8")
            header = parse_header(sql, name)
            reading_query(con, sql)
            columns = [column[0] for column in con.execute(f"DESCRIBE {sql}").fetchall()]
            assert {column.name for column in header.columns} <= set(columns)
            # what the header says is counted is what the query counts
            if not header.counts_responses:
                continue
            counted = _counted_by(
                sql, {name: path.read_text("utf-8") for name, path in catalog.stages("eccbench").items()}
            )
            for part in re.sub(r"\s+", " ", header.counts).split(" AND "):
                assert part in counted, (name, part)


def _counted_by(sql: str, stages: dict[str, str]) -> str:
    """A query and the stages that it reads, those that these read among them, on one line and without comments."""
    found = re.sub(r"\s+", " ", re.sub(r"(?m)--.*$", "", sql))
    for name, stage in stages.items():
        if re.search(rf"\b{name}\b", found):
            rest = {other: text for other, text in stages.items() if other != name}
            found += _counted_by(stage, rest)
    return found


def test_everything_is_written(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    steps: list[tuple[int, int | None, str]] = []
    made = tables([results], out=out, progress=lambda *step: steps.append(step))
    assert [table.name for table in made] == EVERY_TABLE
    assert steps[0] == (0, len(EVERY_TABLE), "tables")
    assert steps[-1] == (len(EVERY_TABLE), len(EVERY_TABLE), "tables")
    record = json.loads((out / "tables.json").read_text())
    assert {table["name"]: table["rows"] for table in record["tables"]} == {t.name: len(t.rows) for t in made}
    assert [run["run"] for run in record["runs"]] == ["full-a", "full-b", "full-none", "half-a"]
    index = (out / "README.md").read_text()
    for table in made:
        assert f"[{table.header.title}](eccbench/{table.name}.md)" in index
        written = {path.suffix for path in (out / "eccbench").glob(f"{table.name}.*")}
        made_too = {".csv", ".tex"} if table.header.shown else {".csv"}
        assert written == {".md", ".sql"} | (made_too if table.made else set())
        assert (out / "eccbench" / f"{table.name}.sql").read_text() == table.sql


def test_tables_say_what_was_missing(results: Path) -> None:
    assert named(results, "easyhuman").missing == (
        "There is nothing to count: it needs a run on easyhuman-text or easyhuman-video under arm none.",
    )
    assert not named(results, "easyhuman").made
    assert named(results, "calibration").missing == (
        f"full was not asked: config text, length 1024; {VIDEO}.",
        f"half was not asked: config text, arm b; config text, length 512; {VIDEO}.",
        "full: 2 of 32 responses are failures and are left out.",
        "half: 1 of 8 responses are failures and are left out.",
    )
    assert named(results, "compression").missing == (
        "Not in it at all: half. It needs a run on text, synthetic video or natural video, both bands, under arm none.",
        "full: 1 of 16 responses are failures and are left out.",
    )


def test_a_combination_that_is_missing_is_told(tmp_path: Path) -> None:
    write_run(tmp_path / "a", cell(["r"], length=512) + cell(["r"], length=1024), arm="a")
    write_run(tmp_path / "b", cell(["r"], length=512), arm="b")
    assert named(tmp_path, "calibration").missing == (
        f"model was not asked: config text, arm b, length 1024; {VIDEO}.",
    )


def test_a_table_that_has_no_rows_says_so(tmp_path: Path) -> None:
    write_run(tmp_path / "a", cell(["rr"]), arm="a")
    table = named(tmp_path, "calibration")
    assert not table.made
    assert table.missing == (f"model was not asked: config text, arm b; config text, length 1024; {VIDEO}.",)


def test_an_old_table_does_not_outlive_what_it_counted(results: Path, tmp_path: Path) -> None:
    human = write_run(
        tmp_path / "human", cell(["r"], length=256, band=None, structure="x"), config="easyhuman-text"
    )
    out = tmp_path / "tables"
    tables([human], out=out, names=["easyhuman"])
    assert (out / "eccbench" / "easyhuman.csv").exists()
    tables([results], out=out, names=["easyhuman"])
    assert not (out / "eccbench" / "easyhuman.csv").exists()
    assert not (out / "eccbench" / "easyhuman.tex").exists()
    assert "There is nothing to count" in (out / "eccbench" / "easyhuman.md").read_text()


def test_tables_print(results: Path) -> None:
    console = Console(width=200, record=True, file=io.StringIO())
    for table in tables([results], names=["coverage", "easyhuman"]):
        console.print(table)
    text = console.export_text()
    assert "Coverage under each arm" in text
    assert "Accuracy on EasyHuman (Table 1): not made." in text


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_tables_do_not_depend_on_threads(results: Path, threads: int) -> None:
    expected = [table.rows for table in tables([results], threads=2)]
    for _ in range(2):
        assert [table.rows for table in tables([results], threads=threads)] == expected


def test_wrong_names(results: Path) -> None:
    with pytest.raises(EccdataError, match="Did you mean 'calibration'"):
        tables([results], names=["calibrations"])
    with pytest.raises(EccdataError, match="no benchmark called 'ecbench'"):
        tables([results], benchmark="ecbench")


def test_two_responses_to_a_question_are_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(["rr"]) + cell(["rr"]))
    with pytest.raises(EccdataError, match="run: 2 too many"):
        tables([tmp_path])


def test_results_are_no_place_for_tables(results: Path) -> None:
    with pytest.raises(EccdataError, match="lies in the folder of the run full-a"):
        tables([results], out=results / "full-a" / "tables")


def test_runs_that_differ_are_told_in_the_index(results: Path, tmp_path: Path) -> None:
    write_run(results / "full-a-again", cell(["rr"]), model="full", arm="a", dataset="other")
    tables([results], out=tmp_path / "tables", names=["coverage"])
    assert "full on text is 2 rows, for its runs differ" in (tmp_path / "tables" / "README.md").read_text()


def test_a_name_of_several_lines_is_one_row_of_the_index(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(["rw"]), model="a|b\n\n# c")
    tables([tmp_path / "run"], out=tmp_path / "out", names=["accuracy"])
    index = (tmp_path / "out" / "README.md").read_text()
    assert "| a/b # c |" in index
    assert not re.search("(?m)^# c", index)


@pytest.mark.parametrize("there", ["README.md", "tables.json", "sub/data.parquet"])
def test_a_folder_of_something_else_is_left_alone(results: Path, tmp_path: Path, there: str) -> None:
    out = tmp_path / "release"
    (out / there).parent.mkdir(parents=True)
    (out / there).write_text('["precious"]')
    with pytest.raises(EccdataError, match="release holds something else than tables"):
        tables([results], out=out, names=["synthetic"])
    assert [str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()] == [there]
    assert (out / there).read_text() == '["precious"]'


def test_a_file_is_no_place_for_tables(results: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(EccdataError, match="file is a file"):
        tables([results], out=tmp_path / "file", names=["synthetic"])
    assert (tmp_path / "file").read_text() == "precious"


def test_an_empty_folder_and_one_of_ours_are_written_to(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    out.mkdir()
    for name in ("synthetic", "coverage"):
        tables([results], out=out, names=[name])
        assert (out / "eccbench" / f"{name}.md").exists()


HEADER = """\
-- title: A stranger's table
-- needs: a run
-- counts: true
-- rows: label
-- column: label | text | Model
-- column: n | integer | n
"""


def test_a_table_that_needs_no_responses(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = tmp_path / "constants.sql"
    query.write_text(HEADER.replace("true", "nothing") + "SELECT 'B' AS label, 7 AS n")
    monkeypatch.setattr(catalog, "queries", lambda _: {"constants": query})
    (table,) = tables([results])
    assert (table.rows, table.missing, table.error) == (({"label": "B", "n": 7},), (), None)


def test_data_behind_a_figure_is_written_and_not_shown(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = tmp_path / "curve.sql"
    query.write_text(
        HEADER.replace("-- rows", "-- shown: no\n-- rows")
        + "SELECT 'm' AS label, i AS n FROM range(1234) AS t(i)"
    )
    monkeypatch.setattr(catalog, "queries", lambda _: {"curve": query})
    (table,) = tables([results], out=tmp_path / "out")
    assert {path.suffix for path in (tmp_path / "out" / "eccbench").glob("curve.*")} == {
        ".csv",
        ".md",
        ".sql",
    }
    assert (tmp_path / "out" / "eccbench" / "curve.csv").read_text().count("\n") == 1235
    assert (
        "1234 rows of data, as CSV: `label` (Model), `n` (n)."
        in (tmp_path / "out" / "eccbench" / "curve.md").read_text()
    )
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(table)
    text = console.export_text()
    assert "1234 rows of data" in text
    assert "1233" not in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (b"SELECT 1", "title: there has to be exactly one"),
        (
            HEADER.encode() + b"SELECT label, count(*) AS n FROM respones GROUP BY ALL",
            'Did you mean "responses"',
        ),
        (HEADER.encode() + b"SELECT label FROM responses", "n: the query gives no such column"),
        (HEADER.encode() + b"SELECT label, 'x' AS n FROM responses", "n: 'x' cannot be shown as integer"),
        (HEADER.encode() + b"DROP VIEW responses", "Only a query that reads"),
        (HEADER.replace("true", "lenght = 8").encode() + b"SELECT 1 AS label, 1 AS n", '"lenght" not found'),
        (b"-- title: \xff\n", "not UTF-8"),
    ],
)
def test_a_broken_query_costs_its_own_table_alone(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: bytes, words: str
) -> None:
    (tmp_path / "good.sql").write_text(HEADER + "SELECT label, count(*) AS n FROM responses GROUP BY ALL")
    (tmp_path / "broken.sql").write_bytes(query)
    monkeypatch.setattr(
        catalog, "queries", lambda _: {name: tmp_path / f"{name}.sql" for name in ("broken", "good")}
    )
    out = tmp_path / "tables"
    broken, good = tables([results], out=out)
    assert good.made
    assert good.error is None
    assert not broken.made
    assert broken.error is not None
    assert words in broken.error
    assert (out / "eccbench" / "good.csv").exists()
    assert not (out / "eccbench" / "broken.csv").exists()
    for file in ("README.md", "eccbench/broken.md", "tables.json"):
        assert words in (out / file).read_text().replace('\\"', '"')
    console = Console(width=1000, record=True, file=io.StringIO())
    console.print(broken)
    assert words in console.export_text()


def test_a_file_damaged_inside_is_told_in_one_error(results: Path) -> None:
    (path,) = (results / "full-a" / "responses").glob("*.parquet")
    content = bytearray(path.read_bytes())
    # the footer, which is read first, stays whole; its length stands before the last four bytes
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[4:end] = b"\xff" * (end - 4)
    path.write_bytes(content)
    with pytest.raises(EccdataError, match=r"These results cannot be read: .*evaluate` again"):
        tables([results], names=["accuracy"])


def test_too_little_memory_is_told_in_one_error(results: Path) -> None:
    with pytest.raises(EccdataError, match="too little memory"):
        tables([results], names=["accuracy"], memory_limit="1B")
