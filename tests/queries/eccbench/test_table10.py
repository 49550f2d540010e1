"""Table 10 as it is printed: every row comes out of responses that have its numbers, and the numbers fit each other."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import hypergeom

from eccdata.analysis import tables
from eccdata.analysis.render import show
from support.results import cell, clip_cell, video_cell, write_run

FILE = files("eccdata.queries") / "eccbench" / "reference" / "table10.csv"
PRINTED = list(csv.DictReader(FILE.read_text("utf-8").splitlines()))
WITH_GAP = [row for row in PRINTED if row["gap"]]


def counts(share: str, of: int, scale: int, decimals: int) -> list[int]:
    """The counts whose share of `of` is printed so."""
    about = round(float(share) / scale * of)
    return [
        count
        for count in range(max(0, about - 1), min(of, about + 1) + 1)
        if f"{scale * count / of:.{decimals}f}" == share
    ]


def shown_p(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def splits(row: dict[str, str]) -> Iterator[tuple[int, ...]]:
    """All that arm A's answers can have been: n, answered by A, by B, right of A, of B, declined and right of these."""
    n = int(row["n"])
    for answered_a in counts(row["coverage_a"], n, 1, 3):
        for answered_b in counts(row["coverage_b"], n, 1, 3):
            for right_b in counts(row["accuracy_b"], answered_b, 100, 1)[:1]:
                for right_a in counts(row["accuracy_a"], answered_a, 100, 1):
                    for declined in range(answered_a + 1):
                        kept = answered_a - declined
                        if not 0 <= answered_b - kept <= n - answered_a:
                            continue
                        for declined_right in _declined_right(row, answered_a, right_a, declined):
                            yield n, answered_a, answered_b, right_a, right_b, declined, declined_right


def _declined_right(row: dict[str, str], answered_a: int, right_a: int, declined: int) -> Iterator[int]:
    kept = answered_a - declined
    if not row["gap"]:
        # fewer than five declined, or none kept
        if declined < 5:
            yield min(declined, right_a)
        return
    if declined < 5 or kept < 1:
        return
    about = (right_a / kept - float(row["gap"])) / (1 / kept + 1 / declined)
    for declined_right in range(max(0, int(about) - 1), min(declined, right_a, int(about) + 2) + 1):
        if right_a - declined_right > kept:
            continue
        gap = (right_a - declined_right) / kept - declined_right / declined
        # at least so many right ones among the kept
        p = hypergeom.sf(right_a - declined_right - 1, answered_a, right_a, kept)
        if f"{gap:+.3f}" == row["gap"] and shown_p(p) == row["gap_p"]:
            yield declined_right


@pytest.mark.parametrize("row", PRINTED, ids=lambda row: f"{row['label']} {row['lengths']}")
def test_a_row_fits_itself(row: dict[str, str]) -> None:
    """Coverage and accuracy are counts of n, and some split of arm A's answers has the gap and Fisher's p."""
    assert next(splits(row), None) is not None


def test_the_table_is_whole() -> None:
    assert len({(row["subset"], row["label"], row["lengths"]) for row in PRINTED}) == len(PRINTED) == 47
    assert Counter(row["subset"] for row in PRINTED) == {
        "synthetic text": 11,
        "synthetic video": 11,
        "natural video": 25,
    }
    assert len(WITH_GAP) == 21


def test_beside_the_text() -> None:
    """Section 4.3: no model abstains meaningfully more under B, and many abstain less."""
    drops = {(r["label"], r["lengths"]): float(r["coverage_a"]) - float(r["coverage_b"]) for r in PRINTED}
    assert max(drops.values()) == pytest.approx(0.059)
    assert sum(drop < 0 for drop in drops.values()) >= 12
    # in most rows that show one, the gap is positive
    assert sum(float(row["gap"]) > 0 for row in WITH_GAP) > 0.75 * len(WITH_GAP)


def test_rows_come_out_as_they_are_printed(tmp_path: Path) -> None:
    """Responses with these rows' counts, streams of sixteen questions, through the query and its formats."""
    chosen = [
        row
        for row in PRINTED
        if row["subset"] != "synthetic video" and (row["gap"] or row["lengths"] == "512")
    ]
    chosen += [
        row
        for row in PRINTED
        if row["subset"] == "synthetic video" and row["label"] in ("MIMO-VL", "Qwen3-VL")
    ]
    runs: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in chosen:
        for arm, letters in zip(("a", "b"), _replies(*next(splits(row))), strict=True):
            for config, questions in _questions(
                row, [letters[i : i + 16] for i in range(0, len(letters), 16)]
            ):
                runs[row["label"], config, arm] += questions
    for number, ((label, config, arm), questions) in enumerate(runs.items()):
        protocol = {"text": "membership", "natural": "natural"}.get(config, "membership-video")
        write_run(tmp_path / str(number), questions, arm=arm, model=label, config=config, protocol=protocol)
    (made,) = tables([tmp_path], names=["calibration"])
    formats = {column.name: column.format for column in made.header.columns}
    found = [
        {name: show(one[name], formats[name]).strip("–").replace("−", "-") for name in PRINTED[0]}
        for one in made.rows
    ]
    for row in chosen:
        assert row in found
    # and the table says so itself: p-values stand beside, without an interval to be held against
    beside = [
        (name, value.differs)
        for one, cells in zip(made.rows, made.prints, strict=True)
        for name, value in cells.items()
        if any(row["label"] == one["label"] and row["subset"] == one["subset"] for row in chosen)
    ]
    assert {differs for name, differs in beside if name != "gap_p"} == {False}
    assert {differs for name, differs in beside if name == "gap_p"} == {None}


def _replies(*split: int) -> tuple[str, str]:
    """Both arms' outcomes of such a split, question by question: kept, declined, answered by B alone, by neither."""
    n, answered_a, answered_b, right_a, right_b, declined, declined_right = split
    kept, kept_right = answered_a - declined, right_a - declined_right
    parts = ("r" * kept_right).ljust(kept, "w"), ("r" * declined_right).ljust(declined, "w")
    both, alone = min(right_b, kept), right_b - min(right_b, kept)
    other = ("r" * both).ljust(kept, "w"), "-" * declined, ("r" * alone).ljust(answered_b - kept, "w")
    return "".join(parts).ljust(n, "-"), "".join(other).ljust(n, "-")


def _questions(row: dict[str, str], streams: list[str]) -> list[tuple[str, list[dict[str, Any]]]]:
    if row["subset"] == "natural video":
        return [("natural", clip_cell(streams, band="low", length=int(row["lengths"])))]
    first, second = map(int, row["lengths"].split(", "))
    half = len(streams) // 2
    if row["subset"] == "synthetic text":
        return [("text", cell(streams[:half], length=first) + cell(streams[half:], length=second))]
    return [
        ("video-sequential", video_cell(streams[:half], variant="sequential", length=first)),
        ("video-spatial", video_cell(streams[half:], variant="spatial", length=second)),
    ]
