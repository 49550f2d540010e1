"""The browser of single responses: what of them goes into a page, and how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from eccdata.errors import EccdataError
from eccdata.progress import Progress, silent
from eccdata.reporting.overview import scaled
from eccdata.reporting.questions import Question, Questions
from eccdata.reporting.sampling import FACTS, TOLD, Sample, commitment, shorten

TEXT_BYTES = 8 * 2**20
"""What single responses and their questions may take of a page, without pictures."""
PICTURE_BYTES = 12 * 2**20
MOST_PICTURES = 150
DIGESTS = ("server", "request_key")


@dataclass(frozen=True, slots=True)
class Browser:
    """What the page's browser shows, as data.

    Attributes:
        data: Responses, the questions that they answer, and the streams that these ask about.
        notes: What a reader has to know: how the responses were chosen, what could not be shown and why.

    """

    data: Mapping[str, Any]
    notes: tuple[str, ...]


def browser(sample: Sample, questions: Questions, *, per_cell: int, progress: Progress = silent) -> Browser:
    """Put together what the page shows of single responses, within the limits of this module."""
    found = questions.find((row["run"], row["question_id"]) for row in sample.rows)
    responses: list[dict[str, Any]] = []
    asked: dict[tuple[str, str], int] = {}
    streams: dict[tuple[str, ...], int] = {}
    described: list[dict[str, Any]] = []
    size = 0
    for row in sample.rows:
        key = questions.dataset(row["run"]), row["question_id"]
        entry = _response(row)
        addition = len(orjson.dumps(entry, default=str))
        question = found.get(key)
        if question is not None and key not in asked:
            addition += sum(map(len, question.stream)) + 2 * len(question.stream) + 600
        if size + addition > TEXT_BYTES:
            break
        size += addition
        if question is not None:
            if key not in asked:
                asked[key] = len(described)
                described.append(_question(question, streams))
            entry["question"] = asked[key]
        responses.append(entry)
    drawn, without, broken = _draw(
        sample.rows[: len(responses)], questions, found, asked, described, progress
    )
    notes = [
        f"{len(responses):,} of {sample.responses:,} responses are here: up to {per_cell} of each of the "
        f"{sample.cells:,} cells of the runs, taken in turn from each kind of outcome that a cell has, so that what is "
        "rare is here too. They are not a random sample: count nothing from them. The same question is taken for "
        "every run where it can be."
    ]
    if len(responses) < len(sample.rows):
        notes.append(
            f"{len(sample.rows) - len(responses):,} more that were chosen do not fit into the page's "
            f"{TEXT_BYTES // 2**20} MB for them."
        )
    if without:
        notes.append(
            f"{drawn} of {drawn + without} questions about videos have a picture; more do not fit into the page's "
            f"{PICTURE_BYTES // 2**20} MB for them. `eccdata show` draws any."
        )
    data = {
        "responses": responses,
        "questions": described,
        "streams": [" ".join(places) for places in streams],
    }
    return Browser(data, (*notes, *questions.notes, *broken))


def _response(row: Mapping[str, Any]) -> dict[str, Any]:
    reply = row.get("reply") or ""
    pieces = shorten(reply, commitment(reply, row.get("commit_char")))
    return {
        "run": row["run"],
        "model": row["label"],
        "id": row["question_id"],
        "verdict": row["verdict"],
        "cell": {name: value for name, value in row["cell"].items() if value is not None},
        "answer": row.get("answer"),
        "prediction": row.get("prediction"),
        "abstention": row.get("abstention"),
        "reply": pieces,
        "reasoning": _short(row.get("reasoning")),
        "error": _short(row.get("error")),
        "facts": [[name.replace("_", " "), text] for name, text in _facts(row)],
    }


def _short(text: str | None) -> str | None:
    return "".join(piece for piece, _ in shorten(text, None)) if text else None


def _facts(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    told = []
    for name in (*FACTS, *(name for name in row if name not in FACTS and name not in TOLD)):
        value = row.get(name)
        if value is None:
            continue
        if name.startswith("flops"):
            text = scaled(value, "FLOPs")
        elif name == "latency_s":
            text = f"{value:.3g} s"
        elif isinstance(value, float):
            text = f"{value:.4g}"
        else:
            text = str(value)
        told.append((name.removesuffix("_s") if name == "latency_s" else name, text))
    return told


def _question(question: Question, streams: dict[tuple[str, ...], int]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "asked": question.asked,
        "answer": question.answer,
        "because": question.because,
    }
    if question.stream:
        told |= {
            "stream": streams.setdefault(question.stream, len(streams)),
            "candidate": " ".join(question.candidate),
            "marked": [question.marked.start, question.marked.stop],
            "matches": question.matches,
            "wrong": list(question.wrong),
        }
    return told


def _draw(
    rows: Sequence[Mapping[str, Any]],
    questions: Questions,
    found: Mapping[tuple[str, str], Question],
    asked: Mapping[tuple[str, str], int],
    described: Sequence[dict[str, Any]],
    progress: Progress,
) -> tuple[int, int, list[str]]:
    """Add pictures to questions about videos as long as there is room; give how many have one and how many not."""
    runs = {(questions.dataset(row["run"]), row["question_id"]): row["run"] for row in rows}
    size = drawn = without = 0
    broken: list[str] = []
    for done, (key, place) in enumerate(asked.items()):
        question = found[key]
        if not question.has_picture:
            continue
        if size >= PICTURE_BYTES or drawn >= MOST_PICTURES:
            without += 1
            continue
        progress(done, len(asked), "pictures of questions")
        try:
            url = questions.picture(question, runs[key])
        except EccdataError as error:
            broken.append(f"{key[1]} has no picture: {error}")
            continue
        if url is None:
            broken.append(f"{key[1]} has no picture: its clip is not where its run found it.")
        elif size + len(url) > PICTURE_BYTES:
            without += 1
        else:
            described[place]["picture"] = url
            size += len(url)
            drawn += 1
    if len(broken) > 3:
        broken = [*broken[:3], f"{len(broken) - 3} more have none for such reasons."]
    return drawn, without, broken
