from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eccdata.analysis import tables
from support.bootstrap import interval, replicates
from support.results import cell, clip_cell, video_cell, write_run
from support.tables import row, table

PAYOFF = {"a": (3, -1), "b": (1, -4)}


def stated(
    folder: Path, outcomes: Iterable[str], probabilities: Iterable[float | None], **options: Any
) -> Path:
    """Write a run of these outcomes (questions are no, yes, no, …), each with the P(yes) that it states."""
    return write_run(folder, cell(outcomes, probability=list(probabilities)), **options)


def test_by_hand(tmp_path: Path) -> None:
    """Four answers, all in bins of their own, at 0.9 right, 0.8 wrong, 0.7 right and 0.6 right."""
    stated(tmp_path / "a", ["rwrr"], [0.1, 0.2, 0.3, 0.6], arm="a")
    one = row(tmp_path, "confidence")
    assert (one["subset"], one["lengths"], one["n"], one["unstated"]) == ("synthetic text", "512", 4, 0)
    assert one["accuracy"] == 3 / 4
    assert one["confidence"] == pytest.approx(0.75)
    assert one["overconfidence"] == pytest.approx(0)
    for name in ("ece", "ece_mass"):
        assert one[name] == pytest.approx((0.1 + 0.8 + 0.3 + 0.4) / 4)
    assert one["brier"] == pytest.approx((0.01 + 0.64 + 0.09 + 0.16) / 4)
    # errors among the first k: 0, 1, 1, 1; at best 0, 0, 0, 1
    assert one["aurc"] == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert one["aurc_excess"] == pytest.approx((1 / 2 + 1 / 3) / 4)
    # +3 and −1: 3, 2, 5 and 8 with the first k answered
    best = row(tmp_path, "best-coverage")
    assert (best["coverage"], best["coverage_best"], best["threshold_best"]) == (1, 1, 0.6)
    assert (best["payoff"], best["payoff_best"], best["threshold"]) == (2, 2, 0.25)


def test_answers_of_equal_confidence_have_no_order(tmp_path: Path) -> None:
    """The area is the mean over all orders; all of them are either answered or not."""
    letters, probabilities = "rwrwwr", [0.2, 0.8, 0.2, 0.6, 0.4, 0.6]
    #                                   .8 r, .2 w, .8 r, .4 w (no), .4 w (yes), .6 r
    stated(tmp_path / "b", [letters], probabilities, arm="b")
    one = row(tmp_path, "confidence")
    confidences = [0.8, 0.2, 0.8, 0.4, 0.4, 0.6]
    right = [letter == "r" for letter in letters]
    areas = [
        sum(Fraction(sum(not right[i] for i in order[:k]), k) for k in range(1, 7)) / 6
        for order in permutations(range(6))
        if all(confidences[i] >= confidences[j] for i, j in pairwise(order))
    ]
    assert len(areas) == 4
    assert one["aurc"] == pytest.approx(float(sum(areas) / len(areas)))
    # +1 and −4: both at 0.8 earn 2, with 0.6 it is 3, and with 0.4 it would be −5
    one = row(tmp_path, "best-coverage")
    assert (one["payoff_best"], one["coverage_best"], one["threshold_best"]) == (3 / 6, 3 / 6, 0.6)


def test_one_confidence_for_all_is_worth_its_error_rate(tmp_path: Path) -> None:
    stated(tmp_path / "b", ["rwrw" * 8, "rrrr" * 8], [0.5] * 64, arm="b")
    one = row(tmp_path, "confidence")
    assert one["aurc"] == pytest.approx(1 / 4)
    assert one["ece"] == one["ece_mass"] == pytest.approx(1 / 4)
    one = row(tmp_path, "best-coverage")
    assert (one["payoff_best"], one["coverage_best"], one["threshold_best"]) == (0, 0, None)


