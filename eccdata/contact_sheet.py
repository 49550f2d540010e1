"""A question as one picture: the candidate's frames, and all of the stream's with the match marked."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import cache

import av
from PIL import Image, ImageDraw, ImageFont

from eccdata.errors import EccdataError
from eccdata.show import Exhibit
from eccdata.video.glyphs import FONT

WIDTH = 1600
MARGIN = 40
BIG, MIDDLE, SMALL, TINY = 34, 24, 18, 13

PAPER, INK, FAINT = "#ffffff", "#1a1a1a", "#5c5c5c"
# told apart by colour-blind eyes, and drawn as frames of different weight besides
MATCH, NEAR, WRONG = "#0a7d4f", "#b35900", "#c2185b"


def contact_sheet(exhibit: Exhibit) -> bytes:
    """Draw a question as PNG, 1,600 pixels wide.

    Of a video every frame is shown, decoded from the file, with its number; of text, every symbol. A match is framed
    in green, the window that a negative is like in orange, letters on a wrong belt in magenta.

    Raises:
        EccdataError: A video cannot be decoded.

    """
    sheet = _Sheet()
    sheet.text(exhibit.question_id, BIG)
    sheet.text(f"{exhibit.asked}  Answer: {exhibit.answer}.", MIDDLE)
    sheet.text(exhibit.because, SMALL)
    facts = {name: value for name, value in exhibit.facts.items() if not name.endswith("digest")}
    sheet.text(" · ".join(f"{name}: {value}" for name, value in facts.items()), SMALL, FAINT)
    if exhibit.videos is None:
        sheet.text(f"Candidate ({len(exhibit.candidate)} symbols)", MIDDLE)
        sheet.symbols(exhibit.candidate, range(0), MATCH)
        sheet.text(f"Stream ({len(exhibit.stream)} symbols)", MIDDLE)
        sheet.symbols(exhibit.stream, exhibit.marked, MATCH)
        return sheet.png()
    main, option = exhibit.videos
    mark = MATCH if exhibit.answer == "yes" else NEAR
    sheet.text(f"Option video ({len(exhibit.candidate)} frames)", MIDDLE)
    sheet.frames(option, exhibit.candidate, 200, dict.fromkeys(exhibit.wrong, WRONG))
    sheet.text(f"Main video ({len(exhibit.stream)} frames)", MIDDLE)
    sheet.frames(main, exhibit.stream, _thumbnail(len(exhibit.stream)), dict.fromkeys(exhibit.marked, mark))
    return sheet.png()


def _thumbnail(frames: int) -> int:
    """Side of a thumbnail in pixels: as large as still makes a sheet that one looks over."""
    return next((side for most, side in ((32, 180), (128, 110), (512, 66)) if frames <= most), 44)


class _Sheet:
    """Paper that grows downwards."""

    def __init__(self) -> None:
        self._strips: list[Image.Image] = []

    def png(self) -> bytes:
        height = sum(strip.height for strip in self._strips) + 2 * MARGIN
        sheet = Image.new("RGB", (WIDTH, height), PAPER)
        top = MARGIN
        for strip in self._strips:
            sheet.paste(strip, (0, top))
            top += strip.height
        file = io.BytesIO()
        sheet.save(file, "PNG")
        return file.getvalue()

    def text(self, text: str, size: int, color: str = INK) -> None:
        lines = list(_wrapped(text, _font(size), WIDTH - 2 * MARGIN))
        strip = self._strip(len(lines) * round(size * 1.4) + size // 2)
        for number, line in enumerate(lines):
            ImageDraw.Draw(strip).text((MARGIN, number * round(size * 1.4)), line, color, _font(size))

    def symbols(self, symbols: Sequence[str], marked: range, color: str) -> None:
        """Print symbols in a grid, the first of each line numbered."""
        wide, high, per_line = 44, 36, 32
        strip = self._strip(-(-len(symbols) // per_line) * high + 24)
        draw = ImageDraw.Draw(strip)
        for place, symbol in enumerate(symbols):
            x, y = MARGIN + 60 + place % per_line * wide, place // per_line * high
            if place % per_line == 0:
                draw.text((MARGIN, y + 6), str(place), FAINT, _font(SMALL))
            if place in marked:
                draw.rectangle((x, y, x + wide - 1, y + high - 3), color)
            draw.text(
                (x + wide // 2, y + high // 2),
                symbol,
                PAPER if place in marked else INK,
                _font(SMALL),
                anchor="mm",
            )

    def frames(self, video: bytes, captions: Sequence[str], side: int, marks: dict[int, str]) -> None:
        """Lay out the frames of a video in a grid, each with its number and caption under it."""
        gap = 8
        cell = side + gap
        per_line = (WIDTH - 2 * MARGIN + gap) // cell
        low = SMALL if side >= 100 else TINY
        high = cell + round(low * 1.3)
        pictures = list(_thumbnails(video, side))
        strip = self._strip(-(-max(len(pictures), len(captions)) // per_line) * high + 24)
        draw = ImageDraw.Draw(strip)
        for place in range(max(len(pictures), len(captions))):
            x, y = MARGIN + place % per_line * cell, gap + place // per_line * high
            color = marks.get(place)
            if color is not None:
                draw.rectangle((x - 4, y - 4, x + side + 3, y + high - gap + 1), color)
            if place < len(pictures):
                strip.paste(pictures[place], (x, y))
            label = (
                f"{place}" if side < 60 else f"{place}  {captions[place] if place < len(captions) else '?'}"
            )
            draw.text((x + side // 2, y + side + 1), label, PAPER if color else INK, _font(low), anchor="ma")

    def _strip(self, height: int) -> Image.Image:
        self._strips.append(Image.new("RGB", (WIDTH, height), PAPER))
        return self._strips[-1]


def _thumbnails(video: bytes, side: int) -> Iterator[Image.Image]:
    try:
        with av.open(io.BytesIO(video), "r") as container:
            for frame in container.decode(video=0):
                picture = Image.fromarray(frame.to_ndarray(format="rgb24"))
                yield picture.resize((side, side), Image.Resampling.LANCZOS)
    except (av.FFmpegError, IndexError) as error:
        raise EccdataError(f"A video of the question cannot be decoded: {error}") from error


def _wrapped(text: str, font: ImageFont.FreeTypeFont, width: int) -> Iterator[str]:
    line = ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if line and font.getlength(longer) > width:
            yield line
            line = word
        else:
            line = longer
    yield line


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(io.BytesIO(FONT.read_bytes()), size)
