"""What a release says of its Parquet files, held against them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from eccdata.builder import Builder
from eccdata.release.layout import CARD, INDEX, shard_pattern
from eccdata.release.manifests import buckets, index_entry, manifest
from eccdata.release.profile import Profile
from eccdata.release.record import ConfigRecord, Record


def parquet_problems(
    folder: Path, config: str, made: ConfigRecord, builder: Builder | None
) -> tuple[bool, list[str]]:
    """Check files, row groups, rows and columns of one configuration against the build record.

    Returns:
        Whether some file cannot be read, and the problems.

    """
    problems = []
    unreadable = False
    schema = builder.features().arrow_schema if builder is not None else None
    for shard in made.shards:
        try:
            with pq.ParquetFile(folder / shard.path) as file:
                meta = file.metadata
                rows = [meta.row_group(index).num_rows for index in range(meta.num_row_groups)]
                theirs = file.schema_arrow
        except (OSError, pa.ArrowException) as error:
            unreadable = True
            problems.append(f"{shard.path}: cannot be read as Parquet: {_first_line(error)}")
            continue
        expected = [group.rows for group in shard.row_groups]
        if rows != expected:
            problems.append(
                f"{shard.path}: row groups of {_some(rows)} rows, build.json says {_some(expected)}"
            )
            unreadable = True
        schema = theirs if schema is None else schema
        if not theirs.equals(schema):
            problems.append(f"{shard.path}: columns are not those of {config}: {_difference(theirs, schema)}")
            unreadable = True
    return unreadable, problems


def card_problems(folder: Path, record: Record) -> list[str]:
    """Check the card's YAML, by which `load_dataset` reads a release, against the build record and the files."""
    try:
        front = yaml.safe_load((folder / CARD).read_text(encoding="utf-8").split("---\n")[1])
        entries = {entry["config_name"]: entry for entry in front["configs"]}
        infos = {entry["config_name"]: entry for entry in front["dataset_info"]}
    except (OSError, UnicodeDecodeError, IndexError, KeyError, TypeError, yaml.YAMLError) as error:
        return [f"{CARD}: its YAML cannot be read ({type(error).__name__}: {_first_line(error)})"]
    problems = []
    for name in dict.fromkeys([*record.configs, *entries, *infos]):
        if name not in record.configs:
            problems.append(f"{CARD}: tells of a configuration {name} that the release does not have")
            continue
        made = record.configs[name]
        expected = {
            "version": made.version,
            "description": f"sha256-{made.digest}",
            "data_files": [{"split": split, "path": shard_pattern(name, split)} for split in made.splits],
        }
        there = entries.get(name, {})
        problems += [
            f"{CARD}: configs/{name}/{key} is {there.get(key)!r}, the files say {value!r}"
            for key, value in expected.items()
            if there.get(key) != value
        ]
        problems += _feature_problems(folder, name, made, infos.get(name, {}))
    return problems


def manifest_problems(folder: Path, record: Record, profiles: Mapping[str, Sequence[Profile]]) -> list[str]:
    """Check the index and every manifest against the files.

    Args:
        folder: The release.
        record: What it consists of.
        profiles: Profiles of the row groups of each file that was looked into whole, by path.

    """
    index, problems = _json(folder, INDEX)
    if index is None:
        return problems
    listed = index.get("configs", {})
    problems += [f"{INDEX}: has no configuration {name}" for name in record.configs if name not in listed]
    for config, made in record.configs.items():
        if not all((folder / shard.path).is_file() for shard in made.shards):
            continue
        whole = profiles if all(shard.path in profiles for shard in made.shards) else None
        entries = {entry.get("manifest"): entry for entry in listed.get(config, {}).get("buckets", [])}
        for bucket in buckets(config, made, whole):
            skipped = set() if whole is not None else {"counts", "statistics"}
            there, unread = _json(folder, bucket.path)
            problems += unread
            try:
                expected = manifest(folder, made, bucket)
            except (OSError, pa.ArrowException):
                continue  # told of with the Parquet files
            pairs = [(INDEX, entries.get(bucket.path), index_entry(bucket))]
            pairs += [(bucket.path, there, expected)] if there is not None else []
            for name, said, true in pairs:
                if said is None:
                    problems.append(f"{name}: does not list the bucket {bucket.path}")
                    continue
                wrong = [k for k in {**true, **said} if k not in skipped and said.get(k) != true.get(k)]
                if wrong:
                    at = f" of {config}/{bucket.split}/{bucket.name}" if name == INDEX else ""
                    problems.append(f"{name}: {', '.join(wrong)}{at} not as in the Parquet files")
    return problems


def _feature_problems(folder: Path, config: str, made: ConfigRecord, info: Mapping[str, Any]) -> list[str]:
    try:
        said = datasets.Features._from_yaml_list(info["features"])
        shard = next(made.shards)
        with pq.ParquetFile(folder / shard.path) as file:
            there = datasets.Features.from_arrow_schema(file.schema_arrow)
    except (KeyError, TypeError, ValueError) as error:
        return [f"{CARD}: dataset_info/{config}/features cannot be read ({_first_line(error)})"]
    except (OSError, pa.ArrowException):
        return []  # told of with the Parquet files
    wrong = [name for name in {**said, **there} if said.get(name) != there.get(name)]
    return (
        [f"{CARD}: dataset_info/{config} describes {', '.join(wrong)} otherwise than the files"]
        if wrong
        else []
    )


def _json(folder: Path, name: str) -> tuple[dict[str, Any] | None, list[str]]:
    try:
        value = json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, [f"{name}: missing"]
    except (OSError, ValueError) as error:
        return None, [f"{name}: cannot be read: {_first_line(error)}"]
    if not isinstance(value, dict):
        return None, [f"{name}: is no JSON object"]
    return value, []


def _difference(theirs: pa.Schema, ours: pa.Schema) -> str:
    there, expected = ({f.name: str(f.type) for f in schema} for schema in (theirs, ours))
    wrong = [
        f"{name} is {there.get(name, 'missing')} for {expected.get(name, 'nothing')}"
        for name in {**expected, **there}
        if there.get(name) != expected.get(name)
    ]
    return ", ".join(wrong) or "their order differs"


def _some(rows: Sequence[int]) -> str:
    return f"{', '.join(map(str, rows[:5]))}{', …' if len(rows) > 5 else ''} ({len(rows)} groups)"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
