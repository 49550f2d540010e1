"""The most that settings may ask for: what is made at once has to fit in memory and in int32 columns and offsets.

All are far above the paper's settings (streams of 4,096 symbols, 20 a cell, 16 queries each).
"""

from __future__ import annotations

from collections.abc import Iterable

STREAM_SYMBOLS = 2**20
"""Of one stream. A low-entropy one of this length takes a quarter of a minute to draw."""
TRAINING_SYMBOLS = 2**15
"""Of one training sequence, of which 128 are drawn together."""
CANDIDATE_SYMBOLS = 64
"""Of one candidate."""
STREAM_WINDOWS = 2**23
"""Windows of a stream, of all candidate lengths together: some 100 bytes each where none is there twice."""
STREAM_QUERIES = 2**12
"""Queries on one stream."""
CELL_QUESTIONS = 2**20
"""Questions that are made together: about 1 GB."""
CELL_SYMBOLS = 2**30
"""Symbols in the streams of rows that are made together, a byte each; a stream counts once a row."""
STREAM_FRAMES = 2**20
"""Frames in the videos of one stream's rows, about 1.4 kB each; the stream's video counts once a row."""
SEQUENCES = 10**9
"""Training and validation sequences."""
CLIP_FRAMES = 2**20
"""Of one clip of footage."""
CLIPS = 10**6
"""Clips of one length, and questions on one clip."""
BATCH_FRAMES = 2**16
"""Frames that are embedded at once."""


def above(setting: str, values: Iterable[float], most: int, why: str = "") -> list[str]:
    """Name the values of a setting that are above `most`; `why` says on what the limit depends."""
    return [
        f"{setting}={value}: must be at most {most:,}{f' {why}' if why else ''}"
        for value in values
        if value > most
    ]
