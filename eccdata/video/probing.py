"""What a video file really holds: its frames and when they are shown, whatever its header says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

from eccdata.errors import EccdataError
from eccdata.video.decoders.base import frame_label
from eccdata.video.decoders.pyav import COUNTED, quarter_turns, rgb, strict_frames
from eccdata.video.sampling import Timing
from eccdata.video.sources import Source, bytes_missing, open_binary, open_video, source_name

# Where a packet need not be a picture that is shown: hidden reference frames, two pictures in a packet.
PACKETS_ARE_NOT_FRAMES = frozenset({"vp8", "avi", "mpeg4"})

REMEDY = "give it new times, such as with ffmpeg -i FILE -fps_mode cfr OUT.mp4"

FORMATS_OF_SUFFIX = {
    ".mp4": "mp4",
    ".m4v": "mp4",
    ".mov": "mov",
    ".mkv": "matroska",
    ".webm": "webm",
    ".avi": "avi",
    ".ts": "mpegts",
    ".mpg": "mpeg",
    ".mpeg": "mpeg",
    ".gif": "gif",
    ".flv": "flv",
    ".wmv": "asf",
    ".ogv": "ogg",
}


@dataclass(frozen=True, slots=True, eq=False)
class VideoInfo:
    """What a video file holds.

    Attributes:
        name: Its path, or what messages call it.
        pts_s: Presentation time of each frame on the file's own clock, in seconds, float64 [frames], ascending.
        duration_s: Seconds from the first frame to the end of the last. Where the file does not say how long the
            last frame lasts, it lasts as long as the one before it.
        width: Pixels of a frame, upright.
        height: Pixels of a frame, upright.
        rotation: Degrees, counterclockwise, by which a coded picture is turned to stand upright; 0, 90, 180 or 270.
        codec: FFmpeg's name of the coding.
        container: FFmpeg's names of the file format.
        claimed_frames: What the header says, where it says something; as wrong as headers are.
        claimed_duration_s: What the header says.
        claimed_fps: The average rate by the header, with which common tools reckon.

    """

    name: str
    pts_s: NDArray[np.float64]
    duration_s: float
    width: int
    height: int
    rotation: int
    codec: str
    container: str
    claimed_frames: int | None
    claimed_duration_s: float | None
    claimed_fps: float | None

    @property
    def frame_count(self) -> int:
        """How many frames are shown."""
        return len(self.pts_s)

    @property
    def timing(self) -> Timing:
        """What samplers need."""
        return Timing(self.pts_s, self.duration_s, self.claimed_fps, self.name)


@dataclass(frozen=True, slots=True)
class Probed:
    """What was found in a set of files.

    Attributes:
        videos: The sound ones.
        faults: Of each other one, what is wrong with it, in a sentence that names it.

    """

    videos: dict[Path, VideoInfo]
    faults: dict[Path, str]


def probe(source: Source, *, thorough: bool = False) -> VideoInfo:
    """Find out what a file holds.

    The packets are read, not the header's word for them; frames that an edit list cuts away do not count. A frame is
    decoded to see that it can be, or all of them: if `thorough`, and where packets do not tell the frames.

    Args:
        source: A path, or the bytes of a file.
        thorough: Decode every frame, which finds damage inside.

    Raises:
        EccdataError: No file, empty, no video, a still picture, cut short, damaged, frames without times. Names the
            file, the reason, and the last good frame where there is one.

    """
    name = source_name(source)
    with open_binary(source) as file:
        size = file.seek(0, os.SEEK_END)
        missing = bytes_missing(file, size)
    short = f"{name} is cut short: it says that it has {size + missing} bytes, and has {size}"
    try:
        with open_video(source) as (container, stream):
            packets = _read_packets(container, stream)
            head = _Head.of(container, stream)
    except EccdataError as error:
        if missing and "cannot be read as a video" in str(error):
            raise EccdataError(
                f"{short}; no frame of it can be read (its index is in the lost part)."
            ) from error
        raise
    if missing or packets.damage:
        reason = short if missing else f"{name} is damaged: {packets.damage}"
        raise EccdataError(f"{reason}; {_last_good(source, head, packets)}.")
    if thorough or packets.doubtful or head.packets_are_not_frames:
        ticks, last_ticks, size_px = _decode_all(source, head)
    else:
        ticks, last_ticks = packets.ticks, packets.last_ticks
        size_px = _decode_first(source)
    order = np.argsort(ticks, kind="stable")
    ticks = ticks[order]
    if len(ticks) > 1 and (np.diff(ticks) == 0).any():
        twice = int(np.flatnonzero(np.diff(ticks) == 0)[0])
        raise EccdataError(
            f"{name}: frames {twice} and {twice + 1} are shown at the same time, so that neither can be chosen by "
            f"time; {REMEDY}."
        )
    pts_s = (ticks * float(head.tick_s)).astype(np.float64)
    last_s = last_ticks * float(head.tick_s) or (float(pts_s[-1] - pts_s[-2]) if len(pts_s) > 1 else 0.0)
    if not last_s and head.fps:
        last_s = 1 / head.fps
    width, height, rotation = size_px
    return VideoInfo(
        name=name,
        pts_s=pts_s,
        duration_s=float(pts_s[-1] - pts_s[0]) + last_s,
        width=width,
        height=height,
        rotation=rotation,
        codec=head.codec,
        container=head.container,
        claimed_frames=head.frames,
        claimed_duration_s=head.duration_s,
        claimed_fps=head.fps,
    )


def probe_all(
    paths: Iterable[str | os.PathLike[str]],
    *,
    thorough: bool = False,
    progress: Callable[[int, int | None, str], None] | None = None,
) -> Probed:
    """Probe files one after another; a fault of one is told, and the rest goes on.

    Faults are whatever `probe` raises, and what `complaint` says. (`DecodingPool.probe_all` does the same in worker
    processes, and outlives a decoder that crashes.)
    """
    videos: dict[Path, VideoInfo] = {}
    faults: dict[Path, str] = {}
    for done, path in enumerate(dict.fromkeys(map(Path, paths))):
        if progress:
            progress(done, None, f"probing {path.name}")
        try:
            info = probe(path, thorough=thorough)
        except EccdataError as error:
            faults[path] = str(error)
            continue
        fault = complaint(path, info)
        if fault:
            faults[path] = fault
        else:
            videos[path] = info
    return Probed(videos, faults)


def complaint(path: Path, info: VideoInfo) -> str:
    """Say what makes a file that can be decoded unfit to be asked about; empty if nothing.

    A single frame is no video (servers refuse it); one kind of file under the name of another is not what somebody
    thinks it is, and libraries that go by the name fail on it.
    """
    if info.frame_count == 1:
        return f"{path} has one frame only: it is a picture in a video's clothes."
    expected = FORMATS_OF_SUFFIX.get(path.suffix.lower())
    if expected and expected not in info.container.split(","):
        return f"{path} is not what its name says: inside it is {info.container}, not {expected}."
    return ""


@dataclass(frozen=True, slots=True)
class _Head:
    """The header's claims, and what is needed to read on."""

    name: str
    codec: str
    container: str
    tick_s: Fraction
    frames: int | None
    duration_s: float | None
    fps: float | None

    @classmethod
    def of(cls, container: InputContainer, stream: VideoStream) -> _Head:
        tick_s = stream.time_base or Fraction(1, av.time_base)
        duration_s = None
        if stream.duration is not None:
            duration_s = float(stream.duration * tick_s)
        elif container.duration is not None:
            duration_s = container.duration / av.time_base
        tagged = stream.metadata.get("NUMBER_OF_FRAMES", "")
        return cls(
            name=container.name,
            codec=stream.codec_context.name,
            container=container.format.name,
            tick_s=tick_s,
            frames=stream.frames or (int(tagged) if tagged.isdigit() else None),
            duration_s=duration_s,
            fps=float(stream.average_rate) if stream.average_rate else None,
        )

    @property
    def packets_are_not_frames(self) -> bool:
        return bool({self.codec, self.container} & PACKETS_ARE_NOT_FRAMES)


