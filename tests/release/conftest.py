from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eccdata.release import Release, build, building
from support import toy


@pytest.fixture(autouse=True)
def toybench(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A stranger's benchmark is installed; the git revision is fixed, since commits may come while tests run."""
    toy.install(monkeypatch, tmp_path_factory.mktemp("toybench"))
    monkeypatch.setattr(building, "git_revision", lambda: "0" * 40)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Release]:
    """Build the toy benchmark in a folder of this test."""

    def made(name: str = "release", **arguments: Any) -> Release:
        return build("toybench", out=tmp_path / name, **arguments)

    return made
