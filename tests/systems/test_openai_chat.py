from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest

from eccdata.media import File, Media, Recipe, Sent
from eccdata.requests import Decoding, Request, Response, Status
from eccdata.systems import openai_chat
from eccdata.systems.openai_chat import Failure
from eccdata.video.manifest import FrameManifest
from eccdata.video.sampling import sampler
from support.scripted_server import completion

SGLANG_TOO_MUCH = (
    "Requested token count exceeds the model's maximum context length of 2048 tokens. You requested a total of 8292 "
    "tokens: 100 tokens from the input messages and 8192 tokens for the completion. Please reduce the number of "
    "tokens in the input messages or the completion to fit within the limit."
)
SGLANG_PROMPT = "The input (2100 tokens) is longer than the model's context length (2048 tokens)."
SGLANG_POOL = (
    "Input length (900 tokens) exceeds the maximum allowed length (800 tokens). Use a shorter input or …"
)
VLLM = (
    "This model's maximum context length is 2048 tokens. However, you requested 8292 tokens (100 in the messages, "
    "8192 in the completion). Please reduce the length of the messages or completion."
)
VLLM_NEWER = (
    "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 2048 tokens "
    "and your request has 100 input tokens (8192 > 2048 - 100)."
)


def read(content: Any, status: int = 200) -> Response | Failure:
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    return openai_chat.read(status, body, latency_s=0.5, attempts=2, token_limit=64)


def test_body_carries_all_that_was_asked_for() -> None:
    messages = ({"role": "user", "content": "Is it?"},)
    decoding = Decoding(64, 0.5, 0.9, 7, {"top_k": 20, "chat_template_kwargs": {"enable_thinking": True}})
    body = openai_chat.body(Request("q", "p/1", messages, decoding), "m", {"top_k": 10, "min_p": 0.1})
    assert orjson.loads(orjson.dumps(body)) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Is it?"}],
        "max_tokens": 64,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "stream": False,
        "min_p": 0.1,
        "top_k": 20,
        "chat_template_kwargs": {"enable_thinking": True},
    }
    assert "seed" not in openai_chat.body(Request("q", "p/1", messages), "m", {})


def test_body_carries_clips_as_data_urls_and_images_with_their_times() -> None:
    manifest = FrameManifest(np.arange(2), np.array([0.0, 1.5]), 4, 4, sampler("eccbench"), "pyav", "1")
    files = (File("a" * 64, b"first"), File("b" * 64, b"second"))
    film = Recipe("video", sampler("eccbench"), "pyav")
    media = (
        Media("main", b"", film, sent=Sent("video/mp4", files[:1], manifest)),
        Media(
            "option", b"", replace(film, layout="frames"), timed=True, sent=Sent("image/png", files, manifest)
        ),
    )
    content = [
        {"type": "text", "text": "Look:"},
        {"type": "media", "media": "main"},
        {"type": "media", "media": "option"},
    ]
    messages = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": content})
    system, user = openai_chat.body(Request("q", "p/1", messages, media=media), "m", {})["messages"]
    assert system == messages[0]
    first, second = (base64.b64encode(file.read()).decode() for file in files)
    assert user["content"] == [
        {"type": "text", "text": "Look:"},
        {"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,{first}"}},
        {"type": "text", "text": "<0.0 seconds>"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{first}"}},
        {"type": "text", "text": "<1.5 seconds>"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{second}"}},
    ]


def test_vision_tokens_are_read_where_they_are_told() -> None:
    reply = completion("{0}")
    reply["usage"]["prompt_tokens_details"] = {"cached_tokens": 0, "video_tokens": 256}
    response = read(reply)
    assert isinstance(response, Response)
    assert (response.image_tokens, response.video_tokens) == (None, 256)


@pytest.mark.parametrize("count", [-1, True, False, 2**31, 2**40, 1e30, 5.0, 5.7, "ten", [1], {}, None])
def test_counts_that_cannot_be_are_not_taken(count: Any) -> None:
    reply = completion("{0}")
    details = {"cached_tokens": count, "image_tokens": count, "video_tokens": count}
    reply["usage"] = {
        "prompt_tokens": count,
        "completion_tokens": count,
        "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": count},
    }
    expected = Response(
        Status.OK, text="{0}", finish_reason="stop", token_limit=64, latency_s=0.5, attempts=2
    )
    assert read(reply) == expected


def test_the_largest_counts_are_taken() -> None:
    found = read(completion("{0}", prompt_tokens=2**31 - 1))
    assert isinstance(found, Response)
    assert (found.prompt_tokens, found.completion_tokens) == (2**31 - 1, 4)


@pytest.mark.parametrize(
    "usage",
    [
        [1, 2],
        "x",
        7,
        True,
        {"prompt_tokens_details": "x", "completion_tokens_details": [1], "prompt_tokens": 9},
    ],
)
def test_a_good_reply_is_kept_whatever_its_usage_is(usage: Any) -> None:
    found = read({**completion("{0}"), "usage": usage})
    assert isinstance(found, Response)
    assert (found.status, found.text) == (Status.OK, "{0}")
    assert found.prompt_tokens == (9 if isinstance(usage, dict) else None)
    assert found.completion_tokens is found.reasoning_tokens is found.cached_tokens is None


def test_an_answer() -> None:
    reply = completion("{0}", prompt_tokens=9, completion_tokens=3)
    reply["usage"]["prompt_tokens_details"] = {"cached_tokens": 5}
    assert read(reply) == Response(
        Status.OK,
        text="{0}",
        finish_reason="stop",
        prompt_tokens=9,
        completion_tokens=3,
        reasoning_tokens=0,
        cached_tokens=5,
        token_limit=64,
        latency_s=0.5,
        attempts=2,
    )


