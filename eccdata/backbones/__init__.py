"""Fourteen sequence architectures as memories: written symbol by symbol, read by candidates (eccbench.txt, 4.4 and C).

They need torch and transformers, the `[models]` extra. The package itself and `eccdata.backbones.settings` import
without, so that whoever only wants the names and Table 11 needs neither.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from eccdata.errors import problem

if TYPE_CHECKING:
    from .config import BackboneConfig
    from .model import BackboneOutput, MemoryBackbone, right_aligned

__all__ = ["BackboneConfig", "BackboneOutput", "MemoryBackbone", "right_aligned"]

_HOMES = {
    "BackboneConfig": "config",
    "BackboneOutput": "model",
    "MemoryBackbone": "model",
    "right_aligned": "model",
}


def __getattr__(name: str) -> object:
    """Import what needs torch when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("torch", "transformers"):
            raise
        raise problem(
            f"The backbones need {missing}, which is not installed.",
            remedy="Install the extra that brings it: pip install 'eccdata[models]'.",
        ) from None
    return getattr(module, name)
