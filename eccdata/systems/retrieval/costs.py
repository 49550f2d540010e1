"""What an answer by retrieval costs, in FLOPs: index, query and answer apart (eccbench.txt, B.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eccdata.answers import committed
from eccdata.flops import answer_tokens
from eccdata.flops.clips import Clip, Look, look_by, rule_of
from eccdata.flops.formulas import body, decode, prefill
from eccdata.flops.serving import Served, served
from eccdata.media import Media
from eccdata.requests import Json, Request, Response
from eccdata.systems.embedding_server import Embedding


@dataclass(frozen=True, slots=True)
class Priced:
    """The price of a served model, by the rules by which the views price what is asked of it without retrieval.

    Attributes:
        served: What its price follows from; None where nobody has declared it.

    """

    served: Served | None = None

    @classmethod
    def of(cls, model: str, facts: Mapping[str, Json]) -> Priced:
        """Find it by the model's name and what its server says of itself (`System.facts`)."""
        return cls(served(model, {"system": {"facts": facts}}))

    def embedding(self, medium: Media | None, embedding: Embedding) -> float | None:
        """What an embedding costs: looking at a clip and reading it, or a sentence where `medium` is None.

        Returns:
            FLOPs; None where the model has no price, or the server does not tell how many tokens it read.

        """
        if self.served is None or embedding.prompt_tokens is None:
            return None
        look = self._look([] if medium is None else [medium])
        if look is None:
            return None
        b, a, _ = body(self.served.architecture.language, images=medium is not None)
        return float(look.vision + look.connector + prefill(b, a, float(embedding.prompt_tokens)))

    def answer(self, sent: Request, response: Response) -> float | None:
        """What an answer costs, by B.3: looking at what was sent, reading, and decoding until the reply commits itself.

        Returns:
            FLOPs; None where the model has no price, or the server does not tell tokens.

        """
        found = committed(response, sent.options)
        look = self._look(sent.media)
        if (
            self.served is None
            or found is None
            or look is None
            or response.prompt_tokens is None
            or response.completion_tokens is None
        ):
            return None
        reasoning = len(response.reasoning or "")
        t = float(answer_tokens(response.completion_tokens, found.commit_char, len(response.text), reasoning))
        told = [tokens for tokens in (response.image_tokens, response.video_tokens) if tokens is not None]
        # a server that took other frames than were sent looked at more or less of the same
        share = sum(told) / look.tokens if told and look.tokens else 1.0
        n = float(response.prompt_tokens)
        b, a, f_voc = body(self.served.architecture.language, images=bool(sent.media))
        looked = (look.vision + look.connector) * share
        return float(looked + prefill(b, a, n) + decode(b, a, f_voc, n, t))

    def _look(self, media: Sequence[Media]) -> Look | None:
        if self.served is None:
            return None
        whole = Look()
        for medium in media:
            manifest = medium.ready.manifest
            clip = Clip(len(manifest.indices), manifest.width, manifest.height, medium.recipe.layout)
            one = look_by(self.served.architecture, clip, rule_of(self.served.rules, clip))
            if one is None:
                return None
            whole += one
        return whole


def total(parts: Iterable[float | None]) -> float | None:
    """The sum; None where a part of it is not known."""
    known = list(parts)
    return None if None in known else sum(filter(None, known))
