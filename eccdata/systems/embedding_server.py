"""A model behind SGLang that turns clips and sentences into points (`--is-embedding`)."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import orjson
from numpy.typing import NDArray

from eccdata.errors import EccdataError
from eccdata.requests import Json, Response, Status, token_count
from eccdata.systems import openai_chat, server_pages
from eccdata.systems.sglang import SGLang

PATH = "/v1/embeddings"

NO_PART = frozenset({"random_seed", "sampling_backend", "sampling_defaults"})
"""What a server says of how it samples: no part of an embedding, and the seed is another at each start."""


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """A point.

    Attributes:
        vector: float32 [dimensions], of length one.
        prompt_tokens: Tokens that the server read for it, where told.

    """

    vector: NDArray[np.float32]
    prompt_tokens: int | None


class EmbeddingFailed(Exception):
    """No embedding came, after all retries.

    Attributes:
        status: How the last try ended.
        error: What went wrong.
        attempts: How often it was sent.

    """

    def __init__(self, status: Status, error: str, attempts: int) -> None:
        super().__init__(error)
        self.status, self.error, self.attempts = status, error, attempts


@dataclass(frozen=True)
class EmbeddingServer(SGLang):
    """A served embedding model; options as those of a model that answers."""

    generates: ClassVar[bool] = False

    async def open(self) -> None:
        """Find the server, and see that it embeds.

        Raises:
            EccdataError: As a model that answers; or what is there does not embed, or takes no pictures.

        """
        await super().open()
        try:
            info = self._now.about.get("model_info")
            if isinstance(info, Mapping) and info.get("has_image_understanding") is False:
                raise EccdataError(
                    f"{self._where()} embeds text alone, and clips are to be embedded. Serve a model such as "
                    "Qwen/Qwen3-VL-Embedding-8B."
                )
            try:
                await self.embed_text("Is there anything to be found?")
            except EmbeddingFailed as failed:
                raise EccdataError(f"{self._where()} gives no embeddings: {failed.error}") from failed
        except BaseException:
            await self.close()
            raise

    async def embed_text(self, text: str) -> Embedding:
        """Embed a sentence, see `embed_video`."""
        return await self._embed({"text": text})

    async def embed_video(self, clip: bytes) -> Embedding:
        """Embed a clip.

        Args:
            clip: An MP4 file, of at least as many frames as the model takes together.

        Raises:
            EmbeddingFailed: It did not come, after all retries.
            EccdataError: As `SGLang.respond`.

        """

        def item() -> dict[str, Json]:
            return {"video": f"data:video/mp4;base64,{base64.b64encode(clip).decode('ascii')}"}

        return await self._embed(await asyncio.to_thread(item))

    async def _embed(self, item: Mapping[str, Json]) -> Embedding:
        # one input a request: what a batch costs is told as one sum, and its failure is that of all
        body = {"model": self._now.model, "input": [item], "encoding_format": "base64", **self.extra}
        content = orjson.dumps(body)
        url = server_pages.at(self.base_url, PATH)
        attempts = 0
        while True:
            attempts += 1
            reply = await self._post(url, content)
            if isinstance(reply, openai_chat.Failure):
                outcome: Embedding | openai_chat.Failure = reply
                wait_s = 0.0
            else:
                outcome = self._read(reply.status, reply.content, reply.location)
                wait_s = reply.wait_s
            if isinstance(outcome, Embedding):
                return outcome
            if outcome.denied:
                raise self._denied(outcome)
            if not outcome.retry or attempts > self.retries:
                raise EmbeddingFailed(outcome.status, outcome.error, attempts)
            await self._pause(attempts - 1, wait_s)

    def _read(self, status: int, content: bytes, location: str | None) -> Embedding | openai_chat.Failure:
        mask = self._now.mask
        if status != 200:
            failure = openai_chat.read(
                status, content, latency_s=0.0, attempts=1, token_limit=0, location=location, mask=mask
            )
            assert not isinstance(failure, Response)
            return failure
        try:
            return read_embedding(orjson.loads(content))
        except (ValueError, LookupError, TypeError) as error:
            said = openai_chat.shortened(f"no embedding ({error}): {openai_chat.error_text(content, mask)}")
            return openai_chat.Failure(Status.MALFORMED, said, retry=True)

    def _fingerprint(self, model: str, account: Mapping[str, Json]) -> dict[str, Json]:
        return {
            name: {field: said for field, said in value.items() if field not in NO_PART}
            if isinstance(value, dict)
            else value
            for name, value in super()._fingerprint(model, account).items()
        }


def read_embedding(reply: Any) -> Embedding:
    """Read the one embedding of a reply, as a list of numbers or as Base64 of little-endian float32.

    Raises:
        ValueError, LookupError, TypeError: There is none, or it is no direction.

    """
    (entry,) = reply["data"]
    told = entry["embedding"]
    found = (
        np.frombuffer(base64.b64decode(told, validate=True), "<f4")
        if isinstance(told, str)
        else np.array(told, np.float64)
    )
    if found.ndim != 1 or not len(found):
        raise ValueError(f"numbers of shape {list(found.shape)}")
    length = float(np.linalg.norm(found.astype(np.float64)))
    if not np.isfinite(length) or length == 0:
        raise ValueError("not finite, or all zero")
    usage = reply.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return Embedding((found / length).astype(np.float32), token_count(tokens))
