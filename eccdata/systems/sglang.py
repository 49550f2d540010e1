"""A model behind SGLang, or behind any other server that speaks the OpenAI chat protocol."""

from __future__ import annotations

import asyncio
import base64
import os
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import aiohttp
import orjson
from yarl import URL

import eccdata
from eccdata.errors import EccdataError, problem
from eccdata.requests import Json, Request, Response, Status
from eccdata.systems import base_url, openai_chat, server_pages
from eccdata.systems.deadlines import Deadlines
from eccdata.systems.masking import Mask
from eccdata.systems.server_facts import decisive, differences
from eccdata.systems.server_pages import ServerPages

CONNECT_TIMEOUT_S = 30.0
KEEPALIVE_S = 3.0
"""Shorter than the 5 s after which SGLang's server closes an idle connection: a request sent at that very
moment would be lost."""

JSON = "application/json"

_OWN_FIELDS = frozenset({"model", "messages", "max_tokens", "temperature", "top_p", "seed", "stream"})
_LOGPROB_FIELDS = frozenset({"logprobs", "top_logprobs"})
_DRAW = random.SystemRandom()


@dataclass
class _Connected:
    """What an open system holds."""

    session: aiohttp.ClientSession | None = None
    deadlines: Deadlines | None = None
    chat: URL = field(default_factory=URL)
    key: str = ""
    mask: Mask = field(default_factory=Mask)
    model: str = ""
    about: Mapping[str, Json] = field(default_factory=dict)
    fingerprint: Mapping[str, Json] = field(default_factory=dict)
    longest_asked_s: float = 0.0
    """The longest wait that the server has asked for, where that is more than it gets."""
    suspect: bool = False
    """Whether the server was away since it was last looked at: another may have come in its place."""
    checking: asyncio.Lock = field(default_factory=asyncio.Lock)


class _Reply(NamedTuple):
    """An HTTP reply; `wait_s` is how long the server wants to be left alone."""

    status: int
    content: bytes
    location: str | None
    wait_s: float
    latency_s: float


