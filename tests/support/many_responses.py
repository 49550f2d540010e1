"""Results of any size, in the shape of the paper's, written at some hundred thousand responses a second."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from eccdata.flops.architectures import shipped
from support.results import schema_of, write_run

ARMS = ("none", "a", "b")
QUERIES = 16
CONFIGS = {
    "text": ("membership", (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096), ("low", "max")),
    "video-sequential": ("membership-video", (8, 16, 32, 64), ("low", "max")),
    "video-spatial": ("membership-video", (8, 16, 32, 64), ("low", "max")),
    "natural": ("natural", (8, 16, 64, 128, 512, 1024), ("low", "high")),
    "easyhuman-text": ("membership", (256, 1024), (None,)),
}
CELLS = sum(len(lengths) * len(bands) for _, lengths, bands in CONFIGS.values())
STRUCTURES = ("repeating-pattern", "counting-disruption")
SIZES = {"text": None, "easyhuman-text": None, "natural": (640, 360)}
WORD = {"low": "low", "max": "max", "high": "high", None: "human"}


def write_responses(folder: Path, responses: int, *, models: int = 40) -> int:
    """Write about `responses` responses of `models` models under three arms, on text, rendered and natural video.

    The first models are those that have a price, and one in four states probabilities. Each is right as often as its
    number says, more on low bands, abstains more under arm B, and one response in a thousand is a failure.

    Returns:
        How many there are.

    """
    streams = max(2, round(responses / (models * len(ARMS) * CELLS * QUERIES)))
    ids = [next(iter(each.checkpoints), each.name) for each in shipped()]
    names = [ids[i] if i < len(ids) else f"model-{i}" for i in range(models)]
    written = 0
    for config in CONFIGS:
        shared = _questions(config, streams)
        for (number, model), arm in product(enumerate(names), ARMS):
            written += _write(folder / f"{config}-{number}-{arm}", config, model, number, arm, shared)
    return written


def _questions(config: str, streams: int) -> Mapping[str, pa.Array]:
    """What all runs of a configuration ask, a value a question."""
    _, lengths, bands = CONFIGS[config]
    cells = [(length, band, s) for length, band in product(lengths, bands) for s in range(streams)]
    names = [f"{config}-L{length:04d}-{WORD[band]}-s{s:04d}" for length, band, s in cells]
    length = np.repeat(np.array([length for length, *_ in cells], np.int32), QUERIES)
    band = np.repeat([str(WORD[band]) for _, band, _ in cells], QUERIES)
    stream = np.repeat(names, QUERIES)
    turn = np.arange(len(stream)) % QUERIES
    columns: dict[str, Any] = {
        "question_id": [f"{name}-q{query:02d}" for name in names for query in range(QUERIES)],
        "length": length,
        "answer": np.where(turn % 2, "yes", "no"),
        "reply": [
            f"I went through the stream once more, place by place ({i}): {{{i % 2}}}" for i in turn * 7919
        ],
    }
    if config == "natural":
        density = np.where(band == "low", 0.03, 0.06)
        categories = np.array(["pour_water", "cut_nontomato", "red_card", "open_door"])[turn % 4]
        columns |= {"clip_id": stream, "density_band": band, "density_score": density, "category": categories}
    else:
        columns |= {"stream_id": stream}
    if config in ("text", "video-sequential", "video-spatial"):
        columns |= {"band": band}
    if config == "easyhuman-text":
        columns |= {"structure": np.array(STRUCTURES)[np.repeat([s % 2 for *_, s in cells], QUERIES)]}
    if config.startswith("video"):
        columns |= {"variant": np.repeat(config.removeprefix("video-"), len(stream))}
    if "text" not in config:
        width, height = SIZES.get(config) or (448, 448)
        clip = pa.StructArray.from_arrays(
            [
                pa.array(length),
                pa.repeat(pa.scalar(width, pa.int32()), len(length)),
                pa.repeat(pa.scalar(height, pa.int32()), len(length)),
                pa.repeat(pa.scalar("video"), len(length)),
            ],
            names=["frames", "width", "height", "layout"],
        )
        columns |= {
            "frames_sent": length,
            "clips": pa.ListArray.from_arrays(pa.array(np.arange(len(length) + 1, dtype=np.int32)), clip),
        }
    return {
        name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in columns.items()
    }


def _write(
    folder: Path, config: str, model: str, number: int, arm: str, shared: Mapping[str, pa.Array]
) -> int:
    protocol = CONFIGS[config][0]
    question = {"question_id": "", "answer": "yes", "letter": "r"}
    run = write_run(folder, [question], model=model, arm=arm, config=config, protocol=protocol)
    file = run / "responses" / "part-00000.parquet"
    one = pq.read_table(file)
    columns = {**shared, **_answers(config, number, arm, shared)}
    rows = len(shared["answer"])
    filled = [
        columns[field.name].cast(field.type)
        if field.name in columns
        else pa.repeat(one[field.name][0], rows)
        if field.name in one.column_names
        else pa.nulls(rows, field.type)
        for field in schema_of(protocol)
    ]
    table = pa.table(filled, schema=schema_of(protocol))
    pq.write_table(table, file, compression="zstd", compression_level=1, row_group_size=65_536)
    card = orjson.loads((run / "card.json").read_bytes())
    card["outcome"]["questions"] = rows
    (run / "card.json").write_bytes(orjson.dumps(card))
    return rows


def _answers(config: str, number: int, arm: str, shared: Mapping[str, pa.Array]) -> Mapping[str, pa.Array]:
    rng = np.random.default_rng([number, ARMS.index(arm), list(CONFIGS).index(config)])
    truth: NDArray[Any] = shared["answer"].to_numpy(zero_copy_only=False)
    rows = len(truth)
    length = shared["length"].to_numpy()
    band = shared.get("band", shared.get("density_band"))
    low = np.zeros(rows, bool) if band is None else band.to_numpy(zero_copy_only=False) == "low"
    # the questions of a stream succeed or fail together
    stream = np.repeat(rng.normal(0, 0.1, rows // QUERIES), QUERIES)
    chance = rng.random(rows)
    right = rng.random(rows) < 0.5 + 0.01 * number + 0.1 * low + stream
    abstains = chance < 0.05 + 0.1 * (arm == "b")
    failed = chance > 0.999
    correct = right & ~abstains
    other = np.where(truth == "yes", "no", "yes")
    paid = {"none": None, "a": (3, -1), "b": (1, -4)}[arm]
    kinds = np.array(["explicit", "format", "overflow"])[rng.integers(0, 3, rows)]
    confidence = np.clip(0.5 + 0.3 * right + rng.normal(0, 0.15, rows), 0.01, 0.99)
    yes = np.where(right == (truth == "yes"), confidence, 1 - confidence) * 0.9
    prompt = 60 + length * (4 if "text" in config else 110)
    columns: dict[str, Any] = {
        "prediction": pa.array(np.where(abstains, "abstain", np.where(right, truth, other)), mask=failed),
        "abstention": pa.array(kinds, mask=~abstains | failed),
        "correct": pa.array(correct, mask=failed),
        "status": np.where(failed, "server_error", "ok"),
        "prompt_tokens": prompt.astype(np.int32),
        "completion_tokens": rng.integers(3, 400, rows).astype(np.int32),
        "commit_char": pa.array(np.full(rows, 58, np.int32), mask=failed | abstains),
        "reply_chars": pa.array(np.full(rows, 60, np.int32), mask=failed),
        "option_yes": pa.array(yes, mask=failed),
        "option_no": pa.array(0.9 - yes, mask=failed),
        "option_abstain": pa.array(np.full(rows, 0.1), mask=failed),
        "probability": pa.array(yes / 0.9, mask=failed | np.full(rows, number % 4 > 0)),
        "latency_s": rng.random(rows),
    }
    if paid is not None:
        points = np.where(abstains, 0, np.where(right, *paid)).astype(float)
        columns["payoff"] = pa.array(points, mask=failed)
    return {
        name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in columns.items()
    }
