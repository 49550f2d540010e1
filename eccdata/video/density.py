"""How much information natural footage carries: what is lost of it at a fixed rate (eccbench.txt, B.6.2)."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import av
import numpy as np
from numpy.typing import NDArray

from eccdata.errors import EccdataError
from eccdata.video.clips import Frame
from eccdata.video.embedding import Embedder
from eccdata.video.two_pass import BITS_PER_FRAME, PRESET, X264, encode

CUTOFF = 0.0401
"""Clips that score below it are of low density."""
TOLERANCE = 0.05
"""How far the rate may be from the target before the score says less than it should."""

FORMAT = 1
"""Raised whenever the same frames would be measured otherwise, so that older results in a cache are not taken."""


@dataclass(frozen=True, eq=False)
class Density:
    """What was measured on a clip.

    Attributes:
        distortion: δ of each frame, 1 minus the cosine of the angle between the embeddings of the frame before and
            after coding: float32 [frames].
        bits: What each frame was coded with: int64 [frames].
        bits_per_frame: What it should have been on average.

    """

    distortion: NDArray[np.float32]
    bits: NDArray[np.int64]
    bits_per_frame: int

    @property
    def score(self) -> float:
        """The clip's score: the mean distortion without frame 0, which is coded from scratch."""
        return float(self.distortion[1:].astype(np.float64).mean())

    @property
    def spent(self) -> float:
        """Bits that were really spent on a frame, on average."""
        return float(self.bits.mean())

    @property
    def missed_target(self) -> bool:
        """Whether over 5 % more or less was spent than should be, as happens where there is nothing to spend on."""
        return abs(self.spent / self.bits_per_frame - 1) > TOLERANCE


def measure(
    frames: Sequence[Frame] | NDArray[np.uint8], embedder: Embedder, *, bits_per_frame: int = BITS_PER_FRAME
) -> Density:
    """Measure a clip: encode it, decode it, and compare the embeddings of its frames before and after.

    Args:
        frames: Planar YUV 4:2:0, uint8 [frames, height × 3 / 2, width]; at least two. Read a frame at a time.
        embedder: Embeds frames.
        bits_per_frame: The rate at which it is encoded.

    Raises:
        EccdataError: There are fewer than two frames.

    """
    if len(frames) < 2:
        raise EccdataError(
            f"A clip of {len(frames)} frame(s) has no density: frame 0 does not count, and there is no other."
        )
    encoded = encode(frames, bits_per_frame=bits_per_frame)
    before, after = embedder.embed(frames), embedder.embed(encoded.frames())
    if len(after) != len(frames):
        raise EccdataError(f"Of {len(frames)} frames that were encoded, {len(after)} were decoded.")
    cosines = (before.astype(np.float64) * after.astype(np.float64)).sum(axis=1)
    return Density((1 - cosines).astype(np.float32), encoded.bits, bits_per_frame)


def bands(scores: Sequence[float], cutoff: float | Literal["median"] = CUTOFF) -> tuple[list[str], float]:
    """Divide clips into `low` and `high` density.

    Args:
        scores: A score a clip.
        cutoff: Clips that score below it are `low`; `median` takes the median of the scores.

    Returns:
        The band of each clip, and the cutoff as a number.

    """
    limit = float(np.median(scores)) if cutoff == "median" else float(cutoff)
    return ["low" if score < limit else "high" for score in scores], limit


class Cache:
    """Results on disk, a small file each, so that a killed run goes on where it was.

    A result belongs to the pixels of a clip: two clips with the same frames share it. Since it takes long to decode
    frames only to learn that, a second kind of entry says which frames a piece of a file has.

    Args:
        folder: Where they lie; made when something is put in.

    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def of_clip(
        self,
        path: str | Path,
        times_s: Sequence[float],
        frames: Callable[[], Iterable[Frame]],
        embedder: Embedder,
        *,
        bits_per_frame: int = BITS_PER_FRAME,
    ) -> Density:
        """Give the density of a clip, measured now or before.

        Args:
            path: The file that it is cut from.
            times_s: The times of its frames in the file.
            frames: Decodes them, planar YUV 4:2:0, all of one size; called where need be.
            embedder: Embeds frames.
            bits_per_frame: The rate.

        """
        place = _hash("place", FORMAT, file_fingerprint(path), *times_s)
        known = self._read(f"{place}.clip")
        if known is not None:
            found = self._load(_key(known.decode(), embedder, bits_per_frame), len(times_s), bits_per_frame)
            if found is not None:
                return found
        with tempfile.TemporaryFile(prefix="eccdata-frames-") as file:
            digest = hashlib.sha256()
            shape: tuple[int, ...] = ()
            for planes in frames():
                shape = planes.shape
                content = np.ascontiguousarray(planes).tobytes()
                digest.update(content)
                file.write(content)
            file.flush()
            stored = np.memmap(file, np.uint8, "r", shape=(len(times_s), *shape))
            key = _key(digest.hexdigest(), embedder, bits_per_frame)
            found = self._load(key, len(times_s), bits_per_frame)
            if found is None:
                found = measure(stored, embedder, bits_per_frame=bits_per_frame)
                content_ = io.BytesIO()
                np.savez(content_, distortion=found.distortion, bits=found.bits)
                self._write(f"{key}.npz", content_.getvalue())
            del stored
        self._write(f"{place}.clip", digest.hexdigest().encode())
        return found

    def _load(self, key: str, length: int, bits_per_frame: int) -> Density | None:
        content = self._read(f"{key}.npz")
        if content is None:
            return None
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as stored:
                distortion, bits = stored["distortion"], stored["bits"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise EccdataError(
                f"{self.folder / key}.npz is damaged ({type(error).__name__}). Delete it; it is measured again."
            ) from error
        return Density(distortion, bits, bits_per_frame) if len(bits) == length else None

    def _read(self, name: str) -> bytes | None:
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def _write(self, name: str, content: bytes) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # under a name of its own first: a result that is there is whole, whoever else writes it
            with tempfile.NamedTemporaryFile(dir=self.folder, prefix=".", delete=False) as file:
                file.write(content)
            Path(file.name).replace(self.folder / name)
        except OSError as error:
            raise EccdataError(f"{self.folder / name} cannot be written: {error.strerror}.") from error


def file_fingerprint(path: str | Path) -> str:
    """Digest of a file's size, beginning and end: enough to tell videos apart, without reading hours of them."""
    piece = 1 << 20
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(piece)
        file.seek(max(0, size - piece))
        tail = file.read(piece)
    return _hash("file", size, hashlib.sha256(head).hexdigest(), hashlib.sha256(tail).hexdigest())


def _key(clip_digest: str, embedder: Embedder, bits_per_frame: int) -> str:
    # another libavcodec may bring another x264, which spends its bits otherwise
    codec = ".".join(map(str, av.library_versions["libavcodec"]))
    return _hash("density", FORMAT, clip_digest, embedder.digest, bits_per_frame, PRESET, X264, codec)


def _hash(*parts: str | float) -> str:
    return hashlib.sha256("\n".join(map(repr, parts)).encode()).hexdigest()
