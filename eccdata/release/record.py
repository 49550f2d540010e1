"""The build record, `build.json`: what a release was made from and what it consists of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from eccdata import catalog
from eccdata.builder import Builder
from eccdata.errors import EccdataError, problem
from eccdata.release.layout import CARD, RECORD, SUMS, write_json

FORMAT = 1
"""Raised whenever the layout of a release changes so that an older `verify` could not read it."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RowGroup(_Model):
    """One cell as it stands in a Parquet file."""

    key: dict[str, str | int]
    start: int
    stop: int
    rows: int


class Shard(_Model):
    """One Parquet file."""

    path: str
    sha256: str
    size_bytes: int
    row_groups: tuple[RowGroup, ...]

    @property
    def rows(self) -> int:
        """Rows in the file."""
        return sum(group.rows for group in self.row_groups)


class ConfigRecord(_Model):
    """One configuration: its builder's version, all its settings, and the files of each split."""

    version: str
    settings: dict[str, Any]
    splits: dict[str, tuple[Shard, ...]]
    sources: dict[str, str] = {}
    """Digest of what was read of each of the user's own copies."""

    @property
    def shards(self) -> Iterator[Shard]:
        """The files of all splits."""
        for shards in self.splits.values():
            yield from shards

    @property
    def digest(self) -> str:
        """Digest of the configuration's rows: SHA-256 over the names and digests of its files."""
        lines = "".join(f"{shard.sha256}  {shard.path}\n" for shard in self.shards)
        return hashlib.sha256(lines.encode()).hexdigest()

    def rows(self, split: str) -> int:
        """Rows of a split."""
        return sum(shard.rows for shard in self.splits[split])

    @property
    def size_bytes(self) -> int:
        """Bytes of all files."""
        return sum(shard.size_bytes for shard in self.shards)


class Record(_Model):
    """All that is needed to build the release again, and to know whether one got the same.

    Attributes:
        format: Version of this layout.
        benchmark: The benchmark's name.
        seed: Root of all randomness.
        given: The settings that were asked for; the rest are the builders' defaults.
        eccdata: Version of the package.
        revision: Git revision of the package, where it ran from a checkout.
        libraries: Versions of what decides about bytes.
        configs: The configurations by name.

    """

    format: int
    benchmark: str
    seed: int
    given: dict[str, Any]
    eccdata: str
    revision: str | None
    libraries: dict[str, str]
    configs: dict[str, ConfigRecord]

    def write(self, folder: Path) -> None:
        """Write `build.json`."""
        write_json(folder / RECORD, self.model_dump(mode="json"))

    def builder(
        self, config: str, cache_dir: str, data_dirs: Mapping[str, str | Path] | None = None
    ) -> Builder:
        """Make the installed builder of a configuration, with the release's settings.

        Args:
            config: The configuration.
            cache_dir: See `Builder.create`.
            data_dirs: Folders of the user's own copies by source; those that it does not read are left out.

        """
        cls = catalog.builder(self.benchmark, config)
        folders = {name: str(path) for name, path in (data_dirs or {}).items() if name in cls.sources}
        local = {"data_dirs": folders} if folders else {}
        return cls.create(cache_dir=cache_dir, **self.configs[config].settings, **local)

    @property
    def rebuild(self) -> str:
        """The command that builds the same release."""
        parts = [f"eccdata build {self.benchmark}", *(f"--config {name}" for name in self.configs)]
        if self.seed:
            parts.append(f"--seed {self.seed}")
        parts += [f"--set {name}={_plain(value)}" for name, value in self.given.items()]
        sources = dict.fromkeys(name for made in self.configs.values() for name in made.sources)
        parts += [f"--data-dir {name}=PATH" for name in sources]
        return " ".join([*parts, "--out DIR"])


def read_record(folder: Path) -> Record:
    """Read the record of a release.

    Raises:
        EccdataError: The folder is missing, is no release of this package, or its record cannot be read.

    """
    if not folder.is_dir():
        raise EccdataError(f"There is no folder {folder}.")
    missing = [name for name in (RECORD, SUMS, CARD) if not (folder / name).is_file()]
    if missing:
        raise problem(
            f"{folder} is no release made by `eccdata build`: it lacks",
            missing,
            "Give the release's own folder.",
        )
    try:
        return Record.model_validate_json((folder / RECORD).read_bytes())
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, e['loc'])) or 'the file'}: {e['msg']}" for e in error.errors()]
        raise problem(f"{folder / RECORD} is no build record of this version of eccdata:", wrong) from error


def _plain(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
