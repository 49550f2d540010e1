"""`eccdata build`: a benchmark's configurations into one release."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eccdata import catalog
from eccdata.builder import SETTINGS_NOT_SET, Builder, BuilderConfig
from eccdata.errors import EccdataError, problem, unknown
from eccdata.progress import Progress
from eccdata.provenance import git_revision
from eccdata.release import card, croissant
from eccdata.release.description import license_text, read_description
from eccdata.release.layout import CARD, CROISSANT, LICENSE, SUMS, sha256, write_json, write_sums
from eccdata.release.manifests import write_manifests
from eccdata.release.profile import Profile
from eccdata.release.record import FORMAT, ConfigRecord, Record, Shard, read_record
from eccdata.release.staging import staged
from eccdata.release.writing import tasks, write_all


@dataclass(frozen=True)
class Release:
    """A release that was built.

    Attributes:
        path: Its folder.
        benchmark: What was built.
        rows: Rows of each split of each configuration.
        size_bytes: Bytes of all Parquet files.
        digest: SHA-256 of its SHA256SUMS: two releases are the same if this is.
        notes: What was left out, and why.

    """

    path: Path
    benchmark: str
    rows: Mapping[str, Mapping[str, int]]
    size_bytes: int
    digest: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.benchmark}, {self.size_bytes / 1e6:,.1f} MB of Parquet"]
        lines += [
            f"  {config}/{split}: {rows:,} rows"
            for config, splits in self.rows.items()
            for split, rows in splits.items()
        ]
        lines.append(f"  sha256 of {SUMS}: {self.digest}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def build(
    benchmark: str,
    *,
    out: str | Path,
    configs: Iterable[str] | None = None,
    seed: int = 0,
    num_proc: int = 1,
    settings: Mapping[str, Any] | None = None,
    data_dirs: Mapping[str, str | Path] | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Build a release: Parquet, dataset card, Croissant metadata, manifests, licence, checksums, build record.

    The bytes depend on the package, the libraries named in `build.json`, and the arguments `configs`, `seed` and
    `settings`; not on `num_proc`, the machine's clock or the folder. The folder appears whole or not at all.
    A build that is killed outright leaves `.NAME.building` and `.NAME.lock` beside the folder NAME; the next build of
    the same folder removes both, and nothing else reads them.

    Args:
        benchmark: Such as `eccbench`.
        out: The release's folder.
        configs: Which configurations; if none, all but those that read only sources which `data_dirs` does not give.
        seed: Root of all randomness, at least 0.
        num_proc: Worker processes.
        settings: Builders' settings by name, as values or text; each goes to the configurations that have it.
        data_dirs: Folders of the user's own copies, by the name of the source.
        force: Replace a release that is there; it stays until the new one is complete.
        progress: Called with cells done, cells in all, and what is being done.

    Raises:
        EccdataError: A name, a setting or the folder is not as it should be, the disk is full, or a worker was
            killed.
        KeyboardInterrupt: After Ctrl-C, saying what became of the folder.

    """
    if num_proc < 1:
        raise EccdataError(f"num_proc is {num_proc}; it must be 1 or more.")
    if seed < 0:
        raise EccdataError(f"seed is {seed}; it must be 0 or more.")
    folders = {name: str(path) for name, path in (data_dirs or {}).items()}
    classes, notes = _chosen(benchmark, configs, folders)
    given = _settings(classes, settings or {})
    for name, cls in classes.items():
        if read := {source: path for source, path in folders.items() if source in cls.sources}:
            given[name]["data_dirs"] = read
            notes += _missing_sources(name, cls, read)
    description = read_description(benchmark, classes)
    undescribed = sorted(classes.keys() - description.configs.keys())
    if undescribed:
        raise problem(f"croissant/{benchmark}.yaml says nothing of these configurations:", undescribed)
    text = license_text(benchmark)
    with (
        _interrupted(out),
        staged(Path(out), force=force, replaceable=_is_release) as folder,
        tempfile.TemporaryDirectory(prefix="eccdata-") as cache,
    ):
        builders = {
            name: cls.create(cache_dir=cache, seed=seed, **given[name]) for name, cls in classes.items()
        }
        record, profiles = _write_data(folder, benchmark, builders, given, seed, num_proc, progress)
        record.write(folder)
        (folder / LICENSE).write_text(text, encoding="utf-8")
        titles = {name: description.configs[name].summary for name in builders}
        made = write_manifests(folder, record, profiles, titles)
        features = {name: builder.features() for name, builder in builders.items()}
        write_json(folder / CROISSANT, croissant.metadata(record, description, features))
        findings = _findings(folder, record, builders)
        (folder / CARD).write_text(
            card.render(record, description, features, made, findings), encoding="utf-8"
        )
        write_sums(
            folder, {shard.path: shard.sha256 for one in record.configs.values() for shard in one.shards}
        )
        digest = sha256(folder / SUMS)
    return Release(
        path=Path(out),
        benchmark=benchmark,
        rows={name: {split: one.rows(split) for split in one.splits} for name, one in record.configs.items()},
        size_bytes=sum(one.size_bytes for one in record.configs.values()),
        digest=digest,
        notes=tuple(notes),
    )


