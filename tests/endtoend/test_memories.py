"""The reference memories through the whole pipeline, read from the tables, against what can be worked out on paper."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import log2
from pathlib import Path
from typing import Any

import datasets
import pytest

import eccdata
from support.membership_trials import ALPHABET, assert_share

BITS = 1024
HELD = BITS // int(log2(ALPHABET))
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "exact": ("exact", {}),
    "chance(seed=0)": ("chance", {}),
    f"window(bits={BITS})": ("window", {"bits": BITS}),
    f"lempel-ziv(bits={BITS})": ("lempel-ziv", {"bits": BITS}),
    "bag(k=1)": ("bag", {"k": 1}),
    "bag(k=2)": ("bag", {"k": 2}),
}
WINDOW, LEMPEL_ZIV = f"window(bits={BITS})", f"lempel-ziv(bits={BITS})"

Tables = Mapping[str, list[Mapping[str, Any]]]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memories") / "release"
    eccdata.build("eccbench", out=folder, configs=["text"], settings={"lengths": (16, 32, 64, 512, 1024)})
    return folder


@pytest.fixture(scope="module")
def tables(release: Path) -> Tables:
    """The tables of all memories under all arms."""
    results = release.parent / "results"
    for (name, options), arm in product(SYSTEMS.values(), ("none", "a", "b")):
        place = results / "-".join([name, *map(str, options.values()), arm])
        run = eccdata.evaluate(
            release,
            options={"arm": arm},
            protocol="membership",
            system=name,
            system_options=options,
            out=place,
        )
        assert run.complete
    return {table.name: list(table.rows) for table in eccdata.tables([results])}


def one(rows: list[Mapping[str, Any]], **where: Any) -> Mapping[str, Any]:
    (found,) = [row for row in rows if all(row[name] == value for name, value in where.items())]
    return found


@pytest.mark.parametrize("length", [64, 512, 1024])
def test_windows_accuracy_on_max_follows_its_formula(release: Path, tables: Tables, length: int) -> None:
    rows = datasets.load_dataset(
        str(release), "text", split="test", filters=[("length", "==", length), ("band", "==", "max")]
    )
    expected = 0.0
    for candidate, position in zip(rows["candidate"], rows["position"], strict=True):
        k = len(candidate)
        windows, there = length - k + 1, max(0, min(length, HELD) - k + 1)
        # a negative is always told; a positive if its own place is held, or another with the same symbols
        found = 1 - (1 - there / windows) * (1 - float(ALPHABET) ** -k) ** there
        expected += 1.0 if position < 0 else found
    cell = one(tables["accuracy"], label=WINDOW, length=length, band="max")
    assert cell["n"] == rows.num_rows == 320
    assert_share(cell["correct"], cell["n"], expected / cell["n"], slack=1e-9)


def test_exact_is_right_and_chance_is_right_half_the_time(tables: Tables) -> None:
    for cell in tables["accuracy"]:
        if cell["label"] == "exact":
            assert cell["accuracy"] == 1
        if cell["label"] == "chance(seed=0)":
            assert_share(cell["correct"], cell["n"], 0.5)


@pytest.mark.parametrize(
    ("label", "length", "share"),
    [("bag(k=1)", 16, 0.92), ("bag(k=1)", 32, 0.75), ("bag(k=1)", 64, 0.53), ("bag(k=2)", 64, 0.99)],
)
def test_a_reader_without_order_gets_far_on_short_streams(
    tables: Tables, label: str, length: int, share: float
) -> None:
    cell = one(tables["accuracy"], label=label, length=length, band="max")
    assert_share(cell["correct"], cell["n"], share, slack=0.01)


@pytest.mark.parametrize("length", [512, 1024])
def test_lempel_ziv_compresses_and_more_than_what_comes_back_to_a_window(tables: Tables, length: int) -> None:
    lempel_ziv = one(tables["compression"], label=LEMPEL_ZIV, length=length)
    window = one(tables["compression"], label=WINDOW, length=length)
    assert lempel_ziv["compression_bootstrap"]["low"] > 0
    assert lempel_ziv["compression"] > window["compression"]
    # there is nothing to compress on max: one bit less for plain symbols, so the two hold the same, or one less
    assert abs(lempel_ziv["accuracy_max"] - window["accuracy_max"]) <= 1 / 320


def test_nothing_is_gained_where_all_of_it_is_held(tables: Tables) -> None:
    for label in (WINDOW, LEMPEL_ZIV):
        assert one(tables["compression"], label=label, length=64)["compression"] == 0


@pytest.mark.parametrize("lengths", ["512, 1024"])
def test_a_calibrated_memory_declines_what_it_forgot_when_errors_cost(tables: Tables, lengths: str) -> None:
    for label in (WINDOW, LEMPEL_ZIV):
        cell = one(tables["calibration"], label=label, lengths=lengths)
        assert cell["coverage_a"] == 1
        assert cell["coverage_b"] < 0.75
        assert cell["responsiveness_bootstrap"]["low"] > 0
        assert cell["accuracy_b"] > 0.98 > cell["accuracy_a"]
        assert cell["gap"] > 0
        assert cell["gap_p"] < 0.001
        paid = one(tables["payoff"], label=label, lengths=lengths)
        assert paid["payoff_b"] > paid["payoff_a"]
    assert one(tables["calibration"], label="chance(seed=0)", lengths=lengths)["coverage_b"] == 0
    assert one(tables["calibration"], label="exact", lengths=lengths)["coverage_b"] == 1


@pytest.mark.parametrize("arm", ["none", "a", "b"])
def test_memories_know_how_sure_they_may_be(tables: Tables, arm: str) -> None:
    """They reckon with streams that never repeat themselves. Half of these do, where what a memory has lost is seldom
    what it does not have: it is right more often than it says, and never less."""

    def cell(table: str, label: str) -> Mapping[str, Any]:
        return one(tables[table], label=label, lengths="512, 1024", arm=arm)

    exact, chance = cell("confidence", "exact"), cell("confidence", "chance(seed=0)")
    assert [exact[name] for name in ("ece", "ece_mass", "brier", "aurc", "aurc_excess")] == [0] * 5
    for name in ("ece", "ece_mass"):
        assert chance[name] == pytest.approx(abs(chance["accuracy"] - 0.5))
    assert chance["brier"] == 0.25
    assert chance["aurc"] == pytest.approx(1 - chance["accuracy"])
    for label in (WINDOW, LEMPEL_ZIV):
        memory = cell("confidence", label)
        assert memory["unstated"] == 0
        assert memory["ece"] < 0.1
        assert memory["overconfidence_bootstrap"]["high"] < 0
        # sure where it holds the place, and unsure where it may not: better than not telling the two apart
        assert memory["aurc"] < 0.5 * (1 - memory["accuracy"])
        if arm != "none":
            # so a lower threshold than the arm's would have earned somewhat more, and covered more
            best = cell("best-coverage", label)
            assert best["payoff_best"] - 0.1 <= best["payoff"] <= best["payoff_best"] + 1e-9
            assert best["coverage"] <= best["coverage_best"]
    if arm == "b":
        best = cell("best-coverage", "exact")
        assert (best["payoff"], best["coverage_best"], best["payoff_best"]) == (1, 1, 1)
        best = cell("best-coverage", "chance(seed=0)")
        assert best["coverage"] == best["payoff"] == 0
