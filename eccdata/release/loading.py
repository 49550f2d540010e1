"""`eccdata.load_dataset`: a configuration built on the fly, in the cache of `datasets`."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, overload

import datasets

from eccdata import catalog
from eccdata.errors import EccdataError, unknown
from eccdata.progress import bars_for_people

Loaded: TypeAlias = (
    datasets.Dataset | datasets.DatasetDict | datasets.IterableDataset | datasets.IterableDatasetDict
)


@overload
def load_dataset(
    benchmark: str,
    config: str,
    *,
    split: str,
    seed: int = 0,
    num_proc: int | None = None,
    streaming: Literal[False] = False,
    cache_dir: str | None = None,
    **settings: Any,
) -> datasets.Dataset: ...
@overload
def load_dataset(
    benchmark: str,
    config: str,
    *,
    split: str | None = None,
    seed: int = 0,
    num_proc: int | None = None,
    streaming: bool = False,
    cache_dir: str | None = None,
    **settings: Any,
) -> Loaded: ...
def load_dataset(
    benchmark: str,
    config: str,
    *,
    split: str | None = None,
    seed: int = 0,
    num_proc: int | None = None,
    streaming: bool = False,
    cache_dir: str | None = None,
    **settings: Any,
) -> Loaded:
    """Build one configuration, or take it from the cache, without making a release.

    `eccdata.load_dataset("eccbench", "text", lengths=[512])` has the rows that
    `eccdata build eccbench --config text --set lengths=512` writes. The cache is keyed by the builder's version and
    all settings.

    Args:
        benchmark: Such as `eccbench`.
        config: Such as `text`.
        split: Which split; without it a configuration of one split gives that, one of several a dict of them.
        seed: Root of all randomness, at least 0.
        num_proc: Worker processes for building.
        streaming: Make rows when they are asked for, and nothing on disk.
        cache_dir: Where to keep what is built; the cache of `datasets` by default.
        settings: The builder's settings (`eccdata list BENCHMARK/CONFIG` shows them).

    Raises:
        EccdataError: A name or a setting is not as it should be.

    """
    builder = catalog.builder(benchmark, config).create(cache_dir=cache_dir, seed=seed, **settings)
    splits = list(dict.fromkeys(cell.split for cell in builder.cells()))
    # slices (`test[:10%]`) are the business of `datasets`, which streams whole splits alone
    name = split.partition("[")[0] if split is not None else None
    if name is not None and not set(name.split("+")) <= {*splits, "all"}:
        raise unknown(f"split of {benchmark}/{config}", name, splits)
    if streaming and split is not None and split not in splits:
        raise EccdataError(f"split={split} cannot be streamed: only whole splits can, one at a time.")
    chosen = splits[0] if split is None and len(splits) == 1 else split
    if streaming:
        return builder.as_streaming_dataset(split=chosen)
    with bars_for_people():
        builder.download_and_prepare(num_proc=num_proc)
    return builder.as_dataset(split=chosen)
