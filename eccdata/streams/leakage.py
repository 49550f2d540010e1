"""How far a reader without a memory gets: one who sees a candidate, and never the stream.

Where negatives do not look like the stream, such a reader does better than chance, and that part of an accuracy is
no memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eccdata.errors import problem
from eccdata.streams.negatives import equality_patterns

NEEDED = ("stream_id", "candidate", "answer", "negative_kind")
GROUPS = ("band", "structure")
_SMOOTHING = 0.5


@dataclass(frozen=True, slots=True)
class Leakage:
    """What candidates alone give away.

    Attributes:
        group: The band, or EasyHuman's structure.
        negative_kind: How the negatives were drawn; where a group has several kinds, a further entry has them all,
            joined by `+`.
        questions: How many positives and negatives it is measured on.
        accuracy: Mean of the accuracies on positives and on negatives; chance is 0.5.

    """

    group: str
    negative_kind: str
    questions: int
    accuracy: float


def candidate_only_accuracy(table: pa.Table, *, folds: int = 10) -> list[Leakage]:
    """Measure the accuracy of a reader who sees candidates alone, by band (or structure) and kind of negative.

    The reader is a naive Bayes classifier on what a candidate shows by itself: its length and which of its symbols
    are the same; which symbols these are; by how much each differs from the one before. It is fitted on nine tenths
    of the streams and judged on the last tenth, in turn, so that nothing of a stream is known of its own questions.
    One candidate is judged at a time, as questions are put one at a time. A group of a single stream is left out,
    for there are no others to fit on.

    Args:
        table: Questions, with the columns `stream_id`, `candidate`, `answer` (ClassLabel, 0 is yes),
            `negative_kind`, and `band` or `structure`.
        folds: Parts that the streams of a group are divided into.

    Raises:
        EccdataError: A column is missing.

    """
    groups = next((name for name in GROUPS if name in table.column_names), None)
    missing = [name for name in NEEDED if name not in table.column_names]
    missing += [] if groups else [" or ".join(GROUPS)]
    if missing:
        raise problem("What candidates give away cannot be measured without these columns:", missing)
    found = []
    for group in pc.unique(table[groups]).to_pylist():
        part = table.filter(pc.equal(table[groups], group)).select(NEEDED)
        if pc.count_distinct(part["stream_id"]).as_py() < 2:
            continue
        kinds = sorted(pc.unique(part["negative_kind"].drop_null()).to_pylist())
        for some in [[kind] for kind in kinds] + ([kinds] if len(kinds) > 1 else []):
            positive = pc.equal(part["answer"], 0)
            of_kind = pc.is_in(part["negative_kind"], pa.array(some, pa.string()))
            questions = part.filter(pc.or_(positive, of_kind))
            found.append(Leakage(group, "+".join(some), questions.num_rows, _accuracy(questions, folds)))
    return found


def _accuracy(questions: pa.Table, folds: int) -> float:
    yes = questions["answer"].to_numpy() == 0
    stream = questions["stream_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    folds = min(folds, int(stream.max()) + 1)
    features = list(_features(questions["candidate"].combine_chunks()))
    right = np.empty(len(yes))
    for fold in range(folds):
        judged = stream % folds == fold
        evidence = np.sum([_evidence(values, yes, ~judged) for values in features], axis=0)[judged]
        # without evidence either way the reader tosses a coin
        right[judged] = np.where(evidence == 0, 0.5, (evidence > 0) == yes[judged])
    return float((right[yes].mean() + right[~yes].mean()) / 2)


def _features(candidates: pa.ListArray) -> Iterator[NDArray[np.int64]]:
    """What candidates show: for each feature small integers [n, values of a candidate], -1 where there is none."""
    symbols = candidates.flatten().to_numpy()
    lengths = candidates.value_lengths().to_numpy().astype(np.int64)
    longest = int(lengths.max())
    inside = np.arange(longest) < lengths[:, None]
    values = np.full(inside.shape, -1, dtype=np.int64)
    values[inside] = symbols
    # what lies behind a candidate's end is the same in all of one length, so that patterns tell lengths apart
    shapes = equality_patterns(np.where(inside, values, 256)) if longest <= 15 else lengths
    yield np.unique(np.stack([lengths, shapes]), axis=1, return_inverse=True)[1].reshape(-1, 1)
    yield values
    yield np.where(inside[:, 1:], np.diff(values, axis=1) + 255, -1)


def _evidence(
    values: NDArray[np.int64], yes: NDArray[np.bool_], fitted: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Log likelihood ratios [n] of yes to no, from values [n, m], with the counts of the `fitted` ones."""
    kinds = int(values.max(initial=-1)) + 1
    logs = []
    for answer in (True, False):
        seen = values[fitted & (yes == answer)]
        counts = np.bincount(seen[seen >= 0], minlength=kinds) + _SMOOTHING
        logs.append(np.log(counts / counts.sum()))
    ratios = np.append(logs[0] - logs[1], 0.0)  # -1 finds the last one: no evidence
    return np.asarray(ratios[values].sum(axis=1))
