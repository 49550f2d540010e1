"""The base of every evaluator: a protocol as two pure functions, row → request and response → columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pyarrow as pa

from eccdata.requests import Request, Response

Row = Mapping[str, Any]
"""A row of a dataset as plain Python values; ClassLabels are their names."""


class Evaluator(ABC):
    """One protocol. Subclasses are frozen dataclasses whose fields are the protocol's options (`arm`, …).

    Class attributes:
        benchmark: The benchmark's name, such as `eccbench`.
        protocol: The protocol's name, such as `membership`.
        version: Raised whenever the same row gives another request, or the same response other columns.
        carried: Dataset columns that go into the results as they are, with their Arrow types; a dataset need
            not have all of them.
        schema: The columns that `columns` gives, with their Arrow types.
        shows_media: Whether requests have media; their results then say which frames were sent.
    """

    benchmark: ClassVar[str]
    protocol: ClassVar[str]
    version: ClassVar[int]
    carried: ClassVar[Mapping[str, pa.DataType]]
    schema: ClassVar[pa.Schema]
    shows_media: ClassVar[bool] = False

    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """The columns without which a dataset cannot be asked (alternatives are the evaluator's business)."""

    def questions(self, row: Row) -> Iterator[Row]:
        """Take a row apart into questions, each with a `question_id`; by default a row is one question."""
        yield row

    @abstractmethod
    def request(self, question: Row) -> Request:
        """Put one question."""

    @abstractmethod
    def columns(self, question: Row, response: Response) -> dict[str, Any]:
        """Read one response: the values of `schema`. Failures get nulls, never verdicts."""
