"""The memory that forgets nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .base import Memory, State


@dataclass(frozen=True)
class Exact(Memory):
    """The whole stream. It is always right and always certain."""

    name: ClassVar[str] = "exact"

    def start(self, alphabet_size: int) -> State:  # noqa: ARG002
        """Give the empty state."""
        return _State()


class _State:
    def __init__(self) -> None:
        self.stream = b""

    def write(self, symbols: NDArray[np.uint8]) -> None:
        self.stream += symbols.tobytes()

    def read(self, candidate: NDArray[np.uint8]) -> float:
        return 1.0 if candidate.tobytes() in self.stream else 0.0
