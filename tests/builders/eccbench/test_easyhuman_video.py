from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from eccdata import catalog
from eccdata.builder import Builder
from eccdata.errors import EccdataError
from eccdata.streams.deviations import broken_pattern
from eccdata.streams.seeding import generator
from eccdata.video.lanes import joint_symbols
from support.building import Make, assert_golden, assert_same_however_prepared, rows

GOLDEN = {"1.0.0": "0461bc1476dbe897"}
YES = 0


@pytest.fixture(name="make")
def _make(tmp_path: Path) -> Make:
    return lambda **settings: catalog.builder("eccbench", "easyhuman-video").create(
        cache_dir=str(tmp_path), **settings
    )


def light(builder: Builder) -> list[dict[str, Any]]:
    tables = [builder.table(cell).drop_columns(["video", "candidate_video"]) for cell in builder.cells()]
    return pa.concat_tables(tables).to_pylist()  # type: ignore[no-any-return]


def test_rows_are_those_of_this_version(make: Make) -> None:
    assert_golden(make(lengths=(64,), streams=3), GOLDEN)


def test_there_are_as_many_questions_as_in_the_papers_table(make: Make) -> None:
    # its open models' accuracies on video at length 256 are multiples of 1/224, half of them of each variant
    found = light(make())
    assert Counter(row["length"] for row in found) == {256: 224}
    assert Counter((row["variant"], row["answer"]) for row in found) == {
        (variant, answer): 56 for variant in ("sequential", "spatial") for answer in (0, 1)
    }
    for percent in (49.1, 47.8, 53.6, 56.2, 49.6, 53.1, 52.7):
        assert abs(percent - 100 * round(percent * 2.24) / 224) <= 0.0501


def test_streams_and_answers_are_those_of_easyhuman_text(make: Make, tmp_path: Path) -> None:
    settings = {"lengths": (64, 256), "streams": 3}
    text = catalog.builder("eccbench", "easyhuman-text").create(cache_dir=str(tmp_path), **settings)
    for one, two in zip(rows(text), light(make(**settings)), strict=True):
        assert two["question_id"] == one["question_id"].replace("text", "video", 1)
        same = ("stream", "answer", "structure", "length", "lz_rate", "deviations")
        assert [two[name] for name in same] == [one[name] for name in same]
        assert len(two["candidate"]) == len(one["candidate"])
        if two["answer"] == YES:
            assert (two["candidate"], two["position"]) == (one["candidate"], one["position"])
        elif two["variant"] == "sequential":
            assert (two["candidate"], two["negative_kind"]) == (one["candidate"], "corruption")
        else:
            assert two["negative_kind"] == "wrong-belt"


def test_a_spatial_negative_has_letters_that_only_a_deviation_brings_about(make: Make) -> None:
    unbroken = {
        (structure, index): broken_pattern(
            structure,
            256,
            generator(0, "eccbench", "easyhuman-text", structure, 256, index),
        ).unbroken
        for structure in ("repeating-pattern", "counting-disruption")
        for index in range(4)
    }
    asked = 0
    for row in light(make(streams=4)):
        if row["negative_kind"] != "wrong-belt":
            continue
        asked += 1
        start, letters = row["window_position"], bytes(row["candidate"])
        assert bytes(row["stream"])[start : start + len(letters)] == letters
        assert letters not in unbroken[row["structure"], int(row["stream_id"][-2:])]
        joint = joint_symbols(row["candidate"], row["candidate_lanes"]).tobytes()
        assert joint not in joint_symbols(row["stream"], row["lanes"]).tobytes()
    assert asked == 32


def test_both_variants_have_the_same_lengths_in_both_answers(make: Make) -> None:
    sides: dict[tuple[str, str], list[Counter[int]]] = {}
    for row in light(make(streams=4)):
        both = sides.setdefault((row["stream_id"], row["variant"]), [Counter(), Counter()])
        both[row["answer"]][len(row["candidate"])] += 1
    assert len(sides) == 16
    assert all(yes == no and yes.total() == 4 for yes, no in sides.values())
    alone = light(make(streams=2, variants=("spatial",)))
    assert Counter(row["variant"] for row in alone) == {"spatial": 64}


def test_a_row_depends_on_its_place_alone(make: Make) -> None:
    of = {row["question_id"]: row for row in light(make(lengths=(64, 256), streams=3))}
    part = light(make(lengths=(256,), structures=("counting-disruption",), streams=2))
    assert len(part) == 32
    assert all(of[row["question_id"]] == row for row in part)


def test_rows_are_the_same_however_they_are_prepared(make: Make, tmp_path: Path) -> None:
    assert_same_however_prepared(make(lengths=(64,), streams=1, queries=4), str(tmp_path))


def test_bad_settings_are_told_together(make: Make) -> None:
    with pytest.raises(EccdataError) as error:
        make(lengths=(16,), variants=("temporal", "spatial", "spatial"), alphabet_size=17)
    for part in ("lengths=16", "variants=temporal", "variants=spatial: given 2 times", "alphabet_size=17"):
        assert part in str(error.value)
    with pytest.raises(EccdataError, match="variants: names none"):
        make(variants=())
