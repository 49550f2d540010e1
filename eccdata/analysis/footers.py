"""What a Parquet file says of itself at its end: its columns, and those that have one value throughout."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True)
class Footer:
    """One file's.

    Attributes:
        path: The file.
        rows: How many rows it has.
        columns: Name and type of each column, in order.
        constant: Columns that have no value but one, with that value: None where all are null. Rows without a value
            do not count, and are told by `complete`.
        complete: Columns of `constant` that have a value in every row.

    """

    path: Path
    rows: int
    columns: tuple[tuple[str, str], ...]
    constant: Mapping[str, str | None] = field(default_factory=dict)
    complete: frozenset[str] = frozenset()


def read_footer(path: Path, names: Collection[str]) -> Footer:
    """Read a file's footer.

    A column has one value where least and greatest are the same in every group of rows. Who writes a long text's
    bounds cut short cuts the greatest upwards, so that what looks the same is the same.

    Args:
        path: The file.
        names: Columns of text of which to tell whether they have one value.

    Raises:
        OSError: The file cannot be opened.
        pyarrow.ArrowException: It is no Parquet file.

    """
    metadata = pq.read_metadata(path)
    fields = metadata.schema.to_arrow_schema()
    columns = tuple((each.name, str(each.type)) for each in fields)
    leaves = {metadata.schema.column(place).path: place for place in range(len(metadata.schema))}
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    constant: dict[str, str | None] = {}
    complete = set()
    for name in names:
        if name not in leaves or dict(columns).get(name) not in ("string", "large_string"):
            continue
        values: set[str] = set()
        nulls = 0
        for group in groups:
            found = group.column(leaves[name]).statistics
            if found is None or not found.has_null_count:
                break
            nulls += found.null_count
            if found.null_count == group.num_rows:
                continue
            if not found.has_min_max or found.min != found.max:
                break
            values.add(found.min)
        else:
            if len(values) < 2:
                constant[name] = next(iter(values), None)
                if not nulls:
                    complete.add(name)
    return Footer(path, metadata.num_rows, columns, constant, frozenset(complete))
