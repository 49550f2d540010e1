"""Fixtures that more than one folder of tests needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from support.sglang_environment import Environment, NotHere, environment
from support.sglang_server import Server

T = TypeVar("T")
NOT_HERE = pytest.StashKey[str]()


@pytest.fixture(autouse=True, scope="session")
def no_declarations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leave out whatever models the user of this machine has declared, in every process that a test starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ECCDATA_ARCHITECTURES", str(tmp_path_factory.mktemp("settings") / "none.yaml"))
        yield


def _had(config: pytest.Config, make: Callable[[], T]) -> T:
    try:
        return make()
    except NotHere as reason:
        config.stash[NOT_HERE] = str(reason)
        if os.environ.get("ECCDATA_REQUIRE_SERVER") == "1":
            pytest.fail(f"ECCDATA_REQUIRE_SERVER=1, and this machine has no SGLang: {reason}", pytrace=False)
        pytest.skip(f"this machine has no SGLang: {reason}")


@pytest.fixture(scope="session")
def sglang_env(pytestconfig: pytest.Config) -> Environment:
    """An installed SGLang; skips, loudly, where it cannot be had, and fails there if ECCDATA_REQUIRE_SERVER=1."""
    return _had(pytestconfig, environment)


@pytest.fixture(scope="session")
def smollm2(sglang_env: Environment, pytestconfig: pytest.Config) -> Path:
    """SmolLM2-135M-Instruct, a small model that follows a prompt after its own fashion, as a checkpoint."""
    return _had(pytestconfig, lambda: sglang_env.model("smollm2"))


@pytest.fixture(scope="session")
def tiny_model(sglang_env: Environment, pytestconfig: pytest.Config) -> Path:
    """A random model, one token a byte, as a checkpoint: fast, and senseless."""
    return _had(pytestconfig, lambda: sglang_env.model("tiny"))


@pytest.fixture(scope="session")
def sglang_server(
    sglang_env: Environment, smollm2: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """SmolLM2 behind a real SGLang with a context of 1,024 tokens. Leave it as it is: all tests share it."""
    log = tmp_path_factory.mktemp("sglang") / "server.log"
    with Server(sglang_env, smollm2, log, name="smollm2", context_length=1024) as server:
        yield server


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say once more, where nobody can miss it, that nothing was tested against a real server."""
    reason = config.stash.get(NOT_HERE, None)
    if reason is not None:
        terminalreporter.section("NOT tested: anything against a real SGLang server", red=True)
        terminalreporter.write_line(reason)
