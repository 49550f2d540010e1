from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import numpy as np
import pytest

from eccdata.errors import EccdataError
from eccdata.requests import Status
from eccdata.systems.embedding_server import Embedding, EmbeddingFailed, EmbeddingServer, read_embedding
from eccdata.video.mp4 import mp4_bytes
from support.scripted_retrieval import EMBEDDER, TEMPLATE_TOKENS, Embedder, embeddings, pages, pairs
from support.scripted_server import Call, Reply, serve

CLIP = mp4_bytes([[1, 0], [2, 1], [3, 2], [1, 0]])
T = TypeVar("T")


def with_server(
    handler: Callable[[Call], Reply], ask: Callable[[EmbeddingServer], Awaitable[T]], **options: Any
) -> T:
    async def run(url: str) -> T:
        server = EmbeddingServer(url, backoff_s=0.001, backoff_limit_s=0.002, **options)
        await server.open()
        try:
            return await ask(server)
        finally:
            await server.close()

    with serve(handler) as url:
        return asyncio.run(run(url))


def test_embeds_clips_and_sentences() -> None:
    embedder = Embedder()

    async def ask(server: EmbeddingServer) -> tuple[Embedding, Embedding]:
        return await server.embed_video(CLIP), await server.embed_text("a sentence of five words")

    clip, sentence = with_server(embedder, ask)
    expected = pairs([3, 7, 11, 3])
    assert clip.vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)
    assert clip.prompt_tokens == 2 * 196 + TEMPLATE_TOKENS
    assert sentence.prompt_tokens == 5 + TEMPLATE_TOKENS
    for found in (clip, sentence):
        assert found.vector.dtype == np.float32
        assert np.linalg.norm(found.vector.astype(np.float64)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("encoding", ["base64", None])
def test_numbers_come_in_either_form(encoding: str | None) -> None:
    found = read_embedding(embeddings(np.array([3.0, 4.0]), 5, encoding))
    assert found.vector.tolist() == pytest.approx([0.6, 0.8])
    assert found.prompt_tokens == 5


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"data": []},
        {"data": [{"embedding": []}]},
        {"data": [{"embedding": [0.0, 0.0]}]},
        {"data": [{"embedding": [[1.0]]}]},
        {"data": [{"embedding": ["x"]}]},
        {"data": [{"embedding": "no base 64"}]},
        {"data": [{"embedding": base64.b64encode(b"123").decode()}]},
        {"data": [{"embedding": base64.b64encode(np.array([np.nan], "<f4").tobytes()).decode()}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]},
        [],
        None,
    ],
)
def test_what_is_no_direction_is_refused(reply: Any) -> None:
    with pytest.raises((ValueError, LookupError, TypeError)):
        read_embedding(reply)


def test_passing_failures_are_retried_and_others_are_not() -> None:
    replies = {
        1: Reply({"message": "busy"}, status=503),
        2: Reply(b"{", status=200),
        3: Reply(b"", drop="before"),
        5: Reply({"message": "Could not decode video"}, status=400),
    }
    embedder = Embedder(fail=replies.get)

    async def ask(server: EmbeddingServer) -> tuple[Embedding, EmbeddingFailed]:
        found = await server.embed_video(CLIP)
        with pytest.raises(EmbeddingFailed) as failed:
            await server.embed_video(CLIP)
        return found, failed.value

    _, failed = with_server(embedder, ask)
    assert embedder.calls == 5
    assert (failed.status, failed.attempts) == (Status.INVALID_REQUEST, 1)
    assert "Could not decode video" in failed.error


def test_what_outlasts_its_retries_fails_with_its_status() -> None:
    embedder = Embedder(fail=lambda _: Reply({"data": [{"embedding": [0.0]}]}))

    async def ask(server: EmbeddingServer) -> EmbeddingFailed:
        with pytest.raises(EmbeddingFailed) as failed:
            await server.embed_video(CLIP)
        return failed.value

    failed = with_server(embedder, ask, retries=2)
    assert (failed.status, failed.attempts, embedder.calls) == (Status.MALFORMED, 3, 3)
    assert "no embedding (not finite, or all zero)" in failed.error


async def nothing(server: EmbeddingServer) -> None:
    """Open, and no more."""


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({"is_generation": True}, "serves a model that answers, and embeddings are wanted of it"),
        ({"is_generation": False, "has_image_understanding": False}, "embeds text alone"),
    ],
)
def test_a_server_that_is_for_something_else_is_refused(info: dict[str, Any], said: str) -> None:
    embedder = Embedder()
    embedder.pages = pages(EMBEDDER, **info)
    with pytest.raises(EccdataError, match=said):
        with_server(embedder, nothing)
    assert not embedder.embedded


def test_a_server_that_gives_no_embeddings_is_refused() -> None:
    def handler(call: Call) -> Reply:
        there = pages(EMBEDDER)
        return Reply(there[call.path]) if call.path in there else Reply({"detail": "Not Found"}, status=404)

    with pytest.raises(EccdataError, match="gives no embeddings: HTTP 404: Not Found"):
        with_server(handler, nothing)


def test_a_key_that_is_no_longer_taken_ends_it() -> None:
    embedder = Embedder(fail=lambda _: Reply({"message": "no"}, status=401))

    async def ask(server: EmbeddingServer) -> None:
        await server.embed_video(CLIP)

    with pytest.raises(EccdataError, match="no longer takes the API key"):
        with_server(embedder, ask)


def test_how_a_server_samples_is_no_part_of_it() -> None:
    def fingerprint(**info: Any) -> Any:
        embedder = Embedder()
        embedder.pages["/server_info"] = {"version": "0.5.23", **info}

        async def ask(server: EmbeddingServer) -> Any:
            return server.fingerprint()

        return with_server(embedder, ask)

    plain = fingerprint()
    assert fingerprint(random_seed=3, sampling_backend="pytorch") == plain
    assert fingerprint(dtype="bfloat16") != plain
