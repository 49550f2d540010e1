"""What the dataset card says of ECCBench's rows: how far one gets without a memory for order, or without any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from eccdata.streams.leakage import Leakage, candidate_only_accuracy

from .checks import YES, byte_lists

GRAMS = (1, 2, 3)
NEEDED = ("stream_id", "candidate", "answer", "negative_kind")
GROUPS = ("band", "structure")


@dataclass
class Bags:
    """How many questions of a group bags of k-grams answer right, by k."""

    positives: int = 0
    negatives: int = 0
    right: dict[int, int] = field(default_factory=lambda: dict.fromkeys(GRAMS, 0))

    def accuracy(self, k: int) -> float:
        """Mean of the accuracies on positives, which are all right, and on negatives."""
        return (1 + self.right[k] / self.negatives) / 2 if self.negatives else 1.0


def findings(tables: Iterable[pa.Table]) -> str:
    """Measure two readers on questions, and write Markdown.

    Args:
        tables: One row a question, or one row a sequence with its questions in `queries`.

    """
    bags: dict[tuple[int, str], Bags] = {}
    parts = []
    for table in tables:
        questions, streams = _flat(table)
        _count(bags, questions, streams)
        parts.append(questions.select([*NEEDED, _group(questions)]))
    if not parts:
        return ""
    together = pa.concat_tables(parts)
    return "\n".join([*_leaks(together), "", *_bags(bags)])


def leaks(tables: Iterable[pa.Table]) -> str:
    """Measure the reader who sees candidates and never a stream, and write Markdown."""
    return "\n".join(_leaks(pa.concat_tables([t.select([*NEEDED, _group(t)]) for t in tables])))


def _leaks(questions: pa.Table) -> Iterator[str]:
    streams = pc.count_distinct(questions["stream_id"]).as_py()
    groups = questions[_group(questions)]
    few = [g for g in pc.unique(groups).to_pylist() if _streams(questions, groups, g) < 2]
    for group in few:
        questions = questions.filter(pc.not_equal(questions[_group(questions)], group))
    if not questions.num_rows:
        yield f"With {streams} stream(s), what candidates alone give away cannot be measured."
        return
    yield (
        "A reader who sees candidates and never a stream (naive Bayes on a candidate's symbols, their differences and "
        "its pattern, fitted on other streams) answers:"
    )
    yield ""
    yield "| | negatives | questions | balanced accuracy |"
    yield "| --- | --- | --- | --- |"
    found: list[Leakage] = candidate_only_accuracy(questions)
    for leak in found:
        yield f"| `{leak.group}` | {leak.negative_kind} | {leak.questions:,} | {leak.accuracy:.3f} |"


def _bags(bags: dict[tuple[int, str], Bags]) -> Iterator[str]:
    yield (
        "A reader who knows which k-grams occurred, and nothing of their order, says yes when all of a candidate's "
        "k-grams occurred. Balanced accuracy:"
    )
    yield ""
    yield f"| length | | {' | '.join(f'k = {k}' for k in GRAMS)} |"
    yield f"| --- | --- | {' | '.join('---' for _ in GRAMS)} |"
    for (length, group), bag in bags.items():
        yield f"| {length} | `{group}` | {' | '.join(f'{bag.accuracy(k):.3f}' for k in GRAMS)} |"


def _count(bags: dict[tuple[int, str], Bags], questions: pa.Table, streams: list[bytes]) -> None:
    grams: dict[tuple[bytes, int], set[bytes]] = {}
    groups = questions[_group(questions)].to_pylist()
    for stream, candidate, answer, group in zip(
        streams, byte_lists(questions["candidate"]), questions["answer"].to_pylist(), groups, strict=True
    ):
        bag = bags.setdefault((len(stream), group), Bags())
        if answer == YES:
            bag.positives += 1
            continue
        bag.negatives += 1
        for k in GRAMS:
            if (stream, k) not in grams:
                grams[stream, k] = _grams(stream, k)
            bag.right[k] += not _grams(candidate, k) <= grams[stream, k]


def _grams(symbols: bytes, k: int) -> set[bytes]:
    return {symbols[at : at + k] for at in range(len(symbols) - k + 1)}


def _flat(table: pa.Table) -> tuple[pa.Table, list[bytes]]:
    """Questions one a row, and the stream of each."""
    streams = byte_lists(table["stream"])
    if "queries" not in table.column_names:
        return table, streams
    owners = pc.list_parent_indices(table["queries"].combine_chunks())
    structs = pc.list_flatten(table["queries"])
    columns = {name: pc.struct_field(structs, name) for name in ("candidate", "answer", "negative_kind")}
    columns |= {name: table[name].take(owners) for name in ("stream_id", _group(table))}
    return pa.table(columns), [streams[owner] for owner in owners.to_pylist()]


def _group(table: pa.Table) -> str:
    return next(name for name in GROUPS if name in table.column_names)


def _streams(questions: pa.Table, groups: pa.ChunkedArray, group: str) -> int:
    return int(pc.count_distinct(questions.filter(pc.equal(groups, group))["stream_id"]).as_py())
