from __future__ import annotations

from pathlib import Path

from support.results import cell, write_run
from support.tables import table


def test_kinds(tmp_path: Path) -> None:
    write_run(tmp_path / "b", cell(["rw--", "mmmo", "rrxx"]), arm="b")
    write_run(tmp_path / "a", cell(["rrrr"]), arm="a")
    names = ("arm", "n", "failed", "abstained", "explicit", "format", "overflow", "abstained_share")
    assert [tuple(one[name] for name in names) for one in table(tmp_path, "abstentions")] == [
        ("a", 4, 0, 0, 0, 0, 0, 0.0),
        ("b", 10, 2, 6, 2, 3, 1, 0.6),
    ]
