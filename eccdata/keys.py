"""The key of a response: a digest of everything that could change it."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from eccdata.errors import EccdataError
from eccdata.media import Media, parts_with_media
from eccdata.requests import Json, Request

CANONICAL = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY


def canonical(value: Json) -> bytes:
    """JSON with sorted keys and no white space: equal values give equal bytes."""
    return orjson.dumps(value, option=CANONICAL)


def digest(value: Json) -> str:
    """SHA-256 of the canonical JSON, in hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def messages_digest(request: Request) -> bytes:
    """SHA-256 of a request's messages; of the media in them the bytes count, not how they are referred to."""
    media = {medium.name: medium for medium in request.media}
    return hashlib.sha256(canonical([_by_content(message, media) for message in request.messages])).digest()


def request_key(request: Request, messages: bytes, model: str, server: str) -> bytes:
    """Digest everything that could change the reply to a request.

    A sampled reply (temperature above 0) is a draw of its own for each question, so there the question's id
    counts too; a greedy one is the same for every question that asks the same.

    Args:
        request: The request.
        messages: Its `messages_digest`.
        model: The model's name.
        server: Digest of the server's fingerprint.

    Returns:
        32 bytes.

    """
    decoding = request.decoding
    parts = {
        "messages": messages.hex(),
        "model": model,
        "server": server,
        "protocol": request.protocol,
        "max_tokens": decoding.max_tokens,
        "temperature": float(decoding.temperature),
        "top_p": float(decoding.top_p),
        "seed": decoding.seed,
        "extra": decoding.extra,
        "question": request.question_id if decoding.temperature > 0 else None,
    }
    if request.payoff is not None:
        # A system that reads symbols takes the payoff from here and not from the prompt.
        parts["payoff"] = [request.payoff.correct, request.payoff.wrong, request.payoff.abstain]
    if request.search is not None and request.search.text is not None:
        # Of what is looked for, media stand in the messages by their content; a text need not.
        parts["search"] = request.search.text
    if request.symbols is not None:
        symbols = request.symbols
        content = hashlib.sha256(len(symbols.stream).to_bytes(8, "little"))
        content.update(symbols.stream.tobytes())
        content.update(symbols.candidate.tobytes())
        parts["symbols"] = [symbols.alphabet_size, content.hexdigest()]
    return hashlib.sha256(canonical(parts)).digest()


def _by_content(message: Mapping[str, Json], media: Mapping[str, Media]) -> Mapping[str, Json]:
    content = message.get("content")
    if isinstance(content, str) or not isinstance(content, Sequence):
        return message
    parts = [
        _part_by_content(part) if medium is None else medium.by_content()
        for part, medium in parts_with_media(content, media)
    ]
    return {**message, "content": parts}


def _part_by_content(part: Any) -> Any:
    """Replace each media address inside a content part (`{"image_url": {"url": …}}`) by the media's digest."""
    if not isinstance(part, Mapping):
        return part
    replaced = dict(part)
    for name, value in part.items():
        if isinstance(value, Mapping) and isinstance(value.get("url"), str):
            replaced[name] = {**value, "url": _media_digest(value["url"])}
        elif isinstance(value, Mapping) and isinstance(value.get("data"), str):
            replaced[name] = {**value, "data": _base64_digest(value["data"])}
    return replaced


def _media_digest(url: str) -> str:
    if url.startswith("data:"):
        head, _, data = url.partition(",")
        return f"{head},{_base64_digest(data)}" if head.endswith(";base64") else url
    if url.startswith(("file://", "/")):
        path = Path(url.removeprefix("file://"))
        try:
            stat = path.stat()
            return _file_digest(path, stat.st_mtime_ns, stat.st_size)
        except OSError as error:
            raise EccdataError(
                f"A request refers to {path}, which cannot be read: {error.strerror}."
            ) from error
    # What stands behind a web address cannot be vouched for: the address itself counts.
    return url


def _base64_digest(data: str) -> str:
    try:
        content = base64.b64decode(data, validate=True)
    except binascii.Error:
        content = data.encode()
    return "sha256:" + hashlib.sha256(content).hexdigest()


@lru_cache(maxsize=4096)
def _file_digest(path: Path, mtime_ns: int, size: int) -> str:  # noqa: ARG001
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
