"""The look: one letter on one of three labelled conveyor belts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eccdata.video.glyphs import LETTERS, draw_glyph
from eccdata.video.lanes import LANES

SIZE = 448
"""Height and width of a frame, in pixels (appendix A.3)."""

FRAMES = len(LETTERS) * LANES
"""How many different frames there are; frame symbol × 3 + lane shows that letter on that belt."""

# Everything but shapes lies on the 8-pixel grid of H.264's transform, where edges cost next to nothing.
BELT_TOP, BELT_WIDTH, GAP = 64, 128, 16
PARCEL = 112
LETTER_TOP = BELT_TOP + (SIZE - BELT_TOP - PARCEL) // 32 * 16
LETTER_SIZE, LABEL_SIZE = 118, 40
SLAT_PITCH, SLAT_SEAM = 64, 8

# Luma as H.264 counts it: 16 is black, 235 is white. No colour, because decoders disagree about the matrix that
# turns it into RGB, and agree about greys.
INK, PAPER = 16, 235
FLOOR, RAIL, BELT, SEAM = 200, 40, 88, 64


def draw_frame(symbol: int, lane: int) -> NDArray[np.uint8]:
    """Draw the frame that shows one letter on one belt, as it is before encoding.

    Args:
        symbol: From 0 to 15; its letter is `LETTERS[symbol]`.
        lane: From 0 to 2, left to right.

    Returns:
        Luma in limited range, uint8 [448, 448]. There is no colour.

    Source:
        Appendix A.3, figure 2b: a letter on one of three labelled vertical conveyor belts, and nothing else that
        changes from frame to frame.

    """
    frame = np.full((SIZE, SIZE), FLOOR, np.uint8)
    for belt in range(LANES):
        left = GAP + belt * (BELT_WIDTH + GAP)
        _print(frame[:BELT_TOP, left : left + BELT_WIDTH], str(belt + 1), LABEL_SIZE)
        frame[BELT_TOP:, left : left + BELT_WIDTH] = RAIL
        track = frame[BELT_TOP:, left + GAP // 2 : left + BELT_WIDTH - GAP // 2]
        track[:] = BELT
        for seam in range(SLAT_SEAM):
            track[seam::SLAT_PITCH] = SEAM
    left = GAP + lane * (BELT_WIDTH + GAP) + (BELT_WIDTH - PARCEL) // 2
    parcel = frame[LETTER_TOP : LETTER_TOP + PARCEL, left : left + PARCEL]
    parcel[:] = PAPER
    _print(parcel, LETTERS[symbol], LETTER_SIZE)
    return frame


def _print(paper: NDArray[np.uint8], character: str, font_size: int) -> None:
    """Print a character in the middle of a part of the picture."""
    cover = draw_glyph(character, font_size, *paper.shape).astype(np.int64)
    blend = paper * (255 - cover) + INK * cover
    paper[:] = (blend + 127) // 255
