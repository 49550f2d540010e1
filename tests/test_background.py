from __future__ import annotations

import asyncio
import sys

import pytest

from eccdata import background


async def _loop_name() -> str:
    await asyncio.sleep(0)
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not made for Windows")
def test_work_runs_on_the_faster_event_loop() -> None:
    assert background.run(_loop_name).result == "uvloop"


def test_work_runs_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert background.run(_loop_name).result == "asyncio"


def test_work_runs_inside_a_running_loop() -> None:
    async def notebook() -> str | None:
        return background.run(_loop_name).result

    assert asyncio.run(notebook()) is not None


def test_what_the_work_raises_reaches_the_caller() -> None:
    async def fail() -> None:
        raise LookupError("none")

    with pytest.raises(LookupError, match="none"):
        background.run(fail)
