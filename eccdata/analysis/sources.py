"""The files of runs as queries name them, and what lets a connection read those and no others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from eccdata.analysis.files import PROTOCOL, ReadOnlyFiles
from eccdata.analysis.runs import Run

SPECIAL = frozenset("*?[]{}\\")
"""Characters by which DuckDB takes a path for a pattern."""

Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """The responses of runs in SQL.

    Attributes:
        files: Of each run, the name of each file with rows, and its columns.
        places: The place of each file's run.
        itself: Whether DuckDB opens the files itself.

    """

    files: tuple[tuple[tuple[str, Columns], ...], ...]
    places: Mapping[str, int]
    itself: bool

    def rows(self, runs: Iterable[int] | None = None, *options: str) -> str:
        """SQL of all rows of some runs, given by their places; of all of them by default.

        Files of the same columns are read together: what has to be united by name is looked at, file by file, by
        every query before it begins.

        Args:
            runs: The runs' places.
            options: Options of `read_parquet`, such as `filename = true`.

        """
        alike: dict[Columns, list[str]] = defaultdict(list)
        for place in range(len(self.files)) if runs is None else runs:
            for name, columns in self.files[place]:
                alike[columns].append(name)
        parts = []
        for names in alike.values():
            listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
            parts.append(
                f"FROM read_parquet({', '.join([f'[{listed}]', 'hive_partitioning = false', *options])})"
            )
        return f"({' UNION ALL BY NAME '.join(parts)})"

    def close_the_rest(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Let a connection read these files and no others, for good."""
        if self.itself:
            listed = ", ".join("'" + name.replace("'", "''") + "'" for name in self.places)
            connection.execute(f"SET allowed_paths = [{listed}]")
        else:
            connection.execute(f"SET allowed_directories = ['{PROTOCOL}://']")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")


def open_sources(connection: duckdb.DuckDBPyConnection, runs: Sequence[Run], *, itself: bool) -> Sources:
    """Make the files of runs known to a connection.

    Args:
        connection: Any.
        runs: The runs, with their footers.
        itself: Let DuckDB open the files itself, which takes half the time, and could write them too; done only where
            no path could be taken for a pattern.

    """
    plain = not any(SPECIAL.intersection(str(path)) for run in runs for path in run.files)
    itself = itself and plain
    files: list[tuple[tuple[str, Columns], ...]] = []
    places: dict[str, int] = {}
    real: dict[str, Path] = {}
    for place, run in enumerate(runs):
        named = []
        for number, footer in enumerate(run.footers):
            name = str(footer.path) if itself else f"{PROTOCOL}://{place}/{number}.parquet"
            places[name] = place
            real[f"{place}/{number}.parquet"] = footer.path
            named.append((name, footer.columns))
        files.append(tuple(named))
    if not itself:
        connection.register_filesystem(ReadOnlyFiles(real))
    return Sources(tuple(files), places, itself)