@dataclass(frozen=True)
class SGLang:
    """A served model.

    Attributes:
        base_url: Where the server is, such as `http://127.0.0.1:30000`; a trailing `/v1` may stand there, and
            neither a query string nor a fragment.
        model: The model's name at the server; the one that is served where there is only one.
        api_key_env: The environment variable that holds the API key. The key is sent and written nowhere.
        timeout_s: The longest that one reply may take, from sending to its last byte. A reply comes in one
            piece, so this covers the wait in the server's queue and the whole generation.
        retries: How often a request that failed for a passing reason is sent again.
        backoff_s: The wait before a retry is drawn uniformly from 0 to this, doubled with each retry.
        backoff_limit_s: The longest wait before a retry: the doubling stops here, and a server that asks for a
            longer wait (Retry-After) is left alone this long.
        startup_s: How long to wait for a server that says it is still starting.
        extra: Further fields of every request's body, such as `{"top_k": 20}`.
        top_logprobs: How many of the most probable tokens to ask for at each token of a reply, so that what the model
            gave each option at its answer is kept (`option_yes`, `option_no`, `option_abstain`, and `probability`
            as P(yes) among yes and no). 20 is the most that OpenAI and vLLM give; 0, the default, asks for none:
            some servers refuse to tell, and a reply grows by about 1.5 KB a token, 12 MB at 8192.
        checkpoint: The model's folder on this machine or its id on the Hub, whose configuration says what clips must
            cost, and what answers do; by default the place that the server names.

    """

    base_url: str
    model: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    timeout_s: float = 3600.0
    retries: int = 7
    backoff_s: float = 0.5
    backoff_limit_s: float = 60.0
    startup_s: float = 900.0
    extra: Mapping[str, Json] = field(default_factory=dict)
    top_logprobs: int = 0
    checkpoint: str | None = None
    reads_media: ClassVar[bool] = True
    generates: ClassVar[bool] = True
    """Whether what is wanted of the server is a model that answers."""
    _now: _Connected = field(default_factory=_Connected, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            EccdataError: Naming every option that cannot be.

        """
        wrong = base_url.faults(self.base_url, self.api_key_env)
        positive = ("timeout_s", "backoff_s", "backoff_limit_s")
        wrong += [
            f"{name}={getattr(self, name)}: above 0" for name in positive if not getattr(self, name) > 0
        ]
        counted = ("retries", "startup_s", "top_logprobs")
        wrong += [f"{name}={getattr(self, name)}: 0 or above" for name in counted if getattr(self, name) < 0]
        taken = sorted(_OWN_FIELDS & self.extra.keys())
        if taken:
            wrong.append(f"extra: {', '.join(taken)} is the protocol's to set")
        asked = sorted(_LOGPROB_FIELDS & self.extra.keys())
        if asked:
            wrong.append(
                f"extra: {', '.join(asked)} is set by top_logprobs=20, which also keeps what comes of it"
            )
        if wrong:
            raise problem("These options of a server cannot be:", wrong)

    @property
    def label(self) -> str:
        """The model's name."""
        return self._now.mask(self._now.model or self.model or "model")

    async def open(self) -> None:
        """Find the server, wait until it has started, and read what it says of itself.

        Raises:
            EccdataError: Where there is no server, it does not take the key, or it does not serve the model.

        """
        now = self._now
        now.key = os.environ.get(self.api_key_env, "").strip()
        now.mask = self._own_secrets(now.key)
        # All that aiohttp would add by itself, and once for all requests.
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "Content-Type": JSON,
            "User-Agent": f"eccdata/{eccdata.__version__}",
        }
        if now.key and URL(self.base_url).user:
            raise EccdataError(
                f"base_url holds a user name and ${self.api_key_env} an API key; a request can carry only one."
            )
        if now.key:
            headers["Authorization"] = f"Bearer {now.key}"
        now.longest_asked_s = 0.0
        now.suspect = False
        now.checking = asyncio.Lock()
        now.deadlines = Deadlines(self.timeout_s)
        now.chat = server_pages.at(self.base_url, "/v1/chat/completions")
        now.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S, ttl_dns_cache=300),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
        )
        try:
            await self._get_to_know()
        except BaseException as error:
            await self.close()
            if isinstance(error, TimeoutError):
                raise EccdataError(
                    f"{self._where()} does not answer within {server_pages.PROBE_TIMEOUT_S:g} s."
                ) from error
            if isinstance(error, aiohttp.ClientError | OSError):
                said = openai_chat.shortened(str(error) or type(error).__name__, now.mask)
                raise EccdataError(
                    f"{self._where()} cannot be reached: {said}. Is it running, and is the base URL right? "
                    "A server that is still loading its model may not listen yet."
                ) from error
            if isinstance(error, EccdataError):
                # a server's words and lists are quoted
                raise EccdataError(now.mask(str(error))) from None
            raise

    async def close(self) -> None:
        """Close all connections."""
        session, self._now.session = self._now.session, None
        if self._now.deadlines is not None:
            self._now.deadlines.close()
        if session is not None:
            await session.close()

    def fingerprint(self) -> Mapping[str, Json]:
        """The model, what the server says that could change an answer, and the fields added to each request."""
        return self._now.fingerprint

    def facts(self) -> Mapping[str, Json]:
        """All that the server says of itself, less secrets and where it runs."""
        return self._now.about

    def notes(self) -> list[str]:
        """What has to be said of the session: that the server asked for longer waits than it got."""
        asked_s = self._now.longest_asked_s
        if not asked_s:
            return []
        return [
            f"{self._where()} asked to be left alone for up to {asked_s:.0f} s (Retry-After), and was asked again "
            f"after {self.backoff_limit_s:g} s, which is backoff_limit_s: give more of these to wait longer."
        ]

    async def respond(self, request: Request) -> Response:
        """Ask, and ask again where the failure may pass.

        Raises:
            EccdataError: Where going on makes no sense: the server no longer takes the key, or another server
                has come in its place.

        """
        limit = request.decoding.max_tokens
        content = (
            await self._content_of_media(request, limit) if request.media else self._content(request, limit)
        )
        attempts = 0
        retries = 0
        while True:
            attempts += 1
            started = time.perf_counter()
            reply = await self._post(self._now.chat, content)
            if isinstance(reply, openai_chat.Failure):
                outcome: Response | openai_chat.Failure = reply
                wait_s = 0.0
            else:
                outcome = openai_chat.read(
                    reply.status,
                    reply.content,
                    latency_s=reply.latency_s,
                    attempts=attempts,
                    token_limit=limit,
                    location=reply.location,
                    mask=self._now.mask,
                    options=request.options,
                )
                wait_s = reply.wait_s
            if isinstance(outcome, Response):
                return outcome
            if outcome.denied:
                raise self._denied(outcome)
            if outcome.room is not None and outcome.room < limit:
                # The prompt fits, the limit does not: ask again with the room that is left.
                limit = outcome.room
                content = await self._content_of_media(request, limit)
                continue
            if not outcome.retry or retries >= self.retries:
                return Response(
                    outcome.status,
                    latency_s=time.perf_counter() - started,
                    attempts=attempts,
                    token_limit=limit,
                    error=outcome.error,
                )
            await self._pause(retries, wait_s)
            retries += 1

    async def _pause(self, retries: int, wait_s: float) -> None:
        """Wait before a retry, so many of which went before."""
        longest_s = min(self.backoff_limit_s, self.backoff_s * 2.0**retries)
        if wait_s > self.backoff_limit_s:
            self._now.longest_asked_s = max(self._now.longest_asked_s, wait_s)
        await asyncio.sleep(min(self.backoff_limit_s, max(wait_s, _DRAW.uniform(0.0, longest_s))))

    def _denied(self, failure: openai_chat.Failure) -> EccdataError:
        return EccdataError(
            f"{self._where()} no longer takes the API key in ${self.api_key_env}: {failure.error}"
        )

    def _content(self, request: Request, limit: int) -> bytes:
        return orjson.dumps(openai_chat.body(request, self._now.model, self._fields, limit))

    async def _content_of_media(self, request: Request, limit: int) -> bytes:
        # they are read from files, which may take its time
        return await asyncio.to_thread(self._content, request, limit)

    @cached_property
    def _fields(self) -> Mapping[str, Json]:
        """Fields of every request's body that are the system's: all of them stand in the fingerprint."""
        asked = {"logprobs": True, "top_logprobs": self.top_logprobs} if self.top_logprobs else {}
        return {**self.extra, **asked}

    # -- one attempt ---------------------------------------------------------------------------------------

    async def _post(self, url: URL, content: bytes) -> _Reply | openai_chat.Failure:
        """Send a body of JSON; what came back, or why nothing did."""
        now = self._now
        assert now.session is not None, "open the system first"
        assert now.deadlines is not None
        try:
            if now.suspect:
                await self._look_again()
            started = time.perf_counter()
            with now.deadlines:
                # Reading to the end, or failing to, gives the connection back: no need for `async with`.
                sent = aiohttp.BytesPayload(content, content_type=JSON)
                reply = await now.session.post(url, data=sent, allow_redirects=False)
                received = await reply.read()
            latency_s = time.perf_counter() - started
            if reply.status == 200:
                return _Reply(200, received, None, 0.0, latency_s)
            wait_s = openai_chat.retry_after_s(reply.headers.get("Retry-After"))
            return _Reply(reply.status, received, reply.headers.get("Location"), wait_s, latency_s)
        except TimeoutError as error:
            what = str(error) or "no connection in time"
            return openai_chat.Failure(Status.TIMEOUT, what, retry=True)
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, aiohttp.ClientConnectorError):
                now.suspect = True
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            said = openai_chat.shortened(what, now.mask)
            return openai_chat.Failure(Status.TRANSPORT_ERROR, said, retry=True)

    async def _look_again(self) -> None:
        now = self._now
        async with now.checking:
            if not now.suspect:
                return
            _, served = await self._pages.choose_model(self.model)
            account = await self._pages.account(served, self.checkpoint)
            fingerprint = self._fingerprint(now.model, account)
            changed = differences(now.fingerprint, fingerprint)
            if changed:
                raise problem(
                    f"{self._where()} went away, and what came back is another server:",
                    changed,
                    "Start the one from before, or run again and accept the changed server (--accept-server; in Python "
                    "accept_changed_server=True).",
                )
            now.suspect = False

    # -- getting to know the server ------------------------------------------------------------------------

    async def _get_to_know(self) -> None:
        now = self._now
        await self._pages.wait_until_started(self.startup_s)
        now.model, served = await self._pages.choose_model(self.model)
        account = await self._pages.account(served, self.checkpoint)
        self._check_kind(account)
        now.about = now.mask.everywhere(account)
        now.fingerprint = self._fingerprint(now.model, account)

    def _check_kind(self, account: Mapping[str, Json]) -> None:
        """See that a server that says what it is for is for this: one that embeds dies of the first chat."""
        info = account.get("model_info")
        told = info.get("is_generation") if isinstance(info, Mapping) else None
        if told is False and self.generates:
            raise EccdataError(
                f"{self._where()} was started to embed (--is-embedding), and a model is wanted that answers."
            )
        if told is True and not self.generates:
            raise EccdataError(
                f"{self._where()} serves a model that answers, and embeddings are wanted of it. Start it with "
                "--is-embedding, or give the address of one that was."
            )

    def _fingerprint(self, model: str, account: Mapping[str, Json]) -> dict[str, Json]:
        fingerprint: dict[str, Json] = {"model": model}
        if self._fields:
            fingerprint["extra"] = dict(self._fields)
        if "server_info" not in account and "version" not in account:
            # A server that says nothing of itself is known by its address alone.
            fingerprint["base_url"] = account["base_url"]
        for name in ("model", "server_info", "model_info", "version"):
            fields = decisive(account.get(name))
            if fields:
                fingerprint["served" if name == "model" else name] = fields
        masked: dict[str, Json] = self._now.mask.everywhere(fingerprint)
        return masked

    @property
    def _pages(self) -> ServerPages:
        now = self._now
        assert now.session is not None
        return ServerPages(now.session, self.base_url, self.api_key_env, bool(now.key))

    def _where(self) -> str:
        return server_pages.where(self.base_url)

    def _own_secrets(self, key: str) -> Mask:
        url = URL(self.base_url)
        if not url.user and not url.password:
            return Mask(key)
        # A token may stand in the place of the user name, with no password; both go out as one word of Base64.
        basic = base64.b64encode(f"{url.user or ''}:{url.password or ''}".encode()).decode("ascii")
        return Mask(key, url.password or url.user or "", basic)
