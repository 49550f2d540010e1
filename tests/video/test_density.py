from __future__ import annotations

import builtins
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from eccdata.errors import EccdataError
from eccdata.video import density
from eccdata.video.clips import clip_times, frames_at
from eccdata.video.density import Cache, Density, bands, file_fingerprint, measure
from eccdata.video.embedding import Dinov2
from eccdata.video.two_pass import encode
from support.dinov2 import save_tiny_dinov2
from support.footage import clips

BITS = 2000
"""For pictures of 160 × 90, which are a sixteenth of the paper's."""


@pytest.fixture(name="model", scope="module")
def _model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_dinov2(tmp_path_factory.mktemp("dinov2"))


@pytest.fixture(name="embedder", scope="module")
def _embedder(model: Path) -> Dinov2:
    return Dinov2(str(model), device="cpu", batch_size=7)


def footage(name: str, count: int) -> NDArray[np.uint8]:
    end_s = {"bikes": 9.9, "bigbuckbunny": 5.2}[name]
    return np.stack(list(frames_at(clips()[name], clip_times(0, end_s, count), width=160, height=90)))


@pytest.mark.parametrize("name", ["bikes", "bigbuckbunny"])
def test_a_clip_with_every_frame_doubled_is_more_compressible(name: str, embedder: Dinov2) -> None:
    frames = footage(name, 20)
    clip = measure(frames, embedder, bits_per_frame=BITS)
    doubled = measure(np.repeat(frames, 2, axis=0), embedder, bits_per_frame=BITS)
    assert doubled.score < clip.score
    # and of two clips of one length that with each frame twice
    as_long = measure(np.repeat(frames[:10], 2, axis=0), embedder, bits_per_frame=BITS)
    assert as_long.score < clip.score


def test_the_score_is_the_mean_without_frame_0() -> None:
    one = Density(np.array([9, 0.1, 0.2, 0.3], np.float32), np.array([70, 10, 10, 10]), 25)
    assert one.score == pytest.approx(0.2)
    assert one.spent == 25
    assert not one.missed_target


def test_distortion_is_one_minus_the_cosine_of_patch_means(embedder: Dinov2) -> None:
    import torch

    frames = footage("bikes", 6)
    found = measure(frames, embedder, bits_per_frame=BITS)
    decoded = np.stack(list(encode(frames, bits_per_frame=BITS).frames()))
    for at in (0, 3, 5):
        points = []
        for frame in (frames[at], decoded[at]):
            picture = av.VideoFrame.from_ndarray(frame, format="yuv420p").to_ndarray(format="rgb24")
            pixels = embedder.processor(images=picture, return_tensors="pt")["pixel_values"]
            with torch.no_grad():
                states = embedder.model(pixels).last_hidden_state[0]
            assert len(states) == 1 + 16  # the class token and 4 × 4 patches
            mean = states[1:].mean(0)
            points.append(mean / mean.norm())
        assert found.distortion[at] == pytest.approx(1 - float(points[0] @ points[1]), abs=1e-6)


def test_embeddings_do_not_depend_on_the_batch(model: Path, embedder: Dinov2) -> None:
    frames = footage("bikes", 9)
    points = embedder.embed(frames)
    assert points.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(Dinov2(str(model), batch_size=2).embed(iter(frames)), points, atol=1e-5)


def test_where_there_is_nothing_to_spend_bits_on_the_target_is_missed(embedder: Dinov2) -> None:
    flat = np.full((24, 135, 160), 128, np.uint8)
    found = measure(flat, embedder, bits_per_frame=8000)
    assert found.spent < 0.5 * 8000
    assert found.missed_target
    assert found.score == pytest.approx(0, abs=1e-6)


def test_bands() -> None:
    assert density.CUTOFF == 0.0401
    assert bands([0.0400, 0.0401, 0.09]) == (["low", "high", "high"], 0.0401)
    assert bands([0.3, 0.1, 0.2, 0.4], "median") == (["high", "low", "low", "high"], 0.25)


def test_one_frame_has_no_density(embedder: Dinov2) -> None:
    with pytest.raises(EccdataError, match="no density"):
        measure(footage("bikes", 2)[:1], embedder)


class Counting:
    """Counts what is decoded and embedded."""

    def __init__(self, embedder: Dinov2, frames: NDArray[np.uint8]) -> None:
        self.inner, self.frames = embedder, frames
        self.decoded = self.embedded = 0

    @property
    def digest(self) -> str:
        return self.inner.digest

    def embed(self, frames: Any) -> NDArray[np.float32]:
        self.embedded += 1
        return self.inner.embed(frames)

    def decode(self) -> Iterator[NDArray[np.uint8]]:
        self.decoded += 1
        yield from self.frames


