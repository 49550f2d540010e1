from __future__ import annotations

import asyncio

import pytest

from eccdata.systems.retrieval.flights import Flights


def test_what_many_want_at_a_time_is_done_once() -> None:
    async def main() -> None:
        flights: Flights[int] = Flights()
        done = 0

        async def work() -> int:
            nonlocal done
            await asyncio.sleep(0.01)
            done += 1
            return done

        assert await asyncio.gather(*(flights.join("key", work) for _ in range(16))) == [1] * 16
        assert [*await asyncio.gather(flights.join("key", work), flights.join("other", work))] == [2, 3]

    asyncio.run(main())


def test_a_failure_is_that_of_all_and_is_not_kept() -> None:
    async def main() -> None:
        flights: Flights[int] = Flights()

        async def fail() -> int:
            await asyncio.sleep(0)
            raise ValueError("no")

        async def work() -> int:
            return 1

        results = await asyncio.gather(*(flights.join("key", fail) for _ in range(3)), return_exceptions=True)
        assert [str(result) for result in results] == ["no"] * 3
        assert await flights.join("key", work) == 1

    asyncio.run(main())


def test_one_who_gives_up_takes_nobody_with_it() -> None:
    async def main() -> None:
        flights: Flights[int] = Flights()
        go = asyncio.Event()

        async def work() -> int:
            await go.wait()
            return 1

        one, other = (asyncio.create_task(flights.join("key", work)) for _ in range(2))
        await asyncio.sleep(0)
        one.cancel()
        with pytest.raises(asyncio.CancelledError):
            await one
        go.set()
        assert await other == 1

    asyncio.run(main())


def test_the_end_ends_it() -> None:
    async def main() -> None:
        flights: Flights[int] = Flights()
        ended = False

        async def work() -> int:
            nonlocal ended
            try:
                await asyncio.sleep(60)
            finally:
                ended = True
            return 1

        waiting = asyncio.create_task(flights.join("key", work))
        await asyncio.sleep(0.01)
        await flights.close()
        assert ended
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())
