from __future__ import annotations

from pathlib import Path

from eccdata.analysis import connect
from eccdata.analysis.header import parse_header
from eccdata.analysis.missing import count_asked, missing
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
        count_asked(con, [header])
        told = missing(con, header, ["reader", "watcher"])
    finally:
        con.close()
    assert told == [
        "reader was not asked: config video-sequential and video-spatial.",
        "watcher was not asked: config text, band max; config video-spatial; config video-sequential, length 64.",
    ]
