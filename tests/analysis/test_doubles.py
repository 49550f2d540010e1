from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from eccdata.analysis.doubles import check_questions
from eccdata.analysis.views import open_views
from eccdata.errors import EccdataError
from support.results import cell, write_run


def test_a_question_answered_twice_is_told_and_a_file_that_shrank_is_not(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", cell(["rw", "r-"]))
    (path,) = (run / "responses").glob("*.parquet")
    rows = pq.read_table(path)
    views = open_views([run], beside=1, only_reading=True)
    try:
        check_questions(views, views.beside[0])
        pq.write_table(rows.slice(0, 1), path)
        check_questions(views, views.beside[0])
    finally:
        views.close()
    pq.write_table(rows.take([0, 1, 1, 0, 2]), path)
    views = open_views([run], beside=1, only_reading=True)
    try:
        with pytest.raises(EccdataError, match="run: 2 too many"):
            check_questions(views, views.beside[0])
    finally:
        views.close()
