"""What a Lempel-Ziv rate costs, by length and on the sequences that are hard for it."""

import math
import time
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from eccdata.streams.bands import low_entropy_stream
from eccdata.streams.lempel_ziv import lempel_ziv_rate
from eccdata.streams.seeding import generator

LENGTHS = [1024 << k for k in range(7)]

KINDS: dict[str, Callable[[int], NDArray[np.uint8]]] = {
    "max entropy": lambda length: generator(0, "max", length).integers(16, size=length, dtype=np.uint8),
    "low entropy": lambda length: low_entropy_stream(length, generator(0, "low", length)).symbols,
    "constant": lambda length: np.zeros(length, np.uint8),
    "periodic": lambda length: (np.arange(length) % 7).astype(np.uint8),
}


def least_cpu_s(run: Callable[[], object], repeats: int = 9) -> float:
    """The least processor time of a few runs: what else the machine does is no cost of theirs."""
    times = []
    for _ in range(repeats):
        start = time.thread_time()
        run()
        times.append(time.thread_time() - start)
    return min(times)


@pytest.mark.benchmark
@pytest.mark.parametrize("kind", KINDS)
def test_the_cost_grows_as_n_log_n(kind: str) -> None:
    costs_s = {}
    for length in LENGTHS:
        symbols = KINDS[kind](length)
        costs_s[length] = least_cpu_s(lambda symbols=symbols: lempel_ziv_rate(symbols))  # type: ignore[misc]
    told = ", ".join(f"{length // 1024}k {cost * 1e3:.2f}" for length, cost in costs_s.items())
    shortest, longest = LENGTHS[0], LENGTHS[-1]
    growth = costs_s[longest] / costs_s[shortest]
    n_log_n = longest * math.log2(longest) / (shortest * math.log2(shortest))
    print(f"\n{kind}, ms: {told}; 1k to 64k: {growth:.0f} times, n log n is {n_log_n:.0f} times")
    # Caches add a factor to n log n; n² would be 4096 times, forty times over it.
    assert growth < 4 * n_log_n


@pytest.mark.benchmark
@pytest.mark.parametrize("kind", KINDS)
def test_4096_symbols_cost_no_more_than_fifteen_sorts(kind: str) -> None:
    """The limit is 15 ms; sorting 4096 floats takes from a third of a millisecond to one, as machines go."""
    symbols = KINDS[kind](4096)
    numbers = generator(0, "yardstick").random(4096).tolist()
    rate_s = least_cpu_s(lambda: lempel_ziv_rate(symbols), 30)
    sort_s = least_cpu_s(lambda: sorted(numbers), 30)
    print(f"\n{kind}: {rate_s * 1e3:.2f} ms at 4096 symbols; sorting as many floats {sort_s * 1e3:.2f} ms")
    assert rate_s < 15 * sort_s
