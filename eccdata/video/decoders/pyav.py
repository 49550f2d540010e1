"""Decoding with PyAV: the reference, which every installation has."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from fractions import Fraction

import av
import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream

from eccdata.errors import EccdataError
from eccdata.video.decoders.base import Frame, frame_label
from eccdata.video.sampling import FrameSelection
from eccdata.video.sources import Source, open_video, source_name

FIRST_SEEK_GAP_S = 2.0

COUNTED = frozenset({"avi"})
"""Formats that store no times: FFmpeg makes them up in the order of coding, so frames are counted instead."""


class PyAV:
    """Goes forward from keyframe to keyframe, and finds each frame by its own time."""

    name = "pyav"

    def version(self) -> str:
        """PyAV's version and that of the libavcodec in it."""
        return f"{av.__version__} (libavcodec {'.'.join(map(str, av.library_versions['libavcodec']))})"

    def frames(self, source: Source, selection: FrameSelection) -> Iterator[Frame]:
        """See `Decoder.frames`."""
        walk = _Walk(source)
        try:
            for index, time_s in zip(selection.indices.tolist(), selection.times_s.tolist(), strict=True):
                yield rgb(walk.frame_at(time_s, index))
        finally:
            walk.close()


def rgb(frame: av.VideoFrame) -> Frame:
    """Turn a decoded frame into RGB, upright: uint8 [height, width, 3]."""
    turns = quarter_turns(frame)
    picture = np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)
    return np.ascontiguousarray(np.rot90(picture, turns)) if turns else picture


def quarter_turns(frame: av.VideoFrame) -> int:
    """How often a coded picture is to be turned by 90 degrees, counterclockwise, to stand upright: 0 to 3."""
    return round(frame.rotation / 90) % 4


def strict_frames(
    container: InputContainer, stream: VideoStream
) -> Generator[tuple[av.VideoFrame | None, str]]:
    """Decode onward in the order of presentation, and say of each frame what is wrong with it, if anything.

    A frame is good up to where something is damaged, and again from the next keyframe on: what stands between may
    lean on the damage. Where nothing of that comes out of the decoder, the damage stands alone, without a frame.
    """
    trust = _Trust()
    for frame in _frames(container, stream, trust):
        if trust.fault and trust.ends_with(frame) and not trust.told:
            yield None, trust.fault
        fault = trust.of(frame)
        yield frame, fault
    if trust.fault and not trust.told:
        yield None, trust.fault


@dataclass(slots=True)
class _Trust:
    """Which frames can be trusted, by the packets that went into the decoder.

    Attributes:
        fault: What is damaged, empty if nothing is.
        told: Whether a frame was found to lean on it.
        keyframe: Time of the last keyframe that went in.
        before: Latest time of all that went in before it: frames up to there lean on nothing behind.
        latest: Latest time of all that went in.
        safe: Frames up to this time are good in spite of the damage.
        spoilt: The next keyframe behind this time ends it.

    """

    fault: str = ""
    told: bool = False
    keyframe: float = -math.inf
    before: float = -math.inf
    latest: float = -math.inf
    safe: float = -math.inf
    spoilt: float = -math.inf

    def enter(self, packet: av.Packet[VideoStream]) -> None:
        """Note a packet that goes into the decoder."""
        if packet.pts is None:
            return
        if packet.is_keyframe:
            self.keyframe, self.before = packet.pts, self.latest
        self.latest = max(self.latest, packet.pts)

    def damage(self, fault: str) -> None:
        """Note damage in the group of pictures that is going in."""
        if not self.fault:
            self.fault, self.safe, self.told = fault, self.before, False
        self.spoilt = self.keyframe

    def ends_with(self, frame: av.VideoFrame) -> bool:
        """Whether a frame is the keyframe with which all is well again."""
        return frame.key_frame and frame.pts is not None and frame.pts > self.spoilt

    def of(self, frame: av.VideoFrame) -> str:
        """Say what is wrong with a frame that came out."""
        if frame.is_corrupt:
            self.damage("the decoder marks it as damaged")
            self.told = True
            return self.fault
        if self.fault and self.ends_with(frame):
            self.fault = ""
        if not self.fault or (frame.pts is not None and frame.pts <= self.safe):
            return ""
        self.told = True
        return self.fault


