from __future__ import annotations

import re
from typing import Any

import pytest

from eccdata import catalog
from eccdata.builders.eccbench.findings import findings


def cells(config: str, tmp: object, **settings: Any) -> list[Any]:
    builder = catalog.builder("eccbench", config).create(cache_dir=str(tmp), **settings)
    return [builder.table(cell) for cell in builder.cells() if cell.split == "test"]


def bags(text: str) -> dict[tuple[int, str], list[float]]:
    lines = re.findall(r"^\| (\d+) \| `([\w-]+)` \| ([\d. |]+) \|$", text, re.MULTILINE)
    return {(int(n), group): [float(v) for v in values.split("|")] for n, group, values in lines}


def by_hand(rows: list[dict[str, Any]], k: int) -> float:
    """Balanced accuracy of the bag of k-grams, written down once more in the plainest way."""
    right = {0: 0, 1: 0}
    asked = {0: 0, 1: 0}
    for row in rows:
        stream, candidate = row["stream"], row["candidate"]
        seen = [stream[i : i + k] for i in range(len(stream) - k + 1)]
        says_yes = all(candidate[i : i + k] in seen for i in range(len(candidate) - k + 1))
        asked[row["answer"]] += 1
        right[row["answer"]] += says_yes == (row["answer"] == 0)
    return (right[0] / asked[0] + right[1] / asked[1]) / 2


def test_the_bags_are_those_worked_out_by_hand(tmp_path: object) -> None:
    tables = cells("text", tmp_path, lengths=(16, 32), streams=4)
    found = bags(findings(tables))
    assert len(found) == 4
    for table in tables:
        rows = table.to_pylist()
        key = (rows[0]["length"], rows[0]["band"])
        assert found[key] == pytest.approx([by_hand(rows, k) for k in (1, 2, 3)], abs=6e-4)


def test_single_symbols_answer_most_of_16_and_little_of_128_max_entropy_symbols(tmp_path: object) -> None:
    # measured elsewhere on other streams: .92 and .75 at 16 and 32, .50 at 128
    found = bags(findings(cells("text", tmp_path, lengths=(16, 32, 128), bands=("max",), streams=40)))
    assert found[16, "max"][0] == pytest.approx(0.92, abs=0.04)
    assert found[32, "max"][0] == pytest.approx(0.75, abs=0.05)
    assert found[128, "max"][0] == pytest.approx(0.50, abs=0.02)


def test_sequences_with_their_queries_are_measured_alike(tmp_path: object) -> None:
    text = findings(cells("tokens", tmp_path, sequences=2, test_lengths=(64,), test_streams=3))
    assert set(bags(text)) == {(64, "low"), (64, "max")}
    assert "| `low` | uniform | 96 |" in text


def test_one_stream_is_too_few_and_that_is_said(tmp_path: object) -> None:
    text = findings(cells("text", tmp_path, lengths=(16,), streams=1))
    assert "cannot be measured" in text
    assert findings([]) == ""
