"""Every architecture against the protocol: written in any pieces, read without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from eccdata.backbones import BackboneConfig
from eccdata.backbones.architectures import build
from eccdata.backbones.base import Mixer
from eccdata.backbones.settings import ARCHITECTURES

# so that the tests' lengths cross every boundary
SMALL = {
    "Compressive Transformer": {
        "block": 16,
        "compression_1": 4,
        "compression_2": 2,
        "slots_1": 8,
        "slots_2": 4,
    },
    "TTT-MLP": {"window": 4, "mini_batch": 16},
    "MoM": {"memories": 5, "top_k": 2},
}
LENGTH = 150
WIDTH = 32
GROWS = ("DeltaFormer", "Memory Mosaic", "Transformer (RoPE)", "Transformer (conv)")


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def small(name: str, *, width: int = WIDTH, layers: int = 2) -> Mixer[Any]:
    """Give a small backbone away from its beginning, where a part that does nothing would not show."""
    torch.manual_seed(0)
    shape = {"architecture": name, "width": width, "layers": layers, "settings": SMALL.get(name, {})}
    mixer = build(BackboneConfig(**shape))
    for parameter in mixer.parameters():
        if parameter.dim() < 4 and parameter.detach().std(correction=0) == 0:
            parameter.data += 0.1 * torch.randn_like(parameter)
    return mixer


MIXERS: dict[str, tuple[Mixer[Any], Tensor, Tensor]] = {}


def written(name: str) -> tuple[Mixer[Any], Tensor, Tensor]:
    """Give a backbone, a stream [2, T, D], and what it makes of it in one piece."""
    if name not in MIXERS:
        mixer = small(name)
        torch.manual_seed(1)
        x = torch.randn(2, LENGTH, WIDTH)
        with torch.no_grad():
            MIXERS[name] = mixer, x, mixer(x)[0]
    return MIXERS[name]


def in_pieces(mixer: Mixer[Any], x: Tensor, cuts: list[int]) -> tuple[Tensor, Any]:
    state, outputs = None, []
    for begin, end in pairwise([0, *cuts, x.shape[1]]):
        y, state = mixer(x[:, begin:end], state)
        outputs.append(y)
    return torch.cat(outputs, 1), state


each = pytest.mark.parametrize("name", ARCHITECTURES)


@each
@pytest.mark.usefixtures("without_gradients")
def test_streamed_token_by_token_equals_in_one_piece(name: str) -> None:
    mixer, x, y = written(name)
    streamed, state = in_pieces(mixer, x, [*range(1, LENGTH)])
    torch.testing.assert_close(streamed, y, rtol=0, atol=1e-10)
    _, whole = mixer(x)
    assert_same_state(state, whole)


@each
@settings(max_examples=6, deadline=None)
@given(st.sets(st.integers(1, LENGTH - 1), min_size=1, max_size=5))
def test_neither_outputs_nor_state_depend_on_how_a_stream_was_cut(name: str, cuts: set[int]) -> None:
    mixer, x, y = written(name)
    with torch.no_grad():
        pieces, state = in_pieces(mixer, x, sorted(cuts))
        torch.testing.assert_close(pieces, y, rtol=0, atol=1e-10)
        assert_same_state(state, mixer(x)[1])


def assert_same_state(found: Any, expected: Any) -> None:
    for a, b in zip(tree_leaves(found), tree_leaves(expected), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


@each
@pytest.mark.usefixtures("without_gradients")
def test_the_past_does_not_know_the_future(name: str) -> None:
    mixer, x, y = written(name)
    other = x.clone()
    other[:, 100:] = torch.randn_like(other[:, 100:])
    changed, _ = mixer(other)
    torch.testing.assert_close(changed[:, :100], y[:, :100], rtol=0, atol=1e-10)
    assert (changed[:, 100] - y[:, 100]).abs().max() > 1e-6


@each
@pytest.mark.parametrize("length", [0, 1, 47, LENGTH])
@pytest.mark.usefixtures("without_gradients")
def test_a_question_is_a_token_appended_and_leaves_no_trace(name: str, length: int) -> None:
    mixer, x, _ = written(name)
    x = x[:, :length]
    state = mixer(x)[1] if length else mixer.start(x)
    copy = tree_map(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, state)
    questions = torch.randn(2, 3, WIDTH)
    answers = mixer.read(questions, state)
    for n in range(3):
        appended, _ = mixer(torch.cat([x, questions[:, n : n + 1]], 1))
        torch.testing.assert_close(answers[:, n], appended[:, -1], rtol=0, atol=1e-10)
    for kept, before in zip(tree_leaves(state), tree_leaves(copy), strict=True):
        assert torch.equal(torch.as_tensor(kept), torch.as_tensor(before))


@each
@pytest.mark.usefixtures("without_gradients")
def test_streams_of_a_batch_know_nothing_of_each_other(name: str) -> None:
    mixer, x, y = written(name)
    alone, _ = mixer(x[1:, :60])
    torch.testing.assert_close(alone, y[1:, :60], rtol=0, atol=1e-10)


@each
def test_every_parameter_learns_from_reading_and_from_writing(name: str) -> None:
    mixer = small(name)
    x = torch.randn(2, LENGTH, WIDTH, requires_grad=True)
    _, state = mixer(x)
    mixer.read(torch.randn(2, 3, WIDTH), state).square().sum().backward()
    without = [key for key, value in mixer.named_parameters() if value.grad is None or not value.grad.any()]
    assert not without
    assert all(value.grad.isfinite().all() for value in mixer.parameters())
    assert x.grad.isfinite().all()
    # what was written last is in every memory
    assert x.grad[:, -1].abs().max() > 0


@each
def test_gradients_are_those_of_the_function(name: str) -> None:
    """Finite differences through a write of more than one chunk and a read."""
    mixer = small(name, width=16, layers=1)
    torch.manual_seed(3)
    x, question = torch.randn(1, 20, 16), torch.randn(1, 1, 16)
    along = torch.randn_like(x)

    def answer(step: Tensor) -> Tensor:
        y, state = mixer(x + step * along)
        return y.square().mean() + mixer.read(question, state).square().sum()

    assert torch.autograd.gradcheck(answer, torch.zeros((), requires_grad=True), atol=1e-6, rtol=1e-4)
    chosen = [parameter for parameter in mixer.parameters() if parameter.numel() > 1]
    directions = [torch.randn_like(parameter) for parameter in chosen]
    gradients = torch.autograd.grad(answer(torch.zeros(())), chosen, allow_unused=True)
    along_all = sum(
        (gradient * d).sum()
        for gradient, d in zip(gradients, directions, strict=True)
        if gradient is not None
    )
    values = []
    with torch.no_grad():
        for sign in (1, -1):
            for parameter, d in zip(chosen, directions, strict=True):
                parameter += sign * 1e-6 * d
            values.append(answer(torch.zeros(())))
            for parameter, d in zip(chosen, directions, strict=True):
                parameter -= sign * 1e-6 * d
    torch.testing.assert_close(
        torch.as_tensor(along_all), (values[0] - values[1]) / 2e-6, rtol=1e-4, atol=1e-6
    )


@each
@pytest.mark.usefixtures("without_gradients")
def test_a_recurrent_memory_stays_as_large_as_it_is(name: str) -> None:
    mixer, x, _ = written(name)

    def size(length: int) -> int:
        state = mixer(x[:, :length])[1]
        leaves = [leaf for leaf in tree_leaves(state) if isinstance(leaf, Tensor)]
        # whole storages: a view of a long piece would keep the piece
        return sum(
            {leaf.untyped_storage().data_ptr(): leaf.untyped_storage().nbytes() for leaf in leaves}.values()
        )

    # the Compressive Transformer's memories are full after 12 blocks of the paper's, 8 of these
    short, long = size(129), size(145)
    assert (long > short) == (name in GROWS)
