"""Embeddings in a folder, by what they are of: made once, shared between runs and processes, there after a kill."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eccdata.errors import EccdataError
from eccdata.systems.embedding_server import Embedding

SCHEMA = pa.schema(
    {
        "key": pa.string(),
        "embedder": pa.string(),
        "prompt_tokens": pa.int32(),
        "embedding": pa.list_(pa.float32()),
    }
)


class KeptEmbeddings:
    """The embeddings of one embedder, each a Parquet file of one row: `<folder>/<embedder>/<2 digits>/<key>.parquet`.

    A file appears whole or not at all, and the first one stays: whoever made the same one meanwhile takes that, so
    that all use the same numbers to the last bit. DuckDB reads the folder as one table
    (`read_parquet('FOLDER/**/*.parquet')`).
    """

    def __init__(self, folder: Path, embedder: str) -> None:
        """Open the folder; it is made with the first embedding.

        Args:
            folder: Of any number of embedders.
            embedder: Digest of all of it that could change an embedding, and of the recipe, in hex.

        """
        self._embedder = embedder
        self._folder = folder / embedder[:16]

    def key(self, what: str) -> str:
        """The key of what is embedded, given its digest or its text: 64 hexadecimal digits."""
        return hashlib.sha256(f"{self._embedder} {what}".encode()).hexdigest()

    def get(self, keys: Iterable[str]) -> dict[str, Embedding]:
        """Give those that are there; a file that cannot be read is not."""
        found = {}
        for key in dict.fromkeys(keys):
            kept = self._read(key)
            if kept is not None:
                found[key] = kept
        return found

    def put(self, key: str, embedding: Embedding) -> Embedding:
        """Keep an embedding; gives the one that is kept.

        Raises:
            EccdataError: The folder cannot be written.

        """
        path = self._path(key)
        row = {
            "key": [key],
            "embedder": [self._embedder],
            "prompt_tokens": [embedding.prompt_tokens],
            "embedding": [embedding.vector],
        }
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, unfinished = tempfile.mkstemp(prefix=".", suffix=".incomplete", dir=path.parent)
            os.close(handle)
            try:
                pq.write_table(
                    pa.table(row, schema=SCHEMA), unfinished, use_dictionary=False, write_page_checksum=True
                )
                # unlike a rename, a link leaves one alone that is there
                with contextlib.suppress(FileExistsError):
                    os.link(unfinished, path)
                    return embedding
                there = self._read(key)
                if there is not None:
                    return there
                Path(unfinished).replace(path)
                return embedding
            finally:
                Path(unfinished).unlink(missing_ok=True)
        except OSError as error:
            raise EccdataError(
                f"{path} cannot be written: {error.strerror}. The option `index` names the folder."
            ) from error

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.parquet"

    def _read(self, key: str) -> Embedding | None:
        try:
            table = pq.read_table(
                self._path(key), schema=SCHEMA, partitioning=None, page_checksum_verification=True
            )
            (row,) = table.to_batches()
            if row.num_rows != 1 or row["key"][0].as_py() != key:
                return None
            vector = row["embedding"].flatten().to_numpy().astype(np.float32)
            if not len(vector) or not np.isfinite(vector).all():
                return None
            return Embedding(vector, row["prompt_tokens"][0].as_py())
        except (OSError, ValueError, pa.ArrowException):  # not there, or damaged
            return None
