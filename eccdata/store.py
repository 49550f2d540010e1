"""The responses of one run: a SQLite file in which each stands the moment it arrives.

Answers stand under a key that covers everything that could change them (`eccdata.keys`). Failures are logged in a
table of their own and are never answers. What the file is made of stands in `eccdata.store_file`.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from eccdata import store_file
from eccdata.errors import EccdataError
from eccdata.keys import digest
from eccdata.requests import Json, Response, Status

TOGETHER_S = 0.01
"""Where responses arrive more often than this, those of as long share one commit; a rarer one has its own."""

# what was sent has been recorded as details by then
_RESPONSE_FIELDS = tuple(name for name in Response.__dataclass_fields__ if name != "sent")
_FAILURE_FIELDS = ("status", "finish_reason", "latency_s", "attempts", "error")
_HEAD = ("key", "server", "session", "question_id", "asked_at")


def _as_json(values: Mapping[str, Json] | None) -> str | None:
    return None if values is None else json.dumps(values)


def _from_json(text: str | None) -> Mapping[str, Json] | None:
    return None if text is None else json.loads(text)


def _insert(table: str, columns: Sequence[str], clash: str = "") -> str:
    return f"insert {clash} into {table} ({', '.join(columns)}) values ({', '.join('?' * len(columns))})"  # noqa: S608


# Of two answers under one key the first stays: rows that were scored with it stay as they are.
_ADD_RESPONSE = _insert("responses", (*_HEAD, *_RESPONSE_FIELDS), "or ignore")
_ADD_FAILURE = _insert("failures", (*_HEAD, *_FAILURE_FIELDS))


class Stored(NamedTuple):
    """A response as the store gives it back.

    Attributes:
        key: The request's key, 32 bytes.
        server: Digest of the fingerprint of the server that answered.
        asked_at: Microseconds since the epoch, UTC.
        response: The response.

    """

    key: bytes
    server: str
    asked_at: int
    response: Response


class Store:
    """The responses of one run. Use `Store.open`, and close it (or use it as a context manager).

    Not for more than one thread at a time.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        self._pending: set[bytes] = set()
        self._responses: list[tuple[Any, ...]] = []
        self._failures: list[tuple[Any, ...]] = []
        self._failed_in_session = False
        self._flushed_at = 0.0
        self._flush_due: asyncio.Handle | None = None
        self._server: int | None = None
        self._session: int | None = None
        self._servers: dict[int, str] = dict(self._rows("select id, digest from servers order by id"))

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open the store at `path`, or make an empty one.

        Raises:
            EccdataError: Where another process has it open, where the file is no store or damaged, and where
                a newer eccdata wrote it.

        """
        connection = store_file.connect(path)
        try:
            return cls(path, connection)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Write what is still pending and let go of the file."""
        try:
            self.flush()
        finally:
            self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- what the run is ---------------------------------------------------------------------------------

    def identity(self) -> dict[str, Json] | None:
        """What the run asks and whom, as it was when the run began; None in a new store."""
        value = self.meta("identity")
        return None if value is None else dict(value)

    def meta(self, name: str) -> Json:
        """A value kept beside the responses, None where there is none."""
        row = self._row("select value from meta where name = ?", (name,))
        return None if row is None else json.loads(row[0])

    def set_meta(self, name: str, value: Json) -> None:
        """Keep a JSON value beside the responses."""
        self._write("insert or replace into meta values (?, ?)", (name, json.dumps(value)))

    def servers(self) -> dict[str, Mapping[str, Json]]:
        """The fingerprints of all servers that the run has accepted, by digest, the first accepted first."""
        rows = self._rows("select digest, fingerprint from servers order by id")
        return {name: json.loads(fingerprint) for name, fingerprint in rows}

    def accept_server(self, fingerprint: Mapping[str, Json]) -> str:
        """Take answers from this server from now on; returns the fingerprint's digest."""
        name = digest(fingerprint)
        self._write(
            "insert or ignore into servers (digest, fingerprint, accepted_at) values (?, ?, ?)",
            (name, json.dumps(fingerprint), _now_us()),
        )
        ((self._server,),) = self._rows("select id from servers where digest = ?", (name,))
        self._servers[self._server] = name
        return name

    def begin_session(self) -> int:
        """Note that a process begins to ask; one that never ends its session was killed."""
        self._session = self._write("insert into sessions (started_at) values (?)", (_now_us(),))
        return self._session

    def end_session(self, outcome: str, facts: Mapping[str, Json]) -> None:
        """Note how this process's asking ended."""
        self.flush()
        self._write(
            "update sessions set ended_at = ?, outcome = ?, facts = ? where id = ?",
            (_now_us(), outcome, json.dumps(facts), self._session),
        )

    def sessions(self) -> list[dict[str, Json]]:
        """All sessions so far, with what each of them stored; `outcome` is `killed` where nothing was noted."""
        self.flush()
        rows = self._rows(
            "select id, started_at, ended_at, outcome, facts, "
            "(select count(*) from responses r where r.session = s.id), "
            "(select count(*) from failures f where f.session = s.id) from sessions s order by id"
        )
        return [
            {
                "started_at": started,
                "ended_at": ended,
                "outcome": outcome or ("running" if number == self._session else "killed"),
                "answers": answers,
                "failures": failures,
                **json.loads(facts),
            }
            for number, started, ended, outcome, facts, answers, failures in rows
        ]

    # -- writing -------------------------------------------------------------------------------------------

    def add(self, key: bytes, question_id: str, asked_at: int, response: Response) -> None:
        """Store one response, an answer or a failure.

        It is on disk when this returns, or, where the last commit was less than `TOGETHER_S` ago, that long after
        it. Without a running event loop it is always on disk when this returns.
        """
        head = (key, self._server, self._session, question_id, asked_at)
        if response.status.answered:
            self._pending.add(key)
            self._responses.append(
                (
                    *head,
                    response.status.value,
                    response.text,
                    response.reasoning,
                    response.finish_reason,
                    response.prompt_tokens,
                    response.completion_tokens,
                    response.reasoning_tokens,
                    response.cached_tokens,
                    response.image_tokens,
                    response.video_tokens,
                    response.token_limit,
                    response.probability,
                    response.latency_s,
                    response.attempts,
                    response.error,
                    _as_json(response.option_probabilities),
                    _as_json(response.details),
                )
            )
        else:
            self._failed_in_session = True
            self._failures.append(
                (
                    *head,
                    response.status.value,
                    response.finish_reason,
                    response.latency_s,
                    response.attempts,
                    response.error,
                )
            )
        passed_s = time.monotonic() - self._flushed_at
        if passed_s >= TOGETHER_S:
            self.flush()
        elif self._flush_due is None:
            try:
                self._flush_due = asyncio.get_running_loop().call_later(TOGETHER_S - passed_s, self.flush)
            except RuntimeError:
                self.flush()

    def flush(self) -> None:
        """Commit everything that is pending, as one transaction.

        Raises:
            EccdataError: Where it cannot be written (the disk is full, …); nothing of it is then stored.

        """
        if self._flush_due is not None:
            self._flush_due.cancel()
            self._flush_due = None
        if not (self._responses or self._failures):
            return
        try:
            self._db.execute("begin")
            if self._responses:
                self._db.executemany(_ADD_RESPONSE, self._responses)
            if self._failures:
                self._db.executemany(_ADD_FAILURE, self._failures)
            self._db.execute("commit")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("rollback")
            raise EccdataError(f"A response cannot be written to {self.path}: {error}.") from error
        finally:
            self._pending.clear()
            self._responses.clear()
            self._failures.clear()
            self._flushed_at = time.monotonic()

    # -- reading -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        self.flush()
        ((count,),) = self._rows("select count(*) from responses")
        return int(count)

    def failed(self, key: bytes) -> bool:
        """Whether asking under this key failed in this session."""
        if not self._failed_in_session:
            return False
        if self._failures:
            self.flush()
        found = self._row("select 1 from failures where key = ? and session = ?", (key, self._session))
        return found is not None

    def answer(self, key: bytes) -> Stored | None:
        """The answer under the key."""
        if key in self._pending:
            self.flush()
        row = self._row(_GET_RESPONSE, (key,))
        return None if row is None else self._stored(row)

    def answers(self, keys: Sequence[bytes]) -> dict[bytes, Stored]:
        """The answers under those of the keys that have one; at most some thousand keys."""
        if not self._pending.isdisjoint(keys):
            self.flush()
        marks = ", ".join("?" * len(keys))
        rows = self._rows(f"select {_COLUMNS} from responses where key in ({marks})", keys)  # noqa: S608
        return {row[0]: self._stored(row) for row in rows}

    def get(self, key: bytes) -> Stored | None:
        """The answer under the key; where there is none, the last failure; None where it was never asked."""
        stored = self.answer(key)
        if stored is not None:
            return stored
        if self._failures:
            self.flush()
        row = self._row(_GET_FAILURE, (key,))
        if row is None:
            return None
        found, server, asked_at, *values = row
        response = Response(**dict(zip(_FAILURE_FIELDS, (Status(values[0]), *values[1:]), strict=True)))
        return Stored(found, self._servers[server], asked_at, response)

    def __iter__(self) -> Iterator[Stored]:
        """All answers in the order of their keys."""
        self.flush()
        for row in self._rows(_ALL_RESPONSES):
            yield self._stored(row)

    def _stored(self, row: Sequence[Any]) -> Stored:
        key, server, asked_at, status, *values, option_probabilities, details = row
        values += [_from_json(option_probabilities), _from_json(details)]
        response = Response(_STATUS[status], *values)
        return Stored(key, self._servers[server], asked_at, response)

    def _row(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        return next(self._rows(sql, values), None)

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._db.execute(sql, values)
        except sqlite3.Error as error:
            raise store_file.explained(self.path, error) from error

    def _write(self, sql: str, values: Sequence[Any]) -> int:
        try:
            return self._db.execute(sql, values).lastrowid or 0
        except sqlite3.Error as error:
            raise EccdataError(f"{self.path} cannot be written: {error}.") from error

    # -- merging -------------------------------------------------------------------------------------------

    def merge(self, other: Path) -> int:
        """Take over the answers and failures of another store of the same run; returns how many answers were new.

        Raises:
            EccdataError: Where `other` is no store, is in use, or belongs to another run.

        """
        self.flush()
        if self._session is None:
            self.begin_session()
        with Store.open(other) as source:
            if source.identity() != self.identity():
                raise EccdataError(f"{other} holds another run than {self.path}: they cannot be merged.")
            before = len(self)
            servers = {
                number: self._id_of_server(source.servers()[name]) for number, name in source._servers.items()
            }
            for table, fields in (("responses", _RESPONSE_FIELDS), ("failures", _FAILURE_FIELDS)):
                columns = (*_HEAD, *fields)
                rows = source._db.execute(f"select {', '.join(columns)} from {table} order by id")  # noqa: S608
                add = _ADD_RESPONSE if table == "responses" else _ADD_FAILURE
                self._db.execute("begin")
                self._db.executemany(
                    add, ((key, servers[server], self._session, *rest) for key, server, _, *rest in rows)
                )
                self._db.execute("commit")
            return len(self) - before

    def _id_of_server(self, fingerprint: Mapping[str, Json]) -> int:
        current = self._server
        self.accept_server(fingerprint)
        found, self._server = self._server, current
        assert found is not None
        return found


_STATUS = {status.value: status for status in Status}
_COLUMNS = f"key, server, asked_at, {', '.join(_RESPONSE_FIELDS)}"
_GET_RESPONSE = f"select {_COLUMNS} from responses where key = ?"  # noqa: S608
_ALL_RESPONSES = f"select {_COLUMNS} from responses order by key"  # noqa: S608
_GET_FAILURE = (
    f"select key, server, asked_at, {', '.join(_FAILURE_FIELDS)} "  # noqa: S608
    "from failures where key = ? order by id desc limit 1"
)


def _now_us() -> int:
    return time.time_ns() // 1000
