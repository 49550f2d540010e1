from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eccdata.training.batches import epoch_batches, ordered_batches

SOME = st.lists(st.integers(3, 9), min_size=1, max_size=80)


@settings(deadline=None)
@given(SOME, st.integers(1, 9), st.integers(0, 5))
def test_an_epoch_has_every_sequence_once_in_batches_of_one_length(
    some: list[int], size: int, epoch: int
) -> None:
    lengths = np.array(some, np.int32)
    batches = epoch_batches(lengths, size, seed=3, epoch=epoch)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert 1 <= len(batch) <= size
        assert len(set(lengths[batch])) == 1


@settings(deadline=None)
@given(SOME, st.integers(1, 9))
def test_batches_of_a_length_are_as_even_as_they_can_be(some: list[int], size: int) -> None:
    lengths = np.array(some, np.int32)
    batches = epoch_batches(lengths, size, seed=0, epoch=0)
    for length in set(lengths.tolist()):
        sizes = [len(batch) for batch in batches if lengths[batch[0]] == length]
        assert len(sizes) == -(-int((lengths == length).sum()) // size)
        assert max(sizes) - min(sizes) <= 1


@settings(deadline=None)
@given(SOME, st.integers(1, 9), st.integers(1, 4))
def test_processes_take_turns_of_neighbouring_lengths_and_leave_nothing_out(
    some: list[int], size: int, processes: int
) -> None:
    lengths = np.array(some, np.int32)
    batches = epoch_batches(lengths, size, seed=0, epoch=1, processes=processes)
    alone = epoch_batches(lengths, size, seed=0, epoch=1)
    assert len(batches) % processes == 0
    assert len(batches) - len(alone) < processes
    assert set(np.concatenate(batches).tolist()) == set(range(len(lengths)))
    by_length = sorted(int(lengths[batch[0]]) for batch in batches)
    turns = [batches[at : at + processes] for at in range(0, len(batches), processes)]
    spans = sorted(sorted(int(lengths[batch[0]]) for batch in turn) for turn in turns)
    assert [length for span in spans for length in span] == by_length


def test_the_order_follows_from_seed_and_epoch_alone() -> None:
    lengths = np.random.default_rng(0).integers(32, 64, 500).astype(np.int32)

    def order(seed: int, epoch: int) -> list[int]:
        batches = epoch_batches(lengths, 16, seed=seed, epoch=epoch)
        return [int(index) for batch in batches for index in batch]

    assert order(0, 3) == order(0, 3)
    assert order(0, 3) != order(0, 4)
    assert order(0, 3) != order(1, 3)
    counts = {len(epoch_batches(lengths, 16, seed=0, epoch=epoch)) for epoch in range(5)}
    assert len(counts) == 1, "every epoch has as many steps"


def test_validation_goes_from_short_to_long() -> None:
    lengths = np.array([5, 3, 5, 4, 3], np.int32)
    assert [batch.tolist() for batch in ordered_batches(lengths, 2)] == [[1, 4], [3], [0, 2]]


@pytest.mark.parametrize("processes", [1, 3])
def test_nothing_gives_nothing(processes: int) -> None:
    assert epoch_batches(np.array([], np.int32), 4, seed=0, epoch=0, processes=processes) == []