@pytest.mark.parametrize(
    ("reply", "status", "text", "reasoning"),
    [
        (completion("{1}", reasoning="hm"), Status.OK, "{1}", "hm"),
        (completion("{1", finish_reason="length"), Status.TRUNCATED, "{1", None),
        (completion(None, finish_reason="length", reasoning="hm"), Status.TRUNCATED, "", "hm"),
        (completion(None, finish_reason="length"), Status.TRUNCATED, "", None),
        (completion(None, reasoning="hm"), Status.OK, "", "hm"),
        (completion(""), Status.OK, "", None),
        ({"choices": [{"message": {"content": "a", "reasoning": "b"}}]}, Status.OK, "a", "b"),
        (
            {
                "choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}]}}],
                "usage": None,
            },
            Status.OK,
            "ab",
            None,
        ),
    ],
)
def test_answers_of_every_form(reply: Any, status: Status, text: str, reasoning: str | None) -> None:
    found = read(reply)
    assert isinstance(found, Response)
    assert (found.status, found.text, found.reasoning) == (status, text, reasoning)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"<!DOCTYPE html><html></html>",
        b"\xff\xfe",
        b"[1]",
        b"null",
        b'"text"',
        b"{}",
        {"choices": []},
        {"choices": None},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": ["a"]},
        {"choices": [{"message": {"content": None}}]},
        {"choices": [{"message": {"content": 7}}]},
        {"choices": [{"message": {"content": [1]}}]},
        {"error": {"message": "out of memory"}},
        orjson.dumps(completion("{0}"))[:-3],
    ],
)
def test_what_is_no_completion_is_malformed_and_worth_another_try(content: Any) -> None:
    found = read(content)
    assert isinstance(found, Failure)
    assert found.status is Status.MALFORMED
    assert found.retry


@pytest.mark.parametrize(
    "reply",
    [
        completion("", finish_reason="content_filter"),
        completion("I c", finish_reason="content_filter"),
        {"choices": [{"message": {"content": None, "refusal": "I cannot help with that."}}]},
    ],
)
def test_a_refusal_is_a_failure_of_its_own(reply: Any) -> None:
    found = read(reply)
    assert isinstance(found, Failure)
    assert (found.status, found.retry) == (Status.REFUSED, False)


@pytest.mark.parametrize(
    ("http", "message", "status", "retry", "room"),
    [
        (400, SGLANG_TOO_MUCH, Status.CONTEXT_EXCEEDED, False, 1948),
        (400, VLLM, Status.CONTEXT_EXCEEDED, False, 1948),
        (400, VLLM_NEWER, Status.CONTEXT_EXCEEDED, False, 1948),
        (400, SGLANG_TOO_MUCH.replace("100 tokens", "2048 tokens"), Status.CONTEXT_EXCEEDED, False, None),
        (400, SGLANG_PROMPT, Status.CONTEXT_EXCEEDED, False, None),
        (400, SGLANG_POOL, Status.CONTEXT_EXCEEDED, False, None),
        (400, "an image is broken", Status.INVALID_REQUEST, False, None),
        (404, "no such model", Status.INVALID_REQUEST, False, None),
        (422, "field required", Status.INVALID_REQUEST, False, None),
        (302, "moved", Status.INVALID_REQUEST, False, None),
        (429, "slow down", Status.RATE_LIMITED, True, None),
        (408, "", Status.SERVER_ERROR, True, None),
        (409, "", Status.SERVER_ERROR, True, None),
        (425, "", Status.SERVER_ERROR, True, None),
        (500, "oops", Status.SERVER_ERROR, True, None),
        (502, "<html>", Status.SERVER_ERROR, True, None),
        (503, "queue is full", Status.SERVER_ERROR, True, None),
    ],
)
@pytest.mark.parametrize("form", ["plain", "sglang", "openai", "fastapi"])
def test_errors(http: int, message: str, status: Status, retry: bool, room: int | None, form: str) -> None:
    body: Any = {
        "plain": message.encode(),
        "sglang": {"object": "error", "message": message, "type": "BadRequestError", "code": http},
        "openai": {"error": {"message": message, "type": "invalid_request_error"}},
        "fastapi": {"detail": message},
    }[form]
    found = read(body, http)
    assert isinstance(found, Failure)
    assert (found.status, found.retry, found.room, found.denied) == (status, retry, room, False)
    assert message[:40] in found.error


@pytest.mark.parametrize("http", [401, 403])
def test_a_key_that_is_not_taken(http: int) -> None:
    found = read({"error": "Unauthorized"}, http)
    assert isinstance(found, Failure)
    assert found.denied


def test_long_errors_are_cut() -> None:
    found = read(b"x" * 10_000, 500)
    assert isinstance(found, Failure)
    assert len(found.error) < 600


def test_retry_after_as_seconds_as_a_date_and_as_nonsense() -> None:
    assert openai_chat.retry_after_s("7") == 7
    assert openai_chat.retry_after_s("-7") == 0
    assert openai_chat.retry_after_s("86400") == 86400
    assert openai_chat.retry_after_s("nan") == 0
    assert openai_chat.retry_after_s(None) == openai_chat.retry_after_s("soon") == 0
    # 1994-11-06 08:49:37 UTC
    assert openai_chat.retry_after_s("Sun, 06 Nov 1994 08:49:37 GMT", now=lambda: 784111777 - 5.0) == 5
