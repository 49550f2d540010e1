"""Responses as a table: one Parquet row a question, scored from what the store holds."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eccdata.counts import Counts
from eccdata.evaluator import Evaluator, Row
from eccdata.keys import messages_digest, request_key
from eccdata.requests import Request, Response, stated_probability, token_count
from eccdata.store import Store, Stored
from eccdata.video.manifest import manifest_type

ROWS_PER_GROUP = 4096

GROUPS_AT_ONCE = 4
"""How many groups of rows may wait for one question that takes long."""

SCORED_TOGETHER = 128
"""Responses are scored so many at a time: one by one, between requests, the processor would have to fetch the code
for it each time anew, which costs as much again."""

OPTIONS = ("yes", "no", "abstain")
"""The meanings whose probabilities the results have, as `option_<meaning>`."""

_UNTOLD = (None,) * len(OPTIONS)

_IDENTITY = pa.schema(
    {
        "run_id": pa.string(),
        "benchmark": pa.string(),
        "config": pa.string(),
        "split": pa.string(),
        "protocol": pa.string(),
        "system": pa.string(),
        "model": pa.string(),
    }
)
_RESPONSE = pa.schema(
    {
        "status": pa.string(),
        "error": pa.string(),
        "attempts": pa.int32(),
        "finish_reason": pa.string(),
        "reply": pa.string(),
        "reasoning": pa.string(),
        "prompt_tokens": pa.int32(),
        "completion_tokens": pa.int32(),
        "reasoning_tokens": pa.int32(),
        "cached_tokens": pa.int32(),
        "token_limit": pa.int32(),
        "probability": pa.float64(),
        "option_yes": pa.float64(),
        "option_no": pa.float64(),
        "option_abstain": pa.float64(),
        "latency_s": pa.float64(),
        "asked_at": pa.timestamp("us", tz="UTC"),
        "server": pa.string(),
        "request_key": pa.string(),
    }
)


_SENT = pa.struct([("name", pa.string()), ("mime", pa.string()), ("sha256", pa.string()), *manifest_type()])
_CLIP = pa.struct(
    [("frames", pa.int32()), ("width", pa.int32()), ("height", pa.int32()), ("layout", pa.string())]
)
_MEDIA = pa.schema(
    {
        "frames_sent": pa.int32(),
        # what a clip costs follows from this, and it is read in a hundredth of the time that `media` takes
        "clips": pa.list_(_CLIP),
        "vision_tokens_expected": pa.int32(),
        "vision_tokens_reported": pa.int32(),
        "media": pa.list_(_SENT),
    }
)


NO_COLUMNS = pa.schema([])


def schema(evaluator: Evaluator | type[Evaluator], details: pa.Schema = NO_COLUMNS) -> pa.Schema:
    """The columns of a protocol's results: identity, the question, the response, the system's own, the verdict."""
    question = pa.schema({"question_id": pa.string(), **evaluator.carried})
    media = _MEDIA if evaluator.shows_media else NO_COLUMNS
    parts = (_IDENTITY, question, _RESPONSE, media, details, evaluator.schema)
    return pa.schema([field for part in parts for field in part])


class Results:
    """The results file of a run, written while the responses come in, in the order of the questions all the same.

    Rows may be put in any order. Those that cannot be written yet, because an earlier one is still out, wait; where
    more than `GROUPS_AT_ONCE` groups of `ROWS_PER_GROUP` rows would have to, the file is given up (`overflowed`) and
    has to be made from the store (`write`). The file appears with `finish`, whole; the same rows give the same bytes.
    """

    def __init__(
        self,
        path: Path,
        *,
        evaluator: Evaluator,
        identity: Mapping[str, str],
        details: pa.Schema = NO_COLUMNS,
    ) -> None:
        """Begin a file.

        Args:
            path: The Parquet file.
            evaluator: Reads the responses.
            identity: Values of the columns that are the same in every row.
            details: The columns that the system fills (`System.columns`).

        """
        self.counts = Counts()
        self.overflowed = False
        self._path = path
        self._evaluator = evaluator
        self._identity = identity
        self._carried = tuple(evaluator.carried)
        self._details = details.names
        self._verdict = evaluator.schema.names
        self._columns = schema(evaluator, details)
        self._prompts = hashlib.sha256()
        self._arrived: list[tuple[int, Row, Stored]] = []
        self._groups: dict[int, list[list[Any] | None]] = {}
        self._missing: Counter[int] = Counter()
        self._next = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not *.parquet: whoever reads the folder meanwhile sees the old file or the new one.
        self._unfinished = path.with_name(f".{path.name}.incomplete")
        self._writer = pq.ParquetWriter(self._unfinished, self._columns, compression="zstd")

    def question(self, messages: bytes) -> None:
        """Count a question by the digest of its messages; in order."""
        self.counts.questions += 1
        self._prompts.update(messages)

    def put(self, index: int, question: Row, stored: Stored) -> None:
        """Score the response to a question and give it the row with this index; each index once, none left out."""
        self._arrived.append((index, question, stored))
        if len(self._arrived) == SCORED_TOGETHER:
            self._score()

    def finish(self) -> Counts:
        """Write what is left and let the file appear."""
        self._score()
        for number in sorted(self._groups):
            rows = [row for row in self._groups[number] if row is not None]
            assert number == self._next, "a row was left out"
            assert len(rows) == ROWS_PER_GROUP - self._missing[number]
            self._write(rows)
            self._next += 1
        self._writer.close()
        self._unfinished.replace(self._path)
        self.counts.prompts = self._prompts.hexdigest()
        return self.counts

    def discard(self) -> None:
        """Leave no trace of an unfinished file."""
        self._writer.close()
        self._unfinished.unlink(missing_ok=True)

    def _score(self) -> None:
        for index, question, stored in self._arrived:
            number, slot = divmod(index, ROWS_PER_GROUP)
            group = self._groups.get(number)
            if group is None:
                group = self._groups[number] = [None] * ROWS_PER_GROUP
                self._missing[number] = ROWS_PER_GROUP
            group[slot] = self._row(question, stored)
            self._missing[number] -= 1
            if not self._missing[number]:
                self._write_complete()
        self._arrived.clear()

    def _write_complete(self) -> None:
        while self._next in self._groups and not self._missing[self._next]:
            self._write(self._groups.pop(self._next))
            del self._missing[self._next]
            self._next += 1
        if len(self._groups) > GROUPS_AT_ONCE:
            self.overflowed = True
            self._groups.clear()
            self._missing.clear()

    def _write(self, rows: Sequence[list[Any] | None]) -> None:
        if rows:
            table = _table(rows, self._columns, self._identity)
            self._writer.write_table(table)
            self.counts.add(table)

    def _row(self, question: Row, stored: Stored) -> list[Any]:
        response, evaluator = stored.response, self._evaluator
        answered = response.status.answered
        verdict = evaluator.columns(question, response)
        options = response.option_probabilities
        details = response.details or {}
        return [
            question["question_id"],
            *[question.get(name) for name in self._carried],
            response.status.value,
            response.error,
            response.attempts,
            response.finish_reason,
            response.text if answered else None,
            response.reasoning,
            # A system may state any number, and a store may hold what an earlier version let in.
            token_count(response.prompt_tokens),
            token_count(response.completion_tokens),
            token_count(response.reasoning_tokens),
            token_count(response.cached_tokens),
            token_count(response.token_limit),
            stated_probability(response.probability),
            *([stated_probability(options.get(meaning)) for meaning in OPTIONS] if options else _UNTOLD),
            response.latency_s,
            stored.asked_at,
            stored.server,
            stored.key.hex(),
            *(self._media(question, response) if evaluator.shows_media else ()),
            *([details.get(name) for name in self._details] if self._details else ()),
            *[verdict[name] for name in self._verdict],
        ]

    def _media(self, question: Row, response: Response) -> list[Any]:
        if response.details is not None and "media" in response.details:
            # what a system sent in place of the question's own clips
            question = {**question, **response.details}
        must = question.get("vision_tokens_expected")
        told = (token_count(response.image_tokens), token_count(response.video_tokens))
        got = None if told == (None, None) else token_count(sum(filter(None, told)))
        if response.status.answered and question.get("media") is not None:
            kind = (
                "unaudited"
                if must is None
                else "untold"
                if got is None
                else "right"
                if got == must
                else "wrong"
            )
            self.counts.vision_tokens[kind] += 1
        media = question.get("media")
        return [question.get("frames_sent"), media and [_clip(sent) for sent in media], must, got, media]


def _clip(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Of a clip as it was sent, its shape."""
    layout = "video" if sent["mime"].startswith("video/") else "frames"
    return {
        "frames": len(sent["indices"]),
        "width": sent["width"],
        "height": sent["height"],
        "layout": layout,
    }


