"""What `video-sequential` and `video-spatial` are: the streams and questions of `text`, rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import datasets
import pyarrow as pa

from eccdata.builder import Builder, Cell
from eccdata.streams.seeding import generator
from eccdata.video.lanes import LaneMode

from .common import stream_name
from .text import TextConfig, text_queries
from .video_checks import video_problems
from .video_common import features, video_cells, video_findings, video_rows, wrong_alphabet, wrong_sizes
from .video_questions import Main, shown_questions


@dataclass
class VideoConfig(TextConfig):
    """Settings of rendered streams; those of `text` have the same meaning here.

    Attributes:
        lengths: Frames of the streams, one a symbol; at most 2^20 in all rows of one stream.
        lanes: `per-letter` keeps each letter on the belt that it was dealt for the stream, so that the rate of the
            symbols is the video's; `per-event` draws a belt for every occurrence. The paper does not say which.

    """

    lengths: tuple[int, ...] = (8, 16, 32, 64, 128, 256, 512, 1024)
    lanes: LaneMode = "per-letter"

    def problems(self) -> list[str]:
        """What is wrong with the settings."""
        found = super().problems() + wrong_alphabet(self.alphabet_size)
        return found + wrong_sizes(self.lengths, self.queries)


class VideoText(Builder):
    """The streams of `text` as videos, with questions of one variant."""

    benchmark = "eccbench"
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = VideoConfig
    config: VideoConfig
    variant: ClassVar[str]

    @classmethod
    def features(cls) -> datasets.Features:
        """The columns of a row."""
        return features("band")

    def cells(self) -> list[Cell]:
        """One or more cells for each length and band, the larger the streams the fewer in each."""
        config = self.config
        keys: list[dict[str, str | int]] = [
            {"length": length, "band": band} for length in config.lengths for band in config.bands
        ]
        return video_cells(keys, config.streams, config.queries)

    def table(self, cell: Cell) -> pa.Table:
        """The questions on some streams of one length and band."""
        length, band = int(cell.key["length"]), str(cell.key["band"])
        streams = [self._rows(length, band, index) for index in range(cell.start, cell.stop)]
        return pa.concat_tables(streams).combine_chunks()

    def check(self, table: pa.Table) -> list[str]:
        """Re-derive what the rows claim, and read the letters of every video back from its pixels."""
        return video_problems(table, self.config, self.config.lanes, (self.variant,))

    def findings(self, read: Callable[[str], Iterator[pa.Table]]) -> str:
        """How far one gets without a memory for order, or without any."""
        return video_findings(read("test"))

    def _rows(self, length: int, band: str, index: int) -> pa.Table:
        config = self.config
        name = stream_name(self.configuration, length, band, index)
        stream, queries = text_queries(config, length, band, index, config.negatives)

        key = (config.seed, "eccbench", "video", length, band, index)
        main = Main.draw(
            stream.symbols.tobytes(), config.lanes, generator(*key, "lanes"), config.alphabet_size
        )
        questions = shown_questions(
            queries,
            main,
            (self.variant,),
            generator(*key, "candidates", config.negatives),
            generator(*key, "negatives", config.negatives),
            alphabet_size=config.alphabet_size,
            cell=name,
        )
        return video_rows(
            self.features().arrow_schema,
            name,
            main,
            questions,
            band=band,
            alphabet_size=config.alphabet_size,
            lz_rate=stream.rate,
        )
