"""`tokens`: max-entropy sequences to train memories on, and longer streams to test them on (eccbench.txt, C.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eccdata.builder import Builder, Cell
from eccdata.streams.queries import membership_queries
from eccdata.streams.query_blocks import QueryBlock, fits, membership_block
from eccdata.streams.seeding import generator

from . import limits
from .checks import sequence_problems
from .common import ANSWERS, BANDS, SYMBOLS, MembershipConfig, list_array, query_values, stream_of
from .findings import findings
from .limits import above

BLOCK = 128
"""Training sequences that are drawn together. A block is always drawn whole and then cut to what is asked for, so
that a row depends on its index alone. Part of what the rows are: changing it means raising the version."""
CELL = 8 * BLOCK


@dataclass
class TokensConfig(MembershipConfig):
    """Settings of `tokens`.

    Attributes:
        sequences: Sequences of train and validation together; at most 10^9.
        queries: Queries a sequence, half of them positive; at most 4,096.
        min_length: Symbols of the shortest training sequences.
        max_length: Symbols of the longest; lengths are uniform between the two. At most 2^15.
        validation_fraction: The part of the sequences that is kept for validation.
        test_lengths: Symbols of the test streams, which are those of the `text` configuration; at most 2^20.
        test_streams: Test streams of each length and band; at most as many as have 2^20 queries and 2^30 symbols.

    """

    queries: int = 32
    sequences: int = 500_000
    min_length: int = 32
    max_length: int = 1024
    validation_fraction: float = 0.05
    test_lengths: tuple[int, ...] = (2048, 4096)
    test_streams: int = 20

    def problems(self) -> list[str]:
        """What is wrong with the settings."""
        found = super().problems()
        longest = self.candidate_lengths[1]
        if self.sequences < 1:
            found.append(f"sequences={self.sequences}: must be at least 1")
        found += above("sequences", [self.sequences], limits.SEQUENCES)
        found += self.wrong_lengths("min_length", [self.min_length], at_least=longest)
        if self.max_length < self.min_length:
            found.append(f"max_length={self.max_length}: is below min_length={self.min_length}")
        found += above("max_length", [self.max_length], limits.TRAINING_SYMBOLS)
        if not 0 <= self.validation_fraction < 1:
            found.append(f"validation_fraction={self.validation_fraction}: must be at least 0 and below 1")
        found += self.wrong_lengths("test_lengths", self.test_lengths, at_least=max(2, longest))
        found += self.wrong_streams("test_streams", self.test_streams, self.test_lengths, rows_a_stream=1)
        if 1 <= longest <= limits.CANDIDATE_SYMBOLS and not fits(BLOCK, self.alphabet_size, longest):
            found.append(
                f"candidate_lengths={self.candidate_lengths[0]},{longest}: too long for an alphabet of "
                f"{self.alphabet_size} to count their spellings"
            )
        return found

    @property
    def sizes(self) -> dict[str, int]:
        """How many sequences `train` and `validation` have."""
        validation = round(self.sequences * self.validation_fraction)
        return {"train": self.sequences - validation, "validation": validation}


class Tokens(Builder):
    """ECCBench's token-level set: one row a sequence with all its membership queries.

    `train` and `validation` are max-entropy sequences, numbered separately, so that a smaller build is a prefix of
    a larger one in both; their `lz_rate` is null, for it is not computed. `test` has the longest streams of both
    bands of the `text` configuration, with queries of its own.
    """

    benchmark = "eccbench"
    configuration = "tokens"
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = TokensConfig
    config: TokensConfig

    @classmethod
    def features(cls) -> datasets.Features:
        """The columns of a row."""
        return datasets.Features(
            {
                "stream_id": datasets.Value("string"),
                "band": datasets.Value("string"),
                "length": datasets.Value("int32"),
                "alphabet_size": datasets.Value("int32"),
                "stream": SYMBOLS,
                "lz_rate": datasets.Value("float64"),
                "queries": datasets.List(
                    {
                        "candidate": SYMBOLS,
                        "answer": ANSWERS,
                        "position": datasets.Value("int32"),
                        "negative_kind": datasets.Value("string"),
                    }
                ),
            }
        )

    def cells(self) -> list[Cell]:
        """Cells of `CELL` sequences in train and validation, and one for each length and band in test."""
        training = [
            Cell(split, {"band": "max"}, start, min(start + CELL, size))
            for split, size in self.config.sizes.items()
            for start in range(0, size, CELL)
        ]
        test = [
            Cell("test", {"length": length, "band": band}, 0, self.config.test_streams)
            for length in self.config.test_lengths
            for band in BANDS
        ]
        return training + test

    def table(self, cell: Cell) -> pa.Table:
        """The sequences of one cell."""
        rows = self._test_rows if cell.split == "test" else self._training_rows
        return pa.concat_tables(rows(cell, self.features().arrow_schema)).combine_chunks()

    def check(self, table: pa.Table) -> list[str]:
        """Re-derive answers, positions, rates, bands and balance from the streams in `table`."""
        return sequence_problems(table, self.config)

    def findings(self, read: Callable[[str], Iterator[pa.Table]]) -> str:
        """How far one gets on the test streams without a memory for order, or without any."""
        return findings(read("test")) if self.config.test_lengths else ""

    def _training_rows(self, cell: Cell, schema: pa.Schema) -> Iterator[pa.Table]:
        config = self.config
        shortest, longest = config.candidate_lengths
        for start in range(cell.start - cell.start % BLOCK, cell.stop, BLOCK):
            name = f"tokens-{cell.split}-s{start:06d}"
            rng = generator(config.seed, "eccbench", "tokens", cell.split, start // BLOCK)
            lengths = rng.integers(config.min_length, config.max_length + 1, size=BLOCK)
            symbols = rng.integers(config.alphabet_size, size=lengths.sum(), dtype=np.uint8)
            block = membership_block(
                symbols,
                lengths,
                rng,
                count=config.queries,
                shortest=shortest,
                longest=longest,
                alphabet_size=config.alphabet_size,
                cell=f"the block from {name} on",
            )
            rows = self._block_table(schema, cell.split, start, symbols, lengths, block)
            first = max(cell.start - start, 0)
            yield rows.slice(first, cell.stop - start - first)

    def _block_table(
        self,
        schema: pa.Schema,
        split: str,
        start: int,
        symbols: NDArray[np.uint8],
        lengths: NDArray[np.int64],
        block: QueryBlock,
    ) -> pa.Table:
        negative = block.positions.ravel() < 0
        inside = np.arange(block.candidates.shape[2]) < block.lengths[:, :, None]
        queries = pa.StructArray.from_arrays(
            [
                list_array(block.lengths.ravel(), pa.array(block.candidates[inside])),
                pa.array(negative.astype(np.int64)),
                pa.array(block.positions.ravel()),
                pc.if_else(pa.array(negative), "uniform", None),
            ],
            fields=list(schema.field("queries").type.value_type),
        )
        sequences, each = block.positions.shape
        numbers = pc.utf8_lpad(pa.array(np.arange(start, start + sequences)).cast(pa.string()), 6, "0")
        columns = {
            "stream_id": pc.binary_join_element_wise(f"tokens-{split}-s", numbers, ""),
            "band": pa.repeat("max", sequences),
            "length": pa.array(lengths.astype(np.int32)),
            "alphabet_size": pa.repeat(pa.scalar(self.config.alphabet_size, pa.int32()), sequences),
            "stream": list_array(lengths, pa.array(symbols)),
            "lz_rate": pa.nulls(sequences, pa.float64()),
            "queries": list_array(np.full(sequences, each), queries),
        }
        return pa.Table.from_arrays([columns[field.name] for field in schema], schema=schema)

    def _test_rows(self, cell: Cell, schema: pa.Schema) -> Iterator[pa.Table]:
        config = self.config
        length, band = int(cell.key["length"]), str(cell.key["band"])
        shortest, longest = config.candidate_lengths
        for index in range(cell.start, cell.stop):
            name = f"tokens-L{length:04d}-{band}-s{index:02d}"
            stream = stream_of(config.seed, band, length, index, config.alphabet_size)
            queries = membership_queries(
                stream.symbols.tobytes(),
                generator(config.seed, "eccbench", "tokens", "queries", band, length, index),
                count=config.queries,
                shortest=shortest,
                longest=longest,
                alphabet_size=config.alphabet_size,
                cell=name,
            )
            row = {
                "stream_id": name,
                "band": band,
                "length": length,
                "alphabet_size": config.alphabet_size,
                "stream": stream.symbols.tolist(),
                "lz_rate": stream.rate,
                "queries": [query_values(query) for query in queries],
            }
            yield pa.Table.from_pylist([row], schema=schema)
