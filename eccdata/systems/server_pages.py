"""What a server of models says of itself on its own pages: whether it has started, what it serves, how it is set."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
from yarl import URL

from eccdata.errors import EccdataError, problem, unknown
from eccdata.requests import Json
from eccdata.systems import openai_chat
from eccdata.systems.checkpoint import checkpoint_facts
from eccdata.systems.masking import without_credentials
from eccdata.systems.server_facts import told

PROBE_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class ServerPages:
    """The pages of one server.

    Attributes:
        session: Fetches them, with the API key where there is one.
        base_url: Where the server is; a trailing `/v1` may stand there.
        api_key_env: The environment variable that the key came from, which errors name.
        has_key: Whether it held one.

    """

    session: aiohttp.ClientSession
    base_url: str
    api_key_env: str
    has_key: bool

    @property
    def where(self) -> str:
        """What errors call the server: its address, without credentials."""
        return where(self.base_url)

    def at(self, path: str) -> URL:
        """The address of a page."""
        return at(self.base_url, path)

    async def wait_until_started(self, limit_s: float) -> None:
        """Wait while /health says 503, which SGLang does until its model is loaded.

        Raises:
            EccdataError: Where it still says so after `limit_s` seconds.

        """
        deadline = time.monotonic() + limit_s
        while True:
            status, _, _ = await self.get("/health", when_down=503)
            if status != 503:
                return
            if time.monotonic() >= deadline:
                raise EccdataError(
                    f"{self.where} still says that it is starting, after {limit_s:g} s. "
                    "See its log, or wait longer with startup_s."
                )
            await asyncio.sleep(min(1.0, limit_s))

    async def choose_model(self, wanted: str | None) -> tuple[str, Mapping[str, Any]]:
        """The model to ask and what the server lists for it; the one that is served where none is wanted.

        Raises:
            EccdataError: Where the key is not taken, the page is not of this protocol, or no such model is served.

        """
        status, content, location = await self.get("/v1/models")
        if status in (401, 403):
            state = (
                f"does not take the API key in ${self.api_key_env}"
                if self.has_key
                else f"wants an API key, and ${self.api_key_env} holds none"
            )
            raise EccdataError(
                f"{self.where} {state} (HTTP {status}). Put the key into that variable, or name another with "
                "api_key_env."
            )
        if status == 404 and wanted is not None:
            return wanted, {}
        try:
            served = {str(card["id"]): card for card in orjson.loads(content)["data"]}
        except (ValueError, LookupError, TypeError):
            if location is not None:
                raise EccdataError(
                    f"{self.where} sends /v1/models elsewhere (HTTP {status}): {openai_chat.moved(location)}"
                ) from None
            raise EccdataError(
                f"{self.where} does not speak the OpenAI protocol: /v1/models answers with HTTP {status}, "
                f"{openai_chat.error_text(content)!r}. Is the base URL right?"
            ) from None
        if wanted is None:
            if len(served) != 1:
                raise problem(
                    f"{self.where} serves {len(served)} models; say which one with model:", sorted(served)
                )
            return next(iter(served.items()))
        if wanted not in served:
            # SGLang answers to any name, and echoes it: a typo would go unnoticed.
            raise unknown(f"model at {without_credentials(self.base_url)}", wanted, served)
        return wanted, served[wanted]

    async def account(self, served: Mapping[str, Any], checkpoint: str | None) -> dict[str, Json]:
        """What the server says of itself; a server that has no such page says nothing.

        Args:
            served: What it lists for the model.
            checkpoint: The model's folder or its id on the Hub, where that is known better than the server says.

        """
        listed = {
            name: value
            for name, value in served.items()
            if name not in ("id", "object", "created", "permission")
        }
        account: dict[str, Json] = {"base_url": without_credentials(self.base_url), "model": told(listed)}
        for name, path in (
            ("server_info", "/server_info"),
            ("model_info", "/model_info"),
            ("version", "/version"),
        ):
            if name == "version" and "server_info" in account:
                continue
            status, content, _ = await self.get(path)
            try:
                found = orjson.loads(content) if status == 200 else None
                if isinstance(found, dict):
                    account[name] = told(found)
            except (ValueError, RecursionError):
                continue  # no account of itself, or one nested past reading
        info = account.get("model_info") or {}
        place = checkpoint or info.get("model_path")
        if isinstance(place, str):
            sees = checkpoint is not None or bool(info.get("has_image_understanding"))
            if facts := await asyncio.to_thread(checkpoint_facts, place, sees=sees):
                account["checkpoint"] = facts
        return account

    async def get(self, path: str, when_down: int = 0) -> tuple[int, bytes, str | None]:
        """Fetch a page: HTTP status, content, and where a redirection leads, which is not followed.

        A server error other than `when_down` counts as no answer.
        """
        timeout = aiohttp.ClientTimeout(total=PROBE_TIMEOUT_S)
        async with self.session.get(self.at(path), timeout=timeout, allow_redirects=False) as reply:
            if reply.status in (500, 502, 503, 504) and reply.status != when_down:
                raise ConnectionError(f"{path} answers with HTTP {reply.status}")
            location = reply.headers.get("Location") if reply.status in openai_chat.REDIRECTIONS else None
            return reply.status, await reply.read(), location


def at(base_url: str, path: str) -> URL:
    """The address of a page of the server at `base_url`."""
    return URL(base_url.rstrip("/").removesuffix("/v1") + path)


def where(base_url: str) -> str:
    """What errors call the server at `base_url`."""
    return f"The server at {without_credentials(base_url)}"
