"""What the text configurations of ECCBench share: settings, streams and columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eccdata.builder import BuilderConfig
from eccdata.streams.bands import Stream, low_entropy_stream, max_entropy_stream
from eccdata.streams.queries import Query
from eccdata.streams.seeding import generator

from . import limits
from .limits import above

BANDS = ("low", "max")
ANSWERS = datasets.ClassLabel(names=["yes", "no"])
"""Label 0 is yes, as in the prompt's `{0}`."""
SYMBOLS = datasets.List(datasets.Value("uint8"))


@dataclass
class MembershipConfig(BuilderConfig):
    """Settings of membership queries.

    Attributes:
        queries: Queries a stream, half of them positive; at most 4,096.
        candidate_lengths: Symbols of the shortest and of the longest candidates; at most 64.
        alphabet_size: How many symbols there are.

    """

    queries: int = 16
    candidate_lengths: tuple[int, int] = (3, 6)
    alphabet_size: int = 16

    def problems(self) -> list[str]:
        """What is wrong with the settings."""
        found = super().problems()
        if self.queries < 2 or self.queries % 2:
            found.append(f"queries={self.queries}: must be even and at least 2, for half are positive")
        found += above("queries", [self.queries], limits.STREAM_QUERIES)
        shortest, longest = self.candidate_lengths
        if not 1 <= shortest <= longest:
            found.append(
                f"candidate_lengths={shortest},{longest}: must be the shortest and the longest, from 1 on"
            )
        found += above("candidate_lengths", [longest], limits.CANDIDATE_SYMBOLS)
        if not 2 <= self.alphabet_size <= 256:
            found.append(f"alphabet_size={self.alphabet_size}: must be 2 to 256")
        return found

    def wrong_lengths(self, setting: str, lengths: Sequence[int], at_least: int) -> list[str]:
        """What is wrong with stream lengths: too short, too long, or twice there."""
        shortest, longest = self.candidate_lengths
        found = [
            f"{setting}={length}: must be at least {at_least}" for length in lengths if length < at_least
        ]
        found += above(setting, lengths, limits.STREAM_SYMBOLS)
        if not found:
            sizes = max(1, longest - shortest + 1)
            found += above(
                setting, lengths, limits.STREAM_WINDOWS // sizes, f"with {sizes} lengths of candidates"
            )
        return found + repeated(setting, lengths)

    def wrong_streams(
        self, setting: str, streams: int, lengths: Sequence[int], *, rows_a_stream: int
    ) -> list[str]:
        """What is wrong with how many streams a cell has: none, or more than can be made together."""
        if streams < 1:
            return [f"{setting}={streams}: must be at least 1"]
        most = limits.CELL_QUESTIONS // max(1, self.queries)
        if streams > most:
            return above(setting, [streams], max(1, most), f"with {self.queries} queries a stream")
        # a length that is too long for any stream is told already
        longest = max((length for length in lengths if length <= limits.STREAM_SYMBOLS), default=1)
        most = limits.CELL_SYMBOLS // (max(1, longest) * max(1, rows_a_stream))
        return above(setting, [streams], max(1, most), f"with streams of {longest} symbols")


def repeated(setting: str, values: Iterable[str | int]) -> list[str]:
    """Name the values that a setting lists more than once, whose rows would come out twice."""
    return [f"{setting}={value}: given {n} times" for value, n in Counter(values).items() if n > 1]


def stream_name(configuration: str, length: int, group: str, index: int) -> str:
    """The id of stream `index` among those of one length and band (or structure)."""
    return f"{configuration}-L{length:04d}-{group}-s{index:02d}"


def stream_of(seed: int, band: str, length: int, index: int, alphabet_size: int) -> Stream:
    """Make stream `index` of a cell: the same one in every configuration that uses it."""
    rng = generator(seed, "eccbench", "stream", band, length, index)
    if band == "max":
        return max_entropy_stream(length, rng, alphabet_size=alphabet_size)
    return low_entropy_stream(
        length, rng, alphabet_size=alphabet_size, cell=f"stream {index} of length {length}, band low"
    )


def list_array(sizes: Sequence[int] | NDArray[np.int64], values: pa.Array) -> pa.ListArray:
    """Cut `values` into lists of `sizes` elements."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def query_values(query: Query) -> dict[str, Any]:
    """The columns that a query has, wherever they stand."""
    return {
        "candidate": list(query.candidate),
        "answer": ANSWERS.str2int(query.answer),
        "position": query.position,
        "negative_kind": query.negative_kind,
    }


def question_rows(
    schema: pa.Schema, name: str, symbols: bytes, queries: Sequence[Query], **columns: Any
) -> pa.Table:
    """The rows of the stream `name`, one a question; `columns` are the stream's own, one value each."""
    own = {"stream_id": name, "length": len(symbols), **columns}
    questions = [
        {**own, **query_values(query), "question_id": f"{name}-q{i:02d}"} for i, query in enumerate(queries)
    ]
    # the stream is by far the largest column, and the same in all rows
    one = list_array([len(symbols)], pa.array(np.frombuffer(symbols, dtype=np.uint8)))
    return with_columns(schema, questions, {"stream": repeat(one, len(queries))})


def with_columns(schema: pa.Schema, rows: Sequence[dict[str, Any]], columns: dict[str, pa.Array]) -> pa.Table:
    """A table of rows, some columns of which are arrays already."""
    rest = pa.schema([field for field in schema if field.name not in columns])
    table = pa.Table.from_pylist(rows, schema=rest)
    return pa.Table.from_arrays(
        [columns[field.name] if field.name in columns else table[field.name] for field in schema],
        schema=schema,
    )


def repeat(one: pa.Array, count: int) -> pa.Array:
    """An array that has its only element `count` times."""
    return one.take(pa.array(np.zeros(count, dtype=np.int32)))
