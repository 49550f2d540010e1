"""`easyhuman-text`: a repeated pattern with one or two breaks, and questions about the breaks (eccbench.txt, A.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

import datasets
import numpy as np
import pyarrow as pa

from eccdata.builder import Builder, Cell
from eccdata.streams.deviations import (
    GAP,
    MOTIF_LENGTHS,
    SHORTEST_STREAM,
    BrokenPattern,
    Structure,
    broken_pattern,
    deviation_queries,
)
from eccdata.streams.lempel_ziv import lempel_ziv_rate
from eccdata.streams.queries import Query
from eccdata.streams.seeding import generator

from .checks import question_problems
from .common import ANSWERS, SYMBOLS, MembershipConfig, question_rows, repeated, stream_name
from .findings import findings

STRUCTURES: tuple[str, ...] = get_args(Structure)


@dataclass
class EasyHumanTextConfig(MembershipConfig):
    """Settings of `easyhuman-text`.

    Attributes:
        lengths: Symbols of the streams; at most 2^20.
        structures: `repeating-pattern` repeats a uniformly drawn motif, `counting-disruption` a count by one.
        streams: Streams of each length and structure. The paper does not say how many; with seven there are 224
            questions a length, and its open models' accuracies at length 256 are multiples of 1/224. At most as in
            `text`.

    """

    lengths: tuple[int, ...] = (256, 1024)
    structures: tuple[str, ...] = STRUCTURES
    streams: int = 7

    def problems(self) -> list[str]:
        """What is wrong with the settings."""
        found = super().problems()
        found += self.wrong_lengths("lengths", self.lengths, at_least=SHORTEST_STREAM)
        found += [
            f"structures={s}: there is {' and '.join(STRUCTURES)}"
            for s in self.structures
            if s not in STRUCTURES
        ]
        found += repeated("structures", self.structures)
        found += self.wrong_streams("streams", self.streams, self.lengths, rows_a_stream=self.queries)
        found += [f"{name}: names none" for name in ("lengths", "structures") if not getattr(self, name)]
        if self.alphabet_size < max(MOTIF_LENGTHS):
            found.append(
                f"alphabet_size={self.alphabet_size}: must be at least {max(MOTIF_LENGTHS)} to count in"
            )
        if self.candidate_lengths[1] > GAP + 1:
            found.append(
                f"candidate_lengths={self.candidate_lengths[0]},{self.candidate_lengths[1]}: candidates of more than "
                f"{GAP + 1} symbols could touch two deviations"
            )
        return found


class EasyHumanText(Builder):
    """ECCBench's EasyHuman set on text: whether one remembers what broke a predictable pattern.

    One row a question. Positives are windows that only a deviation brings about, negatives are corruptions of such
    windows. `deviations` gives the breaks with the index of their first symbol; the rest is as in `text`.
    """

    benchmark = "eccbench"
    configuration = "easyhuman-text"
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = EasyHumanTextConfig
    config: EasyHumanTextConfig

    @classmethod
    def features(cls) -> datasets.Features:
        """The columns of a row."""
        return datasets.Features(
            {
                "question_id": datasets.Value("string"),
                "stream_id": datasets.Value("string"),
                "structure": datasets.Value("string"),
                "length": datasets.Value("int32"),
                "alphabet_size": datasets.Value("int32"),
                "stream": SYMBOLS,
                "deviations": datasets.List({"position": datasets.Value("int32"), "symbols": SYMBOLS}),
                "candidate": SYMBOLS,
                "answer": ANSWERS,
                "position": datasets.Value("int32"),
                "lz_rate": datasets.Value("float64"),
                "negative_kind": datasets.Value("string"),
            }
        )

    def cells(self) -> list[Cell]:
        """A cell for each length and structure."""
        return [
            Cell("test", {"length": length, "structure": structure}, 0, self.config.streams)
            for length in self.config.lengths
            for structure in self.config.structures
        ]

    def table(self, cell: Cell) -> pa.Table:
        """The questions on the streams of one length and structure."""
        length, structure = int(cell.key["length"]), str(cell.key["structure"])
        streams = [self._rows(length, structure, index) for index in range(cell.start, cell.stop)]
        return pa.concat_tables(streams).combine_chunks()

    def check(self, table: pa.Table) -> list[str]:
        """Re-derive answers, positions, rates, balance and deviations from the streams in `table`."""
        return question_problems(table, self.config)

    def findings(self, read: Callable[[str], Iterator[pa.Table]]) -> str:
        """How far one gets without a memory for order, or without any."""
        return findings(read("test"))

    def _rows(self, length: int, structure: str, index: int) -> pa.Table:
        config = self.config
        pattern, queries = easyhuman_queries(config, length, structure, index)
        return question_rows(
            self.features().arrow_schema,
            stream_name("easyhuman-text", length, structure, index),
            pattern.symbols,
            queries,
            structure=structure,
            alphabet_size=config.alphabet_size,
            lz_rate=lempel_ziv_rate(np.frombuffer(pattern.symbols, dtype=np.uint8)),
            deviations=deviation_values(pattern),
        )


def easyhuman_queries(
    config: EasyHumanTextConfig, length: int, structure: str, index: int
) -> tuple[BrokenPattern, list[Query]]:
    """Draw one stream and its questions: the same ones in every configuration that asks them."""
    name = stream_name("easyhuman-text", length, structure, index)
    rng = generator(config.seed, "eccbench", "easyhuman-text", structure, length, index)
    pattern = broken_pattern(
        structure,  # type: ignore[arg-type]  # one of them, or it says so
        length,
        rng,
        alphabet_size=config.alphabet_size,
        cell=name,
    )
    shortest, longest = config.candidate_lengths
    queries = deviation_queries(
        pattern,
        rng,
        count=config.queries,
        shortest=shortest,
        longest=longest,
        alphabet_size=config.alphabet_size,
        cell=name,
    )
    return pattern, queries


def deviation_values(pattern: BrokenPattern) -> list[dict[str, Any]]:
    """The column `deviations`."""
    return [
        {"position": deviation.position, "symbols": list(deviation.symbols)}
        for deviation in pattern.deviations
    ]
