"""The memory of nothing."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eccdata.errors import problem
from eccdata.requests import SymbolQuery
from eccdata.streams.seeding import generator

from .base import Memory, State


@dataclass(frozen=True)
class Chance(Memory):
    """A fair coin: P(yes) is one half, and where an answer is due the coin gives it.

    The coin is keyed by the seed and the question's symbols, so the same question gets the same answer again.

    Attributes:
        seed: At least 0.

    """

    seed: int = 0

    name: ClassVar[str] = "chance"

    def __post_init__(self) -> None:
        """Check the seed; raises `EccdataError`."""
        if self.seed < 0:
            raise problem(f"chance was given seed={self.seed}. A seed is at least 0.")

    def start(self, alphabet_size: int) -> State:  # noqa: ARG002
        """Give the empty state, which stays empty."""
        return _State()

    def says_yes(self, probability: float, query: SymbolQuery) -> bool:  # noqa: ARG002
        """Toss the coin."""
        question = blake2b(query.stream.tobytes(), digest_size=16)
        question.update(query.candidate.tobytes())
        return bool(generator(self.seed, self.name, question.hexdigest()).integers(2))


class _State:
    def write(self, symbols: NDArray[np.uint8]) -> None:
        pass

    def read(self, candidate: NDArray[np.uint8]) -> float:  # noqa: ARG002
        return 0.5
