"""What an answer by retrieval costs, in FLOPs: index, query and answer apart (eccbench.txt, B.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eccdata.answers import committed
from eccdata.audit import Audit
from eccdata.errors import EccdataError
from eccdata.flops import answer_tokens, price
from eccdata.flops.architectures import Architecture
from eccdata.flops.serving import served
from eccdata.media import Media
from eccdata.requests import Json, Request, Response
from eccdata.systems.embedding_server import Embedding


@dataclass(frozen=True, slots=True)
class Priced:
    """A served model with its price.

    Attributes:
        architecture: What its price follows from; None where nobody has declared it.
        audit: What clips must cost it in tokens.

    """

    architecture: Architecture | None
    audit: Audit

    @classmethod
    def of(cls, model: str, facts: Mapping[str, Json]) -> Priced:
        """Find the price of a model by its name and what its server says of itself (`System.facts`)."""
        found = served(model, {"system": {"facts": facts}})
        return cls(None if found is None else found.architecture, Audit.of(facts))

    def embedding(self, medium: Media | None, embedding: Embedding) -> float | None:
        """What an embedding costs: reading a clip, or a sentence where `medium` is None; no decoding.

        Returns:
            FLOPs; None where the model has no price, or the server does not tell how many tokens it read.

        """
        if self.architecture is None or embedding.prompt_tokens is None:
            return None
        media = () if medium is None else (medium,)
        seen = self.audit.expected(Request("", "", (), media=media)) if media else None
        if media and seen is None:
            return None
        text = embedding.prompt_tokens - (seen.total if seen is not None else 0)
        return self._price(media, max(0, text), None)

    def answer(self, sent: Request, response: Response) -> float | None:
        """What an answer costs, by B.3: reading what was sent, and decoding until the reply commits itself.

        Returns:
            FLOPs; None where the model has no price, or the server does not tell tokens.

        """
        found = committed(response, sent.options)
        if found is None or response.prompt_tokens is None or response.completion_tokens is None:
            return None
        seen = self.audit.expected(sent)
        told = [tokens for tokens in (response.image_tokens, response.video_tokens) if tokens is not None]
        if self.architecture is None or (not told and seen is None):
            return None
        vision = sum(told) if told else seen.total if seen is not None else 0
        reasoning = len(response.reasoning or "")
        tokens = float(
            answer_tokens(response.completion_tokens, found.commit_char, len(response.text), reasoning)
        )
        return self._price(sent.media, max(0, response.prompt_tokens - vision), tokens)

    def _price(self, media: Iterable[Media], text: int, answer: float | None) -> float | None:
        assert self.architecture is not None
        clips = []
        layout = None
        for medium in media:
            manifest = medium.ready.manifest
            layout = medium.recipe.layout
            clips.append((len(manifest.indices), (manifest.width, manifest.height)))
        try:
            found = price(
                self.architecture,
                clips=clips,
                prompt_tokens=text,
                answer_tokens=1 if answer is None else answer,
                layout=layout or "video",
            )
        except EccdataError:  # its rules do not say what such a clip costs
            return None
        return float(found.write if answer is None else found.total)


def total(parts: Iterable[float | None]) -> float | None:
    """The sum; None where a part of it is not known."""
    summed = 0.0
    for part in parts:
        if part is None:
            return None
        summed += part
    return summed