def test_results_are_kept_by_clip_and_by_place(tmp_path: Path, embedder: Dinov2) -> None:
    video = tmp_path / "video.mp4"
    video.write_bytes(clips()["bikes"].read_bytes())
    counting = Counting(embedder, footage("bikes", 6))
    times = clip_times(0, 6, 6)

    def of(path: Path, times_s: list[float], folder: str = "cache") -> Density:
        return Cache(tmp_path / folder).of_clip(path, times_s, counting.decode, counting, bits_per_frame=BITS)

    first = of(video, times)
    assert (counting.decoded, counting.embedded) == (1, 2)
    again = of(video, times)
    assert (counting.decoded, counting.embedded) == (1, 2)
    assert again.distortion.tolist() == first.distortion.tolist()
    assert again.bits.tolist() == first.bits.tolist()
    # the same frames from elsewhere: decoded, and not measured
    of(video, clip_times(1, 7, 6))
    assert (counting.decoded, counting.embedded) == (2, 2)
    # moved: the same file
    moved = video.rename(tmp_path / "moved.mp4")
    of(moved, times)
    assert (counting.decoded, counting.embedded) == (2, 2)
    # other contents under the same name
    moved.write_bytes(moved.read_bytes() + b"0")
    counting.frames = counting.frames[::-1]
    of(moved, times)
    assert (counting.decoded, counting.embedded) == (3, 4)
    of(moved, times, "another")
    assert (counting.decoded, counting.embedded) == (4, 6)


def test_another_model_or_rate_is_measured_anew(tmp_path: Path, embedder: Dinov2) -> None:
    other = Dinov2(str(save_tiny_dinov2(tmp_path / "other", seed=1)))
    assert other.digest != embedder.digest
    frames = footage("bikes", 4)
    cache = Cache(tmp_path / "cache")
    video = clips()["bikes"]
    one = cache.of_clip(video, [0, 1, 2, 3], lambda: iter(frames), embedder, bits_per_frame=BITS)
    two = cache.of_clip(video, [0, 1, 2, 3], lambda: iter(frames), other, bits_per_frame=BITS)
    three = cache.of_clip(video, [0, 1, 2, 3], lambda: iter(frames), embedder, bits_per_frame=2 * BITS)
    assert len({one.score, two.score, three.score}) == 3


def test_a_damaged_result_is_told(tmp_path: Path, embedder: Dinov2) -> None:
    frames = footage("bikes", 4)

    def of() -> Density:
        return Cache(tmp_path).of_clip(
            clips()["bikes"], [0, 1, 2, 3], lambda: iter(frames), embedder, bits_per_frame=BITS
        )

    of()
    (result,) = tmp_path.glob("*.npz")
    result.write_bytes(result.read_bytes()[:50])
    with pytest.raises(EccdataError, match=r"damaged.*Delete it"):
        of()


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    # an embedder without PyTorch, which takes seconds to import
    script = textwrap.dedent(
        f"""
        import numpy as np
        from eccdata.video.clips import clip_times, frames_at
        from eccdata.video.density import Cache

        class Means:
            digest = "means"

            def embed(self, frames):
                points = np.stack([f.reshape(-1, 45).mean(axis=0) for f in frames])
                return points / np.linalg.norm(points, axis=1, keepdims=True)

        for second in range(6):
            times = clip_times(second * 0.5, second * 0.5 + 4, 6)
            def frames():
                print("measured", second, flush=True)
                return frames_at({str(clips()["bikes"])!r}, times, width=160, height=90)
            cache = Cache({str(tmp_path / "cache")!r})
            found = cache.of_clip({str(clips()["bikes"])!r}, times, frames, Means(), bits_per_frame=2000)
            print("score", second, repr(found.score), flush=True)
        """
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as first:
        assert first.stdout is not None
        seen = []
        for line in first.stdout:
            seen.append(line.split())
            if line.startswith("measured 3"):
                time.sleep(0.05)  # amid the fourth
                os.kill(first.pid, signal.SIGKILL)
                break
    assert first.returncode == -signal.SIGKILL
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split() for line in second.stdout.splitlines()]
    assert [line[1] for line in lines if line[0] == "measured"] == ["3", "4", "5"]
    before = {line[1]: line[2] for line in seen if line[0] == "score"}
    after = {line[1]: line[2] for line in lines if line[0] == "score"}
    assert len(before) == 3
    assert before.items() <= after.items()
    assert len(after) == 6
    # nothing half-written is left
    assert not [path for path in (tmp_path / "cache").iterdir() if path.suffix not in (".npz", ".clip")]


def test_the_fingerprint_of_a_file_is_its_size_and_ends(tmp_path: Path) -> None:
    path = tmp_path / "large"
    content = bytearray(5 << 20)
    path.write_bytes(content)
    one = file_fingerprint(path)
    content[-1] = 1
    path.write_bytes(content)
    two = file_fingerprint(path)
    path.write_bytes(content[1:])
    assert len({one, two, file_fingerprint(path)}) == 3


def test_what_is_no_dinov2_is_told(tmp_path: Path, model: Path) -> None:
    with pytest.raises(EccdataError, match="cannot be loaded"):
        Dinov2(str(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    config = json.loads((model / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "model_type": "nothing"}))
    with pytest.raises(EccdataError, match="cannot be loaded"):
        Dinov2(str(other))
    with pytest.raises(EccdataError, match="no device"):
        Dinov2(str(model), device="cuda:99")
    with pytest.raises(EccdataError, match="batch size is 0"):
        Dinov2(str(model), batch_size=0)


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    real: Callable[..., Any] = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EccdataError, match=r"torch is not installed here[^$]*eccdata\[models\]"):
        Dinov2(str(model))
