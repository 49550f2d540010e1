"""Training the backbones from scratch on the `tokens` configuration (eccbench.txt, C.1).

It needs torch, transformers and accelerate, the `[models]` extra.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from eccdata.errors import problem

if TYPE_CHECKING:
    from .running import Trained as Trained
    from .running import train as train
    from .studying import Study as Study
    from .studying import study as study

__all__ = ["Study", "Trained", "study", "train"]

_HOMES = {"Trained": "running", "train": "running", "Study": "studying", "study": "studying"}


def __getattr__(name: str) -> Any:
    """Import what needs torch when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    missing = [package for package in ("torch", "transformers", "accelerate") if find_spec(package) is None]
    if missing:
        raise problem(
            f"Training needs {', '.join(missing)}, which is not installed.",
            remedy="Install the extra that brings it: pip install 'eccdata[models]'.",
        )
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
