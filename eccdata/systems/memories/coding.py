"""A Lempel-Ziv code that evicts the oldest first, and of which every remainder can be decoded.

The code runs from the newest symbol to the oldest, so that a copy refers to newer symbols, which are decoded
before it, and phrases at the end can be dropped without harm to the rest. Its first bit says how it goes on:

- `0`, plain: the symbols are the digits, base A and newest first, of one number, which fills the rest.
- `1`, phrases: each is `0` and a symbol in ⌈log2 A⌉ bits, or `1`, a length in Elias' gamma code (Elias 1975)
  and a distance back, less one, in as many bits as the number of symbols before it needs. A copy may overlap
  what it writes. An incomplete phrase at the end is no phrase.

The plain form costs one bit more than a plain code, so no stream costs more than that. An alphabet of one symbol
is coded as if it had two.
"""

from __future__ import annotations

from dataclasses import dataclass

from .window import plain_capacity


@dataclass(frozen=True, slots=True)
class Code:
    """A sequence of bits: the first `bits` of `payload`, most significant first."""

    payload: bytes
    bits: int


EMPTY = Code(b"", 0)


def encode(symbols: bytes, alphabet_size: int, budget: int) -> Code:
    """Code the longest suffix of `symbols` that fits. The time grows as what fits squared: 30 ms at 4096.

    Args:
        symbols: Oldest first, each below `alphabet_size`.
        alphabet_size: The number of symbols.
        budget: The most bits the code may have.

    Returns:
        The code, `bits` ≤ budget, of as many of the last symbols as one of the two forms can hold.

    """
    if not symbols or budget < 1:
        return EMPTY
    newest_first = symbols[::-1]
    phrases, coded = _phrases(newest_first, alphabet_size, budget - 1)
    plain = min(len(symbols), plain_capacity(budget - 1, alphabet_size))
    if plain > coded or (plain == coded and _plain_width(plain, max(2, alphabet_size)) <= len(phrases)):
        return _packed("0" + _plain(newest_first[:plain], alphabet_size))
    return _packed("1" + phrases)


def decode(code: Code, alphabet_size: int) -> bytes:
    """Give the symbols of a code, oldest first."""
    if code.bits == 0:
        return b""
    digits = f"{int.from_bytes(code.payload):0{8 * len(code.payload)}b}"[: code.bits]
    rest = digits[1:]
    newest_first = (
        _read_phrases(rest, alphabet_size) if digits[0] == "1" else _read_plain(rest, alphabet_size)
    )
    return newest_first[::-1]


def gamma_width(number: int) -> int:
    """Bits of Elias' gamma code of a number ≥ 1."""
    return 2 * number.bit_length() - 1


def _gamma(number: int) -> str:
    return f"{number:0{gamma_width(number)}b}"


def _read_gamma(digits: str, at: int) -> tuple[int, int] | None:
    """The number that stands at an index, and the index after it; None where the digits end before it does."""
    one = digits.find("1", at)
    end = one + (one - at) + 1
    if one < 0 or end > len(digits):
        return None
    return int(digits[one:end], 2), end


def _phrases(symbols: bytes, alphabet_size: int, budget: int) -> tuple[str, int]:
    """Parse greedily, newest first, until the budget is spent: the digits, and how many symbols they stand for."""
    literal_width = _literal_width(alphabet_size)
    parts: list[str] = []
    room = budget
    at = 0
    while at < len(symbols):
        length, source = _longest_match(symbols, at)
        distance_width = _distance_width(at)
        if length and 1 + gamma_width(length) + distance_width < length * (1 + literal_width):
            # A copy that does not fit may fit when it is shorter.
            while 1 + gamma_width(length) + distance_width > room and length > 1:
                length = (1 << (length.bit_length() - 1)) - 1
            distance = f"{at - source - 1:0{distance_width}b}" if distance_width else ""
            part = "1" + _gamma(length) + distance
        else:
            part, length = f"0{symbols[at]:0{literal_width}b}", 1
        if len(part) > room:
            break
        parts.append(part)
        room -= len(part)
        at += length
    return "".join(parts), at


def _longest_match(symbols: bytes, at: int) -> tuple[int, int]:
    """The longest factor at `at` that also starts before it, and its nearest start; overlap is allowed."""
    length, source = 0, at
    while at + length < len(symbols):
        found = symbols.rfind(symbols[at : at + length + 1], 0, at + length)
        if found < 0:
            break
        source = found
        length += 1
        # The nearest start of a factor is the nearest start of whatever it can be extended to.
        while at + length < len(symbols) and symbols[source + length] == symbols[at + length]:
            length += 1
    return length, source


def _read_phrases(digits: str, alphabet_size: int) -> bytes:
    literal_width = _literal_width(alphabet_size)
    symbols = bytearray()
    at = 0
    while at < len(digits):
        if digits[at] == "0":
            end = at + 1 + literal_width
            if end > len(digits):
                break
            symbols.append(int(digits[at + 1 : end], 2))
            at = end
            continue
        length = _read_gamma(digits, at + 1)
        width = _distance_width(len(symbols))
        if not length or length[1] + width > len(digits):
            break
        at = length[1] + width
        distance = int(digits[length[1] : at] or "0", 2) + 1
        for _ in range(length[0]):
            symbols.append(symbols[-distance])
    return bytes(symbols)


def _literal_width(alphabet_size: int) -> int:
    return max(1, (alphabet_size - 1).bit_length())


def _distance_width(before: int) -> int:
    return max(0, before - 1).bit_length()


def _plain_width(count: int, base: int) -> int:
    return int(base**count - 1).bit_length()


def _plain(symbols: bytes, alphabet_size: int) -> str:
    base = max(2, alphabet_size)
    number = 0
    for symbol in symbols:
        number = number * base + symbol
    width = _plain_width(len(symbols), base)
    return f"{number:0{width}b}" if width else ""


def _read_plain(digits: str, alphabet_size: int) -> bytes:
    base = max(2, alphabet_size)
    number = int(digits or "0", 2)
    symbols = bytearray()
    for _ in range(plain_capacity(len(digits), alphabet_size)):
        number, symbol = divmod(number, base)
        symbols.append(symbol)
    return bytes(symbols[::-1])


def _packed(digits: str) -> Code:
    size = -(-len(digits) // 8)
    return Code(int(digits.ljust(8 * size, "0"), 2).to_bytes(size), len(digits))
