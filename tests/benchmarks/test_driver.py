"""What the driver costs: throughput at a slow server, CPU beside a bare loop at an instant one, disk."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import pytest

from eccdata import catalog
from eccdata.evaluation import evaluate
from eccdata.requests import Response, Status
from eccdata.store import Store
from eccdata.systems.openai_chat import body
from support.questions import questions
from support.scripted_server import MODEL, spawn

pytestmark = pytest.mark.benchmark


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def test_reaches_nine_tenths_of_what_a_slow_server_allows(tmp_path: Path) -> None:
    """200 ms a request and 128 in flight: 640 requests/s at best. Opening, scoring and the card are included.

    Where a bare loop in the same run falls short of 95 % of these, the machine is busy with something else, and the
    limit is what that loop reaches.
    """
    dataset = questions(128 * 80)
    evaluator = catalog.evaluator("eccbench", "membership")()
    bodies = [body(evaluator.request(row), MODEL, {}) for row in map(_named, dataset)]

    def rate(name: str, rows: Any) -> float:
        run = evaluate(
            rows,
            protocol="membership",
            system="sglang",
            system_options={"base_url": url},
            out=tmp_path / name,
            concurrency=128,
        )
        assert run.complete
        return run.asked / run.wall_s

    shares = []
    with spawn("instant", '{"delay_s": 0.2}') as url:
        rate("warm", dataset.select(range(128)))  # so that no import is timed
        for attempt in range(5):  # whatever else the machine does can only slow it
            reached = rate(f"run-{attempt}", dataset)
            bare = _measured(lambda: asyncio.run(_bare(url, bodies, 128)), len(bodies))[0]
            print(f"\n{reached:.0f} requests/s of 640 ({reached / 640:.1%}); a bare loop reached {bare:.0f}")
            shares.append(reached / (640 if bare >= 0.95 * 640 else bare))
            if shares[-1] >= 0.9:
                break
    assert max(shares) >= 0.9


def test_costs_at_most_half_as_much_again_as_a_bare_loop(tmp_path: Path) -> None:
    """Everything is included: opening, mapping, keys, the store, scoring, the results and the card.

    Bare loop and driver take turns, and the middle one of the turns' ratios is held to the limit: what else the machine
    does meanwhile slows both of a turn alike, and it slows single turns, of which the least of all would be luck. What
    comes near the limit in eleven turns is looked at in three times as many.
    """
    dataset = questions(2400, length=512)
    evaluator = catalog.evaluator("eccbench", "membership")()
    bodies = [body(evaluator.request(row), MODEL, {}) for row in map(_named, dataset)]
    with spawn("instant") as url:

        def driver(label: str, rows: Any) -> None:
            run = evaluate(
                rows,
                protocol="membership",
                system="sglang",
                system_options={"base_url": url},
                out=tmp_path / label,
                concurrency=64,
            )
            assert run.complete

        driver("warm", dataset.select(range(64)))
        asyncio.run(_bare(url, bodies[:64]))
        asyncio.run(_openai(url, bodies[:64]))
        bare, ours = [], []
        ratios: list[float] = []
        for turn in range(33):
            if turn == 11 and median(ratios) < 1.4:
                break
            bare.append(_measured(lambda: asyncio.run(_bare(url, bodies)), len(bodies)))
            ours.append(_measured(lambda n=turn: driver(f"run-{n}", dataset), len(bodies)))  # type: ignore[misc]
            ratios.append(ours[-1][1] / bare[-1][1])
        openai = [_measured(lambda: asyncio.run(_openai(url, bodies[:600])), 600)]
    for name, measured in (("driver", ours), ("bare aiohttp loop", bare), ("openai client", openai)):
        rate, cpu = max(m[0] for m in measured), median(m[1] for m in measured)
        print(f"\n{name}: {rate:.0f} requests/s, {cpu:.3f} CPU s per 1000 requests", end="")
    print(
        f"\nCPU of the driver to the bare loop: {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    )
    assert median(ratios) <= 1.5
    assert median(m[1] for m in ours) < openai[0][1]


def test_a_stored_response_costs_microseconds(tmp_path: Path) -> None:
    """Beside appending the same bytes to a file, unbuffered."""
    count = 5000
    response = Response(Status.OK, text="{0}\n\n" + "The candidate appears. " * 8, latency_s=0.1)
    with Store.open(tmp_path / "store.sqlite3") as store:
        store.accept_server({"model": "m"})
        store.begin_session()
        alone = _measured(lambda: _store_alone(store, response, count), count)
        shared = _measured(lambda: asyncio.run(_store_in_loop(store, response, count)), count)
        assert len(store) == 2 * count
    print(f"\n{alone[1] * 1000:.0f} µs of CPU a response with a commit each, ", end="")
    print(f"{shared[1] * 1000:.0f} µs where eight arrive at a time")
    assert shared[1] < alone[1]


def _store_alone(store: Store, response: Response, count: int) -> None:
    for number in range(count):
        store.add(_key(number), f"q{number}", 0, response)
        store.flush()


async def _store_in_loop(store: Store, response: Response, count: int) -> None:
    for number in range(count, 2 * count):
        store.add(_key(number), f"q{number}", 0, response)
        if number % 8 == 0:
            await asyncio.sleep(0)


def _key(number: int) -> bytes:
    import hashlib

    return hashlib.sha256(number.to_bytes(8, "little")).digest()


def _named(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "answer": ("yes", "no")[row["answer"]]}


def _measured(work: Callable[[], Any], requests: int) -> tuple[float, float]:
    """Requests a second, and CPU seconds per thousand requests."""
    began, cpu = time.perf_counter(), cpu_s()
    work()
    return requests / (time.perf_counter() - began), (cpu_s() - cpu) / requests * 1000


async def _bare(url: str, bodies: list[dict[str, Any]], concurrency: int = 64) -> None:
    """The shortest loop that asks and reads: requests made beforehand, nothing kept."""
    waiting = iter(bodies)

    async def work() -> None:
        for one in waiting:
            async with session.post(f"{url}/v1/chat/completions", json=one) as reply:
                content = (await reply.json())["choices"][0]["message"]["content"]
                assert content.startswith("{0}")

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*[work() for _ in range(concurrency)])


async def _openai(url: str, bodies: list[dict[str, Any]]) -> None:
    import openai

    waiting = iter(bodies)

    async def work() -> None:
        for one in waiting:
            reply = await client.chat.completions.create(**one)
            assert reply.choices[0].message.content.startswith("{0}")

    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
        await asyncio.gather(*[work() for _ in range(64)])
