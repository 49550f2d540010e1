"""`text`: membership questions on symbol streams of low and of maximal entropy (eccbench.txt, 4.1 and A.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import datasets
import pyarrow as pa

from eccdata.builder import Builder, Cell
from eccdata.streams.bands import Stream
from eccdata.streams.queries import Query, membership_queries
from eccdata.streams.seeding import generator

from .checks import question_problems
from .common import (
    ANSWERS,
    BANDS,
    SYMBOLS,
    MembershipConfig,
    question_rows,
    repeated,
    stream_name,
    stream_of,
)
from .findings import findings

Negatives = Literal["uniform", "hard"]

SIBLING_SYMBOLS = 4096
"""Siblings are at least this long, so that short streams too find windows in them that they do not have."""


@dataclass
class TextConfig(MembershipConfig):
    """Settings of `text`.

    Attributes:
        lengths: Symbols of the streams; at most 2^20.
        bands: `low` are variable-order n-gram streams of 0.3–1.0 bits a symbol, `max` are uniform ones.
        streams: Streams of each length and band; at most as many as have 2^20 questions and 2^30 symbols in all
            rows of one length and band.
        negatives: `uniform` draws absent candidates uniformly, as the paper does; `hard` draws ones that look
            like the stream: near misses of its windows, and windows of a sibling stream of the same rule set.

    """

    lengths: tuple[int, ...] = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
    bands: tuple[str, ...] = BANDS
    streams: int = 20
    negatives: Negatives = "uniform"

    def problems(self) -> list[str]:
        """What is wrong with the settings."""
        found = super().problems()
        found += self.wrong_lengths("lengths", self.lengths, at_least=max(2, self.candidate_lengths[1]))
        found += [f"bands={b}: there is {' and '.join(BANDS)}" for b in self.bands if b not in BANDS]
        found += repeated("bands", self.bands)
        found += self.wrong_streams("streams", self.streams, self.lengths, rows_a_stream=self.queries)
        found += [f"{name}: names none" for name in ("lengths", "bands") if not getattr(self, name)]
        if self.negatives not in ("uniform", "hard"):
            found.append(f"negatives={self.negatives}: there is uniform and hard")
        return found


class Text(Builder):
    """ECCBench's text set: whether a candidate occurred in the stream as a contiguous run.

    One row a question. `position` is the index of the candidate's first occurrence, -1 for negatives; `lz_rate`
    the stream's own Lempel-Ziv rate in bits a symbol; `negative_kind` how a negative was drawn.
    """

    benchmark = "eccbench"
    configuration = "text"
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = TextConfig
    config: TextConfig

    @classmethod
    def features(cls) -> datasets.Features:
        """The columns of a row."""
        return datasets.Features(
            {
                "question_id": datasets.Value("string"),
                "stream_id": datasets.Value("string"),
                "band": datasets.Value("string"),
                "length": datasets.Value("int32"),
                "alphabet_size": datasets.Value("int32"),
                "stream": SYMBOLS,
                "candidate": SYMBOLS,
                "answer": ANSWERS,
                "position": datasets.Value("int32"),
                "lz_rate": datasets.Value("float64"),
                "negative_kind": datasets.Value("string"),
            }
        )

    def cells(self) -> list[Cell]:
        """A cell for each length and band."""
        return [
            Cell("test", {"length": length, "band": band}, 0, self.config.streams)
            for length in self.config.lengths
            for band in self.config.bands
        ]

    def table(self, cell: Cell) -> pa.Table:
        """The questions on the streams of one length and band."""
        return self._table(cell, self.config.negatives)

    def check(self, table: pa.Table) -> list[str]:
        """Re-derive answers, positions, rates, bands and balance from the streams in `table`."""
        return question_problems(table, self.config)

    def findings(self, read: Callable[[str], Iterator[pa.Table]]) -> str:
        """How far one gets without a memory for order: on these rows, and with the other kind of negatives."""
        other: Negatives = "hard" if self.config.negatives == "uniform" else "uniform"
        return "\n\n".join(
            [
                findings(read("test")),
                # folded away: it is about rows that a reader of the card does not have
                f"<details>\n<summary>The same with <code>negatives={other}</code>, which is not in here</summary>",
                findings(self._table(cell, other) for cell in self.cells()),
                "</details>",
            ]
        )

    def _table(self, cell: Cell, negatives: Negatives) -> pa.Table:
        length, band = int(cell.key["length"]), str(cell.key["band"])
        streams = [self._rows(length, band, index, negatives) for index in range(cell.start, cell.stop)]
        return pa.concat_tables(streams).combine_chunks()

    def _rows(self, length: int, band: str, index: int, negatives: Negatives) -> pa.Table:
        config = self.config
        stream, queries = text_queries(config, length, band, index, negatives)
        return question_rows(
            self.features().arrow_schema,
            stream_name("text", length, band, index),
            stream.symbols.tobytes(),
            queries,
            band=band,
            alphabet_size=config.alphabet_size,
            lz_rate=stream.rate,
        )


def text_queries(
    config: TextConfig, length: int, band: str, index: int, negatives: Negatives
) -> tuple[Stream, list[Query]]:
    """Draw one stream and its questions: the same ones in every configuration that asks them."""
    stream = stream_of(config.seed, band, length, index, config.alphabet_size)
    rng = generator(config.seed, "eccbench", "text", "queries", negatives, band, length, index)
    sibling = None
    if negatives == "hard":
        sibling = stream.sibling(rng, max(length, SIBLING_SYMBOLS)).tobytes()
    shortest, longest = config.candidate_lengths
    queries = membership_queries(
        stream.symbols.tobytes(),
        rng,
        count=config.queries,
        shortest=shortest,
        longest=longest,
        alphabet_size=config.alphabet_size,
        sibling=sibling,
        cell=stream_name("text", length, band, index),
    )
    return stream, queries
