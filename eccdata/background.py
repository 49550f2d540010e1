"""Running a coroutine from plain code: with its own event loop, ended cleanly by Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ended(Generic[T]):
    """How a coroutine ended.

    Attributes:
        result: What it returned; None where it was cancelled before it could return anything.
        signal: The signal that cancelled it, if one did.

    """

    result: T | None
    signal: int | None


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> Ended[T]:
    """Run a coroutine to its end in a thread and an event loop of its own.

    So it works the same from a script and from inside a running loop, as in a notebook. Called from the main
    thread, SIGINT and SIGTERM cancel the coroutine, once; it may catch the cancellation and return what it has.
    """
    loop = _new_event_loop()
    task = loop.create_task(work())
    done: list[T] = []
    failed: list[BaseException] = []
    received: list[int] = []

    def target() -> None:
        asyncio.set_event_loop(loop)
        try:
            done.append(loop.run_until_complete(task))
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # raised again in the caller's thread
            failed.append(error)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def cancel(number: int) -> None:
        if not received:
            received.append(number)
            loop.call_soon_threadsafe(task.cancel)

    thread = threading.Thread(target=target, name="eccdata", daemon=True)
    with _handling(cancel):
        thread.start()
        thread.join()
    if failed:
        raise failed[0]
    return Ended(done[0] if done else None, received[0] if received else None)


def stop_caller(number: int, message: str) -> BaseException:
    """The exception that a caller of an interrupted job should see."""
    return KeyboardInterrupt(message) if number == signal.SIGINT else SystemExit(128 + number)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


@contextmanager
def _handling(handler: Callable[[int], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        handler(number)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
