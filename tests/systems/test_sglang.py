from __future__ import annotations

import asyncio
import math
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from eccdata.errors import EccdataError
from eccdata.requests import Decoding, Request, Response, Status
from eccdata.settings import make
from eccdata.systems import System
from eccdata.systems.sglang import SGLang
from support.scripted_server import MODEL, Call, Reply, completion, models, serve

REQUEST = Request("q0", "p/1", ({"role": "user", "content": "Is it?"},), Decoding(max_tokens=64))
KEY = "sk-very-secret"


class Script:
    """Answers questions with the given replies, one after the other, the last one again and again."""

    def __init__(
        self, *replies: Reply | Callable[[Call], Reply], pages: dict[str, Any] | None = None
    ) -> None:
        self.replies = list(replies)
        self.pages = pages or {}
        self.calls: list[Call] = []

    def __call__(self, call: Call) -> Reply:
        if call.path in self.pages:
            page = self.pages[call.path]
            return page if isinstance(page, Reply) else Reply(page)
        known = models(call)
        if known is not None:
            return known
        self.calls.append(call)
        reply = self.replies[min(len(self.calls), len(self.replies)) - 1]
        return reply(call) if callable(reply) else reply


GOOD = Reply(completion("{0}", completion_tokens=3))


def respond(script: Script, request: Request = REQUEST, **options: Any) -> Response:
    with serve(script) as url:
        return asyncio.run(_respond(SGLang(url, backoff_s=0.001, **options), request))


async def _respond(system: SGLang, request: Request) -> Response:
    await system.open()
    try:
        return await system.respond(request)
    finally:
        await system.close()


def opened(url: str, **options: Any) -> SGLang:
    system = SGLang(url, **options)

    async def look() -> None:
        await system.open()
        await system.close()

    asyncio.run(look())
    return system


def test_is_a_system() -> None:
    assert isinstance(SGLang("http://127.0.0.1:1"), System)


def test_asks_and_reads() -> None:
    script = Script(GOOD)
    response = respond(script)
    assert (response.status, response.text, response.attempts) == (Status.OK, "{0}", 1)
    assert (response.token_limit, response.completion_tokens) == (64, 3)
    assert response.latency_s is not None
    assert response.latency_s > 0
    (call,) = script.calls
    assert call.json == {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Is it?"}],
        "max_tokens": 64,
        "temperature": 0.0,
        "top_p": 1.0,
        "stream": False,
    }


@pytest.mark.parametrize(
    "bad",
    [
        Reply({"error": "slow down"}, status=429),
        Reply(b"", status=503),
        Reply(b"<html>", status=502),
        Reply(b"<html>"),
        Reply(completion(None)),
        Reply(completion("{0}"), drop="before"),
        Reply(completion("{0}"), drop="middle"),
        Reply({"detail": "timeout"}, status=408),
    ],
)
def test_passing_failures_are_tried_again(bad: Reply) -> None:
    response = respond(Script(bad, bad, GOOD))
    assert (response.status, response.text, response.attempts) == (Status.OK, "{0}", 3)


@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (Reply({"error": "slow down"}, status=429), Status.RATE_LIMITED),
        (Reply(b"", status=503), Status.SERVER_ERROR),
        (Reply({"choices": []}), Status.MALFORMED),
        (Reply(b"x", drop="before"), Status.TRANSPORT_ERROR),
    ],
)
def test_up_to_a_limit(bad: Reply, status: Status) -> None:
    script = Script(bad)
    response = respond(script, retries=2)
    assert (response.status, response.attempts, len(script.calls)) == (status, 3, 3)
    assert response.text == ""
    assert response.error


@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (Reply({"message": "an image is broken"}, status=400), Status.INVALID_REQUEST),
        (
            Reply(
                {"message": "The input (9 tokens) is longer than the model's context length (8)"}, status=400
            ),
            Status.CONTEXT_EXCEEDED,
        ),
        (Reply(completion("", finish_reason="content_filter")), Status.REFUSED),
    ],
)
def test_lasting_failures_are_not_tried_again(bad: Reply, status: Status) -> None:
    script = Script(bad)
    response = respond(script)
    assert (response.status, response.attempts, len(script.calls)) == (status, 1, 1)


def test_a_reply_that_does_not_come_in_time() -> None:
    response = respond(Script(Reply(completion("{0}"), delay_s=5)), timeout_s=0.1, retries=1)
    assert (response.status, response.attempts) == (Status.TIMEOUT, 2)


