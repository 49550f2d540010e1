from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from eccdata import catalog
from eccdata.errors import EccdataError
from eccdata.streams.lempel_ziv import lempel_ziv_rate
from support.building import Make, assert_golden, assert_same_however_prepared, rows

GOLDEN = {"1.0.0": "45e99ff2b49c169d"}
GOLDEN_HARD = {"1.0.0": "93d742fd17114e53"}


@pytest.fixture(name="make")
def _make(tmp_path: Path) -> Make:
    return lambda **settings: catalog.builder("eccbench", "text").create(cache_dir=str(tmp_path), **settings)


def test_rows_are_those_of_this_version(make: Make) -> None:
    assert_golden(make(lengths=(8, 32, 256), streams=3), GOLDEN)
    assert_golden(make(lengths=(8, 32, 256), streams=3, negatives="hard"), GOLDEN_HARD)


def test_the_defaults_are_the_papers(make: Make) -> None:
    builder = make()
    cells = builder.cells()
    assert [cell.key["length"] for cell in cells[::2]] == [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
    assert [cell.key["band"] for cell in cells] == ["low", "max"] * 10
    assert {(cell.split, cell.start, cell.stop) for cell in cells} == {("test", 0, 20)}
    assert builder.settings == {
        "seed": 0,
        "queries": 16,
        "candidate_lengths": (3, 6),
        "alphabet_size": 16,
        "lengths": (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096),
        "bands": ("low", "max"),
        "streams": 20,
        "negatives": "uniform",
    }


def test_what_a_row_says(make: Make) -> None:
    found = rows(make(lengths=(64,), streams=2))
    assert [row["question_id"] for row in found[:2]] == ["text-L0064-low-s00-q00", "text-L0064-low-s00-q01"]
    assert found[-1]["question_id"] == "text-L0064-max-s01-q15"
    assert len(found) == 2 * 2 * 16
    for row in found:
        assert row["question_id"].startswith(f"{row['stream_id']}-q")
        stream, candidate = bytes(row["stream"]), bytes(row["candidate"])
        assert (row["length"], row["alphabet_size"]) == (64, 16) == (len(stream), 16)
        assert row["position"] == stream.find(candidate)
        assert row["answer"] == (0 if candidate in stream else 1)
        assert row["negative_kind"] == (None if candidate in stream else "uniform")
        assert row["lz_rate"] == lempel_ziv_rate(row["stream"])
        assert row["band"] == ("low" if row["lz_rate"] <= 1 else "max")


def test_candidate_lengths_are_the_same_in_both_classes_cell_by_cell(make: Make) -> None:
    for negatives in ("uniform", "hard"):
        found = rows(make(lengths=(8, 64), streams=6, negatives=negatives))
        for length in (8, 64):
            for band in ("low", "max"):
                cell = [row for row in found if (row["length"], row["band"]) == (length, band)]
                yes = Counter(len(row["candidate"]) for row in cell if row["answer"] == 0)
                no = Counter(len(row["candidate"]) for row in cell if row["answer"] == 1)
                assert yes == no
                assert yes.total() == 48


def test_ids_say_nothing_of_answers(make: Make) -> None:
    found = rows(make(lengths=(32,), streams=150, bands=("max",)))
    yes = Counter(row["question_id"][-2:] for row in found if row["answer"] == 0)
    # 150 draws at one half each, for sixteen places
    assert all(abs(n - 75) < 4.5 * math.sqrt(150) / 2 for n in yes.values())
    assert len(yes) == 16


def test_a_row_depends_on_its_place_alone(make: Make) -> None:
    whole = rows(make(lengths=(8, 16, 64), streams=4))
    of = {row["question_id"]: row for row in whole}
    assert len(of) == len(whole)
    parts: list[tuple[int, dict[str, Any]]] = [
        (128, {"lengths": (64,), "streams": 4}),
        (256, {"lengths": (64, 8), "streams": 4}),
        (64, {"lengths": (16,), "streams": 2}),
        (16, {"lengths": (16,), "streams": 1, "bands": ("max",)}),
    ]
    for questions, settings in parts:
        part = rows(make(**settings))
        assert len(part) == questions
        assert all(of[row["question_id"]] == row for row in part)


def test_other_seeds_and_negatives_give_other_rows(make: Make) -> None:
    def of(**settings: Any) -> list[dict[str, Any]]:
        return rows(make(lengths=(32,), streams=2, **settings))

    one, other, hard = of(), of(seed=1), of(negatives="hard")
    assert not {tuple(row["stream"]) for row in one} & {tuple(row["stream"]) for row in other}
    assert [row["stream"] for row in one] == [row["stream"] for row in hard]
    assert {row["negative_kind"] for row in hard} == {None, "near-miss", "sibling"}


def test_rows_are_the_same_however_they_are_prepared(make: Make, tmp_path: Path) -> None:
    assert_same_however_prepared(make(lengths=(8, 32), streams=2), str(tmp_path))


def test_the_paper_s_alphabet_can_be_another(make: Make) -> None:
    found = rows(
        make(lengths=(64,), streams=2, bands=("max",), alphabet_size=200, queries=6, candidate_lengths=(2, 4))
    )
    assert max(max(row["stream"]) for row in found) > 100
    assert {len(row["candidate"]) for row in found} <= {2, 3, 4}
    assert len(found) == 12


def test_bad_settings_are_told_together(make: Make) -> None:
    with pytest.raises(EccdataError) as error:
        make(
            lengths=[2, 8, 8],
            bands=["low", "high"],
            queries=15,
            streams=0,
            alphabet_size=1,
            seed=-1,
            candidate_lengths="6,3",
            negatives="harder",
            stream=3,
        )
    message = str(error.value)
    for part in (
        "lengths=8: given 2 times",
        "bands=high",
        "queries=15",
        "streams=0",
        "alphabet_size=1",
        "seed=-1",
        "candidate_lengths=6,3",
        "negatives=harder",
        "stream: no such setting (did you mean streams?)",
    ):
        assert part in message
    with pytest.raises(EccdataError, match="lengths=2"):
        make(lengths="2,8")


def test_a_cell_that_has_nothing_to_ask_is_named(make: Make) -> None:
    builder = make(lengths=(4096,), bands=("max",), alphabet_size=2)
    with pytest.raises(EccdataError, match="text-L4096-max-s00"):
        builder.table(builder.cells()[0])


def test_the_card_tells_what_candidates_give_away(make: Make) -> None:
    builder = make(lengths=(64, 128), streams=20)
    findings = builder.findings(lambda split: (builder.table(cell) for cell in builder.cells()))
    lines = [line for line in findings.splitlines() if line.startswith("| `")]
    accuracy = {
        tuple(cell.strip(" `") for cell in line.split("|")[1:3]): float(line.split("|")[4]) for line in lines
    }
    assert accuracy["low", "uniform"] > 0.6
    assert accuracy["max", "uniform"] == pytest.approx(0.5, abs=0.1)
    assert accuracy["low", "near-miss+sibling"] == pytest.approx(0.5, abs=0.1)
    assert (
        "negatives=hard" not in findings.partition("<details>")[0]
    )  # rows that are not there are folded away
    assert "negatives=hard" in findings.partition("<details>")[2]
    assert findings.endswith("\n\n</details>")
