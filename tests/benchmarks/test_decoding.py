"""Probing and sparse decoding against decoding everything."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from eccdata.video.decoding import decode
from eccdata.video.probing import probe
from eccdata.video.sampling import FrameSelection, sampler, select
from support.clips import clip, steady


def seconds(action: Callable[[], object], repeats: int) -> float:
    """The least processor time of some runs: what a busy machine adds is no part of it."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return min(times)


@pytest.mark.benchmark
def test_a_few_frames_do_not_cost_the_whole_video() -> None:
    data = clip(steady(1000), options={"preset": "ultrafast", "x264-params": "keyint=50:bframes=3"}, grain=20)
    info = probe(data)
    few = select(sampler("uniform", n=8), info.timing)
    everything = FrameSelection(np.arange(info.frame_count), info.pts_s)

    def drain(selection: FrameSelection) -> int:
        return sum(1 for _ in decode(data, selection))

    all_s = seconds(lambda: drain(everything), 1)
    few_s = seconds(lambda: drain(few), 3)
    probe_s = seconds(lambda: probe(data), 3)
    print(
        f"\n{info.frame_count} frames, {len(data) / 2**20:.1f} MB: all decoded in {all_s:.2f} s; 8 of them in "
        f"{few_s * 1e3:.0f} ms ({all_s / few_s:.0f} times less); probed in {probe_s * 1e3:.0f} ms "
        f"({all_s / probe_s:.0f} times less)"
    )
    assert all_s / few_s > 4
    assert all_s / probe_s > 10
