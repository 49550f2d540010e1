from __future__ import annotations

from pathlib import Path

from eccdata.analysis import connect
from eccdata.analysis.header import parse_header
from eccdata.analysis.missing import Asked, missing
from support.results import cell, video_cell, write_run

HEADER = """\
-- title: Both
-- needs: a run
-- counts: length >= 16
-- expects: config = text; length = 512; band = low, max
-- expects: config = video-sequential, video-spatial; length = 16, 64
-- rows: label
-- column: label | text | Model
"""


def test_each_line_of_what_is_expected_stands_by_itself(tmp_path: Path) -> None:
    write_run(tmp_path / "a", cell(["r"], length=512) + cell(["r"], length=512, band="max"), model="reader")
    watched = video_cell(["r"], variant="sequential", length=16) + video_cell(
        ["r"], variant="sequential", length=512
    )
    write_run(
        tmp_path / "b", watched, model="watcher", config="video-sequential", protocol="membership-video"
    )
    write_run(tmp_path / "c", cell(["r"], length=512), model="watcher")
    con = connect([tmp_path])
    try:
        header = parse_header(HEADER, "both")
        told = missing(Asked(con, [header]), header, ["reader", "watcher"])
    finally:
        con.close()
    assert told == [
        "reader was not asked: config video-sequential and video-spatial.",
        "watcher was not asked: config text, band max; config video-spatial; config video-sequential, length 64.",
    ]


def test_conditions_on_what_is_dear_are_counted_too(tmp_path: Path) -> None:
    questions = cell(["rw"], length=512, probability=[0.5, None]) + cell(
        ["rx"], length=1024, probability=0.25
    )
    write_run(tmp_path / "a", questions, model="m")
    text = HEADER.replace("length >= 16", "arm = 'none' AND probability > 0.3 OR priced")
    header, cheap = parse_header(text, "dear"), parse_header(HEADER, "cheap")
    con = connect([tmp_path])
    try:
        asked = Asked(con, [header, cheap])
        columns = {name for name, *_ in con.execute("DESCRIBE asked").fetchall()}
        assert columns == {"label", "length", "config", "band", "responses", "failures"}
        assert asked.count(header) == [("m", "text", 512, "low", 1, 0)]
        assert asked.count(cheap) == [("m", "text", 512, "low", 2, 0), ("m", "text", 1024, "low", 2, 1)]
    finally:
        con.close()