def test_a_declined_question_counts_with_the_answer_that_it_favoured(tmp_path: Path) -> None:
    """Questions are no, yes, no, yes: the declined ones favour yes, yes (a tie) and no."""
    stated(tmp_path / "b", ["---r"], [0.7, 0.5, 0.1, 0.9], arm="b")
    one = row(tmp_path, "confidence")
    assert one["accuracy"] == 3 / 4
    assert one["confidence"] == pytest.approx((0.7 + 0.5 + 0.9 + 0.9) / 4)
    assert one["brier"] == pytest.approx((0.49 + 0.25 + 0.01 + 0.01) / 4)
    # both at 0.9 are right, and answering them is best
    one = row(tmp_path, "best-coverage")
    assert (one["coverage"], one["payoff"]) == (1 / 4, 1 / 4)
    assert (one["payoff_best"], one["coverage_best"], one["threshold_best"]) == (2 / 4, 2 / 4, 0.9)


def test_an_answer_against_p_yes_has_the_lesser_confidence(tmp_path: Path) -> None:
    """A sampled reply need not be the likelier one."""
    stated(tmp_path / "none", ["ww"], [0.7, 0.9])
    one = row(tmp_path, "confidence")
    assert one["confidence"] == pytest.approx((0.7 + 0.1) / 2)
    assert one["accuracy"] == 0


def test_without_a_payoff_none_is_best(tmp_path: Path) -> None:
    stated(tmp_path / "none", ["rw"], [0.1, 0.2])
    stated(tmp_path / "b", ["rw"], [0.1, 0.2], arm="b")
    assert [one["arm"] for one in table(tmp_path, "confidence")] == ["none", "b"]
    assert [one["arm"] for one in table(tmp_path, "best-coverage")] == ["b"]


def test_what_states_nothing_is_told_and_left_out(tmp_path: Path) -> None:
    stated(tmp_path / "a", ["rwx-", "rrmr"], [0.1, 0.8, None, None, 0.3, None, None, 0.9], arm="a")
    one = row(tmp_path, "confidence")
    assert (one["streams"], one["n"], one["unstated"]) == (2, 4, 3)
    assert row(tmp_path, "best-coverage")["payoff"] == (3 - 1 + 3 + 3) / 4
    (nothing,) = tables([write_run(tmp_path / "other", cell(["rw"]))], names=["confidence"])
    assert not nothing.made
    assert nothing.error is None


def test_subsets_pools_and_what_the_paper_has_no_name_for(tmp_path: Path) -> None:
    text = [q for length in (8, 512, 1024) for q in cell(["rw"], length=length, probability=0.6)]
    write_run(tmp_path / "text", text, arm="b")
    for variant in ("sequential", "spatial"):
        questions = video_cell(["rw", "rr"], variant=variant, length=8, probability=0.7)
        write_run(
            tmp_path / variant, questions, arm="a", config=f"video-{variant}", protocol="membership-video"
        )
    clips = clip_cell(["rw"], band="low", length=64, probability=0.8)
    write_run(tmp_path / "natural", clips, config="natural", protocol="natural")
    human = cell(["rw"], length=256, band=None, structure="x", probability=0.9)
    write_run(tmp_path / "human", human, config="easyhuman-text")
    rows = table(tmp_path, "confidence")
    names = ("subset", "lengths", "arm", "streams", "n")
    assert [tuple(one[name] for name in names) for one in rows] == [
        ("synthetic text", "8", "b", 1, 2),
        ("synthetic text", "512", "b", 1, 2),
        ("synthetic text", "1024", "b", 1, 2),
        ("synthetic text", "512, 1024", "b", 2, 4),
        ("synthetic video", "8", "a", 2, 8),
        ("natural video", "64", "none", 1, 2),
        ("easyhuman-text", "256", "none", 1, 2),
    ]


