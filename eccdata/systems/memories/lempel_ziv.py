"""The memory that spends its bits on a Lempel-Ziv code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .base import Memory, State, check_bits
from .coding import EMPTY, decode, encode
from .posterior import unseen_in_suffix


@dataclass(frozen=True)
class LempelZiv(Memory):
    """As many of the last symbols as a Lempel-Ziv code of that many bits holds (see `coding`).

    A window that compresses: on a maximum-entropy stream it holds what a window of one bit less does, on a
    compressible one more, some 2.4 times as much in the low band. A write decodes what is held, appends the new
    symbols and codes anew, and what does not fit any more is gone for good, so the state never exceeds the budget
    between writes.

    Attributes:
        bits: The budget, all bits of the code included.

    """

    bits: int = 2048

    name: ClassVar[str] = "lempel-ziv"

    def __post_init__(self) -> None:
        """Check the budget; raises `EccdataError`."""
        check_bits(self.name, self.bits)

    def start(self, alphabet_size: int) -> State:
        """Give the empty state."""
        return _State(alphabet_size, self.bits)


class _State:
    def __init__(self, alphabet_size: int, bits: int) -> None:
        self.alphabet_size = alphabet_size
        self.bits = bits
        self.seen = 0
        self.code = EMPTY
        # The code's meaning, kept so that sixteen reads decode it once; it holds nothing that the code does not.
        self.held = b""

    def write(self, symbols: NDArray[np.uint8]) -> None:
        self.seen += len(symbols)
        self.code = encode(self.held + symbols.tobytes(), self.alphabet_size, self.bits)
        self.held = decode(self.code, self.alphabet_size)

    def read(self, candidate: NDArray[np.uint8]) -> float:
        if candidate.tobytes() in self.held:
            return 1.0
        return unseen_in_suffix(len(self.held), self.seen, len(candidate), self.alphabet_size)
