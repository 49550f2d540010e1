"""The sixteen letters that stand for symbols, and their shapes."""

from __future__ import annotations

import io
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

LETTERS = "ACDFHJKLMSTVWXYZ"
"""Symbol k is letter k. Of all sixteen letters without I, O and Q (in many fonts a 1, a 0, and an O with a speck) these
are the ones whose two most similar shapes differ most (a test searches the rest): no B, E, P, R beside F, no G beside
C, no N beside H, no U beside V."""

FONT = files("eccdata.video") / "data" / "AtkinsonHyperlegible-Bold.ttf"
"""Atkinson Hyperlegible Bold of the Braille Institute of America, drawn so that no two characters are taken for one
another; SIL Open Font License 1.1, text in `data/AtkinsonHyperlegible-LICENSE.txt`."""

HALF = 127
OVERSAMPLING = 8


def draw_glyph(character: str, font_size: int, height: int, width: int) -> NDArray[np.uint8]:
    """Rasterise one character of the package's font in a box, its ink and the height of capitals in the middle.

    The shapes depend in their last grey levels on FreeType. That is why a video's pictures are made once and shipped
    (see `eccdata.video.pictures`); this is what they are made from.

    Args:
        character: One character of the font.
        font_size: Pixels per em; capitals are 0.668 em tall.
        height: Of the box, in pixels.
        width: Of the box, in pixels.

    Returns:
        How far each pixel is covered, uint8 [height, width]: 0 not at all, 255 wholly.

    """
    capital = np.flatnonzero((_ink("H", font_size) > HALF).any(axis=1))
    ink = _ink(character, font_size)
    columns = np.flatnonzero((ink > HALF).any(axis=0))
    # moved by whole pixels, so that every version of Pillow puts it in the same place
    down = (height - len(capital)) // 2 - int(capital[0])
    right = (width - (int(columns[-1]) - int(columns[0]) + 1)) // 2 - int(columns[0])
    rows, places = np.nonzero(ink)
    box = np.zeros((height, width), np.uint8)
    box[rows + down, places + right] = ink[rows, places]
    return box


@cache
def _ink(character: str, font_size: int) -> NDArray[np.uint8]:
    """Rasterise a character with its origin one em from the left and one em from the top."""
    # drawn large and averaged, because hinting, which rounds outlines to whole pixels, is each FreeType's own
    em = font_size * OVERSAMPLING
    paper = Image.new("L", (3 * em, 2 * em), 0)
    ImageDraw.Draw(paper).text((em, em), character, fill=255, font=_font(em), anchor="ls")
    return np.asarray(paper.reduce(OVERSAMPLING))


@cache
def _font(font_size: int) -> ImageFont.FreeTypeFont:
    # the basic layout is the one that every build of Pillow has
    font = io.BytesIO(FONT.read_bytes())
    return ImageFont.truetype(font, font_size, layout_engine=ImageFont.Layout.BASIC)
