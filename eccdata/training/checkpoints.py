"""Checkpoints of a training run: each a folder that is there whole or not at all, so a kill costs the steps since."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import orjson
from accelerate import Accelerator

STATE = "progress.json"
KEPT = 2
"""The last one, and the one before it in case the disk lost what the last one held."""


def save(accelerator: Accelerator, folder: Path, step: int, progress: dict[str, Any]) -> None:
    """Save weights, optimizer, schedule, random states and `progress` as `folder/step-<step>`; drop older ones.

    All processes call it.
    """
    final = folder / f"step-{step:010d}"
    unfinished = folder / f".{final.name}.incomplete"
    if accelerator.is_main_process:
        for stale in folder.glob(".step-*.incomplete"):
            shutil.rmtree(stale)
        unfinished.mkdir(parents=True)
    accelerator.wait_for_everyone()
    accelerator.save_state(str(unfinished))
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        (unfinished / STATE).write_bytes(orjson.dumps(progress))
        if final.exists():
            shutil.rmtree(final)
        unfinished.rename(final)
        for old in _complete(folder)[:-KEPT]:
            shutil.rmtree(old)
    accelerator.wait_for_everyone()


def latest(folder: Path) -> Path | None:
    """Find the last checkpoint that was saved whole."""
    return next(reversed(_complete(folder)), None)


def load(accelerator: Accelerator, checkpoint: Path) -> dict[str, Any]:
    """Load a checkpoint into what the accelerator has prepared; give back its `progress`."""
    accelerator.load_state(str(checkpoint))
    progress: dict[str, Any] = orjson.loads((checkpoint / STATE).read_bytes())
    return progress


def _complete(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*")) if folder.is_dir() else []
