"""Rows of the `tokens` configuration as tensors, read as they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import eccdata
from eccdata import rows
from eccdata.dataset import open_dataset
from eccdata.errors import problem

BENCHMARK, CONFIG = "eccbench", "tokens"
NEEDED = ("stream", "length", "alphabet_size", "queries")
COUNTED_NOWHERE = -100
"""The label of a slot that holds no question: what torch's cross-entropy leaves out."""


class Batch(NamedTuple):
    """Sequences of one length and their questions.

    Attributes:
        streams: int64 [B, L].
        candidates: int64 [B, Q, slots], right-aligned and padded in front; all padding where a row has fewer than Q.
        labels: int64 [B, Q]: 1 is yes, 0 is no, −100 is no question.

    """

    streams: NDArray[np.int64]
    candidates: NDArray[np.int64]
    labels: NDArray[np.int64]


class MembershipRows:
    """The rows of one split. They stay in the memory-mapped file but for a batch at a time, and their lengths.

    Attributes:
        dataset: The rows.
        lengths: int32 [n], symbols of each.
        alphabet_size: Symbols are below it.
        slots: The longest candidate that fits.

    """

    def __init__(self, dataset: datasets.Dataset, *, name: str, slots: int = 6) -> None:
        """Look through a split once.

        Args:
            dataset: Rows like those of `tokens`.
            name: What errors call them.
            slots: Symbols of the longest candidate.

        Raises:
            EccdataError: Where it has no rows, lacks columns, mixes alphabets, or has longer candidates.

        """
        lacking = [column for column in NEEDED if column not in dataset.column_names]
        if lacking:
            raise problem(
                f"{name} cannot be trained on. It lacks columns of the {CONFIG} configuration:", lacking
            )
        if not dataset.num_rows:
            raise problem(f"{name} has no rows to train on.")
        self.dataset = dataset
        self.slots = slots
        self._table = dataset.with_format("arrow")
        question = dataset.features["queries"].feature
        self._yes = question["answer"].str2int("yes")
        self.lengths: NDArray[np.int32] = np.empty(dataset.num_rows, np.int32)
        alphabets: set[int] = set()
        longest, at = 0, 0
        for table in self._table.iter(batch_size=4096):
            self.lengths[at : at + table.num_rows] = pc.list_value_length(table["stream"]).to_numpy()
            at += table.num_rows
            alphabets.update(pc.unique(table["alphabet_size"]).to_pylist())
            candidates = pc.struct_field(pc.list_flatten(table["queries"]), "candidate")
            longest = max(longest, pc.max(pc.list_value_length(candidates)).as_py() or 0)
        if len(alphabets) > 1:
            raise problem(
                f"{name} mixes alphabets of these sizes, and a backbone has one:", sorted(alphabets)
            )
        if longest > slots:
            raise problem(
                f"{name} has candidates of {longest} symbols, and the backbone reads at most {slots}."
            )
        (self.alphabet_size,) = alphabets

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.lengths)

    def batch(self, indices: Sequence[int] | NDArray[np.int64]) -> Batch:
        """Give rows of one length as arrays."""
        table = self._table[list(map(int, indices))]
        streams = _array(table["stream"]).flatten().to_numpy().astype(np.int64)
        queries = _array(table["queries"])
        counts = pc.list_value_length(queries).to_numpy()
        questions = queries.flatten()
        candidates = questions.field("candidate")
        aligned = right_aligned(
            candidates.flatten().to_numpy(),
            pc.list_value_length(candidates).to_numpy(),
            self.slots,
            self.alphabet_size,
        )
        labels = (questions.field("answer").to_numpy() == self._yes).astype(np.int64)
        there = np.arange(int(counts.max(initial=0))) < counts[:, None]
        all_candidates = np.full((*there.shape, self.slots), self.alphabet_size, np.int64)
        all_candidates[there] = aligned
        all_labels = np.full(there.shape, COUNTED_NOWHERE, np.int64)
        all_labels[there] = labels
        return Batch(streams.reshape(len(counts), -1), all_candidates, all_labels)


def right_aligned(symbols: NDArray[Any], lengths: NDArray[Any], slots: int, pad_id: int) -> NDArray[np.int64]:
    """Write candidates, one after the other in `symbols`, into rows of `slots`, padded in front.

    Args:
        symbols: [sum of lengths].
        lengths: [n], at most `slots` each.
        slots: Symbols of a row.
        pad_id: The symbol of an empty slot.

    """
    aligned = np.full((len(lengths), slots), pad_id, np.int64)
    aligned[np.arange(slots) >= slots - lengths[:, None]] = symbols
    return aligned


class Splits(NamedTuple):
    """What a run trains on and chooses by.

    Attributes:
        train: The training rows.
        validation: The validation rows.
        facts: Where they came from, their sizes and digests, for cards.

    """

    train: MembershipRows
    validation: MembershipRows
    facts: dict[str, Any]


def open_splits(
    data: str | Path | None,
    *,
    revision: str | None = None,
    built: dict[str, Any] | None = None,
    slots: int = 6,
    cache_dir: str | None = None,
) -> Splits:
    """Open `train` and `validation` of a release, or build them.

    Args:
        data: A release's folder or a dataset's id on the Hub with the configuration `tokens`; built if None.
        revision: The Hub dataset's.
        built: The builder's settings, where nothing is given.
        slots: Symbols of the longest candidate.
        cache_dir: Where to keep what is built; the cache of `datasets` by default.

    Raises:
        EccdataError: Where there is no such data, or it cannot be trained on.

    """
    facts: dict[str, Any] = {"config": CONFIG}
    found: dict[str, datasets.Dataset] = {}
    digests = {}
    if data is None:
        facts |= {"source": "built", "settings": {k: _plain(v) for k, v in (built or {}).items()}}
        for split in ("train", "validation"):
            found[split] = eccdata.load_dataset(
                BENCHMARK, CONFIG, split=split, cache_dir=cache_dir, **(built or {})
            )
            digests[split] = rows.digest(found[split])
    else:
        for split in ("train", "validation"):
            opened = open_dataset(data, config=CONFIG, split=split, revision=revision)
            found[split], digests[split] = opened.dataset, opened.digest
            facts |= {"source": opened.source, "revision": opened.revision}
    train, validation = (
        MembershipRows(found[split], name=f"The split {split} of {data or CONFIG}", slots=slots)
        for split in ("train", "validation")
    )
    if train.alphabet_size != validation.alphabet_size:
        raise problem(
            f"Training rows have {train.alphabet_size} symbols and validation rows {validation.alphabet_size}."
        )
    facts["digests"] = digests
    facts["rows"] = {"train": len(train), "validation": len(validation)}
    facts["lengths"] = [int(train.lengths.min()), int(train.lengths.max())]
    facts["alphabet_size"] = train.alphabet_size
    return Splits(train, validation, facts)


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
