"""`questions_dataset.json`, the index of a release, and one `manifest.json` a bucket (eccbench.txt, A.4).

A bucket is all rows of one split that share a cell's key, such as length and band. The paper names the two files
and not their content; here a bucket's manifest says which rows it has, where they stand (file, row group, rows)
and what they hold, so that a reader can take one bucket without opening the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from eccdata.release.layout import INDEX, MANIFESTS, write_json
from eccdata.release.profile import Profile
from eccdata.release.record import ConfigRecord, Record, Shard

IDS_LISTED = 10_000
"""A bucket of more rows gives its first and last id alone: an index must stay small beside its data."""


@dataclass
class Bucket:
    """All rows of a split that share a key.

    Attributes:
        config: Its configuration.
        split: Its split.
        key: What its rows share.
        places: The row groups that hold it: file, row group, first row in the file, rows.
        profile: What its rows hold.

    """

    config: str
    split: str
    key: Mapping[str, str | int]
    places: list[tuple[Shard, int, int, int]] = field(default_factory=list)
    profile: Profile = field(default_factory=Profile)

    @property
    def name(self) -> str:
        """Such as `length-512_band-low`; `all` where the key is empty."""
        return "_".join(f"{name}-{value}" for name, value in self.key.items()) or "all"

    @property
    def path(self) -> str:
        """Path of its manifest."""
        return f"{MANIFESTS}/{self.config}/{self.split}/{self.name}/manifest.json"

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(rows for *_, rows in self.places)


def buckets(
    config: str, made: ConfigRecord, profiles: Mapping[str, Sequence[Profile]] | None = None
) -> Iterator[Bucket]:
    """Gather the row groups of a configuration into buckets, in the order of their first rows.

    Args:
        config: Its name.
        made: What it consists of.
        profiles: Profiles of the row groups of each file, by path, where known.

    """
    for split, shards in made.splits.items():
        found: dict[tuple[tuple[str, str | int], ...], Bucket] = {}
        for shard in shards:
            first = 0
            for index, group in enumerate(shard.row_groups):
                bucket = found.setdefault(tuple(group.key.items()), Bucket(config, split, group.key))
                bucket.places.append((shard, index, first, group.rows))
                if profiles is not None:
                    bucket.profile.add(profiles[shard.path][index])
                first += group.rows
        yield from found.values()


def write_manifests(
    folder: Path, record: Record, profiles: Mapping[str, Sequence[Profile]], titles: Mapping[str, str]
) -> list[Bucket]:
    """Write the index and all manifests.

    Args:
        folder: The release.
        record: What it consists of.
        profiles: Profiles of the row groups of each file, by path.
        titles: One sentence on each configuration.

    Returns:
        The buckets, in the order of the index.

    """
    everything = []
    index: dict[str, Any] = {"benchmark": record.benchmark, "seed": record.seed, "configs": {}}
    for config, made in record.configs.items():
        entries = []
        for bucket in buckets(config, made, profiles):
            everything.append(bucket)
            write_json(folder / bucket.path, manifest(folder, made, bucket))
            entries.append(index_entry(bucket))
        index["configs"][config] = {
            "description": titles[config],
            "version": made.version,
            "digest": f"sha256-{made.digest}",
            "rows": {split: made.rows(split) for split in made.splits},
            "buckets": entries,
        }
    write_json(folder / INDEX, index)
    return everything


def index_entry(bucket: Bucket) -> dict[str, Any]:
    """What the index says of one bucket."""
    return {
        "split": bucket.split,
        "bucket": bucket.name,
        **bucket.key,
        "rows": bucket.rows,
        "counts": bucket.profile.as_dict()["counts"],
        "manifest": bucket.path,
    }


def manifest(folder: Path, made: ConfigRecord, bucket: Bucket) -> dict[str, Any]:
    """Say of one bucket where its rows stand, which they are and what they hold."""
    return {
        "config": bucket.config,
        "split": bucket.split,
        "bucket": bucket.name,
        "key": dict(bucket.key),
        "version": made.version,
        "rows": bucket.rows,
        **bucket.profile.as_dict(),
        "row_groups": [
            {"file": shard.path, "sha256": shard.sha256, "row_group": index, "first_row": first, "rows": rows}
            for shard, index, first, rows in bucket.places
        ],
        "ids": _ids(folder, bucket),
    }


def _ids(folder: Path, bucket: Bucket) -> dict[str, Any]:
    """The ids, which stand in the first column; of a large bucket the first and the last."""
    if bucket.rows <= IDS_LISTED:
        found = [value for place in bucket.places for value in _id_column(folder, place[0], place[1])]
        return {"listed": True, "all": found}
    first, last = bucket.places[0], bucket.places[-1]
    return {
        "listed": False,
        "first": _id_column(folder, first[0], first[1])[0],
        "last": _id_column(folder, last[0], last[1])[-1],
    }


def _id_column(folder: Path, shard: Shard, index: int) -> list[Any]:
    with pq.ParquetFile(folder / shard.path) as file:
        name = file.schema_arrow.names[0]
        return file.read_row_group(index, columns=[name]).column(0).to_pylist()  # type: ignore[no-any-return]
