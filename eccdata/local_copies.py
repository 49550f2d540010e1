"""Sources that may not be handed on: what they are, where they are to be had, and where the user's own copies lie."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eccdata.builder import LOCAL, BuilderConfig
from eccdata.errors import EccdataError, problem


@dataclass(frozen=True, slots=True)
class Source:
    """A collection that rows refer to and that everybody has to get from its owners.

    Attributes:
        name: What `--data-dir NAME=PATH` calls it.
        title: Its own name.
        url: Where it is to be had.
        terms: On which terms, as a sentence.
        license: The name of its licence, as rows carry it.

    """

    name: str
    title: str
    url: str
    terms: str
    license: str

    @property
    def remedy(self) -> str:
        """What to do about files of it that are missing."""
        return f"{self.title} is to be had at {self.url}. {self.terms} Then give --data-dir {self.name}=PATH."


@dataclass
class LocalCopiesConfig(BuilderConfig):
    """Settings of a builder that reads the user's own copies.

    Attributes:
        data_dirs: Folder of each source by its name (`--data-dir NAME=PATH`).

    """

    data_dirs: dict[str, str] = field(default_factory=dict, metadata=LOCAL)

    def known_sources(self) -> Sequence[Source]:
        """The sources that can be given a folder."""
        return ()

    def problems(self) -> list[str]:
        """What is wrong with the settings."""
        known = [source.name for source in self.known_sources()]
        found = super().problems()
        found += [
            f"data_dirs={name}: there is no such source; there is {', '.join(known)}"
            for name in self.data_dirs
            if name not in known
        ]
        found += [
            f"data_dirs={name}: {path} is no folder"
            for name, path in self.data_dirs.items()
            if not Path(path).expanduser().is_dir()
        ]
        return found


def missing_files(missing: Mapping[Source, Sequence[str]]) -> EccdataError:
    """The error that names the files which are missing, of all sources at once, and where they are to be had."""
    lacking = {source: paths for source, paths in missing.items() if paths}
    counts = ", ".join(f"{len(paths):,} of {source.title}" for source, paths in lacking.items())
    return problem(
        f"Files are missing ({counts}):",
        _in_turn(list(lacking.values())),
        "\n".join(source.remedy for source in lacking),
    )


def files_digest(root: Path, paths: Iterable[Path]) -> str:
    """SHA-256 over the names, relative to `root`, and the contents of files."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{content}  {path.relative_to(root).as_posix()}\n".encode())
    return digest.hexdigest()


def _in_turn(lists: Sequence[Sequence[str]]) -> list[str]:
    """Take items from each list in turn, so that the first few show some of each."""
    longest = max(map(len, lists), default=0)
    return [items[at] for at in range(longest) for items in lists if at < len(items)]
