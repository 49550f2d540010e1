"""What all measurements need."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_from_before() -> Iterator[None]:
    """Keep the collector from going through what earlier tests have left in this process, time and again."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
