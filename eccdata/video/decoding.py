"""Frames of a video, chosen by their times, from any of the decoders that are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from types import MappingProxyType

import numpy as np

from eccdata.errors import EccdataError, unknown
from eccdata.video.decoders.base import Decoder, Frame
from eccdata.video.sampling import FrameSelection
from eccdata.video.sources import Source, source_name

AUTO = "auto"
"""torchcodec where it is installed and works, else pyav; never decord2, which cannot be held to its word."""


def _pyav() -> Decoder:
    from eccdata.video.decoders.pyav import PyAV

    return PyAV()


def _torchcodec() -> Decoder:
    from eccdata.video.decoders.torchcodec import TorchCodec

    return TorchCodec()


def _decord2() -> Decoder:
    from eccdata.video.decoders.decord2 import Decord2

    return Decord2()


_MAKERS: MappingProxyType[str, tuple[str, str, Callable[[], Decoder]]] = MappingProxyType(
    {
        "pyav": ("av", "pip install av", _pyav),
        "torchcodec": (
            "torchcodec",
            "pip install torchcodec, of the version that goes with your torch, and FFmpeg's shared libraries",
            _torchcodec,
        ),
        "decord2": ("decord", "pip install decord2", _decord2),
    }
)

DECODERS = tuple(_MAKERS)


def decode(source: Source, selection: FrameSelection, decoder: str = "pyav") -> Iterator[Frame]:
    """Decode the frames of a selection, in its order.

    A frame is found by its time, not by counting; so it is the right one at a variable rate, with pictures that are
    coded in another order than they are shown in, behind edit lists, and whatever the header says. Memory for a few
    frames is used, however many there are.

    Args:
        source: A path, or the bytes of a file.
        selection: Made from the times that `probing.probe` found, in ascending order.
        decoder: One of `DECODERS`, or `auto`.

    Yields:
        RGB, uint8 [height, width, 3], upright. One that is selected twice is the same array twice.

    Raises:
        EccdataError: No such decoder or not installed; a file that cannot be read; a frame that cannot be decoded,
            with the last good one before it; a decoder that has another frame at that place.

    """
    chosen = find_decoder(decoder)
    indices, times_s = selection.indices, selection.times_s
    if (np.diff(times_s) < 0).any():
        raise EccdataError(f"{source_name(source)}: frames can be selected in ascending order only.")
    once = np.flatnonzero(np.diff(indices, prepend=-1))
    repeats = np.diff(once, append=len(indices))
    frames = chosen.frames(source, FrameSelection(indices[once], times_s[once]))
    for frame, count in zip(frames, repeats.tolist(), strict=True):
        for _ in range(count):
            yield frame


@cache
def find_decoder(name: str) -> Decoder:
    """Find a decoder by name, or the best that is there for `auto`; it knows its `name` and `version()`.

    Raises:
        EccdataError: No such decoder; not installed, or installed and broken, with what to install.

    """
    if name == AUTO:
        try:
            return find_decoder("torchcodec")
        except EccdataError:
            return find_decoder("pyav")
    if name not in _MAKERS:
        raise unknown("decoder", name, (*_MAKERS, AUTO))
    module, remedy, make = _MAKERS[name]
    if find_spec(module) is None:
        raise EccdataError(f"The decoder {name} is not installed: {remedy}.")
    try:
        return make()
    # a shared library that is missing shows itself as any of these
    except (ImportError, OSError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise EccdataError(
            f"The decoder {name} is installed and cannot be loaded ({reason}): {remedy}."
        ) from error
