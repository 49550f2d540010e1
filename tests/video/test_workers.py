"""Decoding in processes of its own: what comes back, and what a process that dies takes with it."""

from __future__ import annotations

import asyncio
import io
import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from eccdata.errors import EccdataError
from eccdata.video.manifest import manifest_type
from eccdata.video.probing import probe, probe_all
from eccdata.video.sampling import sampler
from eccdata.video.workers import DecodingPool, encoded_frames
from support import dying
from support.clips import B_FRAMES, clip, number, steady

X264 = {"x264-params": B_FRAMES}


def pictures(images: tuple[bytes, ...]) -> list[np.ndarray]:
    return [np.asarray(Image.open(io.BytesIO(image))) for image in images]


def test_frames_come_back_encoded_with_their_manifest(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(clip(steady(60), options=X264))
    spec = sampler("uniform", n=4)

    async def ask() -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        async with DecodingPool(1) as pool:
            ticking = asyncio.create_task(tick())
            got = await pool.frames(path, spec)
            small = await pool.frames(path.read_bytes(), spec, encoding="jpeg", size=(64, 32))
            ticking.cancel()
        assert ticks > 10, "the event loop went on meanwhile"
        assert [number(frame) for frame in pictures(got.images)] == [0, 19, 39, 59]
        assert [frame.shape for frame in pictures(small.images)] == [(32, 64, 3)] * 4
        assert got.info.frame_count == 60
        row = got.manifest.to_dict()
        assert row["indices"] == [0, 19, 39, 59]
        assert row["times_s"] == pytest.approx([0, 0.76, 1.56, 2.36])
        assert (row["width"], row["height"], row["sampler"], row["decoder"]) == (128, 64, "uniform", "pyav")
        assert row["sampler_parameters"] == {"n": 4, "fps": None, "cap": None, "cap_mode": None}
        assert row["decoder_version"].startswith("1")
        assert pa.array([row, None], manifest_type()).to_pylist() == [row, None]
        assert (small.manifest.width, small.manifest.height) == (64, 32)

    asyncio.run(ask())


def test_png_keeps_every_pixel_and_repeats_cost_nothing() -> None:
    data = clip(steady(3), options=X264)
    got = encoded_frames(data, sampler("uniform", n=6))
    assert got.manifest.indices.tolist() == [0, 0, 0, 1, 1, 2]
    assert got.images[0] is got.images[2]
    assert [number(frame) for frame in pictures(got.images)] == [0, 0, 0, 1, 1, 2]


def test_a_file_that_kills_its_worker_is_one_error_among_many(tmp_path: Path) -> None:
    good = clip(steady(20), options=X264)
    spec = sampler("uniform", n=2)

    async def ask() -> list[object]:
        async with DecodingPool(2) as pool:
            jobs = [pool.frames(good, spec) for _ in range(6)]
            results = await asyncio.gather(
                *jobs[:3], pool.run("evil.mp4", dying.die), *jobs[3:], return_exceptions=True
            )
            once = await pool.run("unlucky.mp4", dying.die_once, tmp_path / "mark")
            assert once == "alive", "killed by somebody else, it is tried again"
            return list(results)

    results = asyncio.run(ask())
    error = results.pop(3)
    assert isinstance(error, EccdataError)
    assert "evil.mp4: decoding it ended its process without a word" in str(error)
    assert all(len(result.images) == 2 for result in results)  # type: ignore[attr-defined]


def test_errors_come_back_as_they_are() -> None:
    async def ask() -> None:
        async with DecodingPool(1) as pool:
            worker = await pool.run("x", dying.process)
            with pytest.raises(EccdataError, match=r"^The video \(3 bytes\) cannot be read as a video"):
                await pool.frames(b"bad", sampler("uniform", n=2))
            assert await pool.run("x", dying.process) == worker != os.getpid()

    asyncio.run(ask())


@pytest.mark.parametrize("how", ["limit", "cancelled"])
def test_a_job_that_is_given_up_is_ended(how: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    async def ask() -> None:
        async with DecodingPool(1, limit_s=5 if how == "limit" else 600) as pool:
            job = asyncio.create_task(pool.run("slow.mp4", dying.hang, mark))
            if how == "limit":
                with pytest.raises(EccdataError, match=r"slow.mp4: decoding took longer than 5 s"):
                    await job
            else:
                while not mark.exists() or not mark.read_text():
                    await asyncio.sleep(0.02)
                job.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await job
            assert await pool.run("x", dying.process) > 0, "the pool goes on"

    started = time.monotonic()
    asyncio.run(ask())
    assert time.monotonic() - started < 50
    if mark.exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(mark.read_text()), 0)


def test_probing_side_by_side_finds_what_probing_in_turn_does(tmp_path: Path) -> None:
    for index in range(4):
        (tmp_path / f"{index}.mp4").write_bytes(clip(steady(5 + index), options=X264))
    (tmp_path / "empty.mp4").write_bytes(b"")
    (tmp_path / "one.mp4").write_bytes(clip([0]))
    paths = sorted(tmp_path.iterdir())

    async def ask() -> None:
        async with DecodingPool(2) as pool:
            together = await pool.probe_all(paths)
            assert (await pool.probe(paths[0], thorough=True)).frame_count == probe(paths[0]).frame_count
        in_turn = probe_all(paths)
        assert together.faults == in_turn.faults
        assert list(together.videos) == list(in_turn.videos)

    asyncio.run(ask())
