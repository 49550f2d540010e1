"""The base of every builder: a dataset is a list of cells, a cell becomes one Arrow table.

A cell is the smallest piece that is made at once and the unit of everything that follows: one row group of a
Parquet file, one step of a parallel build, one entry that a filter can skip. A table depends on the builder's
version, its config and the cell alone, so the rows are the same whatever the order, the shards or the workers.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from eccdata.settings import fit, misfit


@dataclass(frozen=True, slots=True)
class Cell:
    """A batch of rows that are made together.

    Attributes:
        split: The split it belongs to.
        key: What it holds, such as `{"length": 512, "band": "low"}`; part of its rows' random seed.
        start: Index of its first unit (a stream, a sequence) among those of the same key.
        stop: Index after its last.

    """

    split: str
    key: Mapping[str, str | int]
    start: int
    stop: int


LOCAL = {"local": True}
"""Metadata of a setting that says how and where this machine works, and nothing of what the rows are.

A folder, a device, a batch size: it can be set like any other, and is written into no release.
"""


@dataclass
class BuilderConfig(datasets.BuilderConfig):
    """Settings that every builder has; a builder's own config adds its fields, whose defaults are the paper's.

    Fields with the metadata `LOCAL` are no part of what a dataset is.

    Attributes:
        seed: Root of all randomness.

    """

    seed: int = 0

    def problems(self) -> list[str]:
        """What is wrong with the settings, a sentence each, the setting's name first; subclasses add theirs."""
        return [f"seed={self.seed}: must be 0 or more"] if self.seed < 0 else []

    def fingerprint(self) -> str:
        """Digest of all that rows depend on besides version and settings, such as a user's files. By default none."""
        return ""

    def create_config_id(self, config_kwargs: dict[str, Any], custom_features: Any = None) -> str:
        """Name the folder in the cache of `datasets`: local settings are left out, the fingerprint is taken in."""
        elsewhere = {f.name for f in fields(self) if f.metadata.get("local")}
        kept = {name: value for name, value in config_kwargs.items() if name not in elsewhere}
        if self.fingerprint():
            kept["fingerprint"] = self.fingerprint()
        return super().create_config_id(kept, custom_features)  # type: ignore[no-any-return]


SETTINGS_NOT_SET = frozenset(f.name for f in fields(datasets.BuilderConfig))
"""Fields that `datasets` itself keeps in a config; the rest are settings (`--set name=value`)."""


class Builder(datasets.ArrowBasedBuilder, ABC):
    """A `datasets` builder made of cells. Subclasses name their benchmark and write `features`, `cells`, `table`.

    Class attributes:
        benchmark: The benchmark's name, such as `eccbench`.
        configuration: The configuration's name, such as `text`.
        VERSION: Raised whenever the same settings give other rows.
        BUILDER_CONFIG_CLASS: A subclass of `BuilderConfig`.
        cells_per_shard: How many cells one Parquet file of a release holds.
        sources: Names of what it reads from the user's own copies (`--data-dir name=PATH`); most read nothing.
    """

    benchmark: ClassVar[str]
    configuration: ClassVar[str]
    VERSION: ClassVar[datasets.Version]
    BUILDER_CONFIG_CLASS: ClassVar[type[BuilderConfig]]
    cells_per_shard: ClassVar[int] = 64
    sources: ClassVar[tuple[str, ...]] = ()

    config: BuilderConfig

    @classmethod
    @abstractmethod
    def features(cls) -> datasets.Features:
        """The columns of a row."""

    @abstractmethod
    def cells(self) -> list[Cell]:
        """All cells of all splits, in the order of the dataset's rows."""

    @abstractmethod
    def table(self, cell: Cell) -> pa.Table:
        """The rows of one cell, with exactly the schema of `features().arrow_schema`."""

    def check(self, table: pa.Table) -> list[str]:  # noqa: ARG002
        """Re-derive what the rows of one cell claim: one sentence a problem, naming the row. By default nothing.

        `eccdata verify` calls it on the cells of a release, with a builder of the release's settings.
        """
        return []

    def findings(self, read: Callable[[str], Iterator[pa.Table]]) -> str:  # noqa: ARG002
        """What was measured on the rows just built, as Markdown for the dataset card. By default nothing.

        Args:
            read: Gives the cells of a split, one table at a time, in order.

        """
        return ""

    def source_digests(self) -> dict[str, str]:
        """Digest of what was read of each source, by its name; a release records it. By default nothing is read."""
        return {}

    def unrepeatable(self) -> str:
        """Why `eccdata verify` does not make a cell again, as a sentence; empty where it does.

        A builder that reads a user's own copies can check rows without them, and not make them.
        """
        return ""

    @classmethod
    def create(cls, *, cache_dir: str | None = None, **settings: Any) -> Builder:
        """Make a builder with the given settings, as values or as text.

        Args:
            cache_dir: Where `datasets` keeps what it prepares; its own place by default.
            settings: Fields of the config (`lengths=(512,)` or `lengths="512"`).

        Raises:
            EccdataError: Naming each setting that does not exist, does not fit or makes no sense, at once.

        """
        names = [f.name for f in fields(cls.BUILDER_CONFIG_CLASS) if f.name not in SETTINGS_NOT_SET]
        fitting, wrong = fit(cls.BUILDER_CONFIG_CLASS, settings, names=names)
        wrong += cls.BUILDER_CONFIG_CLASS(name=cls.configuration, **fitting).problems()
        if wrong:
            raise misfit(cls.BUILDER_CONFIG_CLASS, wrong, names=names)
        return cls(
            cache_dir=cache_dir,
            dataset_name=f"{cls.benchmark}-{cls.configuration}",
            config_name=cls.configuration,
            version=cls.VERSION,
            **fitting,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The config's settings by name, without those that are local to a machine."""
        return {
            f.name: getattr(self.config, f.name)
            for f in fields(self.config)
            if f.name not in SETTINGS_NOT_SET and not f.metadata.get("local")
        }

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=self.features(), version=self.VERSION)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:  # noqa: ARG002
        splits: dict[str, list[Cell]] = {}
        for cell in self.cells():
            splits.setdefault(cell.split, []).append(cell)
        return [
            # a list argument is what `datasets` deals out among num_proc workers
            datasets.SplitGenerator(name=split, gen_kwargs={"cells": cells})
            for split, cells in splits.items()
        ]

    def _download_and_prepare(self, dl_manager: Any, verification_mode: Any, **kwargs: Any) -> None:
        # A build killed outright leaves shards in `datasets`' working folder, and the next one would take them in.
        # The lock is held here, so they are nobody else's.
        working = Path(self._output_dir)
        if working.suffix == ".incomplete" and working.is_dir():
            for left in working.iterdir():
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        super()._download_and_prepare(dl_manager, verification_mode, **kwargs)

    def _generate_tables(self, cells: list[Cell]) -> Iterator[tuple[Any, pa.Table]]:
        for index, cell in enumerate(cells):
            yield index, self.table(cell)
