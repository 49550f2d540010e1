from __future__ import annotations

import base64
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eccdata.errors import EccdataError
from eccdata.keys import messages_digest, request_key
from eccdata.requests import Decoding, Payoff, Request, Search, SymbolQuery

REQUEST = Request("q0", "eccbench.membership/1", ({"role": "user", "content": "Is it?"},))


def key(request: Request, model: str = "m", server: str = "s") -> bytes:
    return request_key(request, messages_digest(request), model, server)


def with_decoding(**changes: Any) -> Request:
    return dataclasses.replace(REQUEST, decoding=Decoding(**changes))


def test_is_the_same_for_the_same() -> None:
    again = Request("q0", "eccbench.membership/1", ({"content": "Is it?", "role": "user"},))
    assert key(REQUEST) == key(again)
    assert len(key(REQUEST)) == 32


def test_covers_all_that_could_change_the_reply() -> None:
    symbols = SymbolQuery(np.array([1, 2], np.uint8), np.array([1], np.uint8), 16)
    moved = SymbolQuery(np.array([1], np.uint8), np.array([2, 1], np.uint8), 16)
    others = [
        dataclasses.replace(REQUEST, messages=({"role": "user", "content": "Is it? "},)),
        dataclasses.replace(REQUEST, messages=({"role": "system", "content": "Is it?"},)),
        dataclasses.replace(REQUEST, protocol="eccbench.membership/2"),
        with_decoding(max_tokens=1),
        with_decoding(temperature=0.5),
        with_decoding(top_p=0.5),
        with_decoding(seed=0),
        with_decoding(extra={"chat_template_kwargs": {"enable_thinking": False}}),
        dataclasses.replace(REQUEST, payoff=Payoff(3, -1)),
        dataclasses.replace(REQUEST, payoff=Payoff(1, -4)),
        dataclasses.replace(REQUEST, symbols=symbols),
        dataclasses.replace(REQUEST, symbols=moved),
        dataclasses.replace(REQUEST, search=Search("clip", text="a dog")),
        dataclasses.replace(REQUEST, search=Search("clip", text="a cat")),
    ]
    keys = {key(REQUEST), key(REQUEST, model="n"), key(REQUEST, server="t"), *map(key, others)}
    assert len(keys) == 3 + len(others)


def test_a_greedy_reply_is_shared_and_a_sampled_one_is_not() -> None:
    other = dataclasses.replace(REQUEST, question_id="q1")
    assert key(REQUEST) == key(other)
    sampled = with_decoding(temperature=1.0)
    assert key(sampled) != key(dataclasses.replace(sampled, question_id="q1"))


def image(url: str) -> Request:
    part = {"type": "image_url", "image_url": {"url": url}}
    return dataclasses.replace(REQUEST, messages=({"role": "user", "content": [part]},))


def test_media_count_by_their_bytes(tmp_path: Path) -> None:
    content = b"\x89PNG not really"
    path = tmp_path / "a.png"
    path.write_bytes(content)
    (tmp_path / "b.png").write_bytes(content)
    by_path = key(image(str(path)))
    assert by_path == key(image(f"file://{path}")) == key(image(str(tmp_path / "b.png")))
    path.write_bytes(b"another picture")
    assert key(image(str(path))) != by_path
    inline = key(image("data:image/png;base64," + base64.b64encode(content).decode()))
    assert inline != key(image("data:image/png;base64," + base64.b64encode(content + b"!").decode()))
    assert key(image("https://example.org/a.png")) != key(image("https://example.org/b.png"))


def test_media_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(EccdataError, match=r"gone.png"):
        key(image(str(tmp_path / "gone.png")))
