"""Opening the dataset that a run asks: a release's folder, a dataset on the Hub, or one in memory."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
from datasets.exceptions import DatasetNotFoundError

from eccdata import rows
from eccdata.errors import EccdataError, problem, unknown
from eccdata.progress import bars_for_people

RECORD = "build.json"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_HUB_COMMIT = re.compile(r"@([0-9a-f]{40})/")


@dataclass(frozen=True, slots=True)
class Opened:
    """A dataset and what is known of where it came from.

    Attributes:
        dataset: All rows of the split.
        source: The folder or the Hub id as it was given, `memory` for a dataset in memory.
        revision: The Hub commit it was loaded at.
        benchmark: The benchmark's name, where the release says it.
        config: The configuration's name.
        split: The split's name.
        digest: SHA-256 of all rows' content (`eccdata.rows.digest`).

    """

    dataset: datasets.Dataset
    source: str
    revision: str | None
    benchmark: str | None
    config: str
    split: str
    digest: str


def open_dataset(
    dataset: str | Path | datasets.Dataset,
    *,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
) -> Opened:
    """Open one split of one configuration.

    Args:
        dataset: A release's folder, a dataset's id on the Hub, or a dataset in memory.
        config: The configuration; may be left out where there is only one.
        split: The split; where left out, `test`, or the only one.
        revision: The Hub dataset's branch, tag or commit.

    Raises:
        EccdataError: Where there is no such dataset, configuration or split.

    """
    if isinstance(dataset, datasets.Dataset):
        return Opened(
            dataset,
            "memory",
            None,
            None,
            config or dataset.info.config_name or "default",
            split or str(dataset.split or "memory"),
            rows.digest(dataset),
        )
    source = str(dataset)
    folder = Path(source)
    if not folder.is_dir() and (isinstance(dataset, Path) or not _HUB_ID.fullmatch(source)):
        # Asked of the Hub, a mistyped folder would be retried there for half a minute.
        raise EccdataError(
            f"There is no folder {source}.{_near(folder)} Give a release's folder or a Hub id such as org/name."
        )
    try:
        config = _one_of(
            f"configuration of {source}", config, datasets.get_dataset_config_names(source, revision=revision)
        )
        split = _one_of(
            f"split of {source}, {config}",
            split,
            datasets.get_dataset_split_names(source, config, revision=revision),
            preferred="test",
        )
        # `datasets` knows a local folder again by its name and its card. A release's card holds the digest of its
        # files; of any other folder it would give rows that are no longer there.
        trusted = not folder.is_dir() or (folder / RECORD).exists()
        mode = (
            datasets.DownloadMode.REUSE_DATASET_IF_EXISTS
            if trusted
            else datasets.DownloadMode.FORCE_REDOWNLOAD
        )
        with bars_for_people():
            loaded = datasets.load_dataset(source, config, split=split, revision=revision, download_mode=mode)
    except DatasetNotFoundError as error:
        if not folder.is_dir():
            raise _neither(folder, source, str(error)) from error
        raise EccdataError(f"{source} cannot be loaded: {error} Is it a release?") from error
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        reason = f"{type(error).__name__}: {error}"
        if not folder.is_dir():
            raise _neither(folder, source, reason) from error
        raise EccdataError(
            f"{source} cannot be loaded: {reason}\n`eccdata verify {source}` tells what is wrong with a release."
        ) from error
    return Opened(
        loaded,
        source,
        None if folder.is_dir() else _commit(loaded) or revision,
        _recorded_benchmark(folder, source, revision),
        config,
        split,
        rows.digest(loaded),
    )


def _neither(folder: Path, source: str, reason: str) -> EccdataError:
    return problem(
        f"{source} cannot be loaded, whichever way it is meant:",
        [
            f"as a release's folder: there is no folder {source}.{_near(folder)}",
            f"as a dataset on the Hub: {reason}",
        ],
    )


def _near(folder: Path) -> str:
    """The folder beside the one that is not there which it may be a slip for, as a question."""
    there = [path.name for path in folder.parent.iterdir() if path.is_dir()] if folder.parent.is_dir() else []
    near = difflib.get_close_matches(folder.name, there, n=1)
    return f" Did you mean {folder.with_name(near[0])}?" if near else ""


def _one_of(kind: str, name: str | None, known: list[str], preferred: str | None = None) -> str:
    if name is not None:
        if name not in known:
            raise unknown(kind, name, known)
        return name
    if len(known) == 1:
        return known[0]
    if preferred in known:
        return str(preferred)
    raise problem(f"Say which {kind}; there is", sorted(known))


def _recorded_benchmark(folder: Path, source: str, revision: str | None) -> str | None:
    """What the build record says, where the dataset has one: `eccdata build` writes it, other datasets lack it."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    if folder.is_dir():
        path = folder / RECORD
    else:
        try:
            path = Path(hf_hub_download(source, RECORD, repo_type="dataset", revision=revision))
        except EntryNotFoundError:
            return None
    try:
        record: Any = json.loads(path.read_text())
        return str(record["benchmark"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _commit(dataset: datasets.Dataset) -> str | None:
    for url in dataset.info.download_checksums or {}:
        found = _HUB_COMMIT.search(url)
        if found is not None:
            return found[1]
    return None
