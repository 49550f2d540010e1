"""Results that have something for every table: each configuration under each arm, made up and priced."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from support.results import cell, clip_cell, video_cell, write_run
from support.retrieved import costs, write_retrieval

MODEL = "Qwen3-VL (8B)"
STRUCTURES = ("repeating-pattern", "counting-disruption")
VARIANTS = ("sequential", "spatial")
SMALL = (("backbone", "RetNet, D=64"), ("bag", "bag(k=1)"), ("bag", "bag(k=2)"))
# three streams of four questions in the regular band, three in the other
LOW, HIGH = ["rrrw", "rr-w", "rrrr"], ["rrww", "w-ww", "rwrw"]


def write_study(folder: Path, model: str = MODEL) -> Path:
    """Write the runs of one model, of retrieval that lets it answer, and of small memories, and give `folder` back."""
    for arm in ("none", "a", "b"):
        for config, protocol, questions in _configurations():
            for place, question in enumerate(questions):
                question["flops_write"], question["flops_read"] = 1e12 * question["length"], 1e9 * (place % 7)
            write_run(
                folder / f"{config}-{arm}", questions, model=model, arm=arm, config=config, protocol=protocol
            )
    searched = clip_cell(LOW, band="low", length=64, scores=[0.03] * len(LOW), **costs(430, 0.6, 18))
    write_retrieval(folder / "retrieval", searched, answerer=model, protocol="natural", config="natural")
    for system, memory in SMALL:
        tokens = [
            question
            for band, streams in (("low", LOW), ("max", HIGH))
            for question in cell(
                streams,
                length=2048,
                band=band,
                prefix="tokens",
                flops_write=8e8,
                flops_read=2e6,
                **_sure(streams),
            )
        ]
        write_run(folder / memory, tokens, model=memory, system=system, config="tokens")
    return folder


def _sure(streams: list[str]) -> dict[str, Any]:
    """P(yes) of each question, low where the answer is no and high where it is yes, some surer than others."""
    places = range(sum(map(len, streams)))
    return {"probability": [(0.1, 0.8, 0.3, 0.6, 0.2, 0.9)[place % 6] for place in places]}


def _configurations() -> list[tuple[str, str, list[dict[str, Any]]]]:
    text = [
        question
        for length, (band, streams) in product((8, 512, 1024), (("low", LOW), ("max", HIGH)))
        for question in cell(streams, length=length, band=band, **_sure(streams))
    ]
    human = [
        question
        for length, structure in product((256, 1024), STRUCTURES)
        for question in cell(LOW, length=length, band=None, structure=structure)
    ]
    human_video = [
        question
        for structure in STRUCTURES
        for question in cell(
            LOW, length=256, band=None, structure=structure, variant=[*VARIANTS, *VARIANTS] * len(LOW)
        )
    ]
    natural = [
        question
        for length, (band, streams, score) in product(
            (64, 128, 512, 1024), (("low", LOW, 0.03), ("high", HIGH, 0.06))
        )
        for question in clip_cell(streams, length=length, band=band, scores=[score] * len(streams))
    ]
    shown = {
        variant: [
            question
            for length, (band, streams) in product((8, 16, 64), (("low", LOW), ("max", HIGH)))
            for question in video_cell(streams, length=length, band=band, variant=variant)
        ]
        for variant in VARIANTS
    }
    return [
        ("text", "membership", text),
        ("easyhuman-text", "membership", human),
        ("easyhuman-video", "membership-video", human_video),
        *((f"video-{variant}", "membership-video", questions) for variant, questions in shown.items()),
        ("natural", "natural", natural),
    ]
