"""The record of which frames a model was shown: it goes into every response row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eccdata.video.sampling import FrameSelection, SamplerSpec


@dataclass(frozen=True, slots=True, eq=False)
class FrameManifest:
    """Which frames were sent, in which size, and how they were come by.

    Attributes:
        indices: Place of each among the video's frames, int64 [n].
        times_s: Its presentation time on the video's clock, float64 [n].
        width: Pixels as sent.
        height: Pixels as sent.
        sampler: The rule that chose them, and its parameters.
        decoder: The library that decoded them.
        decoder_version: Its version.

    """

    indices: NDArray[np.int64]
    times_s: NDArray[np.float64]
    width: int
    height: int
    sampler: SamplerSpec
    decoder: str
    decoder_version: str

    @classmethod
    def of(
        cls,
        selection: FrameSelection,
        sampler: SamplerSpec,
        *,
        size: tuple[int, int],
        decoder: str,
        decoder_version: str,
    ) -> FrameManifest:
        """Record a selection that was decoded and sent as pictures of `size` (width, height)."""
        return cls(selection.indices, selection.times_s, *size, sampler, decoder, decoder_version)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, in the form of `manifest_type`."""
        return {
            "indices": self.indices.tolist(),
            "times_s": self.times_s.tolist(),
            "width": self.width,
            "height": self.height,
            "sampler": self.sampler.name,
            "sampler_parameters": {
                "n": self.sampler.n,
                "fps": self.sampler.fps,
                "cap": self.sampler.cap,
                "cap_mode": self.sampler.cap_mode,
            },
            "decoder": self.decoder,
            "decoder_version": self.decoder_version,
        }


def manifest_type() -> Any:
    """The Arrow type of a manifest, a struct."""
    import pyarrow as pa  # here, so that samplers and decoders start without it

    parameters = pa.struct(
        [("n", pa.int32()), ("fps", pa.float64()), ("cap", pa.int32()), ("cap_mode", pa.string())]
    )
    return pa.struct(
        [
            ("indices", pa.list_(pa.int32())),
            ("times_s", pa.list_(pa.float64())),
            ("width", pa.int32()),
            ("height", pa.int32()),
            ("sampler", pa.string()),
            ("sampler_parameters", parameters),
            ("decoder", pa.string()),
            ("decoder_version", pa.string()),
        ]
    )
