"""`eccdata demo` shows the whole way, and its numbers are those that the memories must have."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

import eccdata
from eccdata.demo import LENGTHS, MEMORIES, demo


def test_demo_goes_the_whole_way_and_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "shown"
    first = demo(folder)
    assert eccdata.verify(folder / "release").ok
    assert (folder / "tables" / "README.md").is_file()
    responses = sorted((folder / "results").glob("*/responses/*.parquet"))
    assert len(responses) == 3 * len(MEMORIES)
    cells = eccdata.sql(
        "select system, band, avg(correct::int) as accuracy, avg((prediction <> 'abstain')::int) as coverage, arm "
        f"from responses where length = {LENGTHS[-1]} group by all",
        [folder / "results"],
        format="json",
    )
    found = {(row["system"], row["band"], row["arm"]): row for row in json.loads(cells)}
    assert found["exact", "low", "none"]["accuracy"] == found["exact", "max", "none"]["accuracy"] == 1
    assert (
        found["lempel-ziv", "low", "none"]["accuracy"] > found["lempel-ziv", "max", "none"]["accuracy"] + 0.1
    )
    assert found["chance", "max", "b"]["coverage"] == 0
    assert found["window", "max", "b"]["coverage"] < found["window", "max", "a"]["coverage"]

    before = [(path, path.read_bytes()) for path in responses]
    again = demo(folder)
    assert [(path, path.read_bytes()) for path in responses] == before
    assert [table.rows for table in again.tables] == [table.rows for table in first.tables]

    console = Console(width=80, record=True, file=io.StringIO())
    console.print(first)
    shown = console.export_text()
    assert "Calibration" in shown
    assert "Try next" in shown
    assert "…" not in shown, "a column was cut"


def test_demo_leaves_other_folders_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(eccdata.EccdataError, match="holds something else than a demo"):
        demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
