from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eccdata.systems.retrieval.windows import merged, nearest, windows


@pytest.mark.parametrize(("frames", "expected"), [(64, 13), (128, 29), (512, 125)])
def test_as_many_as_the_paper_prices(frames: int, expected: int) -> None:
    """Table 9: 0.43, 0.95 and 4.11 PF of windows at 32.9 TF."""
    assert len(windows(frames, 16, 4)) == expected
    assert f"{expected * 32.9 / 1000:.2f}" == {64: "0.43", 128: "0.95", 512: "4.11"}[frames]


@given(st.integers(1, 300), st.integers(1, 40), st.data())
def test_every_frame_is_in_a_window(frames: int, size: int, data: st.DataObject) -> None:
    stride = data.draw(st.integers(1, size))
    found = windows(frames, size, stride)
    assert {place for first, count in found for place in range(first, first + count)} == set(range(frames))
    assert all(count == min(size, frames) for _, count in found)
    firsts = [first for first, _ in found]
    assert firsts == sorted(set(firsts))
    assert all(later - earlier == stride for earlier, later in pairwise(firsts[:-1]))
    assert merged(found) == ((0, frames),)


def unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


def test_the_nearest_come_first_and_of_equals_the_earlier() -> None:
    rng = np.random.default_rng(0)
    points = unit(rng.normal(size=(40, 3)))
    # 30 of them are one and the same, wherever a library's blocks begin
    points[5:35] = points[7]
    query = points[7]
    ranked = nearest(points, query, 40)
    assert [row for row, _ in ranked[:30]] == list(range(5, 35))
    assert len({similarity for _, similarity in ranked[:30]}) == 1
    exact = points.astype(np.float64) @ query.astype(np.float64)
    assert [similarity for _, similarity in ranked] == pytest.approx(sorted(exact, reverse=True), abs=1e-6)
    assert nearest(points, query, 3) == ranked[:3]
    assert len(nearest(points, query, 100)) == 40


def test_windows_that_overlap_or_touch_are_one() -> None:
    assert merged([(20, 16), (0, 16), (4, 16)]) == ((0, 36),)
    assert merged([(40, 16), (0, 16), (4, 16)]) == ((0, 20), (40, 16))
    assert merged([(16, 16), (0, 16)]) == ((0, 32),)
    assert merged([(0, 16), (2, 4)]) == ((0, 16),)
