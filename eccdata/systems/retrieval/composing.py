"""What the answerer gets: the question with the video replaced by what was found of it, and a sentence that says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from eccdata.errors import EccdataError
from eccdata.media import File, Media, Sent, sha256
from eccdata.requests import Json, Request, Search
from eccdata.video.cutting import Footage, Span

SENTENCE = (
    "Note: of the video that is asked about you see only the parts that a search by similarity ranked highest, which "
    "need not be the ones that matter."
)
"""The disclosure. The paper has one sentence to this effect and does not print it (eccbench.txt, B.7)."""


def searched(request: Request) -> tuple[Search, Media]:
    """What a request looks for, and the clip it looks in.

    Raises:
        EccdataError: Its protocol does not say.

    """
    search = request.search
    for medium in request.media:
        if search is not None and medium.name == search.stream:
            return search, medium
    raise EccdataError(
        f"Retrieval needs a video to search and something to look for, and questions of {request.protocol} do not say "
        "what these are. It works under membership-video and natural, on datasets of video."
    )


def excerpt(medium: Media, footage: Footage, spans: Sequence[Span]) -> Media:
    """A clip of some of the frames of a clip that is ready, sent in the same way.

    Of layout `frames` it has the very images; else one file, made by copying packets where that can be done.

    Args:
        medium: The whole clip.
        footage: Its frames.
        spans: Which of them, see `Footage`.

    Raises:
        EccdataError: The clip cannot be read.

    """
    sent = medium.ready
    places = np.concatenate([np.arange(first, first + count) for first, count in spans])
    manifest = sent.manifest
    files: tuple[File, ...]
    decoder, version = manifest.decoder, manifest.decoder_version
    if medium.recipe.layout == "frames":
        files = tuple(sent.files[place] for place in places.tolist())
    else:
        repeats = -len(places) % medium.recipe.frame_multiple
        places = np.pad(places, (0, repeats), mode="edge")
        content, decoded_by = footage.cut(spans, repeats)
        files = (File(sha256(content), content),)
        if decoded_by != decoder:
            decoder, version = decoded_by, _version(decoded_by)
    manifest = replace(
        manifest,
        indices=manifest.indices[places],
        times_s=manifest.times_s[places],
        decoder=decoder,
        decoder_version=version,
    )
    return replace(medium, repeated=0, sent=Sent(sent.mime, files, manifest))


def _version(decoder: str) -> str:
    from eccdata.video.decoding import DECODERS, find_decoder

    return find_decoder(decoder).version() if decoder in DECODERS else ""


def hit(request: Request, stream: Media, shown: Sequence[Span]) -> bool | None:
    """Whether one of the parts shown holds the candidate whole, in a row.

    It is for the record alone, and decides nothing. None where the candidate is nowhere in the video, or the question
    does not come as symbols too.
    """
    symbols = request.symbols
    if symbols is None:
        return None
    candidate = symbols.candidate.tobytes()
    if symbols.stream.tobytes().find(candidate) < 0:
        return None
    indices = stream.ready.manifest.indices
    parts = (symbols.stream[indices[first : first + count]].tobytes() for first, count in shown)
    return any(candidate in part for part in parts)


def disclosed(request: Request, found: Media) -> Request:
    """The request with `found` in place of the clip of its name, and `SENTENCE` at the end of its last message."""
    *before, last = request.messages
    media = tuple(found if medium.name == found.name else medium for medium in request.media)
    messages = (*before, {**last, "content": _with_sentence(last["content"])})
    return replace(request, messages=messages, media=media)


def _with_sentence(content: Json) -> Json:
    """The content with the sentence as its last line."""
    if isinstance(content, str):
        return f"{content}\n{SENTENCE}"
    *parts, last = content
    if isinstance(last, Mapping) and last.get("type") == "text":
        return [*parts, {**last, "text": f"{last['text']}\n{SENTENCE}"}]
    return [*content, {"type": "text", "text": SENTENCE}]