@pytest.mark.parametrize("arm", ["a", "b"])
def test_numpy_finds_the_same(tmp_path: Path, arm: str) -> None:
    """Twelve streams of sixteen, with confidences of twenty values, so that many are equal, and some of any."""
    rng = np.random.default_rng(7)
    grid, free = rng.integers(1, 20, (12, 16)) / 20, rng.random((12, 16))
    p = np.where(rng.random((12, 16)) < 0.7, grid, free)
    truth = np.tile([False, True], (12, 8))
    # right as often as they are confident
    p = np.where((p >= 0.5) == (truth ^ (rng.random(p.shape) > np.maximum(p, 1 - p))), p, 1 - p)
    favoured = p >= 0.5
    declined = rng.random(p.shape) < 0.3
    letters = np.where(declined, "-", np.where(favoured == truth, "r", "w"))
    stated(tmp_path / arm, ["".join(stream) for stream in letters], p.ravel().tolist(), arm=arm)
    one = row(tmp_path, "confidence")

    confidence, right = np.round(np.where(favoured, p, 1 - p), 12), favoured == truth
    assert one["ece"] == pytest.approx(error(np.ceil(15 * confidence), confidence, right), abs=1e-9)
    covered = (confidence.ravel()[None, :] >= confidence.ravel()[:, None]).sum(axis=1).reshape(p.shape)
    assert one["ece_mass"] == pytest.approx(
        error(np.ceil(15 * covered / p.size), confidence, right), abs=1e-9
    )
    assert one["aurc"] == pytest.approx(area(levels(confidence).ravel(), right.ravel()), abs=1e-9)
    oracle = area(right.ravel().astype(float), right.ravel())
    # the oracle's right ones are all of one confidence, and so are its wrong ones: their order makes no difference
    assert one["aurc_excess"] == pytest.approx(one["aurc"] - oracle, abs=1e-9)

    reward, cost = PAYOFF[arm]
    points = np.where(right, reward, cost)
    level = levels(confidence)
    earned = {t: points[level >= t].sum() for t in np.unique(level)} | {math.inf: 0}
    best = max(earned.values())
    other = row(tmp_path, "best-coverage")
    assert other["payoff_best"] == pytest.approx(best / p.size)
    threshold = max(t for t, value in earned.items() if value == best)
    assert other["coverage_best"] == pytest.approx((level >= threshold).mean())
    assert other["threshold_best"] == pytest.approx(confidence[level >= threshold].min())
    assert other["coverage"] == pytest.approx((~declined).mean())
    assert other["payoff"] == pytest.approx(points[~declined].sum() / p.size)

    n = [16] * 12
    for found, name, sums in (
        (one, "overconfidence", (confidence - right).sum(axis=1)),
        (one, "brier", ((p - truth) ** 2).sum(axis=1)),
        (other, "payoff", np.where(declined, 0, points).sum(axis=1)),
    ):
        assert found[name] == pytest.approx(sums.sum() / p.size, abs=1e-9)
        expected = interval(replicates(lambda totals: totals[0] / totals[1], sums, n))
        assert found[f"{name}_bootstrap"] == pytest.approx(expected, abs=1e-9)


def error(bins: Any, confidence: Any, right: Any) -> float:
    """The expected calibration error over these bins."""
    return float(
        sum(
            abs(confidence[bins == number].sum() - right[bins == number].sum()) / confidence.size
            for number in np.unique(bins)
        )
    )


def levels(confidence: Any) -> Any:
    """What counts as equal confidence: log-odds to 1/1024."""
    return np.round(1024 * np.log(confidence / (1 - confidence)))


def area(confidence: Any, right: Any) -> float:
    """The area under the risk-coverage curve, answer by answer: of equal ones each takes the errors of their mean."""
    order = np.argsort(-confidence, kind="stable")
    confidence, right = confidence[order], right[order]
    shared = np.array([np.mean(~right[confidence == value]) for value in confidence])
    return float(np.mean(np.cumsum(shared) / np.arange(1, len(right) + 1)))


def test_what_is_all_but_sure_is_told_apart(tmp_path: Path) -> None:
    """1 − 10⁻⁹ and 1 − 10⁻⁷ are two confidences: the wrong one is the less confident."""
    stated(tmp_path / "none", ["rw"], [1e-9, 1e-7])
    assert row(tmp_path, "confidence")["aurc"] == pytest.approx((0 + 1 / 2) / 2)


