"""Responses as a table: one Parquet row a question, scored from what the store holds."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eccdata.evaluator import Evaluator, Row
from eccdata.keys import messages_digest, request_key
from eccdata.requests import Request, Status
from eccdata.store import Store, Stored

ROWS_PER_GROUP = 4096

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
        "latency_s": pa.float64(),
        "asked_at": pa.timestamp("us", tz="UTC"),
        "server": pa.string(),
        "request_key": pa.string(),
    }
)


def schema(evaluator: Evaluator) -> pa.Schema:
    """The columns of a protocol's results: identity, the question, the response, the verdict."""
    question = pa.schema({"question_id": pa.string(), **evaluator.carried})
    return pa.schema([field for part in (_IDENTITY, question, _RESPONSE, evaluator.schema) for field in part])


@dataclass
class Counts:
    """What stands in the results.

    Attributes:
        questions: Questions that the run is to ask.
        written: Questions that have a row: answered or failed.
        status: Rows by status.
        abstention: Answered rows by kind of abstention, where the protocol tells kinds apart.
        cut_below_limit: Replies that the server cut although the token limit in force was not reached, as SGLang
            does when its memory for tokens is full.
        tokens: Sums over the rows, by column.
        servers: Rows by the digest of the server's fingerprint.
        prompts: SHA-256, in hex, over the digests of all questions' messages, in order.

    """

    questions: int = 0
    written: int = 0
    status: Counter[str] = field(default_factory=Counter)
    abstention: Counter[str] = field(default_factory=Counter)
    cut_below_limit: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    servers: Counter[str] = field(default_factory=Counter)
    prompts: str = ""

    @property
    def answered(self) -> int:
        """Rows that hold an answer."""
        return sum(count for status, count in self.status.items() if Status(status).answered)

    @property
    def failed(self) -> int:
        """Rows that hold a failure."""
        return self.written - self.answered


def write(
    path: Path,
    questions: Iterator[tuple[Row, Request]],
    *,
    evaluator: Evaluator,
    identity: Mapping[str, str],
    model: str,
    store: Store,
    servers: Sequence[str],
    report: Callable[[int], None],
) -> Counts:
    """Score every question that has a response and write the rows to `path`, which is replaced as a whole.

    The same store gives the same bytes. Memory holds `ROWS_PER_GROUP` rows at a time.

    Args:
        path: The Parquet file.
        questions: Each question with its request, in the dataset's order.
        evaluator: Reads the responses.
        identity: Values of the columns that are the same in every row.
        model: The model's name, as in the keys.
        store: Holds the responses.
        servers: Digests of the accepted fingerprints, the first accepted first: where several have answered a
            question, the first one's answer counts.
        report: Called with the number of questions so far, once a row group.

    """
    columns = schema(evaluator)
    counts = Counts()
    prompts = hashlib.sha256()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not *.parquet: whoever reads the folder meanwhile sees the old file or the new one.
    unfinished = path.with_name(f".{path.name}.incomplete")
    try:
        with pq.ParquetWriter(unfinished, columns, compression="zstd") as writer:
            group: list[list[Any]] = []
            for question, request in questions:
                messages = messages_digest(request)
                prompts.update(messages)
                counts.questions += 1
                stored = _find(store, request, messages, model, servers)
                if stored is not None:
                    group.append(_row(question, request, stored, evaluator, counts))
                if len(group) == ROWS_PER_GROUP:
                    writer.write_table(_table(group, columns, identity))
                    group.clear()
                    report(counts.questions)
            if group:
                writer.write_table(_table(group, columns, identity))
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    report(counts.questions)
    counts.prompts = prompts.hexdigest()
    return counts


def _find(
    store: Store, request: Request, messages: bytes, model: str, servers: Sequence[str]
) -> Stored | None:
    failure = None
    for server in servers:
        stored = store.get(request_key(request, messages, model, server))
        if stored is not None and stored.response.status.answered:
            return stored
        failure = stored or failure
    return failure


def _row(question: Row, request: Request, stored: Stored, evaluator: Evaluator, counts: Counts) -> list[Any]:
    response = stored.response
    answered = response.status.answered
    verdict = evaluator.columns(question, response)
    counts.written += 1
    counts.status[response.status.value] += 1
    counts.servers[stored.server] += 1
    if answered and verdict.get("abstention") is not None:
        counts.abstention[verdict["abstention"]] += 1
    for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens"):
        counts.tokens[name] += getattr(response, name) or 0
    if response.status is Status.TRUNCATED and None not in (response.completion_tokens, response.token_limit):
        counts.cut_below_limit += response.completion_tokens < response.token_limit  # type: ignore[operator]
    return [
        request.question_id,
        *[question.get(name) for name in evaluator.carried],
        response.status.value,
        response.error,
        response.attempts,
        response.finish_reason,
        response.text if answered else None,
        response.reasoning,
        response.prompt_tokens,
        response.completion_tokens,
        response.reasoning_tokens,
        response.cached_tokens,
        response.token_limit,
        response.probability,
        response.latency_s,
        stored.asked_at,
        stored.server,
        stored.key.hex(),
        *[verdict[name] for name in evaluator.schema.names],
    ]


def _table(group: list[list[Any]], columns: pa.Schema, identity: Mapping[str, str]) -> pa.Table:
    same = [pa.repeat(pa.scalar(identity[name], pa.string()), len(group)) for name in _IDENTITY.names]
    fields = list(columns)[len(same) :]
    values = zip(*group, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(values, fields, strict=True)]
    return pa.Table.from_arrays([*same, *arrays], schema=columns)
