"""What a cell's columns hold, in numbers that add up: counts of labels and names, moments of measurements."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc


@dataclass
class Moments:
    """Count, mean, sum of squared deviations, least and greatest of a measurement."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    least: float = math.inf
    greatest: float = -math.inf

    def add(self, other: Moments) -> None:
        """Take another part's values in (Chan's parallel update, which loses no digits to cancellation)."""
        if not other.count:
            return
        total = self.count + other.count
        step = other.mean - self.mean
        self.squares += other.squares + step * step * self.count * other.count / total
        self.mean += step * other.count / total
        self.count = total
        self.least, self.greatest = min(self.least, other.least), max(self.greatest, other.greatest)

    @property
    def std(self) -> float:
        """Standard deviation (divisor n)."""
        return math.sqrt(self.squares / self.count) if self.count else math.nan

    def as_dict(self) -> dict[str, float | int]:
        """Count, mean, std, least and greatest, rounded to nine digits: no machine's last bit shows."""
        values = {"mean": self.mean, "std": self.std, "min": self.least, "max": self.greatest}
        return {"count": self.count, **{name: float(f"{value:.9g}") for name, value in values.items()}}


@dataclass
class Profile:
    """Rows, counts and moments of one cell, or of several added up.

    Attributes:
        rows: How many rows.
        counts: Column → value → how often; for ClassLabels (by name) and strings that are no ids, digests or paths.
        moments: Column → moments; for floating-point columns.

    """

    rows: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    moments: dict[str, Moments] = field(default_factory=dict)

    def add(self, other: Profile) -> None:
        """Take another part in."""
        self.rows += other.rows
        for name, counts in other.counts.items():
            self.counts.setdefault(name, Counter()).update(counts)
        for name, moments in other.moments.items():
            self.moments.setdefault(name, Moments()).add(moments)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, names sorted; columns without a value are left out."""
        return {
            "counts": {name: dict(sorted(c.items())) for name, c in sorted(self.counts.items()) if c},
            "statistics": {name: m.as_dict() for name, m in sorted(self.moments.items()) if m.count},
        }


def profile(table: pa.Table, features: datasets.Features) -> Profile:
    """Profile one table. Columns inside lists of structs are named `queries.answer`; nulls are not counted."""
    found = Profile(rows=table.num_rows)
    for name, values, feature in _leaves(table, features):
        if isinstance(feature, datasets.ClassLabel):
            labels = pc.value_counts(values.drop_null()).to_pylist()
            found.counts[name] = Counter(
                {_label(feature, entry["values"]): entry["counts"] for entry in labels}
            )
        elif pa.types.is_string(values.type) and not name.endswith(("_id", "_digest", "_path")):
            seen = pc.value_counts(values.drop_null()).to_pylist()
            found.counts[name] = Counter({entry["values"]: entry["counts"] for entry in seen})
        elif pa.types.is_floating(values.type):
            found.moments[name] = _moments(values.drop_null())
    return found


def _label(feature: datasets.ClassLabel, value: int) -> str:
    return feature.names[value] if 0 <= value < len(feature.names) else f"({value} is no label)"


def _moments(values: pa.ChunkedArray) -> Moments:
    if not len(values):
        return Moments()
    numbers = values.to_numpy().astype("float64")
    mean = float(numbers.mean())
    squares = float(((numbers - mean) ** 2).sum())
    return Moments(len(numbers), mean, squares, float(numbers.min()), float(numbers.max()))


def _leaves(table: pa.Table, features: datasets.Features) -> Iterator[tuple[str, pa.ChunkedArray, Any]]:
    for name, feature in features.items():
        column = table.column(name)
        if isinstance(feature, datasets.List) and isinstance(feature.feature, dict):
            structs = pc.list_flatten(column)
            for inner, what in feature.feature.items():
                yield f"{name}.{inner}", pc.struct_field(structs, inner), what
        else:
            yield name, column, feature
