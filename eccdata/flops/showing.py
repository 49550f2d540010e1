"""Prices to look at: what has one, and what one is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from eccdata.analysis.render import show
from eccdata.flops import formulas
from eccdata.flops.architectures import Architecture
from eccdata.flops.pricing import Price

TERMS = (
    ("vision", "vision tower"),
    ("connector", "connector"),
    ("prefill", "prefill"),
    ("decode", "decode"),
)
"""The terms of a price, and what to call them."""
COEFFICIENTS = ("b_flops_per_token", "a_flops_per_pair", "f_voc_flops_per_projection")
SUMS = ("write", "read", "total", "per_query")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a price is asked for.

    Attributes:
        clips: Frames, width and height of each clip; no width and height where they do not matter.
        prompt_tokens: Tokens of text.
        answer_tokens: Tokens until the reply commits itself.
        queries: Questions that share what is written.

    """

    clips: tuple[tuple[int, tuple[int, int] | None], ...]
    prompt_tokens: int
    answer_tokens: float
    queries: int

    def __str__(self) -> str:
        """In words."""
        shown = [
            f"{frames} frames" + (f" of {size[0]}×{size[1]}" if size else "") for frames, size in self.clips
        ]
        parts = [
            *shown,
            f"{self.prompt_tokens} tokens of text",
            f"an answer of {self.answer_tokens:g} tokens",
        ]
        questions = "one question" if self.queries == 1 else f"{self.queries} questions"
        return f"{', '.join(parts)}; {questions} a stream"


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A price, term by term, for a terminal."""

    architecture: Architecture
    asked: Asked
    price: Price

    def to_dict(self) -> dict[str, Any]:
        """As plain values, each with its unit in its name.

        `prompt_tokens`, `answer_tokens`, `context_tokens` (N) and `vision_tokens` are tokens; `frame_size_px` is width
        and height in pixels; `flops_…` are FLOPs of all the questions together, but `flops_per_query` of one of them.
        """
        cost = self.price
        return {
            "model": self.architecture.name,
            "clips": [
                {"frames": frames, "frame_size_px": list(size) if size else None}
                for frames, size in self.asked.clips
            ],
            "prompt_tokens": self.asked.prompt_tokens,
            "answer_tokens": self.asked.answer_tokens,
            "queries": self.asked.queries,
            "context_tokens": cost.context,
            "vision_tokens": cost.vision_tokens,
            **{f"flops_{term}": getattr(cost, term) for term in (*(term for term, _ in TERMS), *SUMS)},
        }

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay it out."""
        cost = self.price
        yield Text(f"{self.architecture.name}: {self.asked}")
        limit = self.architecture.context
        over = f", more than the {limit:,} that it was trained on" if limit and cost.context > limit else ""
        yield Text(f"reads N = {cost.context:,.0f} tokens, {cost.vision_tokens:,.0f} of vision{over}")
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for heading in ("", "FLOPs", "share"):
            table.add_column(heading, justify="right" if heading else "left")
        rows = [(name, getattr(cost, term)) for term, name in TERMS]
        rows += [("writing", cost.write), ("reading", cost.read), ("total", cost.total)]
        if self.asked.queries > 1:
            rows.append(("per question", cost.per_query))
        for name, flops in rows:
            if name == "writing":
                table.add_section()
            share = f"{100 * flops / cost.total:.1f} %" if name != "per question" else ""
            table.add_row(name, show(flops, "flops"), share, style="bold" if name == "total" else None)
        yield table


@dataclass(frozen=True, slots=True)
class Priced:
    """All models that have a price, for a terminal."""

    architectures: tuple[Architecture, ...]
    file: Path

    def to_list(self) -> list[dict[str, Any]]:
        """As plain values, each with its unit in its name.

        `b_flops_per_token`, `a_flops_per_pair` (of query and key) and `f_voc_flops_per_projection` (to the vocabulary)
        are Table 2's prices, with an image present; `context_tokens` is null where it is not known.
        """
        return [
            {
                "model": each.name,
                "names": [*each.names, *each.checkpoints],
                **dict(zip(COEFFICIENTS, formulas.body(each.language), strict=True)),
                "context_tokens": each.context,
                "config_sha256": each.source.sha256 if each.source else None,
            }
            for each in self.architectures
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay them out."""
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for heading in ("model", "B a token", "A a pair", "F_voc", "context"):
            table.add_column(heading, justify="left" if heading == "model" else "right")
        for each in self.architectures:
            b, a, f_voc = (show(flops, "flops") for flops in formulas.body(each.language))
            table.add_row(each.name, b, a, f_voc, f"{each.context:,}" if each.context else "–")
        yield table
        state = "your own declarations" if self.file.exists() else "not there yet"
        yield Text(f"Another model: eccdata flops add CHECKPOINT, into {self.file} ({state}).", style="dim")


def size_of(sizes: Sequence[tuple[int, int]], place: int) -> tuple[int, int] | None:
    """The size of a clip's frames: its own where one was given for each clip, or the one that was given for all."""
    if not sizes:
        return None
    return sizes[place] if len(sizes) > 1 else sizes[0]
