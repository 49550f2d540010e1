from __future__ import annotations

import asyncio
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from eccdata.media import Layout, Media, Recipe
from eccdata.requests import Request
from eccdata.video.cutting import Belts, Coded, Pictures, footage, length
from eccdata.video.mp4 import mp4_bytes
from eccdata.video.preparing import MediaLibrary, make_ready
from eccdata.video.probing import probe
from eccdata.video.reading import read_video
from eccdata.video.sampling import sampler
from eccdata.video.workers import encoded_frames
from support.clips import clip, number

EVENTS = np.stack([np.arange(20) % 16, np.arange(20) % 3], axis=1)
KEYFRAMES = {"x264-params": "bframes=0:keyint=4:scenecut=0"}
SECONDS = range(0, 20_000, 1000)


def ready(
    source: bytes, folder: Path, *, layout: Layout = "video", multiple: int = 1, **chosen: Any
) -> Media:
    """A clip as it is sent."""
    library = MediaLibrary(folder)
    recipe = Recipe(layout, sampler(**(chosen or {"name": "eccbench"})), "pyav", multiple)
    request = Request("q", "p/1", (), media=(Media("main", source, recipe),))
    asyncio.run(library.prepare([request]))
    (medium,) = library.ready(request).media
    return medium


def seen(content: bytes) -> list[int]:
    """The frames of a part, by the numbers that they show; and that each is a second long."""
    info = probe(content)
    assert info.pts_s.tolist() == list(map(float, range(info.frame_count)))
    assert info.duration_s == info.frame_count
    images = encoded_frames(content, sampler("eccbench")).images
    return [number(np.asarray(Image.open(BytesIO(image)))) for image in images]


@pytest.mark.parametrize(("layout", "multiple"), [("video", 1), ("video", 8), ("frames", 1)])
def test_letters_on_belts_are_copied_in_whatever_layout(
    layout: Layout, multiple: int, tmp_path: Path
) -> None:
    shown = footage(ready(mp4_bytes(EVENTS), tmp_path, layout=layout, multiple=multiple))
    assert isinstance(shown, Belts)
    assert shown.frames == 20
    content, decoder = shown.cut([(3, 4), (10, 3)], repeats=1)
    chosen = EVENTS[[3, 4, 5, 6, 10, 11, 12, 12]]
    # the same bytes as a video built of these frames: it keeps H.264's rule for pictures in a row that stand alone
    assert (content, decoder) == (mp4_bytes(chosen), "none")
    assert read_video(content).events.tolist() == chosen.tolist()


@settings(max_examples=25)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_a_part_of_letters_is_the_part_whatever_its_place(sizes: list[int]) -> None:
    numbers = np.random.default_rng(sum(sizes)).integers(0, 48, sum(sizes) + len(sizes))
    shown = Belts(tuple(numbers.tolist()))
    spans, first = [], 0
    for size in sizes:
        spans.append((first, size))
        first += size + 1
    chosen = np.concatenate([numbers[first : first + size] for first, size in spans])
    events = np.stack(np.divmod(chosen, 3), axis=1)
    assert shown.cut(spans)[0] == mp4_bytes(events)
    assert shown.key(spans) == Belts(tuple(chosen.tolist())).key([(0, len(chosen))])


def test_packets_are_copied_from_keyframes_on_and_coded_anew_elsewhere(tmp_path: Path) -> None:
    source = clip(SECONDS, options=KEYFRAMES, rate=1)
    shown = footage(ready(source, tmp_path))
    assert isinstance(shown, Coded)
    assert shown.keyframes == tuple(place % 4 == 0 for place in range(20))
    for spans, repeats, decoder in (
        ([(4, 6)], 0, "none"),
        ([(4, 6), (12, 3)], 0, "none"),
        ([(3, 6)], 0, "pyav"),
        ([(4, 6), (13, 3)], 0, "pyav"),
        # a picture that stands on others cannot be copied behind them once more
        ([(4, 5)], 1, "pyav"),
    ):
        content, decoded_by = shown.cut(spans, repeats)
        places = [place for first, count in spans for place in range(first, first + count)]
        assert seen(content) == places + places[-1:] * repeats
        assert decoded_by == decoder
        assert shown.cut(spans, repeats)[0] == content


def test_packets_out_of_order_are_not_copied(tmp_path: Path) -> None:
    source = clip(SECONDS, options={"x264-params": "bframes=3:b-adapt=0:keyint=12:scenecut=0"}, rate=1)
    shown = footage(ready(source, tmp_path))
    assert isinstance(shown, Coded)
    assert shown.keyframes is None
    assert seen(shown.cut([(0, 5)])[0]) == [0, 1, 2, 3, 4]


def test_images_are_coded(tmp_path: Path) -> None:
    source = clip(SECONDS, options=KEYFRAMES, rate=1)
    shown = footage(ready(source, tmp_path, layout="frames"))
    assert isinstance(shown, Pictures)
    content, decoder = shown.cut([(2, 3), (9, 2)], repeats=1)
    assert (seen(content), decoder) == ([2, 3, 4, 9, 10, 10], "pyav")


def test_what_was_sampled_is_what_is_cut(tmp_path: Path) -> None:
    source = clip(range(0, 20_000, 500), options=KEYFRAMES, rate=2)
    medium = ready(source, tmp_path, name="fps", fps=1.0)
    shown = footage(medium)
    assert shown.frames == len(medium.ready.manifest.indices) == 20
    assert seen(shown.cut([(5, 3)])[0]) == medium.ready.manifest.indices[5:8].tolist()


def test_keys_are_of_what_is_shown(tmp_path: Path) -> None:
    source = clip(SECONDS, options=KEYFRAMES, rate=1)
    kinds = [
        footage(ready(source, tmp_path / "video")),
        footage(ready(source, tmp_path / "frames", layout="frames")),
        footage(ready(mp4_bytes(EVENTS), tmp_path / "belts")),
    ]
    keys = [
        shown.key(spans, repeats)
        for shown in kinds
        for spans, repeats in (
            ([(0, 4)], 0),
            ([(0, 4)], 1),
            ([(1, 4)], 0),
            ([(0, 5)], 0),
            ([(0, 2), (3, 2)], 0),
        )
    ]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("indices", "expected"), [([0], 1), ([3, 3, 3], 1), ([0, 1, 2], 3), ([0, 1, 2, 2, 2], 3), ([0, 0, 1], 3)]
)
def test_frames_that_are_repeated_at_the_end_do_not_count(
    indices: list[int], expected: int, tmp_path: Path
) -> None:
    medium = ready(mp4_bytes(EVENTS[:4]), tmp_path)
    manifest = replace(medium.ready.manifest, indices=np.array(indices))
    assert length(replace(medium, sent=replace(medium.ready, manifest=manifest))) == expected


def test_a_part_that_is_sent_needs_no_decoding(tmp_path: Path) -> None:
    """What is cut by copying is a file that would be sent as it is."""
    shown = footage(ready(clip(SECONDS, options=KEYFRAMES, rate=1), tmp_path))
    recipe = Recipe("video", sampler("eccbench"), "pyav")
    for content in (shown.cut([(4, 8)])[0], shown.cut([(5, 8)])[0]):
        assert make_ready(content, recipe, 0, tmp_path)["files"] is None
