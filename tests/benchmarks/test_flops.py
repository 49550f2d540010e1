"""What pricing responses costs beside the array arithmetic that has to be done for it at least."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from eccdata.flops import coefficients, price
from eccdata.flops.formulas import Numbers

RESPONSES = 1_000_000
LENGTHS = (8, 16, 64, 128, 256, 512, 1024)
LIMIT = 8
"""How many times the CPU time of the bare arithmetic a price may take; two to three were measured."""


def cpu_s(work: Callable[[], Numbers]) -> float:
    """The least of five tries."""
    spent = []
    for _ in range(5):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return min(spent)


@pytest.mark.benchmark
def test_a_million_responses(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([4, 1])))
    frames = rng.choice(LENGTHS, RESPONSES)
    prompt = rng.integers(100, 300, RESPONSES)
    answer = rng.uniform(1, 500, RESPONSES)
    model = "Qwen3-VL (8B)"
    b, a, f_voc = coefficients(model)
    group = price(model, frames=2, frame_size=(448, 448))

    def bare() -> Numbers:
        """The formulas of this one model, written out."""
        groups = np.ceil(frames / 2)
        n = prompt + group.vision_tokens * groups
        looked = (group.vision + group.connector) * groups
        prefill = b * n + a * (n * (n + 1) / 2)
        decode = answer * f_voc + (answer - 1) * b + a * ((answer - 1) * n + answer * (answer - 1) / 2)
        return np.asarray(looked + prefill + decode)

    def priced() -> Numbers:
        return price(
            model, frames=frames, frame_size=(448, 448), prompt_tokens=prompt, answer_tokens=answer
        ).total

    np.testing.assert_allclose(priced(), bare(), rtol=1e-12)
    least, ours = cpu_s(bare), cpu_s(priced)
    with capsys.disabled():
        print(
            f"\n{RESPONSES:,} responses priced in {ours:.3f} s of CPU time, {ours / least:.1f} times the bare "
            f"arithmetic's (held to {LIMIT})"
        )
    assert ours < LIMIT * least
