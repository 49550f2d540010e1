from __future__ import annotations

import asyncio
import time

import pytest

from eccdata.systems.deadlines import Deadlines


def test_those_that_take_too_long_are_ended_and_the_others_are_not() -> None:
    async def work(deadlines: Deadlines, wait_s: float) -> str:
        try:
            with deadlines:
                await asyncio.sleep(wait_s)
        except TimeoutError as error:
            return str(error)
        await asyncio.sleep(0.1)  # outside, as long as it takes
        return "done"

    async def main() -> list[str]:
        deadlines = Deadlines(0.2)
        first = [asyncio.create_task(work(deadlines, wait_s)) for wait_s in (0.0, 0.1, 9.0)]
        await asyncio.sleep(0.1)
        second = [asyncio.create_task(work(deadlines, wait_s)) for wait_s in (0.1, 9.0)]
        began = time.monotonic()
        said = [await task for task in first + second]
        assert time.monotonic() - began < 2
        assert not deadlines._entered
        deadlines.close()
        return said

    late = "no complete reply within 0.2 s"
    assert asyncio.run(main()) == ["done", "done", late, "done", late]


def test_a_task_can_go_on_after_it() -> None:
    async def main() -> int:
        deadlines = Deadlines(0.02)
        late = 0
        for _ in range(3):
            try:
                with deadlines:
                    await asyncio.sleep(9)
            except TimeoutError:
                late += 1
        deadlines.close()
        return late

    assert asyncio.run(main()) == 3


def test_a_cancellation_from_elsewhere_passes_through() -> None:
    async def work(deadlines: Deadlines) -> None:
        with deadlines:
            await asyncio.sleep(9)

    async def main(wait_s: float) -> None:
        deadlines = Deadlines(0.05)
        task = asyncio.create_task(work(deadlines))
        await asyncio.sleep(0)
        if wait_s:
            # Both at once: the limit has run out, and the task is cancelled before it hears of that.
            deadlines.limit_s = 0
            deadlines._expire()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        deadlines.close()

    asyncio.run(main(0))
    asyncio.run(main(1))
