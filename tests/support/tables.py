"""One table of ECCBench over result folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eccdata.analysis import tables


def table(results: Path, name: str) -> list[Mapping[str, Any]]:
    """Give the rows of the table."""
    (made,) = tables([results], benchmark="eccbench", names=[name])
    return list(made.rows)


def row(results: Path, name: str, **where: Any) -> Mapping[str, Any]:
    """Give the one row whose columns have these values."""
    found = [row for row in table(results, name) if all(row[key] == value for key, value in where.items())]
    assert len(found) == 1, found
    return found[0]
