from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import fisher_exact

from eccdata.analysis import tables
from support.bootstrap import interval, replicates
from support.results import cell, clip_cell, video_cell, write_run
from support.tables import row, table

# arm A's and arm B's outcomes of four streams of eight questions, question by question
ARM_A = ["rrrrwwr-", "rrwwwwr-", "rrrrrrrx", "wwwwrrr-"]
ARM_B = ["rrrr--r-", "rr-w--rr", "rrrrrrr-", "--wwr--m"]


def pair(folder: Path, a: list[str], b: list[str], *, length: int = 512, model: str = "model") -> None:
    write_run(folder / f"{model}-a", cell(a, length=length), arm="a", model=model)
    write_run(folder / f"{model}-b", cell(b, length=length), arm="b", model=model)


def test_by_hand(tmp_path: Path) -> None:
    pair(tmp_path, ARM_A, ARM_B)
    one = row(tmp_path, "calibration")
    assert (one["lengths"], one["streams"], one["n"], one["failed"], one["unmatched"]) == ("512", 4, 31, 1, 0)
    # of 31 questions A answered 28, 18 of them right, and B 20, 17 of them right
    assert one["coverage_a"] == 28 / 31
    assert one["coverage_b"] == 20 / 31
    assert one["accuracy_a"] == 18 / 28
    assert one["accuracy_b"] == 17 / 20
    assert one["responsiveness"] == pytest.approx(8 / 31)
    # B kept 19 of the 28, of which A had 16 right, and declined 9, of which A had 2 right
    assert (one["kept"], one["kept_right"], one["declined"], one["declined_right"]) == (19, 16, 9, 2)
    assert one["gap"] == pytest.approx(16 / 19 - 2 / 9)
    p = fisher_exact([[16, 3], [2, 7]], alternative="greater").pvalue
    assert one["gap_p"] == pytest.approx(p, abs=1e-12)


def test_intervals_are_numpys(tmp_path: Path) -> None:
    pair(tmp_path, ARM_A, ARM_B)
    one = row(tmp_path, "calibration")
    n, dropped = [8, 8, 7, 8], [2, 2, 0, 4]
    responsiveness = replicates(lambda totals: totals[0] / totals[1], dropped, n)
    assert one["responsiveness_bootstrap"] == pytest.approx(interval(responsiveness), abs=1e-12)
    kept, kept_right, declined, declined_right = [5, 4, 7, 3], [5, 3, 7, 1], [2, 3, 0, 4], [0, 0, 0, 2]
    gap = replicates(lambda t: t[0] / t[1] - t[2] / t[3], kept_right, kept, declined_right, declined)
    assert one["gap_bootstrap"] == pytest.approx(interval(gap), abs=1e-12)
    defined = gap[~np.isnan(gap)]
    assert one["gap_undefined"] == len(gap) - len(defined) > 0
    assert one["gap_not_positive"] == pytest.approx(np.mean(defined <= 0))


def test_the_gap_takes_five_declined_and_one_kept(tmp_path: Path) -> None:
    pair(tmp_path, ["rrrrrrww"] * 2, ["rrrrrr--"] * 2, model="four")
    pair(tmp_path, ["rrrrrrww", "rrrrrwww"], ["rrrrrr--", "rrrrr---"], model="five")
    pair(tmp_path, ["rrrrrrww"] * 2, ["--------"] * 2, model="nothing-kept")
    assert row(tmp_path, "calibration", label="four")["declined"] == 4
    for label in ("four", "nothing-kept"):
        one = row(tmp_path, "calibration", label=label)
        shown = ("gap", "gap_p", "gap_bootstrap", "gap_not_positive", "gap_undefined")
        assert all(one[name] is None for name in shown)
    assert row(tmp_path, "calibration", label="five")["gap"] == 1
    nothing = row(tmp_path, "calibration", label="nothing-kept")
    assert (nothing["coverage_b"], nothing["accuracy_b"], nothing["accuracy_b_wilson"]) == (0, None, None)


def test_arms_are_matched_question_by_question(tmp_path: Path) -> None:
    write_run(tmp_path / "a", cell(["rrrr", "wwww", "rrrr"]), arm="a")
    write_run(tmp_path / "b", cell(["r-xr", "wwww"]), arm="b")
    one = row(tmp_path, "calibration")
    assert (one["streams"], one["n"], one["failed"], one["unmatched"]) == (2, 7, 1, 4)
    assert one["coverage_a"] == 1
    assert one["coverage_b"] == 6 / 7
    assert one["accuracy_a"] == 3 / 7


