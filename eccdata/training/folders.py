"""Where a training's files stand. It needs no torch: whoever only looks for weights imports this alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from eccdata.errors import EccdataError

CARD, CURVE, SELECTION, BAGS = "training.json", "curve.csv", "selection.json", "bags.json"
BEST, CHECKPOINTS, CONFIGURATION = "best", "checkpoints", "configuration-"


def run_folder(folder: Path, number: int) -> Path:
    """Where a configuration's run is."""
    return folder / f"{CONFIGURATION}{number}"


def selected_checkpoint(folder: Path) -> Path | None:
    """Find the weights to use in what `eccdata train` wrote: the selected run's, or a run's own; None where neither is.

    Raises:
        EccdataError: If the selection cannot be read.

    """
    selection = read_json(folder / SELECTION)
    if selection is not None and isinstance(selection.get("selected"), int):
        folder = run_folder(folder, selection["selected"])
    best = folder / BEST
    return best if (best / "config.json").is_file() else None


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a JSON object; None where there is no such file.

    Raises:
        EccdataError: If the file holds something else.

    """
    try:
        found = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise EccdataError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise EccdataError(f"{path} holds no JSON object.")
    return found


def write_json(path: Path, value: Any) -> None:
    """Write JSON, so that whoever reads meanwhile sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.incomplete")
    unfinished.write_bytes(
        orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
    )
    unfinished.replace(path)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep the bars that transformers draws for every file it reads or writes off the terminal."""
    from transformers.utils import logging

    if not logging.is_progress_bar_enabled():
        yield
        return
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.enable_progress_bar()
