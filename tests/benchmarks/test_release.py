"""What a release costs beyond writing the same tables to Parquet."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eccdata.builder import Cell
from eccdata.release import build, verify
from support import toy

CELLS, ROWS, LENGTH = 40, 1000, 512


def best(work: Callable[[int], object], times: int = 3) -> float:
    seconds = []
    for turn in range(times):
        start = time.perf_counter()
        work(turn)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


@pytest.mark.benchmark
def test_writing_a_release_costs_little_more_than_writing_its_tables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    schema = toy.Toy.features().arrow_schema
    random = np.random.Generator(np.random.PCG64(0))
    lists = pa.ListArray.from_arrays(
        pa.array(np.arange(0, ROWS * LENGTH + 1, LENGTH, dtype=np.int32)),
        pa.array(random.integers(0, 16, ROWS * LENGTH, dtype=np.uint8)),
    )

    def table(self: object, cell: Cell) -> pa.Table:
        # made once but for the ids: the cost measured is that of the release
        columns = {
            "question_id": pa.array([f"q{cell.start + row:08d}" for row in range(ROWS)]),
            "length": pa.repeat(pa.scalar(LENGTH, pa.int32()), ROWS),
            "stream": lists,
            "candidate": pa.repeat(pa.scalar(1, pa.uint8()), ROWS),
            "answer": pa.array(np.arange(ROWS) % 2),
            "rate": pa.array(np.linspace(0, 4, ROWS)),
            "kind": pa.repeat("absent", ROWS),
            "notes": pa.array([[]] * ROWS, schema.field("notes").type),
        }
        return pa.table(columns, schema=schema)

    cells = [Cell("test", {"length": LENGTH}, index * ROWS, (index + 1) * ROWS) for index in range(CELLS)]
    toy.install(monkeypatch, tmp_path, "digits")
    monkeypatch.setattr(toy.Toy, "cells", lambda self: cells)
    monkeypatch.setattr(toy.Toy, "table", table)
    monkeypatch.setattr(toy.Toy, "cells_per_shard", 10)
    monkeypatch.setattr(toy.Toy, "check", lambda self, table: [])
    monkeypatch.setattr(toy.Toy, "findings", lambda self, read: "")

    def plainly(turn: int) -> None:
        with pq.ParquetWriter(tmp_path / f"{turn}.parquet", schema, compression="zstd") as writer:
            for cell in cells:
                writer.write_table(table(None, cell))

    plain = best(plainly)
    one = best(lambda turn: build("toybench", out=tmp_path / f"one{turn}"))
    two = best(lambda turn: build("toybench", out=tmp_path / f"two{turn}", num_proc=2))
    verified = best(lambda _: verify(tmp_path / "one0"), times=1)
    rows = CELLS * ROWS
    print(f"\n{rows:,} rows of {LENGTH} symbols: pq.write_table {plain:.2f} s ({rows / plain:,.0f} rows/s)")
    print(f"build {one:.2f} s ({one / plain:.2f}×), with two workers {two:.2f} s ({two / plain:.2f}×)")
    print(f"verify {verified:.2f} s ({verified / plain:.2f}×)")
    assert (tmp_path / "one0" / "SHA256SUMS").read_text() == (tmp_path / "two0" / "SHA256SUMS").read_text()
    assert one < 2 * plain
