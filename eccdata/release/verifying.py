"""`eccdata verify`: everything that can be checked of a release, all problems told together."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eccdata import catalog
from eccdata.builder import Builder
from eccdata.errors import SHOWN, EccdataError
from eccdata.progress import Progress, silent
from eccdata.release.consistency import card_problems, manifest_problems, parquet_problems
from eccdata.release.contents import content_problems
from eccdata.release.croissant_check import croissant_problems
from eccdata.release.layout import RECORD, SUMS, files, links, read_sums, sha256
from eccdata.release.profile import Profile
from eccdata.release.record import Record, read_record

SAMPLE = 10_000
"""Rows of a split that are looked into; a split that has no more is looked into whole."""


@dataclass(frozen=True)
class Verification:
    """What `verify` found.

    Attributes:
        path: The release's folder.
        benchmark: What it holds; empty where its record cannot be read.
        problems: One sentence each, naming the file or row; empty if all is well.
        notes: What was not checked, and why.
        files: How many files were summed.
        rows: How many rows the release has.
        rows_checked: How many of them were looked into.

    """

    path: Path
    benchmark: str
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    files: int
    rows: int
    rows_checked: int

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def __str__(self) -> str:
        seen = f"{self.files} files, {self.rows_checked:,} of {self.rows:,} rows looked into"
        lines = [
            f"{self.path}: {'no problem found' if self.ok else f'{len(self.problems)} problems'} ({seen})"
        ]
        lines += [f"  - {found}" for found in self.problems[:SHOWN]]
        if len(self.problems) > SHOWN:
            lines.append(f"  … and {len(self.problems) - SHOWN} more ({len(self.problems)} in all)")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def verify(
    path: str | Path,
    *,
    sample: int | None = SAMPLE,
    data_dirs: Mapping[str, str | Path] | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Check a release: checksums, Parquet, card, manifests, Croissant, and what the rows themselves claim.

    - Every file is there, is the one that SHA256SUMS names, and there is no other. None is a link, whose bytes lie
      elsewhere and change without the release.
    - Parquet files have the columns, row groups and rows that `build.json`, the card and `croissant.json` say.
    - Manifests say of every bucket what its rows are; ids are unique in a configuration.
    - `croissant.json` is valid, has its Responsible-AI fields, and records loaded through it are the rows.
    - The builder's own `check` finds nothing in the rows, and a cell of every split that is made again is the same.

    Memory stays bounded by the largest cell, apart from 8 bytes a row for the ids.

    Args:
        path: The release's folder.
        sample: How many rows of a split are looked into, taken as whole cells evenly over it; None for all.
        data_dirs: Folders of the user's own copies, by the name of the source: what was made from them is made again
            only where they are given.
        progress: Called with steps done, steps in all, and what is being done.

    Raises:
        EccdataError: The folder is missing or is no release of this package.

    """
    folder = Path(path)
    tell = progress or silent
    if not folder.is_dir() or not (folder / RECORD).is_file() or not (folder / SUMS).is_file():
        read_record(folder)  # says what is missing
    problems, summed = _sums(folder, tell)
    try:
        record = read_record(folder)
    except EccdataError as error:
        return Verification(folder, "", (*problems, str(error)), (), summed, 0, 0)
    found, notes, checked = _inside(folder, record, sample, data_dirs or {}, tell)
    rows = sum(made.rows(split) for made in record.configs.values() for split in made.splits)
    return Verification(
        path=folder,
        benchmark=record.benchmark,
        problems=(*problems, *found),
        notes=tuple(notes),
        files=summed,
        rows=rows,
        rows_checked=checked,
    )


def _sums(folder: Path, tell: Progress) -> tuple[list[str], int]:
    problems = [
        f"{name}: a link to {(folder / name).readlink()}, whose bytes are no part of the release: put the file "
        "itself here (from the Hub: hf download --local-dir)"
        for name in links(folder)
    ]
    try:
        sums = read_sums(folder)
    except EccdataError as error:
        return [*problems, str(error)], 0
    there = [name for name in files(folder) if name != SUMS]
    problems += [f"{name}: named by {SUMS}, but missing" for name in sums if name not in set(there)]
    problems += [
        f"{name}: no file of this release ({SUMS} does not name it)" for name in there if name not in sums
    ]
    known = [name for name in there if name in sums]
    for done, name in enumerate(known, 1):
        try:
            same = sha256(folder / name) == sums[name]
        except OSError as error:
            problems.append(f"{name}: cannot be read: {error}")
        else:
            if not same:
                problems.append(f"{name}: changed (its SHA-256 is not the one in {SUMS})")
        tell(done, len(known), "Summing files")
    return problems, len(known)


def _inside(
    folder: Path,
    record: Record,
    sample: int | None,
    data_dirs: Mapping[str, str | Path],
    tell: Progress,
) -> tuple[list[str], list[str], int]:
    problems: list[str] = []
    notes: list[str] = []
    checked = 0
    profiles: dict[str, list[Profile]] = {}
    with tempfile.TemporaryDirectory(prefix="eccdata-") as cache:
        for config, made in record.configs.items():
            builder = _builder(record, config, cache, data_dirs, problems, notes)
            unreadable, broken = parquet_problems(folder, config, made, builder)
            problems += broken
            if unreadable:
                notes.append(
                    f"{config}: rows not looked into, since not all of its Parquet files can be read"
                )
                continue
            found = content_problems(folder, config, made, builder, sample, tell)
            problems += found.problems
            checked += found.rows
            profiles |= found.profiles
    problems += card_problems(folder, record)
    problems += manifest_problems(folder, record, profiles)
    tell(0, 1, "Loading through Croissant")
    problems += croissant_problems(folder, record)
    tell(1, 1, "Loading through Croissant")
    return problems, notes, checked


def _builder(
    record: Record,
    config: str,
    cache: str,
    data_dirs: Mapping[str, str | Path],
    problems: list[str],
    notes: list[str],
) -> Builder | None:
    """The installed builder, or None where the rows' own claims cannot be checked."""
    known = catalog.benchmarks()
    if record.benchmark not in known or config not in catalog.configs(record.benchmark):
        problems.append(
            f"{config}: no installed package builds {record.benchmark}/{config}: its rows are unchecked"
        )
        return None
    try:
        builder = record.builder(config, cache, data_dirs)
    except EccdataError as error:
        problems.append(f"{config}: {error}")
        return None
    if str(builder.VERSION) != record.configs[config].version:
        notes.append(
            f"{config}: made by version {record.configs[config].version} of its builder, {builder.VERSION} is "
            "installed: no cell was made again"
        )
    elif reason := builder.unrepeatable():
        notes.append(f"{config}: no cell was made again: {reason}")
    elif builder.source_digests() != record.configs[config].sources:
        problems.append(f"{config}: made from other sources than those in the folders that were given")
    return builder
