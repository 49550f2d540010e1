from __future__ import annotations

from pathlib import Path

from eccdata.analysis import tables
from support.results import cell, write_run
from support.tables import table


def test_the_shape_of_table_5(tmp_path: Path) -> None:
    questions = (
        cell(["rrrw"], length=512)
        + cell(["rw-x"], length=512, band="max")
        + cell(["rrrr"], length=1024)
        + cell(["rrrr"], length=8)
    )
    write_run(tmp_path / "run", questions, model="Qwen3-VL (8B)")
    assert table(tmp_path, "text") == [
        {
            "label": "Qwen3-VL (8B)",
            "n": 11,
            "failed": 1,
            "low_512": 3 / 4,
            "max_512": 1 / 3,
            "low_1024": 1.0,
            "max_1024": None,
        }
    ]
    tables([tmp_path], names=["text"], out=tmp_path / "tables")
    markdown = (tmp_path / "tables" / "eccbench" / "text.md").read_text()
    assert "| Qwen3-VL (8B) | 75.0 | 33.3 | 100.0 | – | 1 |" in markdown
    assert "Qwen3-VL (8B) was not asked: length 1024, band max." in markdown
