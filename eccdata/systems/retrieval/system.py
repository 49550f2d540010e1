"""Retrieval before answering: the paper's pipeline as a system like any other (eccbench.txt, B.7)."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import av
import pyarrow as pa

from eccdata.audit import Audit
from eccdata.errors import problem
from eccdata.keys import digest
from eccdata.media import Media
from eccdata.requests import Json, Request, Response, Status
from eccdata.systems import base_url as address
from eccdata.systems.embedding_server import Embedding, EmbeddingFailed, EmbeddingServer
from eccdata.systems.retrieval.composing import SENTENCE, disclosed, excerpt, hit, searched
from eccdata.systems.retrieval.costs import Priced, total
from eccdata.systems.retrieval.index import Index, Indexed, as_embedded
from eccdata.systems.retrieval.kept import KeptEmbeddings
from eccdata.systems.retrieval.windows import merged, nearest
from eccdata.systems.sglang import SGLang
from eccdata.video import cutting
from eccdata.video.cutting import Belts, Span
from eccdata.video.workers import DecodingPool

VERSION = 1
"""Raised whenever the same clip would be embedded otherwise, or the same question answered from something else."""

MOST_WORKERS = 4


@dataclass
class _Open:
    """What an open system holds."""

    answerer: SGLang | None = None
    embedder: EmbeddingServer | None = None
    index: Index | None = None
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    reader: Priced = field(default_factory=Priced)
    searcher: Priced = field(default_factory=Priced)


@dataclass(frozen=True)
class Retrieval:
    """A search for the windows of a video that are most like what is asked for, and a model that is shown these alone.

    Each video is cut into windows, each window is embedded once and kept, and the candidate clip or the question's
    sentence is embedded the same way. The answerer gets the best windows as one clip, with the prompt that every model
    gets and one sentence that says so. Options that are not named after the embedder hold for both servers, or for
    the answerer.

    Attributes:
        base_url: Where the answerer is, as for `sglang`.
        embedder_url: Where the embedder is: SGLang, started with `--is-embedding`.
        model: The answerer's name at its server; the one that is served where there is only one.
        embedder_model: The embedder's.
        api_key_env: The environment variable that holds the answerer's API key.
        embedder_api_key_env: The one that holds the embedder's.
        window: Frames of a window.
        stride: Frames from one window's first to the next one's.
        top_k: Windows retrieved of a video of fewer than `long_frames` frames.
        top_k_long: Windows retrieved of a longer one.
        long_frames: Where videos begin to be long.
        frame_multiple: Clips for the embedder have a multiple of so many frames, the last one repeated: Qwen's models
            read frames in pairs, and SGLang drops the last one of an odd number.
        index: The folder in which embeddings are kept, shared by all runs; by default one in the user's cache.
        embedder_concurrency: Clips cut and embedded at a time.
        audit_embedder: Stop where the embedder's count of tokens says that it saw other frames than were sent.
        timeout_s: The longest that one reply may take.
        retries: How often a request that failed for a passing reason is sent again.
        backoff_s: The wait before a retry is drawn uniformly from 0 to this, doubled with each retry.
        backoff_limit_s: The longest wait before a retry.
        startup_s: How long to wait for a server that says it is still starting.
        extra: Further fields of every request to the answerer.
        top_logprobs: As for `sglang`.
        checkpoint: The answerer's folder on this machine or its id on the Hub, as for `sglang`.
        embedder_checkpoint: The embedder's.

    """

    base_url: str
    embedder_url: str
    model: str | None = None
    embedder_model: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    embedder_api_key_env: str = "EMBEDDER_API_KEY"
    window: int = 16
    stride: int = 4
    top_k: int = 1
    top_k_long: int = 3
    long_frames: int = 128
    frame_multiple: int = 2
    index: str | None = None
    embedder_concurrency: int = 16
    audit_embedder: bool = True
    timeout_s: float = 3600.0
    retries: int = 7
    backoff_s: float = 0.5
    backoff_limit_s: float = 60.0
    startup_s: float = 900.0
    extra: Mapping[str, Json] = field(default_factory=dict)
    top_logprobs: int = 0
    checkpoint: str | None = None
    embedder_checkpoint: str | None = None

    reads_media: ClassVar[bool] = True
    columns: ClassVar[pa.Schema] = pa.schema(
        {
            "answerer": pa.string(),
            "embedder": pa.string(),
            "windows": pa.int32(),
            "retrieved": pa.list_(
                pa.struct(
                    {"first_frame": pa.int32(), "frames": pa.int32(), "similarity": pa.float64()},
                )
            ),
            "composed_frames": pa.int32(),
            "query_frames": pa.int32(),
            "query_tokens": pa.int32(),
            "hit": pa.bool_(),
            "flops_index": pa.float64(),
            "flops_query": pa.float64(),
            "flops_answer": pa.float64(),
            "flops_write": pa.float64(),
            "flops_read": pa.float64(),
        }
    )
    """What its results have besides: who answered and who embedded; how many windows the video has; those that were
    retrieved, the best first, and how many frames they come to; how many frames (of a sentence none) and tokens what
    was looked for has; whether one of the parts shown holds the candidate whole, where it is known to occur; and
    FLOPs, of which the whole index is the writing, and query and answer are the reading (B.7)."""
    _now: _Open = field(default_factory=_Open, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            EccdataError: Naming every option that cannot be.

        """
        wrong = [
            fault.replace("base_url", "embedder_url", 1)
            for fault in address.faults(self.embedder_url, self.embedder_api_key_env)
        ]
        counted = ("window", "stride", "top_k", "top_k_long", "long_frames", "frame_multiple")
        wrong += [
            f"{name}={getattr(self, name)}: at least 1"
            for name in (*counted, "embedder_concurrency")
            if getattr(self, name) < 1
        ]
        if self.stride > self.window:
            wrong.append(f"stride={self.stride}: {self.window} (window) at most, or frames are left out")
        if wrong:
            raise problem("These options of retrieval cannot be:", wrong)
        self._servers()  # with checks of its own

    @property
    def label(self) -> str:
        """Who answers and who searches."""
        now = self._now
        answerer = now.answerer.label if now.answerer else self.model or "model"
        embedder = now.embedder.label if now.embedder else self.embedder_model or "model"
        return f"retrieval({answerer}, {embedder})"

    async def open(self) -> None:
        """Find both servers.

        Raises:
            EccdataError: One of them is not there, does not take the key, or does not do what is wanted of it.

        """
        now = self._now
        now.stack = AsyncExitStack()
        try:
            answerer, embedder = self._servers()
            for server in (answerer, embedder):
                await server.open()
                now.stack.push_async_callback(server.close)
            pool = await now.stack.enter_async_context(
                DecodingPool(min(MOST_WORKERS, len(os.sched_getaffinity(0))))
            )
            now.answerer, now.embedder = answerer, embedder
            now.reader = Priced.of(answerer.label, answerer.facts())
            now.searcher = Priced.of(embedder.label, embedder.facts())
            now.index = Index(
                embedder,
                KeptEmbeddings(self._folder(), digest([VERSION, embedder.fingerprint()])),
                pool,
                Audit.of(embedder.facts()) if self.audit_embedder else None,
                size=self.window,
                stride=self.stride,
                multiple=self.frame_multiple,
                at_once=self.embedder_concurrency,
            )
            now.stack.push_async_callback(now.index.close)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let go of both servers, and end what is under way."""
        await self._now.stack.aclose()

    def fingerprint(self) -> Mapping[str, Json]:
        """Both servers, and all that decides what the answerer is shown."""
        answerer, embedder = self._opened()
        return {
            "answerer": answerer.fingerprint(),
            "embedder": embedder.fingerprint(),
            "retrieval": {
                "version": VERSION,
                "cutting": [cutting.VERSION, av.__version__],
                "sentence": SENTENCE,
                **{
                    name: getattr(self, name)
                    for name in ("window", "stride", "top_k", "top_k_long", "long_frames", "frame_multiple")
                },
            },
        }

    def facts(self) -> Mapping[str, Json]:
        """What the answerer says of itself, what the embedder says, and the disclosure."""
        answerer, embedder = self._opened()
        return {**answerer.facts(), "embedder": embedder.facts(), "disclosure": SENTENCE}

    def notes(self) -> list[str]:
        """What has to be said of the session: of both servers, and of prices that nobody knows."""
        answerer, embedder = self._opened()
        unpriced = [
            server.label
            for server, priced in ((answerer, self._now.reader), (embedder, self._now.searcher))
            if priced.served is None
        ]
        found = [*answerer.notes(), *embedder.notes()]
        if unpriced:
            found.append(
                f"No price is known of {' and '.join(unpriced)}, so that flops_… of it is null. Declare it before a "
                "run: eccdata flops add CHECKPOINT."
            )
        return found

    async def respond(self, request: Request) -> Response:
        """Search, and let the answerer answer from what was found.

        A failure of the embedder is the response's failure, with its status, after the embedder's own retries.

        Raises:
            EccdataError: Going on makes no sense: as `SGLang.respond` of either server, as `Index.video`, or the
                protocol does not say what to look for.

        """
        answerer, _ = self._opened()
        index = self._now.index
        assert index is not None
        search, stream = searched(request)
        began = time.perf_counter()
        option = next((medium for medium in request.media if medium.name == search.medium), None)
        try:
            indexed = await index.video(stream)
            query = await (index.sentence(search.text or "") if option is None else index.clip(option))
            if len(query.vector) != indexed.points.shape[1]:
                raise EmbeddingFailed(
                    Status.MALFORMED, "what is looked for has other dimensions than windows", 1
                )
        except EmbeddingFailed as failed:
            return Response(
                failed.status,
                latency_s=time.perf_counter() - began,
                attempts=failed.attempts,
                error=f"the embedder: {failed.error}",
            )
        count = self.top_k_long if indexed.footage.frames >= self.long_frames else self.top_k
        ranked = nearest(indexed.points, query.vector, count)
        shown = merged([indexed.spans[row] for row, _ in ranked])
        sent = disclosed(request, await self._excerpt(stream, indexed, shown))
        response = await answerer.respond(sent)
        if not response.status.answered:
            return response
        told = self._told(request, stream, option, indexed, query, ranked, shown)
        told |= self._costs(stream, option, indexed, query, sent, response)
        return replace(response, sent=sent, details={**(response.details or {}), **told})

    async def _excerpt(self, stream: Media, indexed: Indexed, shown: Sequence[Span]) -> Media:
        """Cut by copying it is quick; what is decoded goes to another process."""
        if isinstance(indexed.footage, Belts) or stream.recipe.layout == "frames":
            return await asyncio.to_thread(excerpt, stream, indexed.footage, shown)
        assert self._now.index is not None
        return await self._now.index.pool.run(stream.source, excerpt, stream, indexed.footage, shown)

    def _told(
        self,
        request: Request,
        stream: Media,
        option: Media | None,
        indexed: Indexed,
        query: Embedding,
        ranked: Sequence[tuple[int, float]],
        shown: Sequence[Span],
    ) -> dict[str, Any]:
        answerer, embedder = self._opened()
        indices = stream.ready.manifest.indices
        return {
            "answerer": answerer.label,
            "embedder": embedder.label,
            "windows": len(indexed.spans),
            "retrieved": [
                {
                    "first_frame": int(indices[indexed.spans[row][0]]),
                    "frames": indexed.spans[row][1],
                    "similarity": similarity,
                }
                for row, similarity in ranked
            ],
            "composed_frames": sum(frames for _, frames in shown),
            "query_frames": None if option is None else cutting.length(option),
            "query_tokens": query.prompt_tokens,
            "hit": hit(request, stream, shown),
        }

    def _costs(
        self,
        stream: Media,
        option: Media | None,
        indexed: Indexed,
        query: Embedding,
        sent: Request,
        response: Response,
    ) -> dict[str, float | None]:
        priced, multiple = self._now.searcher, self.frame_multiple
        index = total(
            priced.embedding(as_embedded(stream, span, -span[1] % multiple), embedding)
            for span, embedding in zip(indexed.spans, indexed.embeddings, strict=True)
        )
        looked_for = None
        if option is not None:
            frames = cutting.length(option)
            looked_for = as_embedded(option, (0, frames), -frames % multiple)
        query_flops = priced.embedding(looked_for, query)
        answer = self._now.reader.answer(sent, response)
        return {
            "flops_index": index,
            "flops_query": query_flops,
            "flops_answer": answer,
            "flops_write": index,
            "flops_read": total([query_flops, answer]),
        }

    def _servers(self) -> tuple[SGLang, EmbeddingServer]:
        shared: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("timeout_s", "retries", "backoff_s", "backoff_limit_s", "startup_s")
        }
        answerer = SGLang(
            self.base_url,
            self.model,
            self.api_key_env,
            extra=self.extra,
            top_logprobs=self.top_logprobs,
            checkpoint=self.checkpoint,
            **shared,
        )
        embedder = EmbeddingServer(
            self.embedder_url,
            self.embedder_model,
            self.embedder_api_key_env,
            checkpoint=self.embedder_checkpoint,
            **shared,
        )
        return answerer, embedder

    def _opened(self) -> tuple[SGLang, EmbeddingServer]:
        assert self._now.answerer is not None, "open the system first"
        assert self._now.embedder is not None
        return self._now.answerer, self._now.embedder

    def _folder(self) -> Path:
        if self.index is not None:
            return Path(self.index).expanduser()
        cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return Path(cache).expanduser() / "eccdata" / "embeddings"
