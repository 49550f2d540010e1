"""Media of a request: clips as they are wanted, and as they are sent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from eccdata.errors import EccdataError
from eccdata.video.manifest import FrameManifest
from eccdata.video.sampling import SamplerSpec

Layout = Literal["video", "frames"]
"""How a clip is sent: `video` is one file, each of its frames a second long; `frames` is one image a frame."""

LAYOUTS: tuple[Layout, ...] = get_args(Layout)

NOT_DECODED = "none"
"""The decoder of a file that is sent as it is."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a clip becomes what is sent.

    Attributes:
        layout: As one file, or as images.
        sampler: Which frames.
        decoder: What decodes them, see `eccdata.video.decoding`; a file whose frames are all taken, each a second
            long, is not decoded but sent as it is.
        frame_multiple: Of `video`: the last frame is repeated until their number is a multiple of this.

    """

    layout: Layout
    sampler: SamplerSpec
    decoder: str
    frame_multiple: int = 1


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is sent.

    Attributes:
        digest: SHA-256 of its bytes, in hex.
        content: Its bytes, or where they are.

    """

    digest: str
    content: bytes | Path

    def read(self) -> bytes:
        """Give its bytes.

        Raises:
            EccdataError: It is there no longer.

        """
        if isinstance(self.content, bytes):
            return self.content
        try:
            return self.content.read_bytes()
        except OSError as error:
            raise EccdataError(
                f"{self.content}, which is to be sent, cannot be read: {error.strerror}. Run again: it is then made "
                "anew."
            ) from error


@dataclass(frozen=True, slots=True, eq=False)
class Sent:
    """A clip as it is sent.

    Attributes:
        mime: What its files are.
        files: One; or of layout `frames` one a frame, in the order of the manifest.
        manifest: Which frames they show.

    """

    mime: str
    files: tuple[File, ...]
    manifest: FrameManifest


@dataclass(frozen=True, slots=True, eq=False)
class Media:
    """A clip in a request. A message refers to it by a part `{"type": "media", "media": name}`.

    Attributes:
        name: What the request calls it, such as `main`.
        source: The clip's file, or its bytes.
        recipe: How it is to be sent.
        timed: Of layout `frames`: whether each image comes with its time, as text before it.
        repeated: How many of the source's last frames are but the one before them again.
        sent: What is sent; None until it is prepared (`eccdata.video.preparing`).

    """

    name: str
    source: Path | bytes
    recipe: Recipe
    timed: bool = False
    repeated: int = 0
    sent: Sent | None = None

    @property
    def ready(self) -> Sent:
        """What is sent."""
        assert self.sent is not None, f"{self.name} is not prepared"
        return self.sent

    def by_content(self) -> dict[str, Any]:
        """All of it that a model gets to see, its bytes by their digest: a part of the request's key."""
        sent = self.ready
        return {
            "type": "media",
            "layout": self.recipe.layout,
            "mime": sent.mime,
            "sha256": [file.digest for file in sent.files],
            "texts": list(self.texts()) if self.timed else None,
        }

    def texts(self) -> Iterator[str]:
        """The times of the frames as text, one an image."""
        for time_s in self.ready.manifest.times_s.tolist():
            yield f"<{time_s:.1f} seconds>"


def parts_with_media(content: Any, media: Mapping[str, Media]) -> Iterator[tuple[Any, Media | None]]:
    """The parts of a message's content, each with the medium that it refers to, if it does."""
    for part in content:
        refers = isinstance(part, Mapping) and part.get("type") == "media"
        yield part, media.get(part["media"]) if refers else None


def sha256(content: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()