@contextmanager
def _interrupted(out: str | Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(
            f"Interrupted: {out} is as it was, for a release is there whole or not at all. Run it again to build it."
        ) from error


def read_cells(folder: Path, shards: Iterable[Shard]) -> Iterator[pa.Table]:
    """Read row groups one at a time, in order."""
    for shard in shards:
        with pq.ParquetFile(folder / shard.path) as file:
            for index in range(file.num_row_groups):
                yield file.read_row_group(index)


def _chosen(
    benchmark: str, configs: Iterable[str] | None, data_dirs: Mapping[str, str]
) -> tuple[dict[str, type[Builder]], list[str]]:
    """The builders that are wanted, and notes on those that are not."""
    known = catalog.configs(benchmark)
    names = list(dict.fromkeys(configs)) if configs is not None else known
    for name in names:
        if name not in known:
            raise unknown(f"configuration of {benchmark}", name, known)
    if not names:
        raise EccdataError(f"{benchmark} has no configuration to build.")
    # in the catalog's order, so that the order in which they are named changes no byte
    classes = {name: catalog.builder(benchmark, name) for name in known if name in names}
    sources = {source for cls in classes.values() for source in cls.sources}
    for source in data_dirs:
        if source not in sources:
            raise unknown("source of the chosen configurations", source, sources)
    if configs is not None:
        return classes, []
    without = {
        name: cls for name, cls in classes.items() if cls.sources and not data_dirs.keys() & set(cls.sources)
    }
    notes = [
        f"{name} is left out: it reads your own copies ("
        + ", ".join(f"--data-dir {source}=PATH" for source in cls.sources)
        + ")"
        for name, cls in without.items()
    ]
    if len(without) == len(classes):
        raise problem(f"Of {benchmark} nothing can be built:", notes)
    return {name: cls for name, cls in classes.items() if name not in without}, notes


def _missing_sources(config: str, cls: type[Builder], given: Mapping[str, str]) -> list[str]:
    """Notes on the sources of a configuration that were not given."""
    return [
        f"{config} was built without {source}, of which no copy was given (--data-dir {source}=PATH)"
        for source in cls.sources
        if source not in given
    ]


def _settings(classes: Mapping[str, type[Builder]], given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Deal the settings out to the configurations that have them; one that none has is a mistake."""
    settable = {
        name: [f.name for f in dataclasses.fields(cls.BUILDER_CONFIG_CLASS) if f.name not in _KEPT]
        for name, cls in classes.items()
    }
    lost = [name for name in given if not any(name in names for names in settable.values())]
    if lost:
        there = [f"{config}: {', '.join(names) or 'nothing'}" for config, names in settable.items()]
        raise problem(
            f"No chosen configuration has {'this setting' if len(lost) == 1 else 'these settings'}:",
            lost,
            "\n".join(["They can set:", *(f"  {line}" for line in there)]),
        )
    return {name: {key: value for key, value in given.items() if key in settable[name]} for name in classes}


_KEPT = SETTINGS_NOT_SET | {f.name for f in dataclasses.fields(BuilderConfig)}
"""Fields that are no settings: those of `datasets`, and the seed, which has an argument of its own."""


def _write_data(
    folder: Path,
    benchmark: str,
    builders: Mapping[str, Builder],
    given: Mapping[str, Mapping[str, Any]],
    seed: int,
    num_proc: int,
    progress: Progress | None,
) -> tuple[Record, dict[str, tuple[Profile, ...]]]:
    todo = [task for builder in builders.values() for task in tasks(builder)]
    total = sum(len(task.cells) for task in todo)
    finished = 0

    def done(cells: int) -> None:
        nonlocal finished
        finished += cells
        if progress is not None:
            progress(finished, total, "Building cells")

    profiles: dict[str, tuple[Profile, ...]] = {}
    splits: dict[str, dict[str, list[Shard]]] = {}
    for written in write_all(todo, folder, num_proc=num_proc, done=done):
        profiles[written.shard.path] = written.profiles
        splits.setdefault(written.task.config, {}).setdefault(written.task.split, []).append(written.shard)
    record = Record(
        format=FORMAT,
        benchmark=benchmark,
        seed=seed,
        given={
            key: builders[name].settings[key]
            for name, settings in given.items()
            for key in settings
            if key in builders[name].settings  # those that are local to a machine are not
        },
        eccdata=version("eccdata"),
        revision=git_revision(),
        libraries={name: version(name) for name in ("datasets", "mlcroissant", "numpy", "pyarrow")},
        configs={
            name: ConfigRecord(
                version=str(builder.VERSION),
                settings=builder.settings,
                splits={split: tuple(shards) for split, shards in splits[name].items()},
                sources=builder.source_digests(),
            )
            for name, builder in builders.items()
        },
    )
    return record, profiles


def _findings(folder: Path, record: Record, builders: Mapping[str, Builder]) -> dict[str, str]:
    def reader(made: ConfigRecord) -> Callable[[str], Iterator[pa.Table]]:
        return lambda split: read_cells(folder, made.splits[split])

    return {name: builder.findings(reader(record.configs[name])) for name, builder in builders.items()}


def _is_release(folder: Path) -> bool:
    try:
        read_record(folder)
    except EccdataError:
        return False
    return True
