"""`easyhuman-video`: the broken patterns of `easyhuman-text`, rendered (eccbench.txt, A.2 and A.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import datasets
import numpy as np
import pyarrow as pa

from eccdata.builder import Builder, Cell
from eccdata.streams.lempel_ziv import lempel_ziv_rate
from eccdata.streams.seeding import generator
from eccdata.video.lanes import LaneMode

from .common import SYMBOLS, repeated, stream_name
from .easyhuman_text import EasyHumanTextConfig, deviation_values, easyhuman_queries
from .video_checks import video_problems
from .video_common import features, video_cells, video_findings, video_rows, wrong_alphabet, wrong_sizes
from .video_questions import VARIANTS, Main, shown_questions


@dataclass
class EasyHumanVideoConfig(EasyHumanTextConfig):
    """Settings of `easyhuman-video`; those of `easyhuman-text` have the same meaning here.

    Attributes:
        lengths: Frames of the streams, one a symbol; at most 2^20 in all rows of one stream.
        lanes: As in `video-sequential`.
        variants: Which kinds of negatives. With both, half of the pairs of a positive and a negative are of each:
            then there are 224 questions, and the paper's open models' accuracies on video are multiples of 1/224.

    """

    lengths: tuple[int, ...] = (256,)
    lanes: LaneMode = "per-letter"
    variants: tuple[str, ...] = VARIANTS

    def problems(self) -> list[str]:
        """What is wrong with the settings."""
        found = super().problems() + wrong_alphabet(self.alphabet_size)
        found += wrong_sizes(self.lengths, self.queries)
        found += [
            f"variants={v}: there is {' and '.join(VARIANTS)}" for v in self.variants if v not in VARIANTS
        ]
        found += repeated("variants", self.variants)
        return found if self.variants else [*found, "variants: names none"]


class EasyHumanVideo(Builder):
    """ECCBench's EasyHuman set on video: whether one remembers what broke a predictable pattern.

    The rows are those of `easyhuman-text`, in the same order and with the same answers; a spatial negative has the
    letters of a window that only a deviation brings about, one of them on a wrong belt.
    """

    benchmark = "eccbench"
    configuration = "easyhuman-video"
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = EasyHumanVideoConfig
    config: EasyHumanVideoConfig

    @classmethod
    def features(cls) -> datasets.Features:
        """The columns of a row."""
        deviations = datasets.List({"position": datasets.Value("int32"), "symbols": SYMBOLS})
        return features("structure", {"deviations": deviations})

    def cells(self) -> list[Cell]:
        """One or more cells for each length and structure."""
        config = self.config
        keys: list[dict[str, str | int]] = [
            {"length": length, "structure": structure}
            for length in config.lengths
            for structure in config.structures
        ]
        return video_cells(keys, config.streams, config.queries)

    def table(self, cell: Cell) -> pa.Table:
        """The questions on some streams of one length and structure."""
        length, structure = int(cell.key["length"]), str(cell.key["structure"])
        streams = [self._rows(length, structure, index) for index in range(cell.start, cell.stop)]
        return pa.concat_tables(streams).combine_chunks()

    def check(self, table: pa.Table) -> list[str]:
        """Re-derive what the rows claim, and read the letters of every video back from its pixels."""
        return video_problems(table, self.config, self.config.lanes, self.config.variants)

    def findings(self, read: Callable[[str], Iterator[pa.Table]]) -> str:
        """How far one gets without a memory for order, or without any."""
        return video_findings(read("test"))

    def _rows(self, length: int, structure: str, index: int) -> pa.Table:
        config = self.config
        name = stream_name(self.configuration, length, structure, index)
        pattern, queries = easyhuman_queries(config, length, structure, index)
        key = (config.seed, "eccbench", "easyhuman-video", length, structure, index)
        main = Main.draw(pattern.symbols, config.lanes, generator(*key, "lanes"), config.alphabet_size)
        questions = shown_questions(
            queries,
            main,
            config.variants,
            generator(*key, "candidates"),
            generator(*key, "negatives"),
            alphabet_size=config.alphabet_size,
            cell=name,
        )
        return video_rows(
            self.features().arrow_schema,
            name,
            main,
            questions,
            structure=structure,
            alphabet_size=config.alphabet_size,
            lz_rate=lempel_ziv_rate(np.frombuffer(pattern.symbols, dtype=np.uint8)),
            deviations=deviation_values(pattern),
        )
