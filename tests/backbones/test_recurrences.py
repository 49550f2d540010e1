"""The chunked recurrences against their definitions, token by token, and against other people's."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional
from transformers.models.qwen3_next.modeling_qwen3_next import torch_chunk_gated_delta_rule

from eccdata.backbones.recurrences import delta_rule, moving_average, rank_one, scalar_decay, vector_decay
from eccdata.backbones.recurrences.chunks import decays_between, scan

B, H, K, V = 2, 2, 4, 6

Arguments = tuple[Tensor | None, ...]


def drawn(shape: list[int], seed: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(B, H, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(
        dtype
    )


def keys(length: int, dtype: torch.dtype, seed: int = 1) -> Tensor:
    return functional.normalize(drawn([length, K], seed, dtype), dim=-1)


def scalar(length: int, steepness: float, dtype: torch.dtype) -> Arguments:
    q, k, v = drawn([length, K], 0, dtype), keys(length, dtype), drawn([length, V], 2, dtype)
    return q, k, v, -steepness * drawn([length], 3, dtype).abs()


def vector(length: int, steepness: float, dtype: torch.dtype) -> Arguments:
    q, k, v = drawn([length, K], 0, dtype), keys(length, dtype), drawn([length, V], 2, dtype)
    return q, k, v, -steepness * drawn([length, K], 3, dtype).abs()


def delta(length: int, steepness: float, dtype: torch.dtype) -> Arguments:
    q, k, v, _ = scalar(length, steepness, dtype)
    return q, k, v, drawn([length], 4, dtype).sigmoid(), None


def gated_delta(length: int, steepness: float, dtype: torch.dtype) -> Arguments:
    q, k, v, g = scalar(length, steepness, dtype)
    return q, k, v, drawn([length], 4, dtype).sigmoid(), g


def dplr(length: int, steepness: float, dtype: torch.dtype) -> Arguments:
    q, k, v = drawn([length, K], 0, dtype), keys(length, dtype), drawn([length, V], 2, dtype)
    removed, rate = keys(length, dtype, 5), drawn([length, K], 6, dtype).sigmoid()
    g = rank_one.STEEPEST * (steepness * drawn([length, K], 3, dtype)).sigmoid()
    return q, k, v, -removed, removed * rate, g


def average(length: int, steepness: float, dtype: torch.dtype) -> Arguments:
    return drawn([length, V], 0, dtype), -steepness * torch.tensor([0.05, 1.0], dtype=dtype)


class Case(NamedTuple):
    module: ModuleType
    arguments: Callable[[int, float, torch.dtype], Arguments]
    state: tuple[int, int] = (K, V)


CASES = {
    "scalar decay": Case(scalar_decay, scalar),
    "vector decay": Case(vector_decay, vector),
    "delta rule": Case(delta_rule, delta),
    "gated delta rule": Case(delta_rule, gated_delta),
    "rank one": Case(rank_one, dplr),
    "moving average": Case(moving_average, average, (1, V)),
}
each = pytest.mark.parametrize("name", CASES)


def example(
    name: str, length: int, steepness: float = 1.0, dtype: torch.dtype = torch.float64
) -> tuple[ModuleType, Arguments, Tensor]:
    case = CASES[name]
    return case.module, case.arguments(length, steepness, dtype), drawn([*case.state], 9, dtype)


@each
@settings(max_examples=20, deadline=None)
@given(length=st.integers(1, 70), chunk=st.integers(1, 33), steepness=st.sampled_from([0.0, 1.0, 40.0]))
def test_chunked_is_stepwise(name: str, length: int, chunk: int, steepness: float) -> None:
    module, arguments, state = example(name, length, steepness)
    expected, last = module.stepwise(*arguments, state)
    found, found_last = module.chunked(
        *arguments, state, chunk=chunk if module is not rank_one else min(chunk, 16)
    )
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found_last, last, rtol=1e-9, atol=1e-9)


@each
def test_gradients_of_the_chunked_form(name: str) -> None:
    module, arguments, state = example(name, 7)
    inputs = [
        None if a is None else a[:1, :1].detach().requires_grad_()
        for a in arguments
        if a is None or a.dim() > 1
    ]
    fixed = [a[:1] for a in arguments if a is not None and a.dim() == 1]
    assert torch.autograd.gradcheck(
        lambda *given: module.chunked(*given[:-1], *fixed, given[-1], chunk=3),
        (*inputs, state[:1, :1].detach().requires_grad_()),
        fast_mode=True,
    )


@each
def test_a_question_is_a_step(name: str) -> None:
    module, arguments, state = example(name, 3)
    answers = module.read(*arguments, state)
    for n in range(3):
        one = [a if a is None or a.dim() == 1 else a[:, :, n : n + 1] for a in arguments]
        torch.testing.assert_close(answers[:, :, n : n + 1], module.stepwise(*one, state)[0])


@each
@pytest.mark.parametrize("steepness", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_holds_for_4096_tokens_whatever_the_gates(name: str, steepness: float, dtype: torch.dtype) -> None:
    """From decays that keep everything to such as e^−100 a token; half precision is widened."""
    module, arguments, state = example(name, 4096, steepness, dtype)
    wide = [None if a is None else a.double() for a in arguments]
    expected, last = module.chunked(*wide, state.double())
    inputs = [None if a is None else a.requires_grad_() for a in arguments]
    found, found_last = module.chunked(*inputs, state)
    assert found.dtype == torch.float32
    scale = float(expected.abs().max())
    assert (found.double() - expected).abs().max() < 1e-4 * scale
    assert (found_last.double() - last).abs().max() < 1e-4 * float(last.abs().max())
    (found.square().mean() + found_last.sum()).backward()
    assert all(a.grad.isfinite().all() for a in inputs if a is not None)


@each
def test_autocast_changes_nothing(name: str) -> None:
    module, arguments, state = example(name, 40, dtype=torch.float32)
    expected, last = module.chunked(*arguments, state)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, found_last = module.chunked(*arguments, state)
    assert torch.equal(found, expected)
    assert torch.equal(found_last, last)


@given(st.integers(1, 40))
@settings(max_examples=15, deadline=None)
def test_scan_is_one_step_after_the_other(count: int) -> None:
    transitions, updates, state = (
        drawn([count, K, K], 0, torch.float64),
        drawn([count, K, V], 1, torch.float64),
        None,
    )
    transitions, state = transitions / 4, drawn([K, V], 2, torch.float64)
    before, last = scan(transitions, updates, state)
    for n in range(count):
        torch.testing.assert_close(before[:, :, n], state)
        state = transitions[:, :, n] @ state + updates[:, :, n]
    torch.testing.assert_close(last, state)


def test_decays_are_never_above_one() -> None:
    cumulative = -torch.rand(3, 50).cumsum(-1) * 1e3
    between = decays_between(cumulative)
    assert between.min() >= 0
    assert between.max() == 1
    assert (between.triu(1) == 0).all()


@pytest.mark.parametrize("gated", [False, True])
def test_the_delta_rule_is_that_of_transformers(gated: bool) -> None:
    q, k, v, beta, g = (gated_delta if gated else delta)(100, 0.1, torch.float32)
    assert q is not None
    found, last = delta_rule.chunked(q, k, v, beta, g, torch.zeros(B, H, K, V))
    g = torch.zeros(B, H, 100) if g is None else g
    assert all(x is not None for x in (k, v, beta))
    # theirs has time before heads, and scales the queries by K^(−1/2)
    time_first = [x.transpose(1, 2) for x in (q * K**0.5, k, v, g, beta) if x is not None]
    expected, expected_last = torch_chunk_gated_delta_rule(
        *time_first, chunk_size=16, output_final_state=True, use_qk_l2norm_in_kernel=False
    )
    torch.testing.assert_close(found, expected.transpose(1, 2), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(last, expected_last, rtol=1e-4, atol=1e-5)
