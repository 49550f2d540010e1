"""The index of a run's videos: windows cut and embedded, each once, however many questions want them at a time."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eccdata.audit import Audit
from eccdata.errors import EccdataError
from eccdata.media import Media, Recipe, Sent
from eccdata.requests import Request, Response, Status
from eccdata.systems.embedding_server import Embedding, EmbeddingFailed, EmbeddingServer
from eccdata.systems.retrieval.flights import Flights
from eccdata.systems.retrieval.kept import KeptEmbeddings
from eccdata.systems.retrieval.windows import windows
from eccdata.video.cutting import Belts, Footage, Span, footage
from eccdata.video.workers import DecodingPool

MOST_KEPT = 64 << 20
"""Bytes of points that stay in memory; there is always the last video's."""


@dataclass(frozen=True, slots=True, eq=False)
class Indexed:
    """A video and its windows.

    Attributes:
        footage: Its frames.
        spans: Its windows.
        points: float32 [windows, dimensions], rows of length one.
        embeddings: The same, with what they cost in tokens.

    """

    footage: Footage
    spans: tuple[Span, ...]
    points: NDArray[np.float32]
    embeddings: tuple[Embedding, ...]


class Index:
    """Embeddings of windows and of what is looked for, made where they are not kept yet."""

    def __init__(
        self,
        embedder: EmbeddingServer,
        kept: KeptEmbeddings,
        pool: DecodingPool,
        audit: Audit | None,
        *,
        size: int,
        stride: int,
        multiple: int,
        at_once: int,
    ) -> None:
        """Begin an index.

        Args:
            embedder: Who embeds, open.
            kept: Where embeddings are kept.
            pool: Where clips are decoded that have to be.
            audit: What clips must cost the embedder in tokens; None to let that pass.
            size: Frames of a window.
            stride: Frames from one window to the next.
            multiple: The last frame of a clip is repeated until their number is a multiple of this.
            at_once: How many clips may be cut and embedded at a time: so many are in memory.

        """
        self._embedder = embedder
        self._kept = kept
        self.pool = pool
        self._audit = audit
        self._size, self._stride, self._multiple = size, stride, multiple
        self._slots = asyncio.Semaphore(at_once)
        self._videos: OrderedDict[str, Indexed] = OrderedDict()
        self._indexing: Flights[Indexed] = Flights()
        self._embedding: Flights[Embedding] = Flights()

    async def close(self) -> None:
        """End what is under way; what is embedded is kept."""
        await self._indexing.close()
        await self._embedding.close()

    async def video(self, medium: Media) -> Indexed:
        """The index of a video that is ready to be sent.

        Raises:
            EmbeddingFailed: A window could not be embedded; those that were are kept.
            EccdataError: The video cannot be read, its windows fail the token audit, or the folder cannot be written.

        """
        key = _key(medium)
        found = self._videos.get(key)
        if found is None:
            found = await self._indexing.join(key, lambda: self._index(medium))
            self._videos[key] = found
            while (
                len(self._videos) > 1
                and sum(each.points.nbytes for each in self._videos.values()) > MOST_KEPT
            ):
                self._videos.popitem(last=False)
        else:
            self._videos.move_to_end(key)
        return found

    async def clip(self, medium: Media) -> Embedding:
        """Embed a whole clip as windows are; raises as `video`."""
        shown = await asyncio.to_thread(footage, medium)
        (embedding,) = await self._embeddings(medium, shown, [(0, shown.frames)])
        return embedding

    async def sentence(self, text: str) -> Embedding:
        """Embed a sentence; raises `EmbeddingFailed`."""
        key = self._kept.key(f"text {text}")

        async def make() -> Embedding:
            kept = await asyncio.to_thread(self._kept.get, [key])
            if key in kept:
                return kept[key]
            async with self._slots:
                made = await self._embedder.embed_text(text)
            return await asyncio.to_thread(self._kept.put, key, made)

        return await self._embedding.join(key, make)

    async def _index(self, medium: Media) -> Indexed:
        shown = await asyncio.to_thread(footage, medium)
        spans = windows(shown.frames, self._size, self._stride)
        embeddings = await self._embeddings(medium, shown, spans)
        sizes = sorted({len(each.vector) for each in embeddings})
        if len(sizes) > 1:
            raise EmbeddingFailed(Status.MALFORMED, f"embeddings of {sizes} dimensions of one video", 1)
        return Indexed(shown, spans, np.stack([each.vector for each in embeddings]), tuple(embeddings))

    async def _embeddings(self, medium: Media, shown: Footage, spans: Sequence[Span]) -> list[Embedding]:
        """The embeddings of parts of a clip; windows of the same frames are one."""
        repeats = [-count % self._multiple for _, count in spans]

        def keys() -> list[str]:
            parts = zip(spans, repeats, strict=True)
            return [self._kept.key(f"clip {shown.key([span], again)}") for span, again in parts]

        each = await asyncio.to_thread(keys)
        kept = await asyncio.to_thread(self._kept.get, each)
        missing = {
            key: (span, again)
            for key, span, again in zip(each, spans, repeats, strict=True)
            if key not in kept
        }
        made = await asyncio.gather(
            *(
                self._embedding.join(key, lambda key=key, part=part: self._embed(key, medium, shown, *part))  # type: ignore[misc]
                for key, part in missing.items()
            )
        )
        kept.update(zip(missing, made, strict=True))
        return [kept[key] for key in each]

    async def _embed(self, key: str, medium: Media, shown: Footage, span: Span, repeats: int) -> Embedding:
        async with self._slots:
            # another process may have made it meanwhile
            kept = await asyncio.to_thread(self._kept.get, [key])
            if key in kept:
                return kept[key]
            if isinstance(shown, Belts):
                content, _ = await asyncio.to_thread(shown.cut, [span], repeats)
            else:
                content, _ = await self.pool.run(medium.source, shown.cut, [span], repeats)
            made = await self._embedder.embed_video(content)
        self._check(medium, span, repeats, made)
        return await asyncio.to_thread(self._kept.put, key, made)

    def _check(self, medium: Media, span: Span, repeats: int, made: Embedding) -> None:
        """Hold the embedder's count of tokens against what a clip must cost it."""
        if self._audit is None or made.prompt_tokens is None:
            return
        request = Request("", "", (), media=(as_embedded(medium, span, repeats),))
        fault = self._audit.judge(request, Response(Status.OK, prompt_tokens=made.prompt_tokens))
        if fault is not None:
            raise EccdataError(
                f"The token audit of the embedder failed at a clip of {span[1] + repeats} frames: {fault} What it "
                "makes of clips must be set right; or go on all the same with audit_embedder=false."
            )


def as_embedded(medium: Media, span: Span, repeats: int) -> Media:
    """Part of a clip as the embedder gets it, by its frames alone: one file of `span` and repeats of its last frame."""
    manifest = medium.ready.manifest
    places = np.pad(np.arange(span[0], sum(span)), (0, repeats), mode="edge")
    manifest = replace(manifest, indices=manifest.indices[places], times_s=manifest.times_s[places])
    recipe = Recipe("video", medium.recipe.sampler, medium.recipe.decoder)
    return replace(medium, name="clip", recipe=recipe, timed=False, sent=Sent("video/mp4", (), manifest))


def _key(medium: Media) -> str:
    """What tells one video, as it is sent, from another."""
    parts = [medium.recipe.layout, *(file.digest for file in medium.ready.files)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()
