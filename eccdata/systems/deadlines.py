"""One time limit for many tasks, kept by a single timer: a timer a request costs as much as reading its reply."""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadlines:
    """A time limit for whatever a task does inside `with deadlines:`; past it, `TimeoutError` is raised there.

    Any number of tasks of one event loop may be inside at once, each of them once. A cancellation from elsewhere
    passes through.
    """

    def __init__(self, limit_s: float) -> None:
        """Make a limit of so many seconds; for the running event loop."""
        self.limit_s = limit_s
        self._loop = asyncio.get_running_loop()
        # The limit is the same for all, so the order of entering is the order of running out.
        self._entered: dict[asyncio.Task[object], float] = {}
        self._expired: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        task = asyncio.current_task(self._loop)
        assert task is not None
        now = self._entered[task] = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_at(now + self.limit_s, self._expire)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._entered.pop(task, None)
        if task not in self._expired:
            return
        self._expired.discard(task)
        if task.uncancel() == 0 and isinstance(error, asyncio.CancelledError):
            raise TimeoutError(f"no complete reply within {self.limit_s:g} s") from error

    def close(self) -> None:
        """Drop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer = None
        now = self._loop.time()
        for task, entered in list(self._entered.items()):
            if entered + self.limit_s > now:
                self._timer = self._loop.call_at(entered + self.limit_s, self._expire)
                return
            del self._entered[task]
            self._expired.add(task)
            task.cancel()
