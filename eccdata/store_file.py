"""The SQLite file behind a store: its tables, and its opening by one process at a time.

The file is in write-ahead mode with one exclusive connection: a commit is one appended write, it survives
`kill -9`, it needs no shared memory (so network file systems will do), and a second process on the same run is
turned away.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from eccdata.errors import EccdataError

FORMAT = 1
"""Raised whenever an older eccdata could not read the file rightly."""

APPLICATION_ID = 0x45434344  # "ECCD", in the header of every store

_SCHEMA = f"""
pragma application_id = {APPLICATION_ID};
create table meta (name text primary key, value text not null) without rowid;
insert into meta values ('format', '{FORMAT}');
create table servers (
    id integer primary key,
    digest text not null unique,
    fingerprint text not null,
    accepted_at integer not null
);
create table sessions (
    id integer primary key,
    started_at integer not null,
    ended_at integer,
    outcome text,
    facts text not null default '{{}}'
);
create table responses (
    id integer primary key,
    key blob not null unique,
    server integer not null references servers,
    session integer not null references sessions,
    question_id text not null,
    asked_at integer not null,
    status text not null,
    text text not null,
    reasoning text,
    finish_reason text,
    prompt_tokens integer,
    completion_tokens integer,
    reasoning_tokens integer,
    cached_tokens integer,
    image_tokens integer,
    video_tokens integer,
    token_limit integer,
    probability real,
    latency_s real,
    attempts integer not null,
    error text,
    option_probabilities text,
    details text
);
create table failures (
    id integer primary key,
    key blob not null,
    server integer not null references servers,
    session integer not null references sessions,
    question_id text not null,
    asked_at integer not null,
    status text not null,
    finish_reason text,
    latency_s real,
    attempts integer not null,
    error text
);
create index failures_by_key on failures (key);
"""  # noqa: S608


class StoreInUse(EccdataError):
    """Another process has the store open."""


def connect(path: Path) -> sqlite3.Connection:
    """Open the file at `path`, or make one with empty tables; transactions are the caller's to begin and end.

    Raises:
        StoreInUse: Where another process has it open.
        EccdataError: Where the file is no store or damaged, and where a newer eccdata wrote it.

    """
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
    except sqlite3.Error as error:
        raise EccdataError(f"The store {path} cannot be opened: {error}.") from error
    try:
        _prepare(path, connection)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error):
            raise explained(path, error) from error
        raise
    return connection


def _prepare(path: Path, db: sqlite3.Connection) -> None:
    # Exclusive before the first access: write-ahead mode then needs no shared memory file.
    db.execute("pragma locking_mode = exclusive")
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = normal")
    db.execute("pragma wal_autocheckpoint = 4000")
    db.execute("begin exclusive")
    (application,) = db.execute("pragma application_id").fetchone()
    (tables,) = db.execute("select count(*) from sqlite_master").fetchone()
    db.execute("commit")
    if application == 0 and tables == 0:
        db.executescript(f"begin; {_SCHEMA} commit;")
        return
    if application != APPLICATION_ID:
        raise EccdataError(f"{path} is a SQLite file, but no store of eccdata's. Move it away.")
    (value,) = db.execute("select value from meta where name = 'format'").fetchone()
    if int(value) > FORMAT:
        raise EccdataError(
            f"{path} was written by a newer eccdata (store format {value}; this one reads up to {FORMAT}). "
            "Upgrade eccdata to go on with this run."
        )


def explained(path: Path, error: sqlite3.Error) -> EccdataError:
    """What a failure of the file means for whoever runs an evaluation."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreInUse(
            f"{path} is in use by another process. Two processes cannot work on one run: wait for it to end, "
            "or give this one another --out."
        )
    if name == "SQLITE_NOTADB":
        return EccdataError(f"{path} is not a store of eccdata's (nor a SQLite file at all). Move it away.")
    return EccdataError(
        f"{path} is damaged and cannot be read: {error}. Restore it from a copy, or move it away to ask everything "
        "again."
    )
