"""Fixtures that more than one folder of tests needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from support import parallel
from support.sglang_environment import Environment, NotHere, environment
from support.sglang_server import Server

if "PYTEST_XDIST_WORKER" in os.environ:
    # each process has a core: threads of several that wait for each other would take the cores from those who work
    os.environ.setdefault("OMP_NUM_THREADS", "1")

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


@pytest.fixture(scope="module")  # it takes seconds to start and two gigabytes to keep
def sglang_server(
    sglang_env: Environment, smollm2: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """SmolLM2 behind a real SGLang with a context of 1,024 tokens. Leave it as it is: a file's tests share it."""
    log = tmp_path_factory.mktemp("sglang") / "server.log"
    with Server(sglang_env, smollm2, log, name="smollm2", context_length=1024) as server:
        yield server


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Use the cores for a whole run, and one process for a part of it."""
    return parallel.processes(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep together what shares fixtures, in the order that the tests have."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return parallel.unit(nodeid)

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, and end with what runs alone."""
    items.sort(key=parallel.rank)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test that measures run while no other process runs one."""
    told = getattr(item.config, "workerinput", None)
    if told is None:
        return (yield)
    with parallel.turn(Path(told["turns"]), alone=item.get_closest_marker("benchmark") is not None):
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process where turns are taken."""
    factory: pytest.TempPathFactory = node.config._tmp_path_factory
    node.workerinput["turns"] = str(factory.getbasetemp())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Hear from a process that had no server."""
    if reason := getattr(node, "workeroutput", {}).get("not_here"):
        node.config.stash[NOT_HERE] = reason


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that sums up."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["not_here"] = session.config.stash.get(NOT_HERE, None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show what was measured, and say once more that nothing was tested against a real server, if so."""
    reason = config.stash.get(NOT_HERE, None)
    if reason is not None:
        terminalreporter.section("NOT tested: anything against a real SGLang server", red=True)
        terminalreporter.write_line(reason)
    measured = [
        (report.nodeid, report.capstdout.strip())
        for report in terminalreporter.getreports("passed")
        if "benchmark" in report.keywords and report.when == "call" and report.capstdout.strip()
    ]
    if measured:
        terminalreporter.section("measured")
        for name, told in measured:
            terminalreporter.write_line(name, bold=True)
            terminalreporter.write_line(told)
