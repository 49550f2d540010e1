"""Clips made ready to be sent: chosen frames as one file at a frame a second, or as images. Made once, and kept."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import os
import tempfile
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import av
import numpy as np
import orjson
from PIL import Image

from eccdata.errors import EccdataError, problem
from eccdata.media import NOT_DECODED, File, Media, Recipe, Sent, sha256
from eccdata.requests import Request
from eccdata.video.clips import Frame, planes, write_clip
from eccdata.video.decoding import decode, find_decoder
from eccdata.video.manifest import FrameManifest
from eccdata.video.probing import VideoInfo, probe
from eccdata.video.sampling import FrameSelection, SamplerSpec, select
from eccdata.video.workers import DecodingPool

VERSION = 1
"""Raised whenever the same clip would be sent otherwise, so that what is kept from before is not taken."""

CLOCK_S = 1e-6
MOST_WORKERS = 16
KEPT_CLIPS = 64
KEPT_PICTURES = 64
"""Streams of letters have 48 pictures: each is encoded once."""

MIMES = {"video": "video/mp4", "frames": "image/png"}
SUFFIXES = {"video": ".mp4", "frames": ".png"}


class NotReady(EccdataError):
    """A clip was not prepared, or what was prepared is there no longer."""


class MediaLibrary:
    """Clips as they are sent, in a folder: a small file on each, and what is not sent as it is beside it.

    Memory holds the last few; nothing in it grows with the number of clips.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._clips: OrderedDict[bytes, Sent] = OrderedDict()
        self._sources: deque[tuple[bytes, str]] = deque(maxlen=4)

    async def prepare(self, requests: Iterable[Request], report: Callable[[int], None] | None = None) -> None:
        """Make ready whatever is not yet, in worker processes.

        Args:
            requests: Taken one by one.
            report: Called with the number of requests that are ready.

        Raises:
            EccdataError: Clips cannot be sent; names them, after all others are ready.

        """
        wrong: dict[str, None] = {}
        # a clip that is asked for by several is made once
        waiting = self._missing(requests, wrong, report)

        async def work(pool: DecodingPool) -> None:
            for item in waiting:
                if item is None:
                    await asyncio.sleep(0)
                    continue
                medium, key = item
                try:
                    made = await pool.run(
                        medium.source, make_ready, medium.source, medium.recipe, medium.repeated, self.folder
                    )
                except EccdataError as error:
                    wrong[str(error)] = None
                    continue
                _write(self._index(key), orjson.dumps(made))

        workers = min(MOST_WORKERS, len(os.sched_getaffinity(0)))
        async with DecodingPool(workers) as pool, asyncio.TaskGroup() as group:
            for _ in range(pool.workers):
                group.create_task(work(pool))
        if wrong:
            raise problem("These clips cannot be sent:", list(wrong))

    def ready(self, request: Request) -> Request:
        """Give the request with its clips as they are sent; they have been prepared."""
        if not request.media:
            return request
        return replace(
            request, media=tuple(replace(medium, sent=self._sent(medium)) for medium in request.media)
        )

    # -- what is there ---------------------------------------------------------------------------------------

    def _missing(
        self, requests: Iterable[Request], wrong: dict[str, None], report: Callable[[int], None] | None
    ) -> Iterator[tuple[Media, bytes] | None]:
        begun: set[bytes] = set()
        for done, request in enumerate(requests, 1):
            for medium in request.media:
                try:
                    key = self._key(medium)
                except EccdataError as error:
                    wrong[str(error)] = None
                    continue
                if key in begun or key in self._clips:
                    continue
                if not self._complete(key):
                    begun.add(key)
                    yield medium, key
            if report is not None:
                report(done)
            yield None

    def _complete(self, key: bytes) -> bool:
        index = self._index(key)
        if not index.is_file():
            return False
        made = orjson.loads(index.read_bytes())
        return made["files"] is None or all(
            self._file(made, digest).is_file() for digest in set(made["files"])
        )

    def _sent(self, medium: Media) -> Sent:
        key = self._key(medium)
        if key in self._clips:
            self._clips.move_to_end(key)
            return self._clips[key]
        try:
            made = orjson.loads(self._index(key).read_bytes())
        except OSError as error:
            raise NotReady(
                f"{self._index(key)} cannot be read: {error.strerror}. Run again: it is then made anew."
            ) from error
        files: tuple[File, ...]
        if made["files"] is None:
            files = (File(made["digest"], medium.source),)
        else:
            # the same picture is the same object, however often it is shown
            by_digest = {digest: File(digest, self._file(made, digest)) for digest in set(made["files"])}
            files = tuple(by_digest[digest] for digest in made["files"])
        sent = Sent(made["mime"], files, _manifest(made["manifest"]))
        if made["files"] is not None or isinstance(medium.source, Path):
            self._clips[key] = sent
            if len(self._clips) > KEPT_CLIPS:
                self._clips.popitem(last=False)
        return sent

    def _key(self, medium: Media) -> bytes:
        recipe = medium.recipe
        decoder = find_decoder(recipe.decoder)
        parts = [
            VERSION,
            self._digest(medium.source),
            recipe.layout,
            str(recipe.sampler),
            [decoder.name, decoder.version(), av.__version__],
            recipe.frame_multiple,
            medium.repeated,
        ]
        return hashlib.sha256(orjson.dumps(parts)).digest()

    def _digest(self, source: Path | bytes) -> str:
        if isinstance(source, Path):
            return file_digest(source)
        # Questions about one stream follow each other, and comparing is quicker than digesting.
        for content, digest in self._sources:
            if content is source or content == source:
                return digest
        self._sources.append((source, sha256(source)))
        return self._sources[-1][1]

    def _index(self, key: bytes) -> Path:
        return self.folder / "clips" / f"{key.hex()}.json"

    def _file(self, made: dict[str, Any], digest: str) -> Path:
        return self.folder / f"{digest}{made['suffix']}"


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hex; kept until the file changes.

    Raises:
        EccdataError: It cannot be read.

    """
    try:
        stat = path.stat()
        return _file_digest(path, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise EccdataError(f"{path}, which is to be sent, cannot be read: {error.strerror}.") from error


@lru_cache(maxsize=4096)
def _file_digest(path: Path, mtime_ns: int, size: int) -> str:  # noqa: ARG001
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# -- in worker processes ---------------------------------------------------------------------------------------


def make_ready(source: Path | bytes, recipe: Recipe, repeated: int, folder: Path) -> dict[str, Any]:
    """Make a clip ready in this process; its files go into `folder`, by their digest.

    Args:
        source: The clip.
        recipe: How it is to be sent.
        repeated: How many of its last frames are but the one before them again.
        folder: Where its files go.

    Returns:
        As it is kept: `mime`, `suffix`, `manifest`, `files` by digest in order, or None where the source itself is
        sent, with its `digest`.

    Raises:
        EccdataError: As `probe`, `select` and `decode`.

    """
    info = probe(source)
    selection = select(recipe.sampler, info.timing)
    decoder = find_decoder(recipe.decoder)
    name, version, size = decoder.name, decoder.version(), (info.width, info.height)
    files: list[str] | None = None
    digest = None
    if recipe.layout == "frames":
        files, size = _images(source, selection, recipe.decoder, folder)
    else:
        selection = _multiple(selection, recipe.frame_multiple)
        if _is_sent_as_it_is(info, selection):
            name, version = NOT_DECODED, ""
            digest = sha256(source) if isinstance(source, bytes) else file_digest(source)
        else:
            files, size = _video(source, selection, recipe.decoder, folder)
    manifest = FrameManifest.of(
        _without_repeats(selection, repeated),
        recipe.sampler,
        size=size,
        decoder=name,
        decoder_version=version,
    )
    return {
        "mime": MIMES[recipe.layout],
        "suffix": SUFFIXES[recipe.layout],
        "files": files,
        "digest": digest,
        "manifest": manifest.to_dict(),
    }


def _multiple(selection: FrameSelection, multiple: int) -> FrameSelection:
    missing = -len(selection) % multiple
    return FrameSelection(
        np.pad(selection.indices, (0, missing), mode="edge"),
        np.pad(selection.times_s, (0, missing), mode="edge"),
    )


def _without_repeats(selection: FrameSelection, repeated: int) -> FrameSelection:
    """Call the frames that are but repeats by the name of what they repeat."""
    if not repeated:
        return selection
    last = int(selection.indices.max()) - repeated
    indices = np.minimum(selection.indices, last)
    last_s = selection.times_s[selection.indices == last]
    times_s = np.where(selection.indices > last, last_s[0] if len(last_s) else np.nan, selection.times_s)
    return FrameSelection(indices, times_s)


def _is_sent_as_it_is(info: VideoInfo, selection: FrameSelection) -> bool:
    """Whether a file is what would be made of it: an MP4 of H.264, each of its frames chosen and a second long."""
    frames = np.arange(info.frame_count)
    return (
        "mp4" in info.container
        and info.codec == "h264"
        and np.array_equal(selection.indices, frames)
        and bool(np.all(np.abs(info.pts_s - info.pts_s[0] - frames) < CLOCK_S))
        and abs(info.duration_s - len(frames)) < CLOCK_S
    )


def _images(
    source: Path | bytes, selection: FrameSelection, decoder: str, folder: Path
) -> tuple[list[str], tuple[int, int]]:
    files: list[str] = []
    known: OrderedDict[bytes, str] = OrderedDict()
    width = height = 0
    for frame in decode(source, selection, decoder):
        pixels = hashlib.sha256(np.ascontiguousarray(frame).data).digest()
        if pixels not in known:
            file = io.BytesIO()
            Image.fromarray(frame).save(file, "PNG")
            content = file.getvalue()
            known[pixels] = sha256(content)
            if len(known) > KEPT_PICTURES:
                known.popitem(last=False)
            _write(folder / f"{known[pixels]}.png", content, keep=True)
            digest = known[pixels]
        else:
            known.move_to_end(pixels)
            digest = known[pixels]
        files.append(digest)
        if (width, height) not in ((0, 0), (frame.shape[1], frame.shape[0])):
            raise EccdataError("A video that changes its size midway cannot be sent as frames of one size.")
        height, width = frame.shape[:2]
    return files, (width, height)


def _video(
    source: Path | bytes, selection: FrameSelection, decoder: str, folder: Path
) -> tuple[list[str], tuple[int, int]]:
    folder.mkdir(parents=True, exist_ok=True)
    sizes: list[tuple[int, int]] = []

    def frames() -> Iterator[Frame]:
        for picture in decode(source, selection, decoder):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
            # 4:2:0 wants an even number of rows and columns; one size for all of them
            size = sizes[0] if sizes else (frame.width // 2 * 2, frame.height // 2 * 2)
            sizes.append(size)
            yield planes(frame.reformat(*size, "yuv420p", interpolation="AREA"))

    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder) as place:
        made = Path(place) / "clip.mp4"
        write_clip(made, frames())
        digest = file_digest(made)
        made.replace(folder / f"{digest}.mp4")
    return [digest], sizes[0]


def _write(path: Path, content: bytes, *, keep: bool = False) -> None:
    """Write a file so that it is there whole or not at all."""
    if keep and path.is_file():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.incomplete")
        try:
            unfinished.write_bytes(content)
            unfinished.replace(path)
        finally:
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise EccdataError(f"{path} cannot be written: {error.strerror}.") from error


def _manifest(kept: dict[str, Any]) -> FrameManifest:
    return FrameManifest(
        indices=np.array(kept["indices"], np.int64),
        times_s=np.array(kept["times_s"], np.float64),
        width=kept["width"],
        height=kept["height"],
        sampler=SamplerSpec(kept["sampler"], **kept["sampler_parameters"]),
        decoder=kept["decoder"],
        decoder_version=kept["decoder_version"],
    )
