"""Tampering with releases, from clumsy (a flipped bit) to careful (every digest and count written anew)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eccdata.release import layout
from eccdata.release.record import read_record

Row = dict[str, Any]


def flip_bit(path: Path, at: int | None = None) -> None:
    """Flip one bit, in the middle of the file unless said otherwise."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 0x10
    path.write_bytes(data)


def resum(folder: Path) -> None:
    """Write SHA256SUMS anew."""
    (folder / layout.SUMS).unlink()
    layout.write_sums(folder, {})


def edit_rows(folder: Path, name: str, edit: Callable[[list[Row]], object]) -> None:
    """Edit the rows of a Parquet file, and keep its row groups."""
    path = folder / name
    with pq.ParquetFile(path) as file:
        groups = [file.read_row_group(index) for index in range(file.num_row_groups)]
    rows = [group.to_pylist() for group in groups]
    edit([row for group in rows for row in group])
    with pq.ParquetWriter(path, groups[0].schema, compression="zstd") as writer:
        for group in rows:
            writer.write_table(pa.Table.from_pylist(group, schema=groups[0].schema))


def cover(folder: Path) -> None:
    """Write all digests and sizes of Parquet files anew, wherever they are told, and then SHA256SUMS."""
    record = read_record(folder)
    changes = {}
    for made in record.configs.values():
        before = made.digest
        shards = {}
        for split, old in made.splits.items():
            shards[split] = tuple(
                shard.model_copy(
                    update={
                        "sha256": layout.sha256(folder / shard.path),
                        "size_bytes": (folder / shard.path).stat().st_size,
                    }
                )
                for shard in old
            )
            for one, other in zip(old, shards[split], strict=True):
                changes[one.sha256] = other.sha256
                changes[f'"{one.size_bytes} B"'] = f'"{other.size_bytes} B"'
                changes[f'"size_bytes": {one.size_bytes},'] = f'"size_bytes": {other.size_bytes},'
        changes[before] = made.model_copy(update={"splits": shards}).digest
    for path in folder.rglob("*"):
        if path.suffix in (".json", ".md"):
            text = path.read_text()
            for was, now in changes.items():
                text = text.replace(was, now)
            path.write_text(text)
    resum(folder)


def edit_json(path: Path, edit: Callable[[Any], object]) -> None:
    """Edit a JSON file."""
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value, indent=2))
