"""The report's colours: each has a name for what it stands for, and a value for light and for dark.

All text on its paper has a contrast of 4.5 at least, and everything else that is drawn of 3 (WCAG 2.2, 1.4.3 and
1.4.11). No colour tells anything alone: bands differ in their dashes, arms and models in their shapes as well.
"""

from __future__ import annotations

from typing import Literal

Scheme = Literal["light", "dark"]

COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#14171c"),
    "raised": ("#f4f6f8", "#1d222a"),
    "ink": ("#1a1d21", "#e9ecf0"),
    "muted": ("#56606b", "#a5b0bd"),
    "line": ("#d5dae0", "#38404b"),
    "edge": ("#7b8794", "#76828f"),
    "accent": ("#1857b6", "#86b6ff"),
    "good": ("#0a6b45", "#5fd39f"),
    "bad": ("#b3261e", "#ff9a90"),
    "warn": ("#8a4b00", "#f5b461"),
    "low": ("#1f62c4", "#79aefb"),
    "max": ("#c2570c", "#fb9d57"),
    "arm-none": ("#5b6570", "#a9b4c0"),
    "arm-a": ("#0f766e", "#4cc9bd"),
    "arm-b": ("#9d2a7c", "#ee8fd0"),
    "series-1": ("#1f62c4", "#79aefb"),
    "series-2": ("#c2570c", "#fb9d57"),
    "series-3": ("#0f766e", "#4cc9bd"),
    "series-4": ("#9d2a7c", "#ee8fd0"),
    "series-5": ("#6b5b00", "#d6c34a"),
    "series-6": ("#5b4bc4", "#b3a6ff"),
    "series-7": ("#b3261e", "#ff9a90"),
    "series-8": ("#5b6570", "#a9b4c0"),
    "series-9": ("#8b5a2b", "#d2a679"),
    "series-10": ("#4d7c0f", "#a3d65c"),
    "series-11": ("#0e7490", "#67d3ee"),
    "series-12": ("#be185d", "#f9a8d4"),
    "series-13": ("#1a1d21", "#e9ecf0"),
    "series-14": ("#7f1d1d", "#fca5a5"),
}

RANGES: dict[str, tuple[str, ...]] = {
    "bands": ("low", "max"),
    "arms": ("arm-a", "arm-b"),
    "arms-and-none": ("arm-none", "arm-a", "arm-b"),
    "parts": ("good", "warn"),
    "category": tuple(f"series-{number}" for number in range(1, 9)),
    "many": tuple(f"series-{number}" for number in range(1, 15)),
}
"""What a chart's scale can name as its `range`: the low and the max band; arm A and arm B, or no arm, A and B; two
parts, of which the first is the better; and series that are nothing of these, `many` where there are more than eight:
up to fourteen, which colour alone does not tell apart."""


def colours(scheme: Scheme) -> dict[str, str]:
    """Every colour's value in one scheme."""
    return {name: pair[scheme == "dark"] for name, pair in COLOURS.items()}


def css_rule() -> str:
    """A rule that makes the colours custom properties, each with both of its values."""
    values = "".join(f"--{name}:light-dark({light},{dark});" for name, (light, dark) in COLOURS.items())
    return f":root{{{values}}}"


def variables() -> dict[str, str]:
    """Every colour as a reference to its custom property, for charts that are to follow the page."""
    return {name: f"var(--{name})" for name in COLOURS}
