"""A headless Chromium that tests drive: what it logs, what it asks the network for, keys, pictures, paper."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
KEYS = {
    "Tab": 9,
    "Enter": 13,
    "End": 35,
    "Home": 36,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    " ": 32,
}


class Browser:
    """One page of a browser, over its debugging protocol.

    Attributes:
        complaints: What the page logged as an error or a warning, and every exception that nothing caught.
        asked: The addresses that it asked for, but for the page itself and what stands in it as data.

    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, loop: asyncio.AbstractEventLoop) -> None:
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self._socket = socket
        self._loop = loop
        self._number = 0

    def open(self, path: Path, *, until: str = "true") -> None:
        """Open a file with the network off, and wait until an expression is true."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=0,
            uploadThroughput=0,
        )
        self.send("Page.navigate", url=path.resolve().as_uri())
        self.wait(f"document.readyState === 'complete' && ({until})")

    def evaluate(self, expression: str) -> Any:
        """Give the value of a JavaScript expression, of what it promises where it is a promise."""
        told = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait(self, condition: str, seconds: float = 60) -> None:
        """Wait until a condition is true."""
        tries = round(seconds / 0.1)
        for _ in range(tries):
            told = self.send("Runtime.evaluate", expression=condition, returnByValue=True)
            if told["result"].get("value") is True:
                return
            self._loop.run_until_complete(asyncio.sleep(0.1))
        raise AssertionError(f"not within {seconds} s: {condition}; {self.complaints}")

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key."""
        typed = {"Enter": "\r", " ": " "}.get(key)
        facts = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key], "modifiers": 8 if shift else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown", **facts, **({"text": typed} if typed else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **facts)

    def prefer(self, scheme: str, media: str = "") -> None:
        """Emulate a user's preferred colour scheme, and a medium such as `print`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=media, features=features)

    def resize(self, width: int, height: int) -> None:
        """Make the window so many pixels large."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def screenshot(self, *, whole: bool = False) -> bytes:
        """What it shows, or the whole page, as PNG."""
        told = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(told["data"])

    def pdf(self) -> bytes:
        """The page on A4."""
        told = self.send(
            "Page.printToPDF",
            paperWidth=8.27,
            paperHeight=11.69,
            printBackground=False,
            preferCSSPageSize=True,
        )
        return base64.b64decode(told["data"])

    def send(self, method: str, **parameters: Any) -> Any:
        """Send a command of the debugging protocol and give its result."""
        return self._loop.run_until_complete(self._send(method, parameters))

    async def _send(self, method: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            told = json.loads((await self._socket.receive(timeout=60)).data)
            if told.get("id") == self._number:
                assert "error" not in told, (method, told["error"])
                return told["result"]
            self._note(told)

    def _note(self, event: dict[str, Any]) -> None:
        method, facts = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled" and facts["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in facts["args"]))
        elif method == "Runtime.exceptionThrown":
            details = facts["exceptionDetails"]
            self.complaints.append(str(details.get("exception", details).get("description", details)))
        elif method == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            self.complaints.append(facts["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = facts["request"]["url"]
            if not re.match(r"(data|blob):", url) and facts.get("type") != "Document":
                self.asked.append(url)


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start a Chromium whose files go to a folder, and end it."""
    assert CHROMIUM is not None
    process = subprocess.Popen(
        [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--hide-scrollbars",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
            "about:blank",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    loop = asyncio.new_event_loop()
    try:
        yield from _connected(loop, profile)
    finally:
        process.terminate()
        process.wait(30)
        loop.close()


def _connected(loop: asyncio.AbstractEventLoop, profile: Path) -> Iterator[Browser]:
    """Connect to the browser's one page."""
    session = loop.run_until_complete(_session())
    try:
        socket = loop.run_until_complete(_connect(session, profile))
        yield Browser(socket, loop)
        loop.run_until_complete(socket.close())
    finally:
        loop.run_until_complete(session.close())


async def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession()


async def _connect(session: aiohttp.ClientSession, profile: Path) -> aiohttp.ClientWebSocketResponse:
    told = profile / "DevToolsActivePort"
    for _ in range(600):
        if told.is_file() and len(lines := told.read_text().splitlines()) == 2:
            break
        await asyncio.sleep(0.1)
    else:
        raise AssertionError("Chromium did not start")
    async with session.get(f"http://127.0.0.1:{lines[0]}/json") as response:
        (page,) = [one for one in await response.json() if one["type"] == "page"]
    return await session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0)