@dataclass(frozen=True, slots=True)
class _Packets:
    ticks: NDArray[np.int64]
    last_ticks: int
    keyframe: int | None
    doubtful: bool
    damage: str


def _read_packets(container: InputContainer, stream: VideoStream) -> _Packets:
    """Read all packets without decoding them."""
    shown: list[int] = []
    last, last_ticks = -1, 0
    keyframe = None
    doubtful = False
    damage = ""
    try:
        for packet in container.demux(stream):
            if packet.size == 0 or packet.is_discard:
                continue
            if packet.is_corrupt:
                damage = f"packet {len(shown)} is not whole"
                break
            if packet.pts is None:
                doubtful = True
                continue
            shown.append(packet.pts)
            if packet.is_keyframe:
                keyframe = packet.pts
            if packet.pts >= last:
                last, last_ticks = packet.pts, packet.duration or 0
    except av.FFmpegError as error:
        damage = f"after packet {len(shown) - 1} FFmpeg says: {error.strerror}"
    ticks = np.array(shown, np.int64)
    doubtful = doubtful or not shown or len(np.unique(ticks)) < len(ticks)
    return _Packets(ticks, last_ticks, keyframe, doubtful, damage)


def _decode_first(source: Source) -> tuple[int, int, int]:
    with open_video(source) as (container, stream):
        for frame, fault in strict_frames(container, stream):
            if frame is None or fault:
                break
            return _size(frame)
    raise EccdataError(f"{source_name(source)} is damaged: not even its first frame can be decoded.")


