"""Variable-order n-gram rule sets: the processes that low-entropy streams are drawn from."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eccdata.errors import EccdataError, problem

LONGEST_CONTEXT = 8
MOST_CONTINUATIONS = 4
LARGEST_ALPHABET = 256
ROUNDING = 1e-9

# How narrow rule sets are drawn; fitted so that the low band's rates come out as the paper reports them.
BRANCHING = (0.05, 0.24)
SLIP_BITS_PER_SYMBOL = 0.2

Context = tuple[int, ...]


@dataclass(frozen=True)
class RuleSet:
    """A small dictionary from contexts to the probabilities of the next symbol (ECCBench, appendix A.1).

    The longest context that is a suffix of what has been drawn decides the next symbol; where none is, as at the
    start, all symbols are equally likely. The probability that a context leaves over is spread evenly over the
    symbols it does not name.

    Attributes:
        alphabet_size: The symbols are 0 … alphabet_size - 1; from 2 to 256.
        rules: For each context of one to eight symbols, the probabilities of up to four next symbols.

    Raises:
        EccdataError: Naming the alphabet size, or every rule that is not of this form.

    """

    alphabet_size: int
    rules: Mapping[Context, Mapping[int, float]]

    def __post_init__(self) -> None:
        check_alphabet_size(self.alphabet_size)
        wrong = [
            f"{', '.join(map(str, context)) or '(empty)'}: {reason}"
            for context, continuations in self.rules.items()
            for reason in self._faults(context, continuations)
        ]
        if wrong:
            raise problem(f"These rules do not fit an alphabet of {self.alphabet_size} symbols:", wrong)

    def next_probabilities(self, prefix: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Give the probability of each symbol after `prefix`, float64 [alphabet_size]."""
        recent = tuple(int(symbol) for symbol in prefix[-LONGEST_CONTEXT:])
        while recent and recent not in self.rules:
            recent = recent[1:]
        return np.array(self._probabilities(self.rules.get(recent, {})))

    def sample(self, length: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw a stream, uint8 [length], from the empty prefix on; it takes one uniform number a symbol."""
        transitions, cumulatives = self._automaton
        state = 0
        drawn = bytearray(length)
        for i, u in enumerate(rng.random(length).tolist()):
            symbol = bisect_right(cumulatives[state], u)
            drawn[i] = symbol
            state = transitions[state][symbol]
        return np.frombuffer(drawn, np.uint8)

    @cached_property
    def _automaton(self) -> tuple[list[list[int]], list[list[float]]]:
        """Compile the rules to the automaton of Aho and Corasick (1975) over the contexts.

        A state stands for the longest suffix drawn that begins a context, so the contexts that match are
        suffixes of it.

        Returns:
            The next state by state and symbol, and the cumulative probabilities of the symbols by state.

        """
        begun = sorted(
            {context[:end] for context in self.rules for end in range(len(context) + 1)} | {()}, key=len
        )
        states = {prefix: state for state, prefix in enumerate(begun)}
        children: list[dict[int, int]] = [{} for _ in begun]
        for prefix in begun[1:]:
            children[states[prefix[:-1]]][prefix[-1]] = states[prefix]
        fallbacks = [0] * len(begun)
        transitions: list[list[int]] = []
        cumulatives: list[list[float]] = []
        for state, prefix in enumerate(begun):
            # A fallback is shorter than its state, so it is complete by now.
            following = transitions[fallbacks[state]].copy() if state else [0] * self.alphabet_size
            for symbol, child in children[state].items():
                fallbacks[child] = following[symbol]
                following[symbol] = child
            transitions.append(following)
            if prefix in self.rules or not state:
                sums = list(accumulate(self._probabilities(self.rules.get(prefix, {}))))
                # The last sum may fall short of one by a rounding; the last likely symbol makes up for it.
                cumulatives.append([total if total < sums[-1] else 1.0 for total in sums])
            else:
                cumulatives.append(cumulatives[fallbacks[state]])
        return transitions, cumulatives

    def _probabilities(self, continuations: Mapping[int, float]) -> list[float]:
        others = self.alphabet_size - len(continuations)
        spread = max(0.0, 1 - sum(continuations.values())) / others if others else 0.0
        probabilities = [spread] * self.alphabet_size
        for symbol, probability in continuations.items():
            probabilities[symbol] = probability
        return probabilities

    def _faults(self, context: Context, continuations: Mapping[int, float]) -> list[str]:
        symbols = range(self.alphabet_size)
        faults = []
        if not 1 <= len(context) <= LONGEST_CONTEXT:
            faults.append(f"the context has {len(context)} symbols, not 1 to {LONGEST_CONTEXT}")
        if not 1 <= len(continuations) <= MOST_CONTINUATIONS:
            faults.append(f"it names {len(continuations)} next symbols, not 1 to {MOST_CONTINUATIONS}")
        faults += [f"{symbol} is no symbol" for symbol in (*context, *continuations) if symbol not in symbols]
        faults += [f"{symbol} has probability {p}" for symbol, p in continuations.items() if not 0 <= p <= 1]
        total = sum(continuations.values())
        if total > 1 + ROUNDING or (len(continuations) == self.alphabet_size and total < 1 - ROUNDING):
            faults.append(f"the probabilities add up to {total:g}")
        return faults


def narrow_rule_set(rng: np.random.Generator, alphabet_size: int = 16) -> RuleSet:
    """Draw a rule set with strong repetition: few symbols in play, and what follows them mostly settled.

    One to four symbols are in play. Each of them has a context of its own, and so have up to half of the
    alphabet's others, which lead into play. Up to eight longer contexts are read off what the rules so far
    produce, so that they come to match. All rules name next symbols in play only.

    Over the paper's ten lengths nearly two such rule sets in three give a stream of the low band, and the rates
    of those streams have about the paper's mean and standard deviation, at each length and over all.

    Raises:
        EccdataError: The alphabet size is not from 2 to 256.

    """
    check_alphabet_size(alphabet_size)
    draw = _Draws(rng)
    in_play = draw.between(1, min(4, alphabet_size))
    entries = draw.between(0, min(alphabet_size // 2, alphabet_size - in_play))
    covered = draw.some(range(alphabet_size), in_play + entries)
    play = covered[:in_play]
    # A symbol no rule names starts a run of evenly drawn ones, until one is covered: what that adds to the
    # rate grows with the alphabet, so it happens the more seldom.
    run_bits = alphabet_size / len(covered) * math.log2(alphabet_size)
    slip = min(SLIP_BITS_PER_SYMBOL / run_bits, 0.1)
    branching = draw.peaked(*BRANCHING)

    def continuations(fewest: int, last: int) -> dict[int, float]:
        named = draw.some(play, draw.between(min(fewest, in_play), in_play))
        if named[0] == last and len(named) > 1 and draw.share() < 0.5:
            # Cycles through several symbols are to be as common as runs of one.
            named[0], named[1] = named[1], named[0]
        left = slip * draw.peaked(0, 2) if len(named) < alphabet_size else 0.0
        rest = branching * draw.peaked(0.5, 1.5) if len(named) > 1 else 0.0
        probabilities = [1 - left - rest]
        for _ in named[2:]:
            probabilities.append(rest * (0.5 + draw.share() / 2))
            rest -= probabilities[-1]
        return dict(zip(named, [*probabilities, rest], strict=False))

    rules: dict[Context, dict[int, float]] = {(symbol,): continuations(2, symbol) for symbol in covered}
    for _ in range(draw.between(0, 8)):
        length = draw.between(2, LONGEST_CONTEXT)
        text: Context = (draw.one(play),)
        while len(text) < length:
            longest = next(text[start:] for start in range(len(text)) if text[start:] in rules)
            usual, *others = rules[longest]
            text += (usual,) if draw.share() < 0.7 or not others else (draw.one(others),)
        # A longer context may settle what a shorter one leaves open.
        rules[text] = continuations(1, text[-1])
    return RuleSet(alphabet_size, rules)


class _Draws:
    """Small choices from one generator, by uniform numbers alone."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def share(self) -> float:
        return self._rng.random()

    def peaked(self, low: float, high: float) -> float:
        return low + (high - low) * (self._rng.random() + self._rng.random()) / 2

    def between(self, low: int, high: int) -> int:
        return low + int(self._rng.random() * (high - low + 1))

    def one(self, items: Sequence[int]) -> int:
        return items[self.between(0, len(items) - 1)]

    def some(self, items: Sequence[int], count: int) -> list[int]:
        pool = list(items)
        for i in range(count):
            j = self.between(i, len(pool) - 1)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:count]


def check_alphabet_size(alphabet_size: int) -> None:
    """Refuse an alphabet that streams of bytes cannot have.

    Raises:
        EccdataError: The size is not from 2 to 256.

    """
    if not 2 <= alphabet_size <= LARGEST_ALPHABET:
        raise EccdataError(f"alphabet_size is {alphabet_size}; it must be from 2 to {LARGEST_ALPHABET}.")
