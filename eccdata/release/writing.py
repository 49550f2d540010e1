"""Cells into Parquet: one row group a cell, the same bytes with any number of workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from eccdata.builder import Builder, Cell
from eccdata.errors import EccdataError, problem
from eccdata.release.layout import sha256, shard_path
from eccdata.release.profile import Profile, profile
from eccdata.release.record import RowGroup, Shard

WAKES_S = 0.2
"""How often, in seconds, waiting for a worker is broken off to see whether there was an interrupt."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Task:
    """One Parquet file to be written."""

    builder: Builder
    config: str
    split: str
    path: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Written:
    """One Parquet file that was written, and what each of its cells holds."""

    task: Task
    shard: Shard
    profiles: tuple[Profile, ...]


def tasks(builder: Builder) -> list[Task]:
    """Deal the cells of a configuration out to files, `cells_per_shard` each, in order."""
    splits: dict[str, list[Cell]] = {}
    for cell in builder.cells():
        splits.setdefault(cell.split, []).append(cell)
    found = []
    for split, cells in splits.items():
        size = builder.cells_per_shard
        parts = [cells[at : at + size] for at in range(0, len(cells), size)]
        for index, part in enumerate(parts):
            path = shard_path(builder.configuration, split, index, len(parts))
            found.append(Task(builder, builder.configuration, split, path, tuple(part)))
    return found


def write_all(
    todo: Sequence[Task], folder: Path, *, num_proc: int, done: Callable[[int], None]
) -> Iterator[Written]:
    """Write files in `folder`, in order. Workers take a file each, or a cell each where files are few.

    Args:
        todo: What to write.
        folder: The release's folder.
        num_proc: Worker processes; 1 works in this one.
        done: Called with the number of cells that were finished since it was last called.

    Raises:
        EccdataError: A table does not have its builder's schema, or a worker was killed.
        OSError: A file cannot be written.

    """
    if num_proc == 1:
        for task in todo:
            yield _write(task, folder, map(task.builder.table, task.cells), done)
    elif len(todo) >= num_proc:
        with _workers(num_proc) as pool:
            for written in _in_order(pool, _write_alone, [(task, folder) for task in todo], window=len(todo)):
                done(len(written.task.cells))
                yield written
    else:
        with _workers(num_proc) as pool:
            for task in todo:
                cells = [(task.builder, cell) for cell in task.cells]
                yield _write(task, folder, _in_order(pool, _table, cells, window=2 * num_proc), done)


def _write(
    task: Task, folder: Path, tables: Iterable[pa.Table], done: Callable[[int], None] = lambda _: None
) -> Written:
    features = task.builder.features()
    schema = features.arrow_schema
    path = folder / task.path
    path.parent.mkdir(parents=True, exist_ok=True)
    groups, profiles = [], []
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for cell, table in zip(task.cells, tables, strict=True):
            _require_schema(task, table, schema)
            writer.write_table(table, row_group_size=max(table.num_rows, 1))
            groups.append(RowGroup(key=dict(cell.key), start=cell.start, stop=cell.stop, rows=table.num_rows))
            profiles.append(profile(table, features))
            done(1)
    shard = Shard(
        path=task.path, sha256=sha256(path), size_bytes=path.stat().st_size, row_groups=tuple(groups)
    )
    return Written(task, shard, tuple(profiles))


def _write_alone(task: Task, folder: Path) -> Written:
    return _write(task, folder, map(task.builder.table, task.cells))


def _table(builder: Builder, cell: Cell) -> pa.Table:
    return builder.table(cell)


def _require_schema(task: Task, table: pa.Table, schema: pa.Schema) -> None:
    if table.schema.equals(schema):
        return
    theirs = {f.name: str(f.type) for f in table.schema}
    ours = {f.name: str(f.type) for f in schema}
    wrong = [
        f"{name}: {theirs.get(name, 'missing')}, features say {ours.get(name, 'no such column')}"
        for name in dict.fromkeys([*ours, *theirs])
        if theirs.get(name) != ours.get(name)
    ]
    order = "" if wrong else " The columns stand in another order or have other nullability."
    raise problem(
        f"A table of {task.config}/{task.split} does not have its builder's features.{order}", wrong
    )


def _in_order(
    pool: ProcessPoolExecutor,
    function: Callable[..., Result],
    items: Sequence[tuple[Any, ...]],
    *,
    window: int,
) -> Iterator[Result]:
    waiting: deque[Future[Result]] = deque()
    for arguments in items:
        waiting.append(pool.submit(function, *arguments))
        if len(waiting) >= window:
            yield _result(waiting.popleft())
    while waiting:
        yield _result(waiting.popleft())


def _result(future: Future[Result]) -> Result:
    # The system may hand Ctrl-C to one of the pool's threads. This one then learns of it only when it wakes.
    while not wait([future], timeout=WAKES_S).done:
        pass
    return future.result()


@contextmanager
def _workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes end as soon as this one fails, is interrupted or is killed."""
    # fork needs no importable __main__, so that build() works from a notebook or a plain script too
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    read, write = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_tie, initargs=(read, write))
    try:
        yield pool
        pool.shutdown()
    except BrokenProcessPool as error:
        raise EccdataError(
            "A worker process was killed, most likely for want of memory. Try fewer: --num-proc 1."
        ) from error
    finally:
        write.close()
        pool.shutdown(cancel_futures=True)
        read.close()


def _tie(read: Connection, write: Connection) -> None:
    """Tie a worker to its parent: when the parent's end of the pipe closes, however it comes, the worker ends."""
    write.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        try:
            read.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
