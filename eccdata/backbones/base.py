"""The protocol of every backbone: a memory that is written with sequences and read with single tokens."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from torch import Tensor, nn

from .layers import RMSNorm

S = TypeVar("S")


class Mixer(nn.Module, Generic[S]):
    """One part of a backbone, on [B, T, D], with a state that holds what it keeps of the tokens before.

    States are named tuples of tensors, batch first, and plain numbers. A state is a value: nothing changes one in
    place, so that it can be kept, read many times, and written on in several ways.
    """

    def start(self, x: Tensor) -> S:
        """Give the state before the first token, for a batch of the size, device and dtype of x [B, …, D]."""
        raise NotImplementedError

    def forward(self, x: Tensor, state: S | None = None) -> tuple[Tensor, S]:
        """Write T ≥ 1 tokens.

        However a sequence is cut into calls, outputs and final state are the same: T = 1 is the streaming step, a
        long T is computed in parallel or in chunks, for training.

        Args:
            x: [B, T, D].
            state: What the tokens before left; an empty stream by default.

        Returns:
            y [B, T, D], where y_t depends on x_1 … x_t alone, and the state after the last token.

        """
        raise NotImplementedError

    def read(self, x: Tensor, state: S) -> Tensor:
        """Ask Q independent questions of one token each.

        Args:
            x: [B, Q, D].
            state: It stays as it is.

        Returns:
            y [B, Q, D]: for each question the output of writing it alone, next after what the state holds.

        """
        raise NotImplementedError


class Tokenwise(Mixer[tuple[()]]):
    """A function of each token alone, which keeps nothing."""

    def __init__(self, function: nn.Module) -> None:
        super().__init__()
        self.function = function

    def start(self, x: Tensor) -> tuple[()]:  # noqa: ARG002
        """Keep nothing."""
        return ()

    def forward(self, x: Tensor, state: tuple[()] | None = None) -> tuple[Tensor, tuple[()]]:  # noqa: ARG002
        """Map each token."""
        return self.function(x), ()

    def read(self, x: Tensor, state: tuple[()]) -> Tensor:  # noqa: ARG002
        """Map each question."""
        return self.function(x)


class PreNorm(Mixer[S]):
    """x + mixer(norm(x))."""

    def __init__(self, width: int, mixer: Mixer[S]) -> None:
        super().__init__()
        self.norm = RMSNorm(width)
        self.mixer = mixer

    def start(self, x: Tensor) -> S:
        """Give the mixer's."""
        return self.mixer.start(x)

    def forward(self, x: Tensor, state: S | None = None) -> tuple[Tensor, S]:
        """Add what the mixer makes of the normalised tokens."""
        y, state = self.mixer(self.norm(x), state)
        return x + y, state

    def read(self, x: Tensor, state: S) -> Tensor:
        """Add what the mixer answers to the normalised questions."""
        return x + self.mixer.read(self.norm(x), state)


class Stack(Mixer[tuple[Any, ...]]):
    """Mixers one after the other; its state is the tuple of theirs."""

    def __init__(self, parts: list[Mixer[Any]]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def start(self, x: Tensor) -> tuple[Any, ...]:
        """Give every part's."""
        return tuple(part.start(x) for part in self.parts)

    def forward(self, x: Tensor, state: tuple[Any, ...] | None = None) -> tuple[Tensor, tuple[Any, ...]]:
        """Write through all parts."""
        states = []
        for part, before in zip(self.parts, state or (None,) * len(self.parts), strict=True):
            x, after = part(x, before)
            states.append(after)
        return x, tuple(states)

    def read(self, x: Tensor, state: tuple[Any, ...]) -> Tensor:
        """Ask through all parts."""
        for part, kept in zip(self.parts, state, strict=True):
            x = part.read(x, kept)
        return x