def write(
    results: Results,
    questions: Iterator[tuple[Row, Request]],
    *,
    model: str,
    store: Store,
    servers: Sequence[str],
    report: Callable[[int], None],
) -> Counts:
    """Write all results anew from the store: a row for every question that has a response.

    Args:
        results: A file just begun.
        questions: Each question with its request, in the dataset's order.
        model: The model's name, as in the keys.
        store: Holds the responses.
        servers: Digests of the accepted fingerprints, the first accepted first.
        report: Called with the number of questions so far.

    """
    written = 0
    try:
        for question, request in questions:
            messages = messages_digest(request)
            results.question(messages)
            stored = _find(store, [request_key(request, messages, model, server) for server in servers])
            if stored is not None:
                results.put(written, question, stored)
                written += 1
            if results.counts.questions % ROWS_PER_GROUP == 0:
                report(results.counts.questions)
        counts = results.finish()
    except BaseException:
        results.discard()
        raise
    report(counts.questions)
    return counts


def _find(store: Store, keys: Sequence[bytes]) -> Stored | None:
    """The response that counts of those under several servers' keys: the first answer, else the latest failure."""
    failures = []
    for key in keys:
        stored = store.get(key)
        if stored is not None and stored.response.status.answered:
            return stored
        if stored is not None:
            failures.append(stored)
    return max(failures, key=lambda failure: failure.asked_at, default=None)


def _table(group: Sequence[list[Any] | None], columns: pa.Schema, identity: Mapping[str, str]) -> pa.Table:
    same = [pa.repeat(pa.scalar(identity[name], pa.string()), len(group)) for name in _IDENTITY.names]
    fields = list(columns)[len(same) :]
    values = zip(*group, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(values, fields, strict=True)]
    return pa.Table.from_arrays([*same, *arrays], schema=columns)
