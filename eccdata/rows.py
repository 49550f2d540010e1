"""Rows of a dataset: as plain Python values, as SQL sees them, and the digest of them all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import datasets
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from eccdata.errors import EccdataError

BATCH_ROWS = 512
BATCH_BYTES = 16 * 2**20
_MEDIA = (datasets.Audio, datasets.Image, datasets.Video)


def iterate(dataset: datasets.Dataset) -> Iterator[dict[str, Any]]:
    """All rows in order, as plain Python values; ClassLabels are their names, nested ones too.

    Holds one batch at a time: at most `BATCH_ROWS` rows, fewer where rows are large.
    """
    for table in _tables(dataset, _batch_rows(dataset)):
        yield from _plain(table)


def digest(dataset: datasets.Dataset) -> str:
    """SHA-256, in hex, of the rows' content: column names and values, the order of rows, nothing else.

    It does not depend on where the rows come from, how they are cut into files or batches, or the order of
    columns: a release, its copy on the Hub and the dataset in memory have one digest.
    """
    names = sorted(dataset.column_names)
    # One hash a column, so that batches can pass by once.
    columns = {name: hashlib.sha256(name.encode()) for name in names}
    # Part of what the digest is, so it follows from the columns alone: rows with videos can have megabytes each.
    rows = 16 if any(isinstance(feature, _MEDIA) for feature in dataset.features.values()) else 1024
    for table in _tables(dataset, rows):
        for name in names:
            _feed(columns[name], table[name].combine_chunks())
    whole = hashlib.sha256(f"{dataset.num_rows}".encode())
    for column in columns.values():
        whole.update(column.digest())
    return whole.hexdigest()


def where(dataset: datasets.Dataset, expression: str) -> datasets.Dataset:
    """The rows for which a SQL expression is true, in their order.

    The expression is DuckDB's and sees the columns by name (ClassLabels as their names), this table and
    nothing else: no files, no settings.

    Raises:
        EccdataError: Where it is no expression or names a column that is not there.

    """
    table = _named_at_top(dataset).append_column(_INDEX, pa.array(np.arange(dataset.num_rows)))
    with duckdb.connect(":memory:", config={"python_enable_replacements": False}) as connection:
        connection.register("rows", table)
        connection.execute("set enable_external_access = false")
        connection.execute("set lock_configuration = true")
        try:
            # As an expression, and not put into a query's text: nothing else can be smuggled in.
            condition = duckdb.SQLExpression(expression)
            indices = connection.view("rows").filter(condition).select(_INDEX).fetchnumpy()[_INDEX]
        except duckdb.Error as error:
            reason = str(error).split("\n\n")[0].split("\nLINE")[0].strip()
            raise EccdataError(
                f"The expression {expression!r} cannot be used to choose rows: {reason}\n"
                f"It can use these columns: {', '.join(dataset.column_names)}."
            ) from error
    return dataset.select(np.sort(np.asarray(indices, dtype=np.int64)))


_INDEX = "__index_of_row"


def _batch_rows(dataset: datasets.Dataset) -> int:
    if not dataset.num_rows:
        return 1
    bytes_per_row = max(1, dataset.data.nbytes // max(1, dataset.data.num_rows))
    return int(min(BATCH_ROWS, max(1, BATCH_BYTES // bytes_per_row)))


def _tables(dataset: datasets.Dataset, rows: int) -> Iterator[pa.Table]:
    features = dataset.features
    for table in dataset.with_format("arrow").iter(batch_size=rows):
        yield pa.table(
            {
                name: _named(table[name].combine_chunks(), features[name], as_dictionary=False)
                for name in table.column_names
            }
        )


def _plain(table: pa.Table) -> list[dict[str, Any]]:
    names = table.column_names
    columns = [_values(table[name].combine_chunks()) for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _values(array: pa.Array) -> list[Any]:
    kind = array.type
    if isinstance(kind, pa.ExtensionType):
        return list(array.to_pylist())
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _all_numbers(array):
        return _number_lists(array)
    return pl.Series(values=array).to_list()


def _number_lists(array: pa.Array) -> list[list[Any]]:
    """The lists of a column of numbers. Equal ones that follow each other are one object: a stream's questions."""
    offsets = array.offsets.to_numpy()
    offsets = (offsets - offsets[0]).tolist()
    numbers = array.flatten().to_numpy()
    lists: list[list[Any]] = []
    before: bytes | None = None
    for start, stop in pairwise(offsets):
        piece = numbers[start:stop]
        content = piece.tobytes()
        lists.append(lists[-1] if content == before else piece.tolist())
        before = content
    return lists


