"""Decoding in processes of its own: never in the event loop, and no file takes the others with it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, ParamSpec, Self, TypeVar

from PIL import Image

from eccdata.errors import EccdataError
from eccdata.video.decoding import decode, find_decoder
from eccdata.video.manifest import FrameManifest
from eccdata.video.probing import Probed, VideoInfo, complaint, probe
from eccdata.video.sampling import SamplerSpec, select
from eccdata.video.sources import Source, source_name

P = ParamSpec("P")
T = TypeVar("T")

Encoding = Literal["png", "jpeg"]

TRIES = 2
"""A worker that dies may have been killed by somebody else; one that dies twice of the same file is killed by it."""


@dataclass(frozen=True, slots=True)
class EncodedFrames:
    """Frames of a video as they are sent.

    Attributes:
        images: PNG or JPEG files, one a frame, in the order of the manifest.
        manifest: Which frames they are.
        info: The video they are of.

    """

    images: tuple[bytes, ...]
    manifest: FrameManifest
    info: VideoInfo


class DecodingPool:
    """Worker processes that decode, for use in an event loop: `async with DecodingPool(workers=2) as pool`.

    Each worker is a process apart, so that one that dies is known to have died of the file that it had: that file is
    one error, and a new worker takes the place. A job whose caller gives up, or that takes longer than `limit_s`, is
    ended with its worker.

    Attributes:
        workers: How many processes decode side by side; all that the machine gives by default.
        limit_s: Seconds that one job may take.

    """

    def __init__(self, workers: int | None = None, *, limit_s: float = 600.0) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))
        self.limit_s = limit_s
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        for _ in range(self.workers):
            self._idle.put_nowait(_Worker())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for _ in range(self.workers):
            (await self._idle.get()).end()

    async def frames(
        self,
        source: Source,
        sampler: SamplerSpec,
        *,
        decoder: str = "pyav",
        encoding: Encoding = "png",
        size: tuple[int, int] | None = None,
    ) -> EncodedFrames:
        """Choose, decode and encode frames of a video.

        Only the encoded frames come back, and a worker holds one decoded frame at a time.

        Args:
            source: A path, or the bytes of a file.
            sampler: Which frames.
            decoder: See `decode`.
            encoding: `png` is without loss; `jpeg` is of quality 95 without chroma subsampling.
            size: Width and height to scale to (Lanczos); as they are by default.

        Raises:
            EccdataError: As `probe`, `select` and `decode`; or a file that ends its worker, or takes too long.

        """
        return await self.run(source, encoded_frames, source, sampler, decoder, encoding, size)

    async def probe(self, source: Source, *, thorough: bool = False) -> VideoInfo:
        """Probe a video, see `probing.probe`."""
        return await self.run(source, _probe, source, thorough)

    async def probe_all(self, paths: Iterable[str | os.PathLike[str]], *, thorough: bool = False) -> Probed:
        """Probe files side by side, see `probing.probe_all`; one that crashes its decoder is a fault like others."""
        videos: dict[Path, VideoInfo] = {}
        faults: dict[Path, str] = {}
        waiting = iter(dict.fromkeys(map(Path, paths)))

        async def work() -> None:
            for path in waiting:
                try:
                    info = await self.probe(path, thorough=thorough)
                except EccdataError as error:
                    faults[path] = str(error)
                else:
                    if fault := complaint(path, info):
                        faults[path] = fault
                    else:
                        videos[path] = info

        async with asyncio.TaskGroup() as group:
            for _ in range(self.workers):
                group.create_task(work())
        return Probed(dict(sorted(videos.items())), dict(sorted(faults.items())))

    async def run(self, source: Source, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function of a module in a worker, on behalf of a file.

        Args:
            source: The file that is to blame if the worker dies.
            function: With what it returns, to be sent between processes.
            args: Its arguments.
            kwargs: Its arguments by name.

        Raises:
            EccdataError: What the function raises; or the worker died of it twice, or it took too long.

        """
        for _ in range(TRIES):
            worker = await self._idle.get()
            try:
                async with asyncio.timeout(self.limit_s):
                    return await worker.call(function, *args, **kwargs)
            except BrokenProcessPool:
                continue
            except TimeoutError:
                worker.kill()
                raise EccdataError(
                    f"{source_name(source)}: decoding took longer than {self.limit_s:g} s and was ended."
                ) from None
            except asyncio.CancelledError:
                worker.kill()
                raise
            finally:
                self._idle.put_nowait(worker)
        raise EccdataError(
            f"{source_name(source)}: decoding it ended its process without a word, {TRIES} times: the file crashes the "
            "decoder, or there is not enough memory for its frames."
        )


class _Worker:
    """One process, started when there is something to do, and anew when it has died."""

    def __init__(self) -> None:
        self.executor: ProcessPoolExecutor | None = None
        self.pid = 0

    async def call(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        if self.executor is None:
            # spawned, since a fork of a process with threads and loops in it may never wake
            context = multiprocessing.get_context("spawn")
            self.executor = ProcessPoolExecutor(1, mp_context=context, initializer=_ignore_interrupts)
            self.pid = 0
        try:
            if not self.pid:
                with _main_left_out():
                    started = self.executor.submit(os.getpid)
                self.pid = await asyncio.wrap_future(started)
            return await asyncio.wrap_future(self.executor.submit(function, *args, **kwargs))
        except BrokenProcessPool:
            self.end()
            raise

    def kill(self) -> None:
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self.end()

    def end(self) -> None:
        if self.executor is not None:
            self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor, self.pid = None, 0


@contextlib.contextmanager
def _main_left_out() -> Iterator[None]:
    """Start processes that do not run the caller's script again.

    A spawned process imports the main module first, for functions that may come from there; ours come from this
    package. A script that calls us without asking for its `__name__` would call us again in every worker.
    """
    main = sys.modules["__main__"]
    kept: dict[str, Any] = {n: vars(main).pop(n) for n in ("__file__", "__spec__") if n in vars(main)}
    main.__spec__ = None
    try:
        yield
    finally:
        vars(main).update(kept)


def encoded_frames(
    source: Source,
    sampler: SamplerSpec,
    decoder: str = "pyav",
    encoding: Encoding = "png",
    size: tuple[int, int] | None = None,
) -> EncodedFrames:
    """Choose, decode and encode frames, in this process; see `DecodingPool.frames`."""
    info = probe(source)
    selection = select(sampler, info.timing)
    chosen = find_decoder(decoder)
    images: list[bytes] = []
    sent: tuple[int, int] | None = size
    previous = None
    for frame in decode(source, selection, decoder):
        if frame is not previous:
            image = Image.fromarray(frame)
            if sent is None:
                sent = image.size
            if image.size != sent:
                # of a video that changes its size midway too, all frames are sent in one
                image = image.resize(sent, Image.Resampling.LANCZOS)
            file = io.BytesIO()
            image.save(file, "JPEG", quality=95, subsampling=0) if encoding == "jpeg" else image.save(
                file, "PNG"
            )
            previous = frame
            data = file.getvalue()
        images.append(data)
    manifest = FrameManifest.of(
        selection,
        sampler,
        size=sent or (info.width, info.height),
        decoder=chosen.name,
        decoder_version=chosen.version(),
    )
    return EncodedFrames(tuple(images), manifest, info)


def _probe(source: Source, thorough: bool) -> VideoInfo:
    return probe(source, thorough=thorough)


def _ignore_interrupts() -> None:
    # the parent decides what an interrupt means
    signal.signal(signal.SIGINT, signal.SIG_IGN)
