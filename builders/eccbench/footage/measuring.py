"""The density of chosen clips, as columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

from eccdata.errors import EccdataError, problem
from eccdata.video.density import Cache, Density, bands
from eccdata.video.embedding import Dinov2

from .local_clips import Wanted

DIGITS = 6
"""Scores are rounded to this many digits: machines agree on no more."""


def densities(
    wanted: Sequence[Wanted],
    length: int,
    *,
    cutoff: float | Literal["median"],
    model: str,
    device: str,
    batch_size: int,
    cache: str,
) -> dict[str, dict[str, Any]]:
    """Measure clips of one length, and give their columns by `clip_id`.

    Args:
        wanted: The clips.
        length: Frames of each.
        cutoff: Where bands part.
        model: A DINOv2.
        device: Where it runs.
        batch_size: Frames embedded at once.
        cache: Folder of results; below the user's cache folder if empty.

    Raises:
        EccdataError: The model cannot be had, or clips could not be measured; what was measured is kept.

    """
    embedder = _embedder(model, device, batch_size)
    results = Cache(Path(cache).expanduser() if cache else _user_cache())
    found: dict[str, Density] = {}
    wrong = []
    for clip in wanted:
        try:
            found[clip.clip_id] = results.of_clip(
                clip.path, clip.times_s(length), partial(clip.frames, length), embedder
            )
        except EccdataError as error:
            wrong.append(f"{clip.clip_id}: {error}")
    if wrong:
        raise problem(
            "Clips could not be measured:", wrong, "What was measured is kept; mend these and go on."
        )
    scores = [round(density.score, DIGITS) for density in found.values()]
    names, limit = bands(scores, cutoff)
    return {
        clip_id: {
            "density_score": score,
            "density_band": band,
            "density_cutoff": limit,
            "density_model_digest": embedder.digest[:16],
            "bits_per_frame": density.spent,
            "encoder_missed_target": density.missed_target,
        }
        for (clip_id, density), score, band in zip(found.items(), scores, names, strict=True)
    }


@lru_cache(maxsize=1)
def _embedder(model: str, device: str, batch_size: int) -> Dinov2:
    # loaded once a process, not once a length
    return Dinov2(model, device=device, batch_size=batch_size)


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eccdata" / "density"
