"""Clips as they are sent: from any video the chosen frames at one a second, made once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eccdata.errors import EccdataError
from eccdata.media import Media, Recipe, Sent
from eccdata.requests import Request
from eccdata.video.clips import write_clip
from eccdata.video.decoding import decode
from eccdata.video.preparing import MediaLibrary, make_ready
from eccdata.video.probing import probe
from eccdata.video.sampling import sampler, select
from support.clips import HEIGHT, WIDTH, clip, number, picture, steady

FPS_2 = Recipe("video", sampler("fps", fps=2), "pyav")


def shown(content: bytes) -> list[int]:
    """The numbers that a video shows."""
    selection = select(sampler("eccbench"), probe(content).timing)
    return [number(frame) for frame in decode(content, selection)]


def made(source: bytes | Path, recipe: Recipe, folder: Path) -> tuple[dict[str, Any], bytes]:
    """What `make_ready` gives, and the one file that is sent."""
    found = make_ready(source, recipe, 0, folder)
    if found["files"] is None:
        return found, source if isinstance(source, bytes) else source.read_bytes()
    (digest,) = found["files"]
    return found, (folder / f"{digest}.mp4").read_bytes()


def test_chosen_frames_are_encoded_a_second_apart(tmp_path: Path) -> None:
    """Of 4 s at 25 frames a second, two a second; of them a server that takes all sees all."""
    found, content = made(clip(steady(100)), FPS_2, tmp_path)
    assert found["manifest"]["indices"] == [0, 12, 25, 37, 50, 62, 75, 87]
    assert (found["manifest"]["decoder"], found["manifest"]["width"]) == ("pyav", WIDTH)
    info = probe(content)
    assert info.pts_s.tolist() == [float(second) for second in range(8)]
    assert info.duration_s == 8
    assert shown(content) == [0, 12, 25, 37, 50, 62, 75, 87]


def test_a_frame_is_repeated_until_their_number_fits(tmp_path: Path) -> None:
    recipe = replace(FPS_2, sampler=sampler("uniform", n=3), frame_multiple=4)
    found, content = made(clip(steady(100)), recipe, tmp_path)
    assert found["manifest"]["indices"] == [0, 49, 99, 99]
    assert shown(content) == [0, 49, 99, 99]


def test_what_was_made_is_not_made_again_of_itself(tmp_path: Path) -> None:
    """A clip at one frame a second, all of whose frames are chosen, goes out as it is: no generation is lost."""
    _, content = made(clip(steady(100)), FPS_2, tmp_path)
    again, same = made(content, Recipe("video", sampler("eccbench"), "pyav"), tmp_path)
    assert again["files"] is None
    assert again["manifest"]["decoder"] == "none"
    assert same == content
    fewer, _ = made(content, Recipe("video", sampler("uniform", n=4), "pyav"), tmp_path)
    assert fewer["files"] is not None


def test_local_clips_of_natural_footage_go_out_as_they_are(tmp_path: Path) -> None:
    gray = np.full((HEIGHT * 3 // 2, WIDTH), 90, np.uint8)
    write_clip(tmp_path / "clip.mp4", [gray + 3 * index for index in range(9)])
    found = make_ready(tmp_path / "clip.mp4", Recipe("video", sampler("eccbench"), "pyav"), 0, tmp_path)
    assert found["files"] is None
    assert found["manifest"]["indices"] == list(range(9))


def test_images_are_the_frames_to_the_pixel(tmp_path: Path) -> None:
    from PIL import Image

    source = clip(steady(10, step_ms=500))
    found = make_ready(source, Recipe("frames", sampler("fps", fps=1), "pyav"), 0, tmp_path)
    assert found["manifest"]["indices"] == [0, 2, 4, 6, 8]
    assert found["manifest"]["times_s"] == [0.0, 1.0, 2.0, 3.0, 4.0]
    for digest, frame in zip(
        found["files"], decode(source, select(sampler("fps", fps=1), probe(source).timing)), strict=True
    ):
        assert np.array_equal(np.asarray(Image.open(tmp_path / f"{digest}.png")), frame)
    assert number(picture(3)) == 3


@pytest.fixture
def library(tmp_path: Path) -> MediaLibrary:
    return MediaLibrary(tmp_path / "media")


def request(source: bytes | Path, recipe: Recipe = FPS_2) -> Request:
    return Request("q", "p/1", (), media=(Media("clip", source, recipe),))


def sent(library: MediaLibrary, asked: Request) -> Sent:
    (medium,) = library.ready(asked).media
    return medium.ready


def test_a_clip_is_made_once_and_found_by_what_it_holds(library: MediaLibrary, tmp_path: Path) -> None:
    content = clip(steady(50))
    (tmp_path / "one.mp4").write_bytes(content)
    (tmp_path / "other.mp4").write_bytes(content)
    asked = [request(tmp_path / "one.mp4"), request(tmp_path / "other.mp4"), request(content)]
    counted: list[int] = []
    asyncio.run(library.prepare(asked, counted.append))
    assert counted == [1, 2, 3]
    digests = {sent(library, each).files[0].digest for each in asked}
    assert len(digests) == 1
    assert len(list((tmp_path / "media").glob("*.mp4"))) == 1
    # another process finds it, and needs no worker
    before = sent(library, asked[0])
    other = MediaLibrary(tmp_path / "media")
    after = sent(other, asked[0])
    assert after.files[0].read() == before.files[0].read()
    assert after.manifest.to_dict() == before.manifest.to_dict()


def test_what_cannot_be_sent_is_named_and_the_rest_is_made(library: MediaLibrary, tmp_path: Path) -> None:
    (tmp_path / "empty.mp4").write_bytes(b"")
    (tmp_path / "good.mp4").write_bytes(clip(steady(50)))

    def asked() -> Iterator[Request]:
        for name in ("missing.mp4", "empty.mp4", "good.mp4", "missing.mp4"):
            yield request(tmp_path / name)

    with pytest.raises(EccdataError, match="These clips cannot be sent") as error:
        asyncio.run(library.prepare(asked()))
    assert str(error.value).count("missing.mp4") == 1
    assert str(error.value).count("empty.mp4") == 1
    assert sent(library, request(tmp_path / "good.mp4")).files