def _decode_all(source: Source, head: _Head) -> tuple[NDArray[np.int64], int, tuple[int, int, int]]:
    """Decode every frame: the ticks of each, how many the last one lasts, and the size."""
    name = source_name(source)
    ticks: list[int] = []
    last_ticks = 0
    size = None
    with open_video(source) as (container, stream):
        for frame, fault in strict_frames(container, stream):
            if frame is None or fault:
                good = (
                    f"the last good frame is {frame_label(len(ticks) - 1, float(ticks[-1] * head.tick_s))}"
                    if ticks
                    else "no frame before it is good"
                )
                raise EccdataError(
                    f"{name} is damaged: frame {len(ticks)} cannot be decoded ({fault}); {good}."
                )
            if frame.pts is None:
                raise EccdataError(
                    f"{name}: its frames have no times. Put them into a container that has: "
                    "ffmpeg -i FILE -c copy OUT.mkv."
                )
            if ticks and frame.pts < ticks[-1] and head.container not in COUNTED:
                raise EccdataError(
                    f"{name}: frame {len(ticks)} is shown before the one in front of it by its time, so "
                    f"that no frame can be chosen by time; {REMEDY}."
                )
            ticks.append(frame.pts)
            last_ticks = frame.duration or 0
            size = size or _size(frame)
    if size is None:
        raise EccdataError(f"{name} is damaged: it has no frame that can be decoded.")
    return np.array(ticks, np.int64), last_ticks, size


def _last_good(source: Source, head: _Head, packets: _Packets) -> str:
    """Find the last frame before the damage that can be decoded."""
    order = np.sort(packets.ticks)
    for keyframe in (packets.keyframe, None):
        last = None
        with open_video(source) as (container, stream):
            if keyframe is not None:
                try:
                    container.seek(keyframe, stream=stream, backward=True)
                except av.FFmpegError:
                    continue
            for frame, fault in strict_frames(container, stream):
                if frame is None or fault:
                    break
                last = frame.pts
        if last is not None:
            index = int(np.searchsorted(order, last))
            return f"the last good frame is {frame_label(index, float(last * head.tick_s))}"
    return "no frame of it can be decoded"


def _size(frame: av.VideoFrame) -> tuple[int, int, int]:
    height, width, _ = rgb(frame).shape
    return width, height, quarter_turns(frame) * 90