def _frames(container: InputContainer, stream: VideoStream, trust: _Trust) -> Iterator[av.VideoFrame]:
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets)
        except StopIteration:
            return
        except av.FFmpegError as error:
            trust.damage(error.strerror or "it cannot be read on")
            return
        trust.enter(packet)
        if packet.is_corrupt:
            trust.damage("a packet is not whole")
        try:
            frames = packet.decode()
        except av.FFmpegError as error:
            trust.damage(error.strerror or "it cannot be decoded")
            continue
        yield from frames


class _Walk:
    """One way through a file, forward; it starts anew from the beginning where a leap led astray."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.name = source_name(source)
        self.seeks = True
        self.seek_gap_s = FIRST_SEEK_GAP_S
        self.close_file = lambda: None
        self._start()

    def frame_at(self, time_s: float, index: int) -> av.VideoFrame:
        """Give the frame that is shown from `time_s` on."""
        if self.counted:
            return self._count_to(index, time_s)
        ticks = round(time_s / self.tick_s)
        if self.seeks and ticks - (self.at or 0) > self.seek_gap_s / self.tick_s:
            self._seek(ticks)
        frame = self._forward(ticks)
        if frame is None and not self.from_start:
            # What a leap lost (pictures that lean on those before the keyframe, a wrong index) the whole way finds.
            self.seeks = False
            self._start()
            frame = self._forward(ticks)
        if frame is None:
            raise self._lost(index, time_s)
        return frame

    def close(self) -> None:
        """Close the file."""
        self.frames.close()
        self.opened.__exit__(None, None, None)

    def _start(self) -> None:
        if hasattr(self, "opened"):
            self.close()
        self.opened = open_video(self.source)
        self.container, self.stream = self.opened.__enter__()
        self.counted = self.container.format.name in COUNTED
        self.tick_s = self.stream.time_base or Fraction(1, av.time_base)
        self.frames = strict_frames(self.container, self.stream)
        self.from_start = True
        self._forget()

    def _forget(self) -> None:
        self.at: int | None = None
        self.passed = 0
        self.fault = ""
        self.ahead: tuple[av.VideoFrame, str] | None = None

    def _seek(self, ticks: int) -> None:
        before = self.at
        try:
            self.container.seek(ticks, stream=self.stream, backward=True)
        except av.FFmpegError:
            self.seeks = False
            return
        self.frames = strict_frames(self.container, self.stream)
        self.from_start = False
        self._forget()
        self.ahead = self._next()
        reached = self.ahead[0].pts if self.ahead else None
        if before is not None and reached is not None and reached <= before:
            self.seek_gap_s *= 2  # keyframes are further apart than that

    def _forward(self, ticks: int) -> av.VideoFrame | None:
        """Go to the frame with that time; None if it is not there, or not to be trusted."""
        while found := self.ahead or self._next():
            frame, fault = found
            self.ahead = None
            if frame.pts is None or frame.pts < ticks:
                continue
            if frame.pts > ticks:
                self.ahead = found
                return None
            return None if fault else frame
        return None

    def _count_to(self, index: int, time_s: float) -> av.VideoFrame:
        while found := self._next():
            if self.fault:
                break
            if self.passed == index + 1:
                return found[0]
        raise self._lost(index, time_s)

    def _next(self) -> tuple[av.VideoFrame, str] | None:
        for frame, fault in self.frames:
            self.fault = fault or self.fault
            if frame is None:
                continue
            if not fault:
                self.at = frame.pts
                self.passed += 1
            return frame, fault
        return None

    def _lost(self, index: int, time_s: float) -> EccdataError:
        reason = f" ({self.fault})" if self.fault else ", for no frame of that time is in the file"
        good = (
            f"the last good frame before it is {frame_label(self.passed - 1, float(self.at * self.tick_s))}"
            if self.at is not None
            else "no frame before it is good"
        )
        return EccdataError(f"{self.name}: {frame_label(index, time_s)} cannot be decoded{reason}; {good}.")