def test_pools(tmp_path: Path) -> None:
    for arm in ("a", "b"):
        questions = [q for length in (8, 512, 1024) for q in cell(["rw", "r-"], length=length)]
        write_run(tmp_path / arm, questions, arm=arm)
    rows = table(tmp_path, "calibration")
    assert [(one["lengths"], one["n"], one["streams"]) for one in rows] == [
        ("8", 4, 2),
        ("512", 4, 2),
        ("1024", 4, 2),
        ("512, 1024", 8, 4),
        ("8, 512, 1024", 12, 6),
    ]
    assert [one["coverage_a"] for one in rows] == [0.75] * 5


def test_rendered_video_counts_both_variants_and_redraws_them_together(tmp_path: Path) -> None:
    """One stream, shown in two ways, is one cluster; bands are told apart, though their streams are numbered alike."""
    for variant, config in (("sequential", "video-sequential"), ("spatial", "video-spatial")):
        for arm, outcomes in (("a", ARM_A), ("b", ARM_B)):
            questions = [
                q
                for band in ("low", "max")
                for length in (8, 16)
                for q in video_cell(outcomes, variant=variant, band=band, length=length)
            ]
            write_run(
                tmp_path / f"{variant}-{arm}", questions, arm=arm, config=config, protocol="membership-video"
            )
    rows = table(tmp_path, "calibration")
    assert [(one["subset"], one["lengths"], one["streams"], one["n"], one["failed"]) for one in rows] == [
        ("synthetic video", "8", 8, 124, 4),
        ("synthetic video", "16", 8, 124, 4),
        ("synthetic video", "8, 16", 16, 248, 8),
    ]
    dropped = replicates(lambda totals: totals[0] / totals[1], [4, 4, 0, 8] * 2, [16, 16, 14, 16] * 2)
    assert rows[0]["responsiveness_bootstrap"] == pytest.approx(interval(dropped), abs=1e-12)


def test_natural_video_redraws_clips_and_comes_last(tmp_path: Path) -> None:
    for arm, outcomes in (("a", ARM_A), ("b", ARM_B)):
        clips = [q for length in (64, 128) for q in clip_cell(outcomes, band="low", length=length)]
        write_run(tmp_path / f"natural-{arm}", clips, arm=arm, config="natural", protocol="natural")
    pair(tmp_path, ARM_A, ARM_B)
    rows = table(tmp_path, "calibration")
    assert [(one["subset"], one["lengths"], one["streams"], one["n"]) for one in rows] == [
        ("synthetic text", "512", 4, 31),
        ("natural video", "64", 4, 31),
        ("natural video", "128", 4, 31),
        ("natural video", "64, 128", 8, 62),
    ]
    numbers = ("coverage_a", "accuracy_b", "gap", "gap_p", "responsiveness_bootstrap", "gap_bootstrap")
    assert [rows[0][name] for name in numbers] == [rows[1][name] for name in numbers]


def test_runs_on_other_data_are_not_paired(tmp_path: Path) -> None:
    write_run(tmp_path / "a", cell(["rr"]), arm="a", dataset="data0000")
    write_run(tmp_path / "b", cell(["rr"]), arm="b", dataset="data1111")
    assert table(tmp_path, "calibration") == []


@pytest.mark.parametrize("name", ["calibration", "payoff"])
def test_one_arm_alone_is_no_row(tmp_path: Path, name: str) -> None:
    pair(tmp_path, ["rr"], ["rr"], model="both")
    write_run(tmp_path / "only-a", cell(["rr"]), arm="a", model="one")
    assert [one["label"] for one in table(tmp_path, name)] == ["both"]


def test_what_matters_comes_first_on_80_columns(tmp_path: Path) -> None:
    pair(tmp_path, ARM_A, ARM_B, model="memory(bits=1024)")
    pair(
        tmp_path, [a.replace("x", "r") for a in ARM_A], ARM_B, length=1024, model="other(bits=1024, ngram=3)"
    )
    (made,) = tables([tmp_path], names=["calibration"])
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(made)
    text = console.export_text()
    places = [
        text.index(words)
        for words in ("Coverage", "Acc. %", "Gap", "Responsiveness", "Declined by B", "Failed")
    ]
    assert places == sorted(places)
    assert max(places[:2]) < text.index("Model")  # in the headings of the first panel
    assert "In one arm only" not in text
    assert "…" not in text