def test_confidences_alike_to_a_thousandth_of_log_odds_are_equal(tmp_path: Path) -> None:
    stated(tmp_path / "none", ["rw"], [0.30000001, 0.3])
    one = row(tmp_path, "confidence")
    assert one["aurc"] == pytest.approx((1 / 2 + 1 / 2) / 2)


def test_certainty_can_be_right_and_wrong(tmp_path: Path) -> None:
    stated(tmp_path / "b", ["rrrw"], [0.0, 1.0, 0.0, 0.0], arm="b")
    one = row(tmp_path, "confidence")
    assert (one["confidence"], one["ece"], one["aurc"]) == (1, pytest.approx(1 / 4), pytest.approx(1 / 4))
    # all of them are of one confidence, and together they earn −1
    one = row(tmp_path, "best-coverage")
    assert (one["payoff_best"], one["coverage_best"]) == (0, 0)


def test_a_reliability_diagram_has_the_bins_of_the_error(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    p = rng.random(320)
    letters = "".join(rng.choice(["r", "w", "-"], 320))
    stated(tmp_path / "a", [letters[i : i + 16] for i in range(0, 320, 16)], p.tolist(), arm="a")
    one = row(tmp_path, "confidence")
    rows = table(tmp_path, "reliability")
    for bins, name in (("equal width", "ece"), ("equal mass", "ece_mass")):
        found = [each for each in rows if each["bins"] == bins]
        assert sum(each["n"] for each in found) == 320
        gaps = [each["n"] * abs(each["confidence"] - each["accuracy"]) for each in found]
        assert math.fsum(gaps) / 320 == pytest.approx(one[name], abs=1e-9)
        assert all(each["lowest"] <= each["confidence"] <= each["highest"] for each in found)
    width = [each for each in rows if each["bins"] == "equal width"]
    assert all(each["lowest"] > (each["bin"] - 1) / 15 - 1e-3 for each in width)
    assert all(each["highest"] <= each["bin"] / 15 + 1e-3 for each in width)
    mass = [each["n"] for each in rows if each["bins"] == "equal mass"]
    assert len(mass) == 15
    assert max(mass) - min(mass) <= 4


@pytest.mark.parametrize("answers", [32, 3200])
def test_a_risk_coverage_curve_is_thinned_and_true(tmp_path: Path, answers: int) -> None:
    rng = np.random.default_rng(5)
    p, letters = rng.random(answers), rng.choice(["r", "w"], answers)
    p = np.where(np.tile([False, True], answers // 2) == (letters == "r"), p / 2 + 0.5, p / 2)
    stated(tmp_path / "b", ["".join(letters[i : i + 16]) for i in range(0, answers, 16)], p.tolist(), arm="b")
    curve = table(tmp_path, "risk-coverage")
    confidence, right = np.round(np.maximum(p, 1 - p), 12), letters == "r"
    assert len(curve) == min(len(np.unique(levels(confidence))), 100)
    assert curve[-1]["coverage"] == 1
    for point in curve:
        chosen = confidence >= point["threshold"]
        assert point["n"] == chosen.sum()
        assert point["coverage"] == pytest.approx(chosen.mean())
        assert point["risk"] == pytest.approx(1 - right[chosen].mean())
        assert point["risk_oracle"] == pytest.approx(max(0, chosen.sum() - right.sum()) / chosen.sum())
        assert point["payoff"] == pytest.approx(np.where(right, 1, -4)[chosen].sum() / answers)
    best = row(tmp_path, "best-coverage")["payoff_best"]
    assert best >= max(0, *(point["payoff"] for point in curve)) - 1e-12


def test_threads_change_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for arm in ("a", "b"):
        letters = rng.choice(["r", "w", "-"], 1600)
        outcomes = ["".join(letters[i : i + 16]) for i in range(0, 1600, 16)]
        write_run(tmp_path / arm, cell(outcomes, probability=rng.random(1600).tolist()), arm=arm, parts=8)
    names = ["best-coverage", "confidence", "reliability", "risk-coverage"]
    one, four = (tables([tmp_path], names=names, threads=threads) for threads in (1, 4))
    assert [each.rows for each in one] == [each.rows for each in four]
    assert all(each.made for each in one)
