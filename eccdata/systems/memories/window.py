"""The memory of the last symbols."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .base import Memory, State, check_bits
from .posterior import unseen_in_suffix


def plain_capacity(bits: int, alphabet_size: int) -> int:
    """How many symbols a budget holds at log2(alphabet) bits each, the cost of a symbol nothing is known about."""
    return int(bits / log2(max(2, alphabet_size)))


@dataclass(frozen=True)
class Window(Memory):
    """The last ⌊bits / log2 A⌋ symbols as they are, like a context window.

    What it finds there occurred for certain. What it does not find may have occurred before: see
    `posterior.unseen_in_suffix`.

    It holds the same number of symbols of every stream, so it compresses nothing. Equation 2 (accuracy on
    compressible streams less accuracy on incompressible ones) is zero for it where forgotten windows do not come
    back. Where they do, as in the low band, whose streams end as they began, it gains without compressing: the
    question is whether a candidate occurred, not when. Its gain is the mark that a memory which compresses, such
    as `LempelZiv` at the same budget, has to beat.

    Attributes:
        bits: The budget.

    """

    bits: int = 2048

    name: ClassVar[str] = "window"

    def __post_init__(self) -> None:
        """Check the budget; raises `EccdataError`."""
        check_bits(self.name, self.bits)

    def start(self, alphabet_size: int) -> State:
        """Give the empty state."""
        return _State(alphabet_size, plain_capacity(self.bits, alphabet_size))


class _State:
    def __init__(self, alphabet_size: int, capacity: int) -> None:
        self.alphabet_size = alphabet_size
        self.capacity = capacity
        self.seen = 0
        self.held = b""

    def write(self, symbols: NDArray[np.uint8]) -> None:
        self.seen += len(symbols)
        joined = self.held + symbols.tobytes()
        self.held = joined[max(0, len(joined) - self.capacity) :]

    def read(self, candidate: NDArray[np.uint8]) -> float:
        if candidate.tobytes() in self.held:
            return 1.0
        return unseen_in_suffix(len(self.held), self.seen, len(candidate), self.alphabet_size)
