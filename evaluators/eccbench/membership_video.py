"""Membership on rendered video: did this option video occur in that main video? (eccbench.txt 4.1, A.3, B.1, B.8)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eccdata.errors import problem
from eccdata.evaluator import Row
from eccdata.media import Media
from eccdata.requests import Request, Search, SymbolQuery
from eccdata.video.lanes import LANES, joint_symbols
from eccdata.video.mp4 import mp4_bytes

from .prompts import PAYOFFS, VIDEO, VIDEO_OPTIONS
from .showing import Showing


@dataclass(frozen=True)
class MembershipVideo(Showing):
    """The paper's membership protocol on letters that move down conveyor belts, one a frame.

    A question is one user message: the prompt (B.1), the arm's sentence as its next line (B.8), an empty line and
    `Main video:`, the main video, `Option video:`, and the option video. The paper names the two videos in its
    prompt and does not say how it told them apart; questions about one stream share their longest prefix this way.

    Systems that read symbols get the same question as pairs of letter and belt, numbered letter × 3 + belt.
    """

    markers: ClassVar[Mapping[str, str]] = VIDEO_OPTIONS
    protocol: ClassVar[str] = "membership-video"
    version: ClassVar[int] = 1
    carried: ClassVar[Mapping[str, pa.DataType]] = {
        "stream_id": pa.string(),
        "variant": pa.string(),
        "length": pa.int32(),
        "band": pa.string(),
        "lz_rate": pa.float64(),
        "joint_lz_rate": pa.float64(),
        "negative_kind": pa.string(),
        "structure": pa.string(),
        "alphabet_size": pa.int32(),
        "position": pa.int32(),
        "window_position": pa.int32(),
        "frames_digest": pa.string(),
        "candidate_frames_digest": pa.string(),
    }

    @property
    def base_prompt(self) -> str:
        """The prompt for rendered video (B.1)."""
        return VIDEO

    def needs(self) -> tuple[str, ...]:
        """The columns without which nothing can be asked."""
        return (
            *("question_id", "stream_id", "alphabet_size", "answer"),
            *("stream", "lanes", "video", "candidate", "candidate_lanes", "candidate_video"),
        )

    def request(self, question: Row) -> Request:
        """Put one question: the chat messages with both videos, and the same question as symbols."""
        stream = self._streams(question["stream"], question["lanes"])
        candidate = joint_symbols(question["candidate"], question["candidate_lanes"])
        media = (
            self._clip("main", question, "video", stream),
            self._clip("option", question, "candidate_video", candidate),
        )
        content = [
            {"type": "text", "text": f"{self.prompt}\n\nMain video:"},
            {"type": "media", "media": "main"},
            {"type": "text", "text": "Option video:"},
            {"type": "media", "media": "option"},
        ]
        return Request(
            question_id=question["question_id"],
            protocol=self.name_and_version,
            messages=self.messages(content),
            decoding=self.decoding,
            options=self.markers,
            payoff=PAYOFFS[self.arm],
            symbols=SymbolQuery(stream, candidate, question["alphabet_size"] * LANES),
            media=media,
            search=Search("main", medium="option"),
        )

    def _clip(self, name: str, question: Row, column: str, joint: NDArray[np.uint8]) -> Media:
        source = _source(question[column], question["question_id"], column)
        missing = -len(joint) % self.frame_multiple
        if not missing:
            return self.medium(name, source)
        # Repeated by copying pictures, like all the others, where decoding and encoding would change them.
        return self.medium(
            name, self._longer(joint, missing, source, question["question_id"]), repeated=missing
        )

    def _longer(
        self, joint: NDArray[np.uint8], missing: int, source: Path | bytes, question_id: str
    ) -> Path | bytes:
        events = np.stack(np.divmod(joint, LANES), axis=1)
        if mp4_bytes(events) != (source if isinstance(source, bytes) else source.read_bytes()):
            raise problem(
                f"frame_multiple={self.frame_multiple}: a video of question {question_id!r} is not the one that this "
                "version makes of its letters and belts, so that no frame of it can be repeated.",
                remedy="Use layout=frames, or the version that built the dataset.",
            )
        return mp4_bytes(np.concatenate([events, np.repeat(events[-1:], missing, axis=0)]))

    @cached_property
    def _streams(self) -> _Streams:
        return _Streams()


class _Streams:
    """Numbers the pairs of streams, and keeps the last few, because questions about one stream follow each other."""

    def __init__(self) -> None:
        self._last: deque[tuple[Sequence[int], Sequence[int], NDArray[np.uint8]]] = deque(maxlen=1)

    def __call__(self, symbols: Sequence[int], lanes: Sequence[int]) -> NDArray[np.uint8]:
        for known, known_lanes, joint in self._last:
            if known == symbols and known_lanes == lanes:
                return joint
        joint = joint_symbols(symbols, lanes)
        self._last.append((symbols, lanes, joint))
        return joint


def _source(value: Any, question_id: str, column: str) -> Path | bytes:
    """A `Video` column's value without its decoding: the bytes, or where the file is."""
    content = value.get("bytes") if isinstance(value, Mapping) else value
    if isinstance(content, bytes):
        return content
    if isinstance(value, Mapping) and value.get("path"):
        return Path(value["path"])
    raise problem(f"Question {question_id!r} has no video in its column {column}.")
