"""Result folders as `eccdata evaluate` writes them, made from a few numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from eccdata.cards import FORMAT

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
    outcomes: Iterable[str], *, length: int = 512, band: str | None = "low", structure: str | None = None
) -> list[dict[str, Any]]:
    """Make the questions of a cell: one string of letters a stream, one letter a question (see `outcome`)."""
    rows = []
    group = band or structure
    for s, letters in enumerate(outcomes):
        stream = f"text-L{length:04d}-{group}-s{s:02d}"
        for q, letter in enumerate(letters):
            rows.append(
                {
                    "question_id": f"{stream}-q{q:02d}",
                    "stream_id": stream,
                    "length": length,
                    "band": band,
                    "structure": structure,
                    "answer": "yes" if q % 2 else "no",
                    "letter": letter,
                }
            )
    return rows


def write_run(
    folder: Path,
    questions: list[dict[str, Any]],
    *,
    model: str = "model",
    arm: str = "none",
    config: str = "text",
    system: str = "sglang",
    dataset: str = "sha256:data",
    server: str = "server",
    options: Mapping[str, Any] | None = None,
    unasked: int = 0,
    parts: int = 1,
    card: bool = True,
    schema: pa.Schema = SCHEMA,
) -> Path:
    """Write a run folder of these questions (from `cell`) and give it back."""
    options = {"arm": arm, **(options or {})}
    identity = repr((dataset, config, model, system, server, sorted(options.items())))
    run_id = hashlib.sha256(identity.encode()).hexdigest()[:12]
    constant = {
        "run_id": run_id,
        "benchmark": "eccbench",
        "config": config,
        "split": "test",
        "protocol": "membership",
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
            "protocol": {"benchmark": "eccbench", "name": "membership", "options": options},
            "system": {"name": system, "model": model},
            "outcome": {"questions": len(rows) + unasked, "unasked": unasked},
            "sessions": [{"started_at": 1_767_225_600_000_000}],
        }
        (folder / "card.json").write_bytes(orjson.dumps(contents))
    return folder
