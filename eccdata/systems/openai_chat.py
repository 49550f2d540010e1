"""The OpenAI chat protocol as data: a request's body, and what a reply or an error says. No network here.

Messages of SGLang (0.5) and vLLM are known by their wording, since both send a plain 400 for them.
"""

from __future__ import annotations

import base64
import email.utils
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import orjson

from eccdata.media import Media, parts_with_media
from eccdata.requests import Json, Request, Response, Status, token_count
from eccdata.systems.masking import Mask, without_credentials
from eccdata.systems.option_logprobs import read_options

RETRIED_HTTP = frozenset({408, 409, 425, 429})
"""HTTP statuses below 500 that another try may mend; from 500 on, all of them."""

REDIRECTIONS = frozenset({301, 302, 303, 307, 308})
"""Statuses that name another address. None is followed: the key and the prompts would go there."""

NO_SECRETS = Mask()

ERROR_CHARS = 500
"""How much of a server's error text is kept."""


def body(
    request: Request, model: str, extra: Mapping[str, Json], max_tokens: int | None = None
) -> dict[str, Json]:
    """The body of a chat completion request. It holds all media, as data: URLs: to be made when it is sent.

    Args:
        request: The request.
        model: The model's name.
        extra: Fields of the system, which those of the request's decoding go before.
        max_tokens: A lower limit than the request's own, where that does not fit the context.

    """
    decoding = request.decoding
    fields: dict[str, Json] = {
        "model": model,
        "messages": _messages(request) if request.media else request.messages,
        "max_tokens": decoding.max_tokens if max_tokens is None else max_tokens,
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "stream": False,
    }
    if decoding.seed is not None:
        fields["seed"] = decoding.seed
    return {**fields, **extra, **decoding.extra}


def _messages(request: Request) -> list[dict[str, Json]]:
    media = {medium.name: medium for medium in request.media}
    return [{**message, "content": _content(message.get("content"), media)} for message in request.messages]


def _content(content: Json, media: Mapping[str, Media]) -> Json:
    if not isinstance(content, list | tuple):
        return content
    parts: list[Json] = []
    for part, medium in parts_with_media(content, media):
        parts += [part] if medium is None else _media_parts(medium)
    return parts


def _media_parts(medium: Media) -> Iterator[dict[str, Json]]:
    kind = "video_url" if medium.recipe.layout == "video" else "image_url"
    texts = medium.texts() if medium.timed else None
    # streams of letters show the same few pictures again and again
    addresses: dict[str, str] = {}
    for file in medium.ready.files:
        if file.digest not in addresses:
            content = base64.b64encode(file.read()).decode("ascii")
            addresses[file.digest] = f"data:{medium.ready.mime};base64,{content}"
        if texts is not None:
            yield {"type": "text", "text": next(texts)}
        yield {"type": kind, kind: {"url": addresses[file.digest]}}


@dataclass(frozen=True, slots=True)
class Failure:
    """A reply that holds no answer.

    Attributes:
        status: What to call it.
        error: What the server said.
        retry: Whether another try may help.
        room: The most tokens that a reply may have, where the server said that the limit asked for does not fit.
        denied: The server does not take the API key: no request will fare better.

    """

    status: Status
    error: str
    retry: bool
    room: int | None = None
    denied: bool = False


def read(
    http_status: int,
    content: bytes,
    *,
    latency_s: float,
    attempts: int,
    token_limit: int,
    location: str | None = None,
    mask: Mask = NO_SECRETS,
    options: Mapping[str, str] = MappingProxyType({}),
) -> Response | Failure:
    """What one HTTP reply says; latency, attempts and token limit go into the response as they are.

    Of log-probabilities, where there are any, what the request's `options` got is kept and nothing else: they are
    a hundred times as long as the reply.
    """
    if http_status in REDIRECTIONS and location:
        said = f"HTTP {http_status}: {moved(location, mask)}"
        return Failure(Status.INVALID_REQUEST, said, retry=False)
    if http_status != 200:
        return _read_error(http_status, error_text(content, mask))
    try:
        return _read_completion(orjson.loads(content), latency_s, attempts, token_limit, mask, options)
    except (ValueError, LookupError, TypeError, AttributeError):
        return Failure(Status.MALFORMED, f"no chat completion: {error_text(content, mask)}", retry=True)


