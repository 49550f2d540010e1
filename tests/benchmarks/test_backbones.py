"""Chunked backbones against the same token by token, and against flash-linear-attention's kernels where they run."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from eccdata.backbones import BackboneConfig
from eccdata.backbones.architectures import build
from eccdata.backbones.recurrences import delta_rule, rank_one, scalar_decay, vector_decay
from eccdata.backbones.settings import ARCHITECTURES

pytestmark = pytest.mark.benchmark


@pytest.fixture
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def cpu_s(action: Callable[[], object], repeats: int) -> float:
    """The least processor time of some runs: what a busy machine adds is no part of it."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return min(times)


@pytest.mark.usefixtures("one_thread")
def test_chunked_is_faster_than_token_by_token() -> None:
    """Measured 12 to 49 times on one core for four streams of 128 tokens; held to 2 for each, and 5 for most."""
    batch, length, width = 4, 128, 64
    x = torch.randn(batch, length, width, generator=torch.Generator().manual_seed(0))
    ratios = {}
    print(f"\n{'':24}tokens/s in chunks   one by one   times")
    for name in ARCHITECTURES:
        torch.manual_seed(0)
        mixer = build(BackboneConfig(architecture=name, width=width, layers=1))

        @torch.no_grad()  # type: ignore[untyped-decorator]
        def stepwise(mixer: torch.nn.Module = mixer) -> None:
            state = None
            for t in range(length):
                _, state = mixer(x[:, t : t + 1], state)

        @torch.no_grad()  # type: ignore[untyped-decorator]
        def chunked(mixer: torch.nn.Module = mixer) -> None:
            mixer(x)

        chunked_s, stepwise_s = cpu_s(chunked, 4), cpu_s(stepwise, 1)
        ratios[name] = stepwise_s / chunked_s
        rates = [batch * length / seconds for seconds in (chunked_s, stepwise_s)]
        print(f"{name:24}{rates[0]:18,.0f}{rates[1]:13,.0f}{ratios[name]:8.1f}")
    assert min(ratios.values()) > 2, ratios
    assert sorted(ratios.values())[len(ratios) // 2] > 5, ratios


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def kernels() -> dict[str, tuple[Callable[[], Tensor], Callable[[], Tensor], tuple[Tensor, ...]]]:
    """Give ours, theirs and what to differentiate by, on the same bf16 tensors; theirs has time before heads."""
    ops = importlib.import_module("fla.ops")
    batch, heads, length, width = 32, 4, 1024, 16
    q, v = (drawn(batch, heads, length, width).requires_grad_() for _ in range(2))
    k, removed = (
        functional.normalize(drawn(batch, heads, length, width), dim=-1).requires_grad_() for _ in range(2)
    )
    beta, g = drawn(batch, heads, length).sigmoid(), functional.logsigmoid(drawn(batch, heads, length))
    wide = functional.logsigmoid(drawn(batch, heads, length, width))
    steep = rank_one.STEEPEST * drawn(batch, heads, length, width).sigmoid()
    rate = drawn(batch, heads, length, width).sigmoid()
    state = torch.zeros(batch, heads, width, width, device="cuda")

    def theirs(function: Callable[..., tuple[Tensor, object]], **tensors: Tensor) -> Callable[[], Tensor]:
        return lambda: function(**{n: x.transpose(1, 2) for n, x in tensors.items()}, scale=1.0)[0].transpose(
            1, 2
        )

    learnt = (q, k, v)
    return {
        "scalar decay": (
            lambda: scalar_decay.write(q, k, v, g, state)[0],
            theirs(ops.chunk_simple_gla, q=q, k=k, v=v, g=g),
            learnt,
        ),
        "vector decay": (
            lambda: vector_decay.write(q, k, v, wide, state)[0],
            theirs(ops.chunk_gla, q=q, k=k, v=v, g=wide),
            learnt,
        ),
        "delta rule": (
            lambda: delta_rule.write(q, k, v, beta, None, state)[0],
            theirs(ops.chunk_delta_rule, q=q, k=k, v=v, beta=beta),
            learnt,
        ),
        "gated delta rule": (
            lambda: delta_rule.write(q, k, v, beta, g, state)[0],
            theirs(ops.chunk_gated_delta_rule, q=q, k=k, v=v, beta=beta, g=g),
            learnt,
        ),
        "rank one": (
            lambda: rank_one.write(q, k, v, -removed, removed * rate, steep, state)[0],
            theirs(ops.chunk_rwkv7, r=q, k=k, v=v, w=steep, a=-removed, b=removed * rate),
            (*learnt, removed),
        ),
    }


@pytest.mark.skipif(
    not torch.cuda.is_available() or find_spec("fla") is None,
    reason="needs a GPU and flash-linear-attention: pip install flash-linear-attention",
)
def test_against_flash_linear_attention() -> None:
    """The same numbers to bf16's precision; tokens a second, forward and backward, are printed."""

    def run(function: Callable[[], Tensor], learnt: tuple[Tensor, ...]) -> tuple[Tensor, float]:
        rates = []
        for _ in range(4):
            torch.cuda.synchronize()
            started = time.perf_counter()
            y = function()
            torch.autograd.grad(y.float().square().mean(), learnt)
            torch.cuda.synchronize()
            rates.append(y.shape[0] * y.shape[2] / (time.perf_counter() - started))
        return y.detach().float(), max(rates)

    print(f"\n{'':20}tokens/s ours   theirs   ours/theirs")
    for name, (ours, theirs, learnt) in kernels().items():
        (y, rate), (expected, their_rate) = run(ours, learnt), run(theirs, learnt)
        print(f"{name:20}{rate:13,.0f}{their_rate:13,.0f}{rate / their_rate:9.2f}")
        assert (y - expected).norm() < 0.03 * expected.norm(), name
