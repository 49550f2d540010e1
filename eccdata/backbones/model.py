"""A backbone with its embeddings and its yes-or-no head: a trainable memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModel, PreTrainedModel
from transformers.utils import ModelOutput

from eccdata.errors import problem

from .architectures import build
from .config import BackboneConfig
from .layers import RMSNorm

NO, YES = 0, 1
"""Where the two answers stand among the logits."""

EMBEDDING_STD = 0.02
"""Of the embeddings at first: transformers' usual one. The paper does not say."""


@dataclass
class BackboneOutput(ModelOutput):
    """What `MemoryBackbone` gives.

    Attributes:
        loss: Mean cross-entropy over the labelled candidates; None without labels.
        logits: [B, Q, 2], no before yes.

    """

    loss: Tensor | None = None
    logits: Tensor | None = None


class MemoryBackbone(PreTrainedModel):
    """A sequence architecture that is written with a stream and read with candidates (eccbench.txt, C.1 and C.2).

    A candidate is one token: the sum of its symbols' embeddings, each from the table of its slot. One pass over a
    stream serves all its candidates, which see the stream's state and not each other.
    """

    config_class = BackboneConfig
    base_model_prefix = "backbone"
    main_input_name = "streams"

    def __init__(self, config: BackboneConfig) -> None:
        super().__init__(config)
        slots, symbols = config.candidate_slots, config.alphabet_size + 1
        self.symbols = nn.Embedding(config.alphabet_size, config.width)
        # one table a slot, in one
        self.slots = nn.Embedding(slots * symbols, config.width)
        # small, as is customary: beside embeddings of unit variance the layers' contributions hardly count, and the
        # convolutional Transformer learns several times as slowly
        for table in (self.symbols, self.slots):
            nn.init.normal_(table.weight, std=EMBEDDING_STD)
        self.backbone = build(config)
        self.norm = RMSNorm(config.width)
        self.head = nn.Linear(config.width, 2)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Leave every module as it made itself: the architectures ask for beginnings of their own."""

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """Load what `save_pretrained` wrote; takes and gives what the method of `PreTrainedModel` does.

        Raises:
            EccdataError: Naming the weights that the checkpoint lacks: they would be whatever stood in memory.

        """
        wanted = kwargs.pop("output_loading_info", False)
        model, info = super().from_pretrained(*args, output_loading_info=True, **kwargs)
        missing = sorted(info["missing_keys"])
        if missing:
            source = args[0] if args else kwargs.get("pretrained_model_name_or_path")
            raise problem(
                f"{source} is no whole checkpoint of a {model.config.architecture}. It lacks these weights:",
                missing,
                "Give a folder that `save_pretrained` wrote.",
            )
        return (model, info) if wanted else model

    def start(self, batch: int) -> tuple[Any, ...]:
        """Give the state of `batch` empty streams."""
        return self.backbone.start(self.symbols.weight.new_empty(batch, 0, self.config.width))

    def write(
        self, symbols: Tensor, state: tuple[Any, ...] | None = None, *, piece: int | None = None
    ) -> tuple[Any, ...]:
        """Write on.

        Args:
            symbols: int [B, T], the same number for each stream of the batch.
            state: What was written before; empty streams by default.
            piece: Symbols to write at a time, for streams whose activations would not fit at once. The state after
                is the same.

        Returns:
            The state after the last symbol.

        """
        state = self.start(symbols.shape[0]) if state is None else state
        for part in symbols.split(piece or max(1, symbols.shape[1]), 1):
            if part.shape[1]:
                _, state = self.backbone(self.symbols(part), state)
        return state

    def read(self, candidates: Tensor, state: tuple[Any, ...]) -> Tensor:
        """Ask whether candidates occurred.

        Args:
            candidates: int [B, Q, slots], right-aligned, as `right_aligned` gives.
            state: It stays as it is.

        Returns:
            Logits [B, Q, 2], no before yes.

        """
        slots, symbols = self.config.candidate_slots, self.config.alphabet_size + 1
        offsets = symbols * torch.arange(slots, device=candidates.device)
        questions = self.slots(candidates + offsets).sum(-2)
        return self.head(self.norm(self.backbone.read(questions, state)))

    def forward(
        self, streams: Tensor, candidates: Tensor, labels: Tensor | None = None, **_: Any
    ) -> BackboneOutput:
        """Write each stream and read its candidates.

        Args:
            streams: int [B, T].
            candidates: int [B, Q, slots], right-aligned.
            labels: int [B, Q], 1 where the answer is yes and 0 where it is no; −100 counts nothing.

        """
        logits = self.read(candidates, self.write(streams))
        loss = None
        if labels is not None:
            loss = functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())
        return BackboneOutput(loss=loss, logits=logits)


AutoConfig.register(BackboneConfig.model_type, BackboneConfig)
AutoModel.register(BackboneConfig, MemoryBackbone)


def right_aligned(candidates: Iterable[Sequence[int]], config: BackboneConfig) -> Tensor:
    """Give candidates as `MemoryBackbone` reads them: int64 [Q, slots], padded in front.

    Raises:
        EccdataError: Naming the candidates that are empty, too long, or have symbols outside the alphabet.

    """
    given = [list(candidate) for candidate in candidates]
    slots, alphabet = config.candidate_slots, config.alphabet_size
    wrong = [
        f"candidate {number}: {candidate}"
        for number, candidate in enumerate(given)
        if not 1 <= len(candidate) <= slots or not all(0 <= symbol < alphabet for symbol in candidate)
    ]
    if wrong:
        raise problem(
            "This backbone cannot read:", wrong, f"It reads 1 to {slots} symbols from 0 to {alphabet - 1}."
        )
    rows = [[config.pad_id] * (slots - len(candidate)) + candidate for candidate in given]
    return torch.tensor(rows, dtype=torch.long).reshape(-1, slots)
