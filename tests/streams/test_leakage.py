from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from eccdata.errors import EccdataError
from eccdata.streams.bands import low_entropy_stream, max_entropy_stream
from eccdata.streams.leakage import Leakage, candidate_only_accuracy
from eccdata.streams.queries import membership_queries
from eccdata.streams.seeding import generator


def questions(
    candidates: Sequence[Sequence[int]], answers: Sequence[int], streams: Sequence[str], kind: str = "uniform"
) -> pa.Table:
    return pa.table(
        {
            "band": ["low"] * len(answers),
            "stream_id": streams,
            "candidate": pa.array(candidates, pa.list_(pa.uint8())),
            "answer": pa.array(answers, pa.int64()),
            "negative_kind": pa.array([None if answer == 0 else kind for answer in answers], pa.string()),
        }
    )


def drawn(band: str, hard: bool, streams: int) -> pa.Table:
    rows: list[tuple[list[int], int, str, str | None]] = []
    for index in range(streams):
        rng = generator(0, "leakage", band, str(hard), index)
        stream = low_entropy_stream(128, rng) if band == "low" else max_entropy_stream(128, rng)
        sibling = stream.sibling(rng, 1024).tobytes() if hard else None
        rows += [
            (list(query.candidate), int(query.answer == "no"), f"s{index}", query.negative_kind)
            for query in membership_queries(stream.symbols.tobytes(), rng, sibling=sibling)
        ]
    candidates, answers, names, kinds = zip(*rows, strict=True)
    return pa.table(
        {
            "band": [band] * len(rows),
            "stream_id": names,
            "candidate": pa.array(candidates, pa.list_(pa.uint8())),
            "answer": answers,
            "negative_kind": kinds,
        }
    )


def of_all_kinds(table: pa.Table) -> Leakage:
    return candidate_only_accuracy(table)[-1]


def test_uniform_negatives_give_low_entropy_candidates_away() -> None:
    (leak,) = candidate_only_accuracy(drawn("low", hard=False, streams=100))
    assert (leak.group, leak.negative_kind, leak.questions) == ("low", "uniform", 1600)
    assert 0.75 < leak.accuracy < 0.95


@pytest.mark.parametrize(("band", "hard"), [("low", True), ("max", True), ("max", False)])
def test_the_others_give_nothing_away(band: str, hard: bool) -> None:
    leak = of_all_kinds(drawn(band, hard, streams=100))
    assert leak.questions == 1600
    assert leak.negative_kind == ("near-miss+sibling" if hard else "uniform")
    assert leak.accuracy == pytest.approx(0.5, abs=0.06)


def test_what_can_be_read_off_is_read_off() -> None:
    streams = [f"s{i // 4}" for i in range(80)]
    answers = [i % 2 for i in range(80)]
    for positive, negative in (([1, 1, 2], [1, 2, 3]), ([1, 2, 3], [1, 2, 3, 4]), ([5, 4, 3], [3, 4, 5])):
        table = questions([positive if answer == 0 else negative for answer in answers], answers, streams)
        (leak,) = candidate_only_accuracy(table)
        assert leak.accuracy == 1.0


def test_nothing_is_learned_from_a_streams_own_questions() -> None:
    # each stream has a symbol of its own that all its positives are made of: of no use on other streams
    rng = np.random.default_rng(0)
    streams = [f"s{i // 8}" for i in range(800)]
    answers = [i % 2 for i in range(800)]
    candidates = [
        [100 + i // 8, *rng.integers(16, size=2)]
        if answers[i] == 0
        else [100 + (i // 8 + 1) % 100, *rng.integers(16, size=2)]
        for i in range(800)
    ]
    (leak,) = candidate_only_accuracy(questions(candidates, answers, streams))
    assert leak.accuracy < 0.56


def test_candidates_that_are_all_alike_are_a_coin_toss() -> None:
    answers = [0, 1] * 20
    table = questions([[1, 2, 3]] * 40, answers, [f"s{i // 2}" for i in range(40)])
    assert candidate_only_accuracy(table)[0].accuracy == 0.5


def test_a_single_stream_is_left_out() -> None:
    assert candidate_only_accuracy(questions([[1, 2, 3], [2, 1, 3]], [0, 1], ["s0", "s0"])) == []


def test_missing_columns_are_named_together() -> None:
    table = questions([[1, 2, 3]], [0], ["s"]).drop_columns(["band", "answer"])
    with pytest.raises(EccdataError, match=r"(?s)answer.*band or structure"):
        candidate_only_accuracy(table)
