"""The environment in which the tests run a real SGLang, and the models it serves: made once, kept in a cache."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

HOME = Path(__file__).parent.parent / "sglang"
REQUIREMENTS = (HOME / "requirements.txt", HOME / "requirements-nodeps.txt")
SHIM = HOME / "shim"
INSTALL_LIMIT_S = 780.0
"""Below pytest's limit for one test, since the installation counts towards the first that wants a server."""
MODEL_LIMIT_S = 300.0
NEEDED_BYTES = 5 * 2**30


class NotHere(Exception):
    """This machine cannot have the server; the message says why."""


def cache_folder() -> Path:
    """Where environments and models are kept: ECCDATA_TEST_CACHE, or a folder in the user's cache."""
    if chosen := os.environ.get("ECCDATA_TEST_CACHE"):
        return Path(chosen).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "eccdata-tests"


def digest(*parts: Path | str) -> str:
    """Twelve hex digits that change with any of the files and texts."""
    total = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part.encode()
        total.update(hashlib.sha256(data).digest())
    return total.hexdigest()[:12]


@dataclass(frozen=True)
class Environment:
    """A virtual environment with SGLang, and the models made with it.

    Attributes:
        folder: The virtual environment. It was renamed into place, so only `python -m` works in it: the
            scripts in its bin folder name the place where it was made.

    """

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def variables(self, threads: int) -> dict[str, str]:
        """What its processes get to see, with `threads` threads of computation each."""
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HF_"))},
            "PYTHONPATH": str(SHIM),
            "HF_HUB_OFFLINE": "1",
            "SGLANG_USE_CPU_ENGINE": "1",
            "OMP_NUM_THREADS": str(threads),
        }

    def model(self, name: str) -> Path:
        """A checkpoint that models.py can make: `smollm2` (540 MB), `tiny` and the two of `tiny-…_vl`."""
        script = HOME / "models.py"

        def write(folder: Path, log: Path) -> None:
            command = [str(self.python), str(script), name, str(folder)]
            run_logged(command, log, MODEL_LIMIT_S, self.variables(threads=2))

        return made_once(f"{name}-{digest(script, *REQUIREMENTS)}", write)


def environment() -> Environment:
    """The environment from the cache, installed first where it is not there yet.

    Raises:
        NotHere: Where this machine cannot have it.

    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise NotHere(
            f"SGLang's CPU engine is tested on Linux x86-64 only, not {sys.platform} {platform.machine()}"
        )
    version = f"{sys.implementation.name}-{sys.version_info.major}.{sys.version_info.minor}"
    return Environment(made_once(f"sglang-{digest(version, *REQUIREMENTS)}", _install))


def _install(folder: Path, log: Path) -> None:
    free = shutil.disk_usage(folder.parent).free
    if free < NEEDED_BYTES:
        raise NotHere(
            f"{folder.parent} has {free / 2**30:.1f} GB left, and SGLang needs {NEEDED_BYTES >> 30}"
        )
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    # without --no-compile the bytecode of all of torch is written, of which a server imports a fifth
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--no-input", "--no-compile"]
    end = time.monotonic() + INSTALL_LIMIT_S
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [*pip, "-r", str(REQUIREMENTS[0])],
        [*pip, "--no-deps", "-r", str(REQUIREMENTS[1])],
    ):
        run_logged(command, log, max(1.0, end - time.monotonic()), variables)


def made_once(name: str, make: Callable[[Path, Path], None]) -> Path:
    """The folder `name` of the cache; `make(folder, log)` fills it if it is not there.

    It is made beside its place and renamed, so that one that is there is whole, and under a lock, so that of
    many test runs one makes it and the others wait. A killed run leaves its half behind: the next removes it.
    """
    final = cache_folder() / name
    if final.is_dir():
        return final
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(final.parent / f"{name}.lock"):
            if final.is_dir():
                return final
            for half in final.parent.glob(f"{name}.half-*"):
                shutil.rmtree(half, ignore_errors=True)
            half = Path(tempfile.mkdtemp(prefix=f"{name}.half-", dir=final.parent))
            log = final.parent / f"{name}.log"
            log.unlink(missing_ok=True)
            make(half, log)
            half.rename(final)
    except OSError as error:
        raise NotHere(f"{final} cannot be made: {error}") from error
    return final


def run_logged(command: Sequence[str], log: Path, limit_s: float, variables: dict[str, str]) -> None:
    """Run a command, its output appended to `log`.

    Raises:
        NotHere: Where it fails, with the last of its output, or does not end within `limit_s`.

    """
    shown = " ".join(command)
    with log.open("ab") as output:
        output.write(f"$ {shown}\n".encode())
        output.flush()
        start = output.tell()
        try:
            code = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=variables,
                timeout=limit_s,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            raise NotHere(f"{shown}\ndid not end within {limit_s:.0f} s; its output: {log}") from None
    if code != 0:
        with log.open("rb") as output:
            output.seek(start)
            last = output.read().decode(errors="replace").strip().splitlines()[-15:]
        raise NotHere("\n".join([f"{shown}\nexited with {code}; the last of its output ({log}):", *last]))
