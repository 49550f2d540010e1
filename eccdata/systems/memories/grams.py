"""k-grams as numbers: the symbols of a k-gram are the digits of its code, the first the most significant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class GramReader:
    """Turns symbols that arrive piecemeal into the codes of their k-grams.

    Args:
        gram: The k of the k-grams; alphabet_size ** gram must fit 64 bits.
        alphabet_size: The number of symbols.

    Attributes:
        seen: How many symbols have come.

    """

    def __init__(self, gram: int, alphabet_size: int) -> None:
        self.gram = gram
        self.alphabet_size = alphabet_size
        self.seen = 0
        self._tail = np.empty(0, np.uint8)

    def next_codes(self, symbols: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """Give the codes, uint64, of the k-grams that end in these symbols, oldest first."""
        joined = np.concatenate([self._tail, symbols])
        self.seen += len(symbols)
        self._tail = joined[max(0, len(joined) - self.gram + 1) :]
        return gram_codes(joined, self.gram, self.alphabet_size)


def gram_codes(symbols: NDArray[np.uint8], gram: int, alphabet_size: int) -> NDArray[np.uint64]:
    """Give the codes of all k-grams of `symbols`, uint64 [max(0, n − gram + 1)]."""
    count = max(0, len(symbols) - gram + 1)
    codes = np.zeros(count, np.uint64)
    for offset in range(gram):
        codes *= np.uint64(alphabet_size)
        codes += symbols[offset : offset + count]
    return codes
