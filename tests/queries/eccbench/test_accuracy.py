from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import binomtest

from support.bootstrap import interval, replicates
from support.results import cell, clip_cell, video_cell, write_run
from support.tables import row, table

# 3 streams of 4, 4 and 3 scored questions: 2, 3 and 0 right, 1, 0 and 3 abstentions, one failure
LOW = ["rrw-", "rrrw", "mo-x"]


def test_a_cell_by_hand(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(LOW, length=64) + cell(["rrrr"], length=64, band="max"))
    low = row(tmp_path, "accuracy", band="low")
    counts = ("label", "subset", "length", "streams", "n", "failed", "abstained", "correct")
    assert {key: low[key] for key in counts} == {
        "label": "model",
        "subset": "synthetic text",
        "length": 64,
        "streams": 3,
        "n": 11,
        "failed": 1,
        "abstained": 4,
        "correct": 5,
    }
    assert low["accuracy"] == 5 / 11
    wilson = binomtest(5, 11).proportion_ci(method="wilson")
    assert (low["accuracy_wilson"]["low"], low["accuracy_wilson"]["high"]) == pytest.approx(
        (wilson.low, wilson.high)
    )
    expected = interval(replicates(lambda t: t[0] / t[1], [2, 3, 0], [4, 4, 3]))
    assert low["accuracy_bootstrap"] == pytest.approx(expected, abs=1e-12)
    # no, yes, no, yes: of yes 1 of 2, 1 of 2 and 0 of 1 are right, of no 1 of 2, 2 of 2 and 0 of 2
    assert low["balanced"] == pytest.approx((2 / 5 + 3 / 6) / 2)
    one_stream = row(tmp_path, "accuracy", band="max")
    assert (one_stream["accuracy"], one_stream["balanced"]) == (1, 1)
    assert one_stream["accuracy_bootstrap"] is None


def test_balanced_accuracy_weighs_the_answers_equally(tmp_path: Path) -> None:
    # one who always says no: right on the 3 of 4 questions whose answer is no
    streams = ["wrrr", "wrrr", "wrwr"]
    write_run(tmp_path / "run", cell(streams, answers="ynnn"))
    one = row(tmp_path, "accuracy")
    assert one["accuracy"] == 8 / 12
    assert one["balanced"] == pytest.approx((0 / 3 + 8 / 9) / 2)
    expected = interval(
        replicates(lambda t: (t[0] / t[1] + t[2] / t[3]) / 2, [0, 0, 0], [1, 1, 1], [3, 3, 2], [3, 3, 3])
    )
    assert one["balanced_bootstrap"] == pytest.approx(expected, abs=1e-12)


def test_both_variants_of_video_weigh_the_same(tmp_path: Path) -> None:
    """Sequential is right on 5 of 8, spatial on 3 of 7: half of each, however many were answered."""
    for variant, streams in (("sequential", ["rrrr", "rwww"]), ("spatial", ["rrww", "-rwx"])):
        write_run(
            tmp_path / variant,
            video_cell(streams, variant=variant, length=16),
            config=f"video-{variant}",
            protocol="membership-video",
        )
    assert [made["subset"] for made in table(tmp_path, "accuracy")] == [
        "synthetic video",
        "synthetic video, sequential",
        "synthetic video, spatial",
    ]
    both = row(tmp_path, "accuracy", subset="synthetic video")
    assert (both["streams"], both["n"], both["failed"], both["correct"]) == (2, 15, 1, 8)
    assert both["accuracy"] == pytest.approx((5 / 8 + 3 / 7) / 2)
    expected = interval(replicates(lambda t: (t[0] / t[1] + t[2] / t[3]) / 2, [4, 1], [4, 4], [2, 1], [4, 3]))
    assert both["accuracy_bootstrap"] == pytest.approx(expected, abs=1e-12)
    assert row(tmp_path, "accuracy", subset="synthetic video, spatial")["accuracy"] == 3 / 7


def test_one_variant_of_video_is_not_both(tmp_path: Path) -> None:
    questions = video_cell(["rr", "rw"], variant="spatial", length=16)
    write_run(tmp_path / "run", questions, config="video-spatial", protocol="membership-video")
    (one,) = table(tmp_path, "accuracy")
    assert (one["subset"], one["accuracy"]) == ("synthetic video, spatial", 3 / 4)


def test_natural_video_has_the_bands_of_its_density(tmp_path: Path) -> None:
    questions = (
        clip_cell(["rr", "wr"], band="low", length=64)
        + clip_cell(["w", "r"], band="high", length=64)
        + [{**q, "density_band": None} for q in clip_cell(["rx"], band="none", length=8)]
    )
    write_run(tmp_path / "run", questions, config="natural", protocol="natural")
    found = {(made["length"], made["band"]): made["accuracy"] for made in table(tmp_path, "accuracy")}
    assert found == {(8, "unmeasured"): 1.0, (64, "high"): 0.5, (64, "low"): 0.75}


def test_a_stream_of_failures_is_no_stream(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(["rw", "xx", "rr", "ww"]))
    one = row(tmp_path, "accuracy")
    assert (one["streams"], one["n"], one["failed"]) == (3, 6, 2)
    expected = interval(replicates(lambda t: t[0] / t[1], [1, 2, 0], [2, 2, 2]))
    assert one["accuracy_bootstrap"] == pytest.approx(expected, abs=1e-12)


def test_a_cell_of_failures_has_no_accuracy(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(["xx", "xx"]))
    one = row(tmp_path, "accuracy")
    assert (one["n"], one["failed"], one["accuracy"], one["accuracy_bootstrap"]) == (0, 4, None, None)


def test_streams_count_the_same_whatever_the_files(tmp_path: Path) -> None:
    questions = cell([*LOW, "rwrw", "wwww", "rrrr"])
    write_run(tmp_path / "one", questions)
    write_run(tmp_path / "two", questions[::-1], parts=5, model="backwards")
    backwards, model = table(tmp_path, "accuracy")
    assert {**backwards, "label": "model"} == model


def test_what_is_not_of_the_table_is_not_in_it(tmp_path: Path) -> None:
    write_run(tmp_path / "a", cell(["rr"]), arm="a")
    write_run(
        tmp_path / "human", cell(["rr"], band=None, structure="repeating-pattern"), config="easyhuman-text"
    )
    assert table(tmp_path, "accuracy") == []
