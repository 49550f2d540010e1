"""The order in which sequences are trained on: batches of one length each, the same on every machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eccdata.streams.seeding import generator


def epoch_batches(
    lengths: NDArray[np.int32], batch_size: int, *, seed: int, epoch: int, processes: int = 1
) -> list[NDArray[np.int64]]:
    """Divide one epoch's sequences into batches of equal length, and shuffle these.

    A batch holds sequences of one length alone, so nothing is padded. The sequences of a length are shared out
    evenly among as few batches as `batch_size` allows, so no batch is a small remainder. Batches that processes
    take at the same time are of neighbouring lengths, so that none waits long for another.

    Args:
        lengths: int32 [n], the length of each sequence.
        batch_size: The most sequences of a batch.
        seed: The run's.
        epoch: From 0.
        processes: Into a multiple of how many the number of batches is rounded up, by repeating some.

    Returns:
        Indices of sequences, int64, batch by batch. Process r takes the batches r, r + processes, …

    """
    rng = generator(seed, "training", "epoch", epoch)
    order = rng.permutation(len(lengths))
    batches = _by_length(order, lengths, batch_size)
    if batches:
        batches += batches[-1:] * (-len(batches) % processes)
    rounds = len(batches) // processes
    return [
        batches[turn * processes + process]
        for turn in rng.permutation(rounds)
        for process in range(processes)
    ]


def ordered_batches(lengths: NDArray[np.int32], batch_size: int) -> list[NDArray[np.int64]]:
    """Divide sequences into batches of equal length, shortest first, without chance: for validation."""
    return _by_length(np.arange(len(lengths)), lengths, batch_size)


def _by_length(
    order: NDArray[np.int64], lengths: NDArray[np.int32], batch_size: int
) -> list[NDArray[np.int64]]:
    order = order[np.argsort(lengths[order], kind="stable")]
    ordered = lengths[order]
    found: list[NDArray[np.int64]] = []
    for group in np.split(order, np.flatnonzero(np.diff(ordered)) + 1):
        if len(group):
            found += np.array_split(group, -(-len(group) // batch_size))
    return found
