"""What prices must obey, whatever is asked for, and how they are asked for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from eccdata.errors import EccdataError
from eccdata.flops import Price, answer_tokens, coefficients, price
from eccdata.flops.architectures import shipped
from eccdata.flops.formulas import decode

TERMS = ("context", "vision_tokens", "vision", "connector", "prefill", "decode", "write", "read", "total")
MODELS = st.sampled_from([each.name for each in shipped()])
FRAMES = st.integers(0, 2048)
SIZES = st.tuples(st.integers(28, 1000), st.integers(28, 1000))
TOKENS = st.integers(0, 100_000)
ANSWERS = st.integers(1, 9000)


def number(value: float | NDArray[np.float64]) -> float:
    assert isinstance(value, float)
    return value


@settings(deadline=None, max_examples=60)
@given(model=MODELS, frames=FRAMES, size=SIZES, prompt=TOKENS, answer=ANSWERS, q=st.integers(1, 64))
def test_the_parts_add_up(
    model: str, frames: int, size: tuple[int, int], prompt: int, answer: int, q: int
) -> None:
    cost = price(model, frames=frames, frame_size=size, prompt_tokens=prompt, answer_tokens=answer, queries=q)
    assert cost.context == prompt + number(cost.vision_tokens)
    assert cost.write == pytest.approx(cost.vision + cost.connector + cost.prefill)
    assert cost.total == pytest.approx(cost.write + cost.read)
    assert cost.per_query == pytest.approx(cost.write / q + cost.read)
    assert price(model, prompt_tokens=prompt, answer_tokens=answer).vision == 0


@settings(deadline=None, max_examples=30)
@given(model=MODELS, n=st.integers(0, 3000), t=st.integers(1, 300))
def test_decode_is_the_sum_of_its_steps(model: str, n: int, t: int) -> None:
    """The first token comes of the prefill; the t-th step attends over N + t positions."""
    b, a, f_voc = coefficients(model)
    steps = t * f_voc + sum(b + a * (n + step) for step in range(1, t))
    assert decode(b, a, f_voc, float(n), float(t)) == pytest.approx(steps, rel=1e-12)


@settings(deadline=None, max_examples=30)
@given(model=MODELS, n=st.integers(0, 3000))
def test_prefill_is_the_sum_over_positions(model: str, n: int) -> None:
    """The i-th token attends to i positions, itself among them."""
    b, a, _ = coefficients(model, images=False)
    assert price(model, prompt_tokens=n).prefill == pytest.approx(sum(b + a * i for i in range(1, n + 1)))


@settings(deadline=None, max_examples=60)
@given(
    model=MODELS.filter(lambda name: not name.startswith("LongVILA")),
    frames=st.integers(0, 1024),
    size=SIZES,
    prompt=TOKENS,
    answer=ANSWERS,
    more=st.tuples(st.integers(0, 300), TOKENS, ANSWERS),
)
def test_more_never_costs_less(
    model: str,
    frames: int,
    size: tuple[int, int],
    prompt: int,
    answer: int,
    more: tuple[int, int, int],
) -> None:
    before = price(model, frames=frames, frame_size=size, prompt_tokens=prompt, answer_tokens=answer)
    text = price(
        model, frames=frames, frame_size=size, prompt_tokens=prompt + more[1], answer_tokens=answer + more[2]
    )
    for term in TERMS:
        assert getattr(text, term) >= getattr(before, term), term
    longer = price(
        model, frames=frames + more[0], frame_size=size, prompt_tokens=prompt, answer_tokens=answer
    )
    assert longer.vision >= before.vision
    if model != "MiniCPM-V 4.5 (9B)":  # which packs more frames into one call where a clip grows longer
        for term in TERMS:
            assert getattr(longer, term) >= getattr(before, term), term


@settings(deadline=None, max_examples=30)
@given(
    model=MODELS,
    asked=st.lists(st.tuples(FRAMES, SIZES, TOKENS, ANSWERS, st.integers(1, 9)), min_size=1, max_size=8),
    limits=st.booleans(),
)
def test_many_at_a_time_are_as_one_by_one(model: str, asked: list[Any], limits: bool) -> None:
    frames, sizes, prompts, answers, queries = (np.array(column) for column in zip(*asked, strict=True))
    together = price(
        model,
        frames=frames,
        frame_size=(sizes[:, 0], sizes[:, 1]),
        prompt_tokens=prompts,
        answer_tokens=answers,
        queries=queries,
        limits=limits,
    )
    for place, (count, size, prompt, answer, q) in enumerate(asked):
        one = price(
            model,
            frames=count,
            frame_size=size,
            prompt_tokens=prompt,
            answer_tokens=answer,
            queries=q,
            limits=limits,
        )
        for term in (*TERMS, "per_query"):
            assert np.broadcast_to(getattr(together, term), len(asked))[place] == getattr(one, term)


def test_shapes_broadcast() -> None:
    grid = price("Qwen3-VL", frames=np.array([[8], [64]]), frame_size=(448, 448), answer_tokens=np.ones(3))
    assert isinstance(grid.total, np.ndarray)
    assert grid.total.shape == (2, 3)
    assert isinstance(price("Qwen3-VL").total, float)


def test_frames_are_grouped_within_each_clip() -> None:
    """A main video of 63 frames and an option of 5 are 32 + 3 groups, not 34."""
    size = (448, 448)
    both = price("Qwen3-VL", clips=[(63, size), (5, size)], prompt_tokens=128)
    assert both.vision_tokens == 196 * (32 + 3)
    assert both.vision == pytest.approx(
        price("Qwen3-VL", frames=64, frame_size=size).vision
        + price("Qwen3-VL", frames=6, frame_size=size).vision
    )


def test_an_image_a_frame_is_a_group_a_frame() -> None:
    size = (448, 448)
    images = price("Qwen2.5-VL", frames=7, frame_size=size, layout="frames")
    assert images.vision_tokens == 7 * 256
    assert images.vision == price("Qwen2.5-VL", frames=14, frame_size=size).vision
    # each image is a call of the resampler of its own
    assert price("MiniCPM-V 4.5", frames=200, frame_size=size, layout="frames").vision_tokens == 200 * 64
    assert price("MiniCPM-V 4.5", frames=200, frame_size=size).vision_tokens == 100 * 64


def test_limits_shrink_long_videos_as_their_processors_do() -> None:
    """Qwen3-VL's counts the pixels of all frames: at 448×448 it is reached beyond 125 of them."""
    size = (448, 448)
    for frames in (64, 124):
        assert price("Qwen3-VL", frames=frames, frame_size=size, limits=True) == price(
            "Qwen3-VL", frames=frames, frame_size=size
        )
    shrunk = price("Qwen3-VL", frames=1024, frame_size=size, limits=True)
    assert shrunk.vision_tokens == 16 * 512
    assert shrunk.vision == 512 * number(
        price("Qwen3-VL", frames=2, frame_size=(128, 128), limits=False).vision
    )


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"model": "Qwen3-VL (9B)"}, r"Did you mean 'Qwen3-VL \(8B\)'"),
        ({"model": "qwen3-vl"}, "There is no model with a price called 'qwen3-vl'"),
        ({"frames": 8}, r"depends on the size of the frames. Give frame_size"),
        ({"frames": -1, "frame_size": (448, 448)}, "frames: 0 or above"),
        ({"frames": 2.5, "frame_size": (448, 448)}, "frames: numbers without fractions"),
        ({"frames": 2, "frame_size": (448, 0)}, "height: 1 or above"),
        ({"prompt_tokens": -3}, "prompt_tokens: 0 or above, and not -3"),
        ({"prompt_tokens": math.nan}, "prompt_tokens: 0 or above, and not nan"),
        ({"answer_tokens": 0.5, "queries": 0}, "answer_tokens: 1 or above"),
        ({"frames": 2, "clips": [(2, (448, 448))]}, "not both"),
        ({"model": "LongVILA", "frames": 5000}, "do not say what LongVILA"),
        ({"model": "LongVILA", "frames": 5, "layout": "frames"}, "sent as images"),
    ],
)
def test_what_cannot_be_priced_is_told(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(EccdataError, match=told):
        price(**{"model": "Qwen3-VL", **asked})


def test_a_price_does_not_change() -> None:
    cost = price("Qwen3-VL", prompt_tokens=5)
    assert cost == Price(**{name: getattr(cost, name) for name in Price.__slots__})
    with pytest.raises(AttributeError):
        cost.decode = 0.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("t_out", "i", "chars", "reasoning", "charged"),
    [
        (10, 5, 20, 0, 2.5),
        (10, 0, 20, 0, 1.0),  # a marker at the beginning: one token at least
        (10, None, 20, 0, 5.0),  # no marker: half the reply
        (1, None, 20, 0, 1.0),
        (10, None, 0, 0, 5.0),
        (100, 0, 3, 297, 99.0),  # reasoning that was given apart stands before the reply
        (100, None, 3, 297, 50.0),
    ],
)
def test_what_an_answer_is_charged(
    t_out: int,
    i: int | None,
    chars: int,
    reasoning: int,
    charged: float,
) -> None:
    assert answer_tokens(t_out, i, chars, reasoning) == charged
    place = np.nan if i is None else i
    many = answer_tokens(
        np.array([t_out, t_out]), np.array([place, place]), np.array([chars, chars]), reasoning
    )
    assert many.tolist() == [charged, charged]


def test_what_is_not_known_of_an_answer_is_not_charged_as_nothing() -> None:
    assert np.isnan(answer_tokens(np.nan, 1, 2))
    assert np.isnan(answer_tokens(10, 1, np.nan))


@settings(deadline=None)
@given(st.integers(1, 9000), st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 50_000))
def test_an_answer_is_charged_no_more_than_all_of_it(t_out: int, i: int, rest: int, reasoning: int) -> None:
    charged = float(answer_tokens(t_out, i, i + rest + 3, reasoning))
    assert 1 <= charged <= max(1, t_out)
    assert charged >= float(answer_tokens(t_out, i, i + rest + 3, 0)) - 1e-9
