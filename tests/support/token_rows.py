"""Small `tokens` releases and rows, built once a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets

import eccdata

SMALL: dict[str, Any] = {
    "sequences": 300,
    "validation_fraction": 0.1,
    "min_length": 16,
    "max_length": 20,
    "test_lengths": (64,),
    "test_streams": 2,
}


def token_release(folder: Path, **settings: Any) -> Path:
    """Build a release of `tokens` in `folder` and give it back."""
    eccdata.build("eccbench", out=folder, configs=["tokens"], settings={**SMALL, **settings})
    return folder


def token_rows(split: str = "train", **settings: Any) -> datasets.Dataset:
    """Build rows in the cache."""
    return eccdata.load_dataset("eccbench", "tokens", split=split, **{**SMALL, **settings})