def test_a_slow_drip_is_waited_for_and_cut_at_the_time_limit() -> None:
    drip = Reply(completion("{0}"), drip_s=0.02)
    assert respond(Script(drip)).text == "{0}"
    assert respond(Script(drip), timeout_s=0.1, retries=0).status is Status.TIMEOUT


def test_a_limit_that_does_not_fit_is_lowered_to_the_room_that_is_left() -> None:
    def like_sglang(call: Call) -> Reply:
        asked, context, prompt = call.json["max_tokens"], 40, 10
        if asked + prompt <= context:
            return Reply(completion("{1", finish_reason="length", completion_tokens=asked))
        message = (
            f"Requested token count exceeds the model's maximum context length of {context} tokens. You requested a "
            f"total of {asked + prompt} tokens: {prompt} tokens from the input messages and {asked} tokens for the "
            "completion. Please reduce …"
        )
        return Reply({"object": "error", "message": message, "code": 400}, status=400)

    script = Script(like_sglang)
    response = respond(script)
    assert (response.status, response.token_limit, response.completion_tokens) == (Status.TRUNCATED, 30, 30)
    assert [call.json["max_tokens"] for call in script.calls] == [64, 30]
    assert response.attempts == 2


def test_retry_after_is_heeded() -> None:
    script = Script(Reply(b"", status=429, headers={"Retry-After": "0.3"}), GOOD)
    began = time.monotonic()
    assert respond(script).status is Status.OK
    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize("asked", ["1000000000", "inf", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_no_wait_is_longer_than_the_limit_and_who_asks_for_more_is_told_of(asked: str) -> None:
    script = Script(Reply(b"", status=429, headers={"Retry-After": asked}), GOOD)
    with serve(script) as url:
        system = SGLang(url, backoff_s=0.001, backoff_limit_s=0.2)
        began = time.monotonic()
        assert asyncio.run(_respond(system, REQUEST)).attempts == 2
        assert 0.2 <= time.monotonic() - began < 5
        (note,) = system.notes()
        assert "Retry-After" in note
        assert "after 0.2 s, which is backoff_limit_s" in note
        # Of the next session there is nothing to say.
        assert asyncio.run(_respond(system, REQUEST)).attempts == 1
        assert system.notes() == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_is_told_and_not_followed(status: int) -> None:
    headers = {"Location": "https://me:pw@elsewhere:1/v1/chat/completions?token=secret#f"}
    script = Script(Reply(b"", status=status, headers=headers))
    response = respond(script)
    assert (response.status, response.attempts, len(script.calls)) == (Status.INVALID_REQUEST, 1, 1)
    assert response.error == (
        f"HTTP {status}: moved to https://elsewhere:1/v1/chat/completions, and redirections are not followed. "
        "Is the base URL right?"
    )
    with (
        serve(Script(GOOD, pages={"/v1/models": Reply(b"", status=status, headers=headers)})) as url,
        pytest.raises(
            EccdataError, match=r"sends /v1/models elsewhere .* moved to https://elsewhere:1/"
        ) as caught,
    ):
        opened(url)
    assert "pw" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("rest", "parts"),
    [
        ("/v1?api_key=hidden", "a query string (from ? on):"),
        ("/v1#hidden", "a fragment (from # on):"),
        ("?hidden#hidden", "a query string (from ? on) and a fragment (from # on):"),
        ("#hidden?hidden", "a fragment (from # on):"),
        ("?", "a query string (from ? on):"),
    ],
)
@pytest.mark.parametrize("address", ["http://h:1", "localhost:1"])
def test_a_base_url_ends_with_its_path(address: str, rest: str, parts: str) -> None:
    with pytest.raises(EccdataError) as caught:
        SGLang(address + rest)
    assert f"base_url has {parts} leave that off" in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_base_url_that_cannot_be_is_shown_without_its_credentials() -> None:
    for url in ("ftp://me:pw@h", "http://me:pw@h:port"):
        with pytest.raises(EccdataError, match=r"base_url=(ftp|http)://h") as caught:
            SGLang(url)
        assert "pw" not in str(caught.value)


def test_the_key_is_sent_and_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    info = {"version": "1", "api_key": KEY, "launch_command": f"--api-key {KEY}", "model_path": "m"}
    echo = Reply({"error": f"not with {KEY}"}, status=400)
    script = Script(echo, pages={"/server_info": info})
    with serve(script) as url:
        system = SGLang(url)
        response = asyncio.run(_respond(system, REQUEST))
    assert script.calls[0].headers["authorization"] == f"Bearer {KEY}"
    assert response.error == "HTTP 400: not with ***"
    for said in (repr(system), repr(system.facts()), repr(system.fingerprint())):
        assert KEY not in said


@pytest.mark.parametrize("login", [f"me:{KEY}", KEY])
def test_a_password_in_the_url_is_sent_and_never_told(login: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def echo(call: Call) -> Reply:
        return Reply({"error": f"not with {KEY}, {call.headers['authorization']}"}, status=400)

    with serve(Script(echo, pages={"/server_info": {"note": f"for {KEY}"}})) as url:
        system = SGLang(url.replace("://", f"://{login}@"))
        response = asyncio.run(_respond(system, REQUEST))
    assert response.error == "HTTP 400: not with ***, Basic ***"
    assert KEY not in repr(system.facts())
    assert KEY not in repr(system.fingerprint())


def test_a_key_that_is_missing_or_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(GOOD, pages={"/v1/models": Reply({"error": "Unauthorized"}, status=401)})
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serve(script) as url:
        with pytest.raises(EccdataError, match=r"wants an API key, and .OPENAI_API_KEY holds none"):
            opened(url)
        monkeypatch.setenv("THEIR_KEY", KEY)
        with pytest.raises(EccdataError, match=r"does not take the API key in .THEIR_KEY") as caught:
            opened(url, api_key_env="THEIR_KEY")
    assert KEY not in str(caught.value)


def test_a_key_that_is_taken_back_ends_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(EccdataError, match="no longer takes the API key") as caught:
        respond(Script(Reply({"error": f"Incorrect key {KEY}"}, status=401)))
    assert KEY not in str(caught.value)


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(EccdataError, match=f"127.0.0.1:{port} cannot be reached"):
        opened(f"http://127.0.0.1:{port}")


def test_something_that_is_no_such_server() -> None:
    with (
        serve(lambda call: Reply(b"<html>It works!</html>")) as url,
        pytest.raises(EccdataError, match="does not speak the OpenAI protocol"),
    ):
        opened(url)


def test_models_are_checked_against_the_list() -> None:
    pages = {"/v1/models": {"data": [{"id": "small"}, {"id": "large"}]}}
    with serve(Script(GOOD, pages=pages)) as url:
        with pytest.raises(EccdataError, match="serves 2 models") as caught:
            opened(url)
        assert "  - large\n  - small" in str(caught.value)
        with pytest.raises(EccdataError, match=r"no model .* called 'smal'.* Did you mean 'small'"):
            opened(url, model="smal")
        assert opened(url, model="small").label == "small"
        assert opened(f"{url}/v1/", model="small").label == "small"
    with serve(Script(GOOD)) as url:
        assert opened(url).label == MODEL


def test_a_server_without_a_list_of_models_takes_the_name_on_trust() -> None:
    with serve(Script(GOOD, pages={"/v1/models": Reply(b"", status=404)})) as url:
        assert opened(url, model="anything").label == "anything"
        with pytest.raises(EccdataError, match="HTTP 404"):
            opened(url)


def test_waits_for_a_server_that_is_starting() -> None:
    asked = []

    def starting(call: Call) -> Reply:
        if call.path == "/health":
            asked.append(call)
            return Reply(b"", status=503 if len(asked) < 3 else 200)
        return models(call) or GOOD

    with serve(starting) as url:
        assert opened(url).label == MODEL
        assert len(asked) == 3
    with (
        serve(lambda call: Reply(b"", status=503)) as url,
        pytest.raises(EccdataError, match=r"still says that it is starting, after 0.2 s"),
    ):
        opened(url, startup_s=0.2)


def test_the_fingerprint_is_what_the_server_says_or_its_address() -> None:
    info = {"version": "0.5.23", "dtype": "float32", "port": 1, "random_seed": 1}
    with serve(Script(GOOD, pages={"/server_info": info, "/model_info": {"model_path": "m"}})) as url:
        system = opened(url, extra={"top_k": 1})
        assert system.fingerprint() == {
            "model": MODEL,
            "extra": {"top_k": 1},
            "served": {"max_model_len": 32768},
            "server_info": {"version": "0.5.23", "dtype": "float32", "random_seed": 1},
            "model_info": {"model_path": "m"},
        }
        assert system.facts()["base_url"] == url
    with serve(Script(GOOD)) as url:
        assert opened(url).fingerprint() == {
            "model": MODEL,
            "served": {"max_model_len": 32768},
            "base_url": url,
        }


def told(*tokens: dict[str, float]) -> Reply:
    """A completion with log-probabilities: of each token its alternatives, the one that was written first."""
    reply = completion("".join(next(iter(token)) for token in tokens))
    reply["choices"][0]["logprobs"] = {
        "content": [
            {
                "token": next(iter(token)),
                "bytes": [*next(iter(token)).encode()],
                "logprob": next(iter(token.values())),
                "top_logprobs": [
                    {"token": other, "bytes": [*other.encode()], "logprob": logprob}
                    for other, logprob in token.items()
                ],
            }
            for token in tokens
        ]
    }
    return Reply(reply)


def test_what_the_options_got_is_asked_for_and_kept() -> None:
    options = {"{0}": "yes", "{1}": "no", "{2}": "abstain"}
    script = Script(told({"{": -0.1, "The": -3.0}, {"1": -0.5, "0": -1.5, "2": -2.5}, {"}": 0.0}))
    response = respond(script, replace(REQUEST, options=options), top_logprobs=20)
    (call,) = script.calls
    assert (call.json["logprobs"], call.json["top_logprobs"]) == (True, 20)
    assert response.option_probabilities == pytest.approx(
        {"yes": math.exp(-1.5), "no": math.exp(-0.5), "abstain": math.exp(-2.5)}
    )
    assert response.probability == pytest.approx(math.exp(-1.5) / (math.exp(-1.5) + math.exp(-0.5)))


def test_a_server_that_tells_no_probabilities_is_not_taken_to() -> None:
    options = {"{0}": "yes", "{1}": "no"}
    for reply in (GOOD, told({"It": 0.0})):
        response = respond(Script(reply), replace(REQUEST, options=options), top_logprobs=5)
        assert response.status is Status.OK
        assert (response.option_probabilities, response.probability) == (None, None)


def test_asking_for_probabilities_is_part_of_the_fingerprint() -> None:
    with serve(Script(GOOD)) as url:
        plain = opened(url).fingerprint()
        asking = opened(url, top_logprobs=20).fingerprint()
    assert asking == {**plain, "extra": {"logprobs": True, "top_logprobs": 20}}


def test_a_server_that_came_back_as_another_is_noticed() -> None:
    def script(seed: int) -> Script:
        return Script(GOOD, pages={"/server_info": {"version": "1", "random_seed": seed}})

    async def ask_across_a_restart(second_seed: int) -> Response:
        with serve(script(1)) as url:
            system = SGLang(url, backoff_s=0.2, retries=20)
            await system.open()
            assert (await system.respond(REQUEST)).attempts == 1
        # The port is free now: requests are refused until the next server listens there.
        waiting = asyncio.create_task(system.respond(REQUEST))
        await asyncio.sleep(0.3)
        try:
            with serve(script(second_seed), int(url.rpartition(":")[2])):
                return await asyncio.wait_for(waiting, 20)
        finally:
            await system.close()

    assert asyncio.run(ask_across_a_restart(1)).text == "{0}"
    with pytest.raises(EccdataError, match="came back is another server") as caught:
        asyncio.run(ask_across_a_restart(2))
    assert "server_info.random_seed: 1 → 2" in str(caught.value)
    assert "--accept-server; in Python accept_changed_server=True" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"base_url": "localhost:30000"}, "base_url=localhost:30000"),
        ({"base_url": "http://h", "timeout_s": 0, "retries": -1}, "retries=-1"),
        ({"base_url": "http://h", "extra": {"max_tokens": 1}}, "max_tokens is the protocol's"),
        ({"base_url": "http://h", "extra": {"logprobs": True}}, "logprobs is set by top_logprobs=20"),
        ({"base_url": "http://h", "top_logprobs": -1}, "top_logprobs=-1: 0 or above"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(EccdataError) as caught:
        SGLang(**options)
    assert said in str(caught.value)


def test_options_from_text() -> None:
    system = make(SGLang, {"base_url": "http://h:1", "timeout_s": "60", "extra": '{"top_k": 20}'})
    assert (system.timeout_s, system.extra) == (60.0, {"top_k": 20})
    with pytest.raises(EccdataError, match="extra=top_k"):
        make(SGLang, {"base_url": "http://h:1", "extra": "top_k"})
