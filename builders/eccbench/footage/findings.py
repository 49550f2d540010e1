"""What was found on the rows of `natural`, for the dataset card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import pyarrow as pa

from ..common import ANSWERS
from .collections import SOURCES, Collections
from .events import categories
from .plan import clips_of

YES = ANSWERS.str2int("yes")
Row = dict[str, Any]


def findings(tables: Iterable[pa.Table], wanted: Mapping[int, int], copies: Collections) -> str:
    """Say what the set is composed of, what it lacks, and how dense its clips are.

    Args:
        tables: The rows, a table a length.
        wanted: How many clips of each length were wanted of all sources together.
        copies: The user's copies.

    """
    rows = [row for table in tables for row in table.drop_columns(["annotation_ids"]).to_pylist()]
    of: dict[int, list[Row]] = {length: [] for length in wanted}
    for row in rows:
        of[row["length"]].append(row)
    parts = ["\n".join(_sources(copies)), "\n".join(_composition(of, wanted))]
    if lacking := list(_shortfall(of, wanted, copies)):
        parts.append("\n".join(["What the footage has no more of:", "", *(f"- {one}" for one in lacking)]))
    parts.append("\n".join(_categories(rows)))
    if rows and rows[0]["density_score"] is not None:
        parts.append("\n".join(_density(of)))
    return "\n\n".join(parts)


def _sources(copies: Collections) -> Iterator[str]:
    yield "Chosen from these annotations (SHA-256 over the files of each source):"
    yield ""
    for name, digest in copies.digests().items():
        source = SOURCES[name]
        yield f"- {source.title}, `{digest}`. {source.terms} {source.url}"
    for source in copies.left_out:
        yield f"- **Left out: {source.title}**, of which no copy was given (`--data-dir {source.name}=PATH`)."


def _composition(of: Mapping[int, Sequence[Row]], wanted: Mapping[int, int]) -> Iterator[str]:
    yield "| length | clips (wanted) | from EPIC / SoccerNet (wanted) | questions | yes | slowed | slowdown |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for length, rows in of.items():
        clips = _clips(rows)
        counts = Counter(clip["source"] for clip in clips)
        slowed = [clip["slowdown"] for clip in clips if clip["slowdown"] > 1 + 1e-9]
        yes = sum(row["answer"] == YES for row in rows)
        parts = [
            str(length),
            f"{len(clips)} ({wanted[length]})",
            f"{counts['epic']} / {counts['soccernet']} ({_share('epic', length, wanted)} / "
            f"{_share('soccernet', length, wanted)})",
            str(len(rows)),
            str(yes),
            str(len(slowed)),
            f"{min(slowed):.2f}–{max(slowed):.2f}" if slowed else "",
        ]
        yield f"| {' | '.join(parts)} |"


def _shortfall(
    of: Mapping[int, Sequence[Row]], wanted: Mapping[int, int], copies: Collections
) -> Iterator[str]:
    for length, rows in of.items():
        counts = Counter(clip["source"] for clip in _clips(rows))
        for name in copies.roots:
            short = _share(name, length, wanted) - counts[name]
            if short > 0:
                yield f"length {length}: {short} clips of {SOURCES[name].title}"


def _categories(rows: Sequence[Row]) -> Iterator[str]:
    lengths = list(dict.fromkeys(row["length"] for row in rows))
    counts = Counter((row["category"], row["length"]) for row in rows)
    yield "Questions of each category, half of them yes:"
    yield ""
    yield f"| | {' | '.join(map(str, lengths))} |"
    yield f"| --- |{' --- |' * len(lengths)}"
    for name in categories():
        yield f"| `{name}` | {' | '.join(str(counts[name, length]) for length in lengths)} |"


def _density(of: Mapping[int, Sequence[Row]]) -> Iterator[str]:
    yield "Density (low / high); a clip is of low density if its score is below the cutoff:"
    yield ""
    yield "| length | cutoff | clips | questions | mean distortion | yes-rate | encoder missed its target |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for length, rows in of.items():
        if not rows:
            continue
        bands = [[row for row in rows if row["density_band"] == band] for band in ("low", "high")]
        clips = [_clips(band) for band in bands]
        parts = [
            str(length),
            f"{rows[0]['density_cutoff']:.4f}",
            " / ".join(str(len(band)) for band in clips),
            " / ".join(str(len(band)) for band in bands),
            " / ".join(f"{fmean(c['density_score'] for c in band):.4f}" if band else "–" for band in clips),
            " / ".join(f"{fmean(r['answer'] == YES for r in band):.0%}" if band else "–" for band in bands),
            str(sum(clip["encoder_missed_target"] for clip in _clips(rows))),
        ]
        yield f"| {' | '.join(parts)} |"


def _clips(rows: Sequence[Row]) -> list[Row]:
    return list({row["clip_id"]: row for row in rows}.values())


def _share(source: str, length: int, wanted: Mapping[int, int]) -> int:
    return clips_of(source, length, wanted[length])
