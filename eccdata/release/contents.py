"""What the rows of a configuration say, worked out again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import datasets
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from eccdata.builder import Builder, Cell
from eccdata.errors import SHOWN, EccdataError
from eccdata.progress import Progress
from eccdata.release.profile import Profile, profile
from eccdata.release.record import ConfigRecord, RowGroup, Shard

Group = tuple[Shard, int, RowGroup]


@dataclass
class Contents:
    """What was found in the rows of a configuration.

    Attributes:
        problems: One sentence each.
        rows: How many rows were looked into.
        profiles: Profiles of the row groups of every file that was looked into whole, by path.

    """

    problems: list[str] = field(default_factory=list)
    rows: int = 0
    profiles: dict[str, list[Profile]] = field(default_factory=dict)


def content_problems(
    folder: Path, config: str, made: ConfigRecord, builder: Builder | None, sample: int | None, tell: Progress
) -> Contents:
    """Look into the rows of one configuration.

    Args:
        folder: The release.
        config: The configuration.
        made: What it consists of.
        builder: Its builder, with the release's settings; without it the rows' own claims stay unchecked.
        sample: How many rows of a split are looked into; None for all.
        tell: Where progress is told.

    """
    found = Contents()
    todo = [group for split in made.splits for group in _chosen(made, split, sample)]
    again = _made_again(made, builder)
    whole = {shard.path for shard in made.shards} - _left_out(made, todo)
    for done, (shard, index, group) in enumerate(todo, 1):
        try:
            with pq.ParquetFile(folder / shard.path) as file:
                table = file.read_row_group(index)
                features = datasets.Features.from_arrow_schema(file.schema_arrow)
        except (OSError, pa.ArrowException) as error:
            found.problems.append(f"{shard.path}: row group {index} cannot be read: {error}")
            whole.discard(shard.path)
            continue
        found.rows += table.num_rows
        found.profiles.setdefault(shard.path, []).append(profile(table, features))
        found.problems += [
            f"{shard.path}: row group {index}: {wrong}" for wrong in _key_problems(table, group)
        ]
        if builder is not None:
            found.problems += [f"{config}: {wrong}" for wrong in builder.check(table)]
            if (split := again.get((shard.path, index))) is not None:
                cell = Cell(split, group.key, group.start, group.stop)
                found.problems += [
                    f"{shard.path}: row group {index} {wrong}"
                    for wrong in _again_problems(builder, cell, table)
                ]
        tell(done, len(todo), f"Looking into {config}")
    found.profiles = {path: profiles for path, profiles in found.profiles.items() if path in whole}
    found.problems += _id_problems(folder, config, made)
    return found


def _groups(made: ConfigRecord, split: str) -> list[Group]:
    return [
        (shard, index, group) for shard in made.splits[split] for index, group in enumerate(shard.row_groups)
    ]


def _chosen(made: ConfigRecord, split: str, sample: int | None) -> list[Group]:
    """Whole cells, evenly over the split, until they have `sample` rows together."""
    groups = _groups(made, split)
    rows = made.rows(split)
    if sample is None or rows <= sample:
        return groups
    count = max(1, round(len(groups) * sample / rows))
    return [groups[at] for at in np.linspace(0, len(groups) - 1, count).round().astype(int)]


def _left_out(made: ConfigRecord, todo: list[Group]) -> set[str]:
    """Files of which not every row group is looked into."""
    looked = {(shard.path, index) for shard, index, _ in todo}
    return {
        shard.path
        for shard in made.shards
        if any((shard.path, index) not in looked for index in range(len(shard.row_groups)))
    }


def _made_again(made: ConfigRecord, builder: Builder | None) -> dict[tuple[str, int], str]:
    """One cell of each split, by file and row group: the one with the fewest bytes, since it costs time."""
    if builder is None or str(builder.VERSION) != made.version or builder.unrepeatable():
        return {}
    if builder.source_digests() != made.sources:
        return {}
    found = {}
    for split in made.splits:
        shard, index, _ = min(_groups(made, split), key=lambda place: place[2].rows)
        found[shard.path, index] = split
    return found


def _again_problems(builder: Builder, cell: Cell, table: pa.Table) -> Iterator[str]:
    try:
        if not builder.table(cell).equals(table):
            yield "is not what its builder makes of the same seed and settings"
    except EccdataError as error:
        yield f"cannot be made again: {error}"


def _key_problems(table: pa.Table, group: RowGroup) -> Iterator[str]:
    for name, value in group.key.items():
        if name in table.column_names:
            others = pc.unique(table.column(name)).to_pylist()
            if others != [value]:
                yield f"build.json says that {name} is {value}, the rows say {others[:SHOWN]}"


def _id_problems(folder: Path, config: str, made: ConfigRecord) -> Iterator[str]:
    """Find ids that stand twice, over 64-bit hashes; only what collides is then looked at by name."""
    parts = [_hashes(ids) for ids in _ids(folder, made)]
    if not parts:
        return
    values, counts = np.unique(np.concatenate(parts), return_counts=True)
    twice = values[counts > 1]
    if not len(twice):
        return
    seen: dict[str, int] = {}
    for ids in _ids(folder, made):
        for name in ids.filter(pl.Series(np.isin(_hashes(ids), twice))):
            seen[name] = seen.get(name, 0) + 1
    repeated = [name for name, count in seen.items() if count > 1]
    if repeated:
        shown = ", ".join(map(repr, repeated[:SHOWN])) + (", …" if len(repeated) > SHOWN else "")
        yield f"{config}: {len(repeated)} ids stand more than once: {shown}"


def _ids(folder: Path, made: ConfigRecord) -> Iterator[pl.Series]:
    for shard in made.shards:
        with pq.ParquetFile(folder / shard.path) as file:
            name = file.schema_arrow.names[0]
            for index in range(file.num_row_groups):
                yield pl.Series(name, file.read_row_group(index, columns=[name]).column(0))


def _hashes(ids: pl.Series) -> NDArray[np.uint64]:
    return ids.hash(seed=0).to_numpy()
