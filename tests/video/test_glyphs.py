"""The letters: which they are, and that they cannot be mistaken."""

import hashlib
import string
from collections.abc import Sequence
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from eccdata.video.glyphs import FONT, LETTERS, draw_glyph

SIZE = 160
FONT_SIZE = 150


def distances(letters: Sequence[str]) -> NDArray[np.float64]:
    """One less the correlation of the letters' ink, blurred by 8 % of their height."""
    blurred = [
        np.asarray(
            Image.fromarray(draw_glyph(letter, FONT_SIZE, SIZE, SIZE)).filter(ImageFilter.GaussianBlur(8)),
            float,
        ).ravel()
        for letter in letters
    ]
    unit = np.array([ink / np.linalg.norm(ink) for ink in blurred])
    return np.asarray(1 - unit @ unit.T)


def find_letters_apart(distance: NDArray[np.float64], count: int, least: float) -> list[int] | None:
    """Find `count` letters of which any two are at least so far apart."""

    def extend(chosen: list[int], left: list[int]) -> list[int] | None:
        if len(chosen) == count:
            return chosen
        if len(chosen) + len(left) < count:
            return None
        for index, letter in enumerate(left):
            found = extend([*chosen, letter], [x for x in left[index + 1 :] if distance[letter, x] >= least])
            if found:
                return found
        return None

    return extend([], list(range(len(distance))))


def test_there_are_sixteen_letters_in_order() -> None:
    assert len(LETTERS) == 16
    assert sorted(set(LETTERS)) == list(LETTERS)
    assert set(LETTERS) <= set(string.ascii_uppercase) - set("IOQ")


def test_no_other_sixteen_letters_are_further_apart() -> None:
    letters = [letter for letter in string.ascii_uppercase if letter not in "IOQ"]
    distance = distances(letters)
    ours = [letters.index(letter) for letter in LETTERS]
    nearest = min(distance[i, j] for i in ours for j in ours if i < j)
    assert find_letters_apart(distance, 16, nearest)
    assert find_letters_apart(distance, 16, nearest + 1e-6) is None
    # what readers do confuse is closer than any two of ours
    for one, other in ("PR", "BS", "BR", "EF", "HN", "KR", "CG"):
        assert distance[letters.index(one), letters.index(other)] < nearest


def test_glyphs_stand_in_the_middle_of_their_box() -> None:
    for letter in LETTERS:
        cover = draw_glyph(letter, 118, 112, 112)
        assert cover.shape == (112, 112)
        rows, columns = np.flatnonzero(cover.max(axis=1)), np.flatnonzero(cover.max(axis=0))
        assert abs((rows[0] + rows[-1]) / 2 - 55.5) <= 1.5
        assert abs((columns[0] + columns[-1]) / 2 - 55.5) <= 0.5
        # 118 px per em × 0.668 of it, and free all round
        assert 78 <= rows[-1] - rows[0] + 1 <= 84
        assert columns[0] >= 4
        assert columns[-1] <= 107


def test_the_font_comes_with_its_licence() -> None:
    assert FONT.is_file()
    licence = (files("eccdata.video") / "data" / "AtkinsonHyperlegible-LICENSE.txt").read_text()
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence
    assert "Braille Institute of America" in licence


def test_the_shapes_are_those_of_every_pillow() -> None:
    shapes = b"".join(
        draw_glyph(character, size, 64, 128).tobytes() for size in (40, 60) for character in LETTERS + "123"
    )
    assert hashlib.sha256(shapes).hexdigest() == GOLDEN


GOLDEN = "076cd8edc8a18a14b8c3bca4cdb21b4fdbc5944251fd76f0605c367f35ab8df0"
