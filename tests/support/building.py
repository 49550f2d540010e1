"""What tests of builders share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import datasets
import orjson
import pyarrow as pa
import pytest

from eccdata.builder import Builder

Make = Callable[..., Builder]
"""Makes a builder from settings."""


def rows(builder: Builder, split: str = "test", **key: str | int) -> list[dict[str, Any]]:
    """The rows of a split as the builder makes them, cell by cell; of the cells that have `key`, where given."""
    tables = [
        builder.table(cell)
        for cell in builder.cells()
        if cell.split == split and key.items() <= cell.key.items()
    ]
    for table in tables:
        assert table.schema.equals(builder.features().arrow_schema, check_metadata=True)
        assert builder.check(table) == []
    return pa.concat_tables(tables).to_pylist() if tables else []


def assert_same_however_prepared(builder: Builder, cache: str) -> None:
    """Prepare it with one worker, with two, and streamed: the rows are those of its cells, in their order."""
    splits = list(dict.fromkeys(cell.split for cell in builder.cells()))
    made = {split: rows(builder, split) for split in splits}
    for num_proc in (1, 2):
        again = type(builder).create(cache_dir=f"{cache}/{num_proc}", **builder.settings)
        again.download_and_prepare(num_proc=num_proc)
        prepared = again.as_dataset()
        assert list(prepared) == splits
        for split in splits:
            assert prepared[split].features == builder.features()
            assert prepared[split].to_list() == made[split]
    streaming = (
        type(builder).create(cache_dir=f"{cache}/streaming", **builder.settings).as_streaming_dataset()
    )
    for split in splits:
        stream: datasets.IterableDataset = streaming[split]
        assert list(stream) == made[split]


def assert_golden(builder: Builder, golden: dict[str, str]) -> None:
    """Compare a digest of all rows with the one that is written down for the builder's version."""
    digest = hashlib.sha256()
    for cell in builder.cells():
        digest.update(orjson.dumps(builder.table(cell).to_pylist(), default=_digest))
    version = str(builder.VERSION)
    if golden.get(version) != digest.hexdigest()[:16]:
        pytest.fail(
            f"{type(builder).__name__} {version} gives other rows than are on record for that version "
            f"({digest.hexdigest()[:16]}, not {golden.get(version)}). If the rows are meant to change, raise VERSION "
            "and add the new digest under the new version; releases of the old version keep their meaning."
        )


def _digest(data: bytes) -> str:
    """Stand in for videos, which JSON cannot hold."""
    return hashlib.sha256(data).hexdigest()