def _read_completion(
    reply: Any, latency_s: float, attempts: int, token_limit: int, mask: Mask, options: Mapping[str, str]
) -> Response | Failure:
    choice = reply["choices"][0]
    message = choice["message"]
    finish_reason = choice.get("finish_reason")
    text = message.get("content")
    # vLLM calls it `reasoning` since 0.12
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(text, list):
        text = "".join(part.get("text", "") for part in text)
    if finish_reason == "content_filter" or (text is None and message.get("refusal")):
        why = message.get("refusal") or text or "withheld by a content filter"
        return Failure(Status.REFUSED, shortened(str(why), mask), retry=False)
    if finish_reason in ("abort", "error"):
        return Failure(Status.SERVER_ERROR, f"the server ended the reply: {finish_reason}", retry=True)
    if text is None and not reasoning and finish_reason != "length":
        return Failure(Status.MALFORMED, "a message without content", retry=True)
    if not (_is_text(text) and _is_text(reasoning) and _is_text(finish_reason)):
        found = [text, reasoning, finish_reason]
        return Failure(Status.MALFORMED, f"text expected, found {mask(repr(found)):.200}", retry=True)
    # Counts that cannot be read cost no answer.
    usage = _fields(reply.get("usage"))
    prompt_details = _fields(usage.get("prompt_tokens_details"))
    completion_details = _fields(usage.get("completion_tokens_details"))
    reasoning_tokens = usage.get("reasoning_tokens")
    likely = read_options(text or "", choice.get("logprobs"), options)
    return Response(
        Status.TRUNCATED if finish_reason == "length" else Status.OK,
        text=mask.reply(text) if text else "",
        reasoning=mask.reply(reasoning) if reasoning else None,
        finish_reason=mask(finish_reason) if finish_reason else finish_reason,
        prompt_tokens=token_count(usage.get("prompt_tokens")),
        completion_tokens=token_count(usage.get("completion_tokens")),
        reasoning_tokens=token_count(completion_details.get("reasoning_tokens", reasoning_tokens)),
        cached_tokens=token_count(prompt_details.get("cached_tokens")),
        image_tokens=token_count(prompt_details.get("image_tokens")),
        video_tokens=token_count(prompt_details.get("video_tokens")),
        token_limit=token_limit,
        probability=likely.yes if likely else None,
        latency_s=latency_s,
        attempts=attempts,
        option_probabilities=likely.likely if likely else None,
    )


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _fields(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_error(http_status: int, error: str) -> Failure:
    said = f"HTTP {http_status}: {error}"
    if http_status in (401, 403):
        return Failure(Status.INVALID_REQUEST, said, retry=False, denied=True)
    if http_status == 429:
        return Failure(Status.RATE_LIMITED, said, retry=True)
    if http_status in RETRIED_HTTP or http_status >= 500:
        return Failure(Status.SERVER_ERROR, said, retry=True)
    if http_status in (400, 413, 422):
        room = room_left(error)
        if room is not None and room > 0:
            return Failure(Status.CONTEXT_EXCEEDED, said, retry=False, room=room)
        if room is not None or _OVER_CONTEXT.search(error):
            return Failure(Status.CONTEXT_EXCEEDED, said, retry=False)
    return Failure(Status.INVALID_REQUEST, said, retry=False)


_OVER_CONTEXT = re.compile(
    r"longer than the model's context length"
    r"|exceeds the maximum allowed length"
    r"|maximum context length"
    r"|context_length_exceeded"
    r"|longer than the maximum model length",
    re.IGNORECASE,
)

# (the context, the prompt): what is left is the room for a reply
_ROOM = (
    # SGLang: "maximum context length of 2048 tokens. You requested a total of 8292 tokens: 100 tokens from the input"
    re.compile(r"context length of (\d+) tokens.*?: (\d+) tokens from the input messages", re.DOTALL),
    # vLLM: "maximum context length is 2048 tokens. However, you requested 8292 tokens (100 in the messages, 8192 in"
    re.compile(r"context length is (\d+) tokens.*?\((\d+) in the messages", re.DOTALL),
    # vLLM, newer: "maximum context length is 2048 tokens and your request has 100 input tokens"
    re.compile(r"context length is (\d+) tokens and your request has (\d+) input tokens", re.DOTALL),
)

# SGLang looks at the limit alone first: "max_completion_tokens is too large: 8192.This model supports at most 2048
# completion tokens." What the prompt leaves of these it says when asked with no more than these. OpenAI's wording too.
_CEILING = re.compile(r"supports at most (\d+) completion tokens")


def room_left(error: str) -> int | None:
    """How many tokens a reply may have beside this prompt, where an error says that the limit asked for is too much.

    None where it says something else; 0 or less where the prompt alone fills the context.
    """
    for pattern in _ROOM:
        found = pattern.search(error)
        if found is not None:
            return int(found[1]) - int(found[2])
    ceiling = _CEILING.search(error)
    return None if ceiling is None else int(ceiling[1])


def moved(location: str, mask: Mask = NO_SECRETS) -> str:
    """What a redirection means for who asked; without what may be secret in its address."""
    address = re.split(r"[?#]", without_credentials(location), maxsplit=1)[0]
    return f"moved to {shortened(address, mask)}, and redirections are not followed. Is the base URL right?"


def error_text(content: bytes, mask: Mask = NO_SECRETS) -> str:
    """The message inside an error's body, in whichever form servers send it; otherwise the body's beginning."""
    try:
        said = mask.everywhere(orjson.loads(content))
    except ValueError:
        return shortened(content.decode("utf-8", "replace"), mask)
    for name in ("error", "message", "detail"):
        if isinstance(said, dict) and said.get(name):
            said = said[name]
    return shortened(said if isinstance(said, str) else orjson.dumps(said).decode())


def shortened(text: str, mask: Mask = NO_SECRETS) -> str:
    """One line of at most `ERROR_CHARS` characters, masked before it is cut: half a secret would not be found."""
    line = " ".join(mask(text).split()) or "(nothing)"
    return line if len(line) <= ERROR_CHARS else line[: ERROR_CHARS - 1] + "…"


def retry_after_s(value: str | None, now: Callable[[], float] = time.time) -> float:
    """Seconds that a Retry-After header asks to wait: a number of seconds or a date; 0 where it says neither.

    It may be any number: how long is waited is for the caller to say.
    """
    if not value:
        return 0.0
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - now()
        except (ValueError, OverflowError):
            return 0.0
    # not a number compares as smaller
    return max(0.0, seconds)
