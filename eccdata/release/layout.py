"""Where the files of a release stand, and how they are read, written and summed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from eccdata.errors import EccdataError, problem

CARD = "README.md"
CROISSANT = "croissant.json"
INDEX = "questions_dataset.json"
LICENSE = "LICENSE"
RECORD = "build.json"
SUMS = "SHA256SUMS"

DATA = "data"
MANIFESTS = "manifests"

NOT_OURS = (".git/", ".gitattributes", ".cache/")
"""What a download from the Hub may add to a release's folder; it is no part of the release."""


def shard_path(config: str, split: str, index: int, count: int) -> str:
    """Path of one Parquet file, relative to the release."""
    return f"{DATA}/{config}/{split}-{index:05d}-of-{count:05d}.parquet"


def shard_pattern(config: str, split: str) -> str:
    """The glob that matches the Parquet files of one split and no others."""
    return f"{DATA}/{config}/{split}-*-of-*.parquet"


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Write JSON whose bytes depend on the value alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def files(folder: Path) -> list[str]:
    """Paths of all files of a release, relative to it, sorted; what the Hub adds is left out."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if not name.startswith(NOT_OURS))


def links(folder: Path) -> list[str]:
    """Paths of all links in a release, to files, folders or nothing, as in `files`."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink())
    return sorted(name for name in found if not f"{name}/".startswith(NOT_OURS))


def write_sums(folder: Path, known: dict[str, str]) -> None:
    """Write SHA256SUMS over all other files, as `sha256sum -c` reads it.

    Args:
        folder: The release.
        known: Digests that were computed already, by path.

    """
    lines = [
        f"{known.get(name) or sha256(folder / name)}  {name}\n" for name in files(folder) if name != SUMS
    ]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def read_sums(folder: Path) -> dict[str, str]:
    """Digests by path, from SHA256SUMS.

    Raises:
        EccdataError: The file cannot be read, or some lines are not `<64 hex digits>  <path>`.

    """
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise EccdataError(f"{folder / SUMS} cannot be read: {error}") from error
    sums = {}
    wrong = []
    for number, line in enumerate(lines, 1):
        digest, gap, name = line[:64], line[64:66], line[66:]
        if gap != "  " or not name or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            wrong.append(f"line {number}: {line[:80]!r}")
        else:
            sums[name] = digest
    if wrong:
        raise problem(f"{folder / SUMS} has lines that are not of the form `<sha256>  <path>`:", wrong)
    return sums
