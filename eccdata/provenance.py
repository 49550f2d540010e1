"""What a result was made with: the package's git revision and the versions of the libraries that matter."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType

import eccdata


@cache
def git_revision() -> str | None:
    """The commit of the checkout that the package runs from, with `-dirty` where it was changed; None elsewhere."""
    top = Path(eccdata.__file__).parents[1]
    if not (top / ".git").exists():
        return None
    command = ["git", "-C", str(top), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None


@cache
def versions(*packages: str) -> Mapping[str, str]:
    """The versions of Python, of this package and of those named that are installed."""
    found = {"python": platform.python_version(), "eccdata": eccdata.__version__}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return MappingProxyType(found)