def _all_numbers(array: pa.Array) -> bool:
    kind = array.type.value_type
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return bool(numbers and array.null_count == 0 and array.flatten().null_count == 0)


def _named_at_top(dataset: datasets.Dataset) -> pa.Table:
    # The table is memory-mapped: only the label columns, as small integers and a few names, are made anew.
    table: pa.Table = dataset.with_format("arrow")[:] if dataset._indices is not None else dataset.data.table
    for position, name in enumerate(table.column_names):
        feature = dataset.features[name]
        if isinstance(feature, datasets.ClassLabel):
            chunks = [_named(chunk, feature, as_dictionary=True) for chunk in table[name].chunks]
            kind = pa.dictionary(pa.int32(), pa.string())
            table = table.set_column(position, name, pa.chunked_array(chunks, type=kind))
    return table


def _named(array: pa.Array, feature: Any, *, as_dictionary: bool) -> pa.Array:
    """Replace the integers of ClassLabels by their names, however deep they stand."""
    if isinstance(feature, datasets.ClassLabel):
        # -1 is how `datasets` writes a label that is not known
        indices = pc.if_else(pc.less(array, 0), None, array).cast(pa.int32())
        coded = pa.DictionaryArray.from_arrays(indices, pa.array(feature.names, pa.string()))
        return coded if as_dictionary else coded.cast(pa.string())
    if not _holds_labels(feature):
        return array
    if isinstance(feature, dict):
        children = [_named(array.field(name), child, as_dictionary=False) for name, child in feature.items()]
        return pa.StructArray.from_arrays(children, names=list(feature), mask=array.is_null())
    values = _named(array.flatten(), feature.feature, as_dictionary=False)
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64())
    mask = array.is_null() if array.null_count else None
    return pa.LargeListArray.from_arrays(offsets, values, mask=mask)


def _holds_labels(feature: Any) -> bool:
    if isinstance(feature, dict):
        return any(_holds_labels(child) for child in feature.values())
    if isinstance(feature, (datasets.List, datasets.LargeList)):
        return _holds_labels(feature.feature)
    return isinstance(feature, datasets.ClassLabel)


def _feed(hasher: Any, array: pa.Array) -> None:
    """Feed an array's content to a hash: structure, nulls and values, whatever its buffers look like."""
    kind = array.type
    if isinstance(kind, pa.ExtensionType):
        array, kind = array.storage, kind.storage_type
    if pa.types.is_dictionary(kind):
        array, kind = array.dictionary_decode(), kind.value_type
    if array.null_count:
        hasher.update(b"null" + np.packbits(array.is_valid().to_numpy(zero_copy_only=False)).tobytes())
    if pa.types.is_null(kind):
        return
    if pa.types.is_struct(kind):
        for field, child in zip(kind, array.flatten(), strict=True):
            hasher.update(field.name.encode())
            _feed(hasher, child)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        lengths = pc.list_value_length(array).fill_null(0).cast(pa.int64())
        hasher.update(b"list" + lengths.to_numpy(zero_copy_only=False).tobytes())
        _feed(hasher, array.flatten())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        _feed(hasher, array.cast(pa.large_binary()))
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        values = array.cast(pa.large_binary()).drop_null()
        lengths = pc.binary_length(array).fill_null(0).cast(pa.int64())
        hasher.update(b"bytes" + lengths.to_numpy(zero_copy_only=False).tobytes())
        if len(values):
            _, offsets, data = values.buffers()
            bounds = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
            hasher.update(memoryview(data)[bounds[0] : bounds[-1]] if data is not None else b"")
    elif pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        values = array.fill_null(False if pa.types.is_boolean(kind) else 0)
        hasher.update(str(kind).encode() + values.to_numpy(zero_copy_only=False).tobytes())
    else:
        _feed(hasher, array.cast(pa.string()))
