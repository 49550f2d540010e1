"""One piece of work for all who want its result at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Flights(Generic[T]):
    """Work under way, by key. It goes on when one who waits for it gives up, since others may wait too."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[T]] = {}

    async def join(self, key: str, work: Callable[[], Awaitable[T]]) -> T:
        """Give the result of the work under way by this key; begin it if there is none."""
        task = self._tasks.get(key)
        if task is None:

            async def begun() -> T:
                return await work()

            task = self._tasks[key] = asyncio.create_task(begun())
            task.add_done_callback(lambda done: self._end(key, done))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """End all of it."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end(self, key: str, task: asyncio.Task[T]) -> None:
        del self._tasks[key]
        if not task.cancelled():
            task.exception()  # seen, even where nobody waits any more
