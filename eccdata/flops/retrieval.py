"""What retrieval costs beside reading whole streams (eccbench.txt, B.7): an index, questions, answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from eccdata.errors import EccdataError
from eccdata.flops.architectures import Architecture
from eccdata.flops.formulas import Numbers
from eccdata.flops.pricing import FrameSize, price

WINDOW_FRAMES = 16
STRIDE = 4


def window_count(frames: int, *, window: int = WINDOW_FRAMES, stride: int = STRIDE) -> int:
    """How many whole windows of a stream there are; a stream shorter than one is one.

    Args:
        frames: L.
        window: Frames of a window.
        stride: Frames between the beginnings of two.

    """
    if min(frames, window, stride) < 1:
        raise EccdataError(
            f"A stream of {frames} frames has no windows of {window} at stride {stride}: each is 1 or above."
        )
    return max(0, frames - window) // stride + 1


def embedding_flops(
    model: str | Architecture,
    *,
    frames: ArrayLike = 0,
    frame_size: FrameSize | None = None,
    text_tokens: ArrayLike = 0,
    clips: Sequence[tuple[ArrayLike, FrameSize | None]] | None = None,
) -> Numbers:
    """What embedding a clip, a sentence or both costs: tower, connector and prefill; nothing is decoded.

    Args:
        model: The embedder, as in `eccdata.flops.price`.
        frames: Frames of the one clip, 0 where there is none [...].
        frame_size: Its frames' width and height in pixels.
        text_tokens: Tokens of text, those of an instruction and of the chat template among them [...].
        clips: In place of `frames` and `frame_size`, of several clips.

    Raises:
        EccdataError: As `eccdata.flops.price`.

    """
    return price(model, frames=frames, frame_size=frame_size, prompt_tokens=text_tokens, clips=clips).write


@dataclass(frozen=True, slots=True)
class RetrievalPrice:
    """What answering from retrieved windows costs, in FLOPs, beside answering from the whole stream (Table 9).

    Attributes:
        index: Embedding all windows of a stream.
        query: Embedding a question.
        answer: Answering from what was retrieved.
        full: Answering from the whole stream.

    """

    index: float
    query: float
    answer: float
    full: float

    @property
    def per_answer(self) -> float:
        """A question's embedding and its answer, the index amortised away."""
        return self.query + self.answer

    @property
    def one_query(self) -> float:
        """All of it, where a stream has one question."""
        return self.index + self.per_answer

    @property
    def saving(self) -> float:
        """How many times cheaper an answer is than one from the whole stream."""
        return self.full / self.per_answer

    @property
    def break_even(self) -> float:
        """How many questions a stream must serve before retrieval costs less; infinite where it never does."""
        gain = self.full - self.per_answer
        return self.index / gain if gain > 0 else float("inf")
