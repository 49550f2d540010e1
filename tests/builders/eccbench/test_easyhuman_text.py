from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from eccdata import catalog
from eccdata.errors import EccdataError
from eccdata.streams.lempel_ziv import lempel_ziv_rate
from support.building import Make, assert_golden, assert_same_however_prepared, rows

GOLDEN = {"1.0.0": "d59ed75081260533"}


@pytest.fixture(name="make")
def _make(tmp_path: Path) -> Make:
    return lambda **settings: catalog.builder("eccbench", "easyhuman-text").create(
        cache_dir=str(tmp_path), **settings
    )


def test_rows_are_those_of_this_version(make: Make) -> None:
    assert_golden(make(lengths=(64, 256), streams=3), GOLDEN)


def test_there_are_as_many_questions_as_in_the_papers_table(make: Make) -> None:
    # the open models' accuracies in Table 1 at length 256 are multiples of 1/224, rounded to a tenth of a percent
    found = rows(make())
    assert Counter(row["length"] for row in found) == {256: 224, 1024: 224}
    for percent in (76.3, 72.3, 52.2, 62.5, 62.1, 11.6, 41.1):
        assert abs(percent - 100 * round(percent * 2.24) / 224) <= 0.05


def test_what_a_row_says(make: Make) -> None:
    found = rows(make(lengths=(64,), streams=20))
    assert found[0]["question_id"] == "easyhuman-text-L0064-repeating-pattern-s00-q00"
    assert found[-1]["question_id"] == "easyhuman-text-L0064-counting-disruption-s19-q15"
    for row in found:
        stream, candidate = bytes(row["stream"]), bytes(row["candidate"])
        assert row["stream_id"] == row["question_id"][:-4]
        assert row["structure"] in row["stream_id"]
        assert row["length"] == len(stream) == 64
        assert row["position"] == stream.find(candidate)
        assert row["answer"] == (0 if candidate in stream else 1)
        assert row["negative_kind"] == (None if candidate in stream else "corruption")
        assert row["lz_rate"] == lempel_ziv_rate(row["stream"])
        assert len(row["deviations"]) in (1, 2)
        for deviation in row["deviations"]:
            assert stream.find(bytes(deviation["symbols"])) == deviation["position"]
        if row["answer"] == 0:
            assert any(
                row["position"] < deviation["position"] + len(deviation["symbols"])
                and row["position"] + len(candidate) > deviation["position"]
                for deviation in row["deviations"]
            )


def test_candidate_lengths_are_the_same_in_both_classes_cell_by_cell(make: Make) -> None:
    found = rows(make(streams=4))
    cells = {(row["length"], row["structure"]) for row in found}
    assert len(cells) == 4
    for cell in cells:
        lengths = {
            answer: Counter(
                len(row["candidate"])
                for row in found
                if (row["length"], row["structure"]) == cell and row["answer"] == answer
            )
            for answer in (0, 1)
        }
        assert lengths[0] == lengths[1]


def test_a_row_depends_on_its_place_alone(make: Make) -> None:
    of = {row["question_id"]: row for row in rows(make(lengths=(64, 256), streams=3))}
    part = rows(make(lengths=(256,), structures=("counting-disruption",), streams=2))
    assert len(part) == 32
    assert all(of[row["question_id"]] == row for row in part)
    assert rows(make(lengths=(64,), streams=1, seed=1)) != rows(make(lengths=(64,), streams=1))


def test_rows_are_the_same_however_they_are_prepared(make: Make, tmp_path: Path) -> None:
    assert_same_however_prepared(make(lengths=(64,), streams=2), str(tmp_path))


def test_bad_settings_are_told_together(make: Make) -> None:
    with pytest.raises(EccdataError) as error:
        make(lengths=(16,), structures=("counting",), streams=0, alphabet_size=4, candidate_lengths=(3, 9))
    for part in (
        "lengths=16",
        "structures=counting",
        "streams=0",
        "alphabet_size=4",
        "candidate_lengths=3,9",
    ):
        assert part in str(error.value)
