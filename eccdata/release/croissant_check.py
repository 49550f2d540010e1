"""`croissant.json`: valid, complete, true? What mlcroissant does not check is checked here."""

from __future__ import annotations

import json
import logging
import math
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mlcroissant as mlc
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eccdata.release.croissant import record_set, required
from eccdata.release.description import ResponsibleAI
from eccdata.release.layout import CROISSANT
from eccdata.release.record import Record

SAMPLED = 8
"""Rows of each split that are loaded through Croissant: it manages some hundreds a second."""


def croissant_problems(folder: Path, record: Record) -> list[str]:
    """Check `croissant.json` against the format, the files and the rows."""
    try:
        jsonld = json.loads((folder / CROISSANT).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [f"{CROISSANT}: cannot be read: {error}"]
    if not isinstance(jsonld, dict):
        return [f"{CROISSANT}: is no JSON object"]
    problems = [f"{CROISSANT}: lacks {name}" for name in sorted(required(ResponsibleAI) - jsonld.keys())]
    problems += [f"{CROISSANT}: {wrong}" for wrong in _files(jsonld, record)]
    problems += [f"{CROISSANT}: {wrong}" for wrong in _records(folder, record)]
    return problems


def _files(jsonld: dict[str, Any], record: Record) -> Iterator[str]:
    entries = {entry.get("@id"): entry for entry in jsonld.get("distribution", []) if isinstance(entry, dict)}
    for made in record.configs.values():
        for shard in made.shards:
            entry = entries.get(shard.path)
            if entry is None:
                yield f"does not list {shard.path}"
            elif (entry.get("sha256"), entry.get("contentSize")) != (shard.sha256, f"{shard.size_bytes} B"):
                yield f"gives another digest or size of {shard.path} than build.json"


def _records(folder: Path, record: Record) -> Iterator[str]:
    """Load a few rows of every split through Croissant, from a copy of the release that holds these rows alone."""
    with tempfile.TemporaryDirectory(prefix="eccdata-") as scratch, _quiet():
        small = Path(scratch)
        shutil.copy(folder / CROISSANT, small)
        rows: dict[str, list[dict[str, Any]]] = {}
        for config, made in record.configs.items():
            for split, shards in made.splits.items():
                try:
                    table = _some_rows(folder / shards[-1].path)
                except (OSError, pa.ArrowException):
                    continue  # told of with the Parquet files
                rows[record_set(config, split)] = _plain_rows(table)
                path = small / shards[-1].path
                path.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(table, path)
        try:
            dataset = mlc.Dataset(small / CROISSANT)
        except Exception as error:
            yield f"is not valid: {' '.join(str(error).split())}"
            return
        for name, expected in rows.items():
            yield from _differences(dataset, name, expected)


def _differences(dataset: mlc.Dataset, name: str, expected: list[dict[str, Any]]) -> Iterator[str]:
    try:
        loaded = [plain(found, name) for found in dataset.records(name)]
    except Exception as error:
        yield f"records of {name} cannot be loaded: {' '.join(str(error).split())}"
        return
    if len(loaded) != len(expected):
        yield f"{len(loaded)} records of {name} were loaded where {len(expected)} stand in the file"
    for ours, theirs in zip(expected, loaded, strict=False):
        wrong = [column for column in {**ours, **theirs} if not _same(ours.get(column), theirs.get(column))]
        if wrong:
            yield f"a record of {name} ({next(iter(ours.values()))}) differs from its row in {', '.join(wrong)}"


def plain(value: Any, prefix: str) -> Any:
    """Bring a record as mlcroissant gives it to plain values by column name.

    Args:
        value: A record or a part of one: keys are `<prefix>/<column>`, text is bytes, lists are arrays.
        prefix: Name of the record set, later of the parent column.

    """
    if isinstance(value, dict):
        return {key.removeprefix(f"{prefix}/"): plain(inner, key) for key, inner in value.items()}
    if isinstance(value, list | np.ndarray):
        return [plain(inner, prefix) for inner in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value  # a picture, sound or video, and no text
    if isinstance(value, np.generic):
        return value.item()
    return value


def _plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows, with the bytes of media in their columns.

    Media are known by their Arrow type: the features in the file's metadata may be what is damaged.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    for name in [field.name for field in table.schema if _is_media(field.type)]:
        for row in rows:
            row[name] = row[name] and row[name]["bytes"]
    return rows


def _is_media(type_: pa.DataType) -> bool:
    return pa.types.is_struct(type_) and {field.name for field in type_} == {"bytes", "path"}


def _some_rows(path: Path) -> pa.Table:
    with pq.ParquetFile(path) as file:
        table = file.read_row_group(file.num_row_groups // 2)
    start = max(0, (table.num_rows - SAMPLED) // 2)
    # copied, since writing a slice would carry the whole cell along
    return table.slice(start, SAMPLED).combine_chunks()


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        return (
            ours == theirs or math.isclose(ours, theirs, rel_tol=1e-12) or (ours != ours and theirs != theirs)
        )
    # a list without members comes back as nothing
    return bool(ours == theirs) or (ours == [] and theirs in (None, [{}]))


@contextmanager
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
