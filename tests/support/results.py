"""Result folders as `eccdata evaluate` writes them, made from a few numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from eccdata import catalog, results
from eccdata.cards import FORMAT
from eccdata.settings import make

SCHEMA = pa.schema(
    {
        "run_id": pa.string(),
        "benchmark": pa.string(),
        "config": pa.string(),
        "split": pa.string(),
        "protocol": pa.string(),
        "system": pa.string(),
        "model": pa.string(),
        "question_id": pa.string(),
        "stream_id": pa.string(),
        "length": pa.int32(),
        "band": pa.string(),
        "lz_rate": pa.float64(),
        "negative_kind": pa.string(),
        "structure": pa.string(),
        "alphabet_size": pa.int32(),
        "position": pa.int32(),
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
        "arm": pa.string(),
        "answer": pa.string(),
        "prediction": pa.string(),
        "abstention": pa.string(),
        "correct": pa.bool_(),
        "payoff": pa.float64(),
        "commit_char": pa.int32(),
        "reply_chars": pa.int32(),
    }
)
PAYOFFS = {"a": {"r": 3.0, "w": -1.0, "-": 0.0}, "b": {"r": 1.0, "w": -4.0, "-": 0.0}}
OTHER = {"yes": "no", "no": "yes"}


def outcome(letter: str, arm: str, answer: str) -> dict[str, Any]:
    """Give the columns of one outcome.

    The letters: r right, w wrong, - explicit abstention, m no marker, o overflow, x failure.
    """
    abstention = {"-": "explicit", "m": "format", "o": "overflow"}.get(letter)
    prediction = {"r": answer, "w": OTHER[answer], "x": None}.get(letter, "abstain")
    earned = PAYOFFS[arm]["-" if abstention else letter] if arm in PAYOFFS and letter != "x" else None
    return {
        "status": {"x": "server_error", "o": "truncated"}.get(letter, "ok"),
        "prediction": prediction,
        "abstention": abstention,
        "correct": None if letter == "x" else letter == "r",
        "payoff": earned,
    }


def cell(
    outcomes: Iterable[str],
    *,
    length: int = 512,
    band: str | None = "low",
    structure: str | None = None,
    prefix: str = "text",
    answers: str = "ny",
    **columns: Any,
) -> list[dict[str, Any]]:
    """Make the questions of a cell: one string of letters a stream, one letter a question (see `outcome`).

    Args:
        outcomes: The streams.
        length: Of the streams.
        band: Of the streams, where they have one.
        structure: Of the streams, where they have one.
        prefix: What the streams' names begin with.
        answers: The true answers of a stream's questions, y or n, over and over.
        columns: Any others; a list has a value for each question of the cell, another value is the same for all.

    """
    rows: list[dict[str, Any]] = []
    group = band or structure
    for s, letters in enumerate(outcomes):
        stream = f"{prefix}-L{length:04d}-{group}-s{s:02d}"
        for q, letter in enumerate(letters):
            rows.append(
                {
                    "question_id": f"{stream}-q{q:02d}",
                    "stream_id": stream,
                    "length": length,
                    "band": band,
                    "structure": structure,
                    "answer": {"y": "yes", "n": "no"}[answers[q % len(answers)]],
                    "letter": letter,
                }
                | {
                    name: values[len(rows)] if isinstance(values, list) else values
                    for name, values in columns.items()
                }
            )
    return rows


def video_cell(
    outcomes: Iterable[str], *, variant: str, prefix: str | None = None, **options: Any
) -> list[dict[str, Any]]:
    """Make the questions of a cell of rendered streams; `options` as for `cell`."""
    return cell(outcomes, prefix=prefix or f"video-{variant}", variant=variant, **options)


def clip_cell(
    outcomes: Iterable[str], *, band: str, scores: list[float] | None = None, **options: Any
) -> list[dict[str, Any]]:
    """Make the questions of a cell of natural clips: one string of letters a clip, and a score of density for each."""
    outcomes = list(outcomes)
    rows = cell(outcomes, band=band, prefix="natural", **options)
    by_clip = dict(zip(dict.fromkeys(row["stream_id"] for row in rows), scores or [], strict=False))
    return [
        {name: value for name, value in row.items() if name not in ("stream_id", "band", "structure")}
        | {
            "clip_id": row["stream_id"],
            "density_band": band,
            "density_score": by_clip.get(row["stream_id"]),
        }
        for row in rows
    ]


def schema_of(protocol: str) -> pa.Schema:
    """Give the columns of the results of one of ECCBench's protocols."""
    return results.schema(make(catalog.evaluator("eccbench", protocol), {}))


def write_run(
    folder: Path,
    questions: list[dict[str, Any]],
    *,
    model: str = "model",
    arm: str = "none",
    config: str = "text",
    protocol: str = "membership",
    system: str = "sglang",
    dataset: str = "sha256:data",
    server: str = "server",
    options: Mapping[str, Any] | None = None,
    unasked: int = 0,
    parts: int = 1,
    card: bool = True,
    schema: pa.Schema | None = None,
) -> Path:
    """Write a run folder of these questions (from `cell` or its kin) and give it back.

    Where it is not given, the schema is that of the protocol and whatever other numbers the questions have, which are
    what a system adds of its own (`flops_write`, …).
    """
    if schema is None:
        schema = SCHEMA if protocol == "membership" else schema_of(protocol)
        known = {*schema.names, "letter"}
        schema = pa.schema(
            [
                *schema,
                *(
                    pa.field(name, pa.float64())
                    for name in dict.fromkeys(chain(*questions))
                    if name not in known
                ),
            ]
        )
    options = {"arm": arm, **(options or {})}
    identity = repr((dataset, config, model, system, server, sorted(options.items())))
    if protocol != "membership":
        identity += protocol
    run_id = hashlib.sha256(identity.encode()).hexdigest()[:12]
    constant = {
        "run_id": run_id,
        "benchmark": "eccbench",
        "config": config,
        "split": "test",
        "protocol": protocol,
        "system": system,
        "model": model,
        "arm": arm,
        "attempts": 1,
        "server": server,
        "asked_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    rows = [
        {
            **constant,
            **{k: v for k, v in q.items() if k != "letter"},
            **outcome(q["letter"], arm, q["answer"]),
        }
        for q in questions
    ]
    (folder / "responses").mkdir(parents=True)
    step = -(-len(rows) // parts)
    for part in range(parts):
        table = pa.Table.from_pylist(rows[part * step : (part + 1) * step], schema=schema)
        pq.write_table(table, folder / "responses" / f"part-{part:05d}.parquet", compression="zstd")
    if card:
        contents = {
            "format": FORMAT,
            "run_id": run_id,
            "dataset": {"digest": dataset, "config": config, "split": "test"},
            "protocol": {"benchmark": "eccbench", "name": protocol, "options": options},
            "system": {"name": system, "model": model},
            "outcome": {"questions": len(rows) + unasked, "unasked": unasked},
            "sessions": [{"started_at": 1_767_225_600_000_000}],
        }
        (folder / "card.json").write_bytes(orjson.dumps(contents))
    return folder
