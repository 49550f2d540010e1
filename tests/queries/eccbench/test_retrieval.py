from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from eccdata.analysis import connect, tables
from support.bootstrap import interval, replicates
from support.results import clip_cell, video_cell, write_run
from support.retrieved import TF, costs, write_retrieval
from support.tables import row, table

ANSWERER = "Qwen/Qwen3-Omni-30B-A3B-Instruct"
NAME = "Qwen3-Omni (30B, A3B)"
# questions of a stream are no, yes, no, yes
RAG, FULL = ["rwrr", "rrwx"], ["rrrr", "wwrr"]


def retrieved(folder: Path, questions: list[dict[str, Any]], **options: Any) -> None:
    write_retrieval(folder, questions, answerer=ANSWERER, **options)


def video(outcomes: list[str], variant: str = "sequential", **columns: Any) -> list[dict[str, Any]]:
    return video_cell(outcomes, variant=variant, length=64, **columns)


HITS = [None, False, None, True, None, True, None, None]


def study(folder: Path) -> Mapping[str, Any]:
    """Retrieval on two streams, its answerer on both and on a third."""
    asked = video(RAG, hit=HITS, **costs(400, 10, 10))
    retrieved(folder / "rag", asked, protocol="membership-video", config="video-sequential")
    whole = video([*FULL, "wwww"], flops_write=70.0 * TF, flops_read=10.0 * TF)
    write_run(folder / "full", whole, protocol="membership-video", config="video-sequential", model=NAME)
    return row(folder, "retrieval")


def test_by_hand(tmp_path: Path) -> None:
    one = study(tmp_path)
    assert (one["corpus"], one["length"], one["answerer"], one["baseline"]) == ("synthetic", 64, NAME, NAME)
    assert (one["n"], one["failed"], one["n_full"]) == (7, 1, 8)
    # right: r, -, r, r and r, r, -: of three yes two, of four no three
    assert one["accuracy"] == 5 / 7
    assert (one["accuracy_yes"], one["accuracy_no"]) == (2 / 3, 3 / 4)
    assert (one["hit_rate"], one["hittable"]) == (2 / 3, 3)
    # of the full video's three streams the two that retrieval was asked about
    assert one["accuracy_full"] == 6 / 8
    assert one["answer_flops"] == pytest.approx(20 * TF)
    assert one["answer_flops_full"] == pytest.approx(80 * TF)
    assert one["saving"] == pytest.approx(4)
    assert one["index_flops"] == pytest.approx(400 * TF)
    assert one["break_even"] == pytest.approx(400 / 60)
    assert one["one_query_flops"] == pytest.approx(420 * TF)
    expected = interval(replicates(lambda totals: totals[0] / totals[1], [3, 2], [4, 3]))
    assert one["accuracy_bootstrap"] == pytest.approx(expected, abs=1e-12)


def test_the_columns_of_table_9_follow_from_each_other(tmp_path: Path) -> None:
    """Of the printed costs per answer and of the index, the query gives what is printed beside them."""
    path = files("eccdata.queries") / "eccbench" / "reference" / "table9.csv"
    printed = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    windows = {"64": 13, "128": 29, "512": 125}
    asked: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in printed:
        # the windows of B.7 at 32.9 TF each; the paper adds up what it has rounded
        index = 1000 * float(line["index_flops"])
        assert f"{32.9 * windows[line['length']] / 1000:.2f}" == line["index_flops"]
        own = costs(index, 0, float(line["answer_flops"]))
        full = float(line["answer_flops_full"].replace(",", "")) * TF
        for name, columns in (("rag", own), ("full", {"flops_write": full, "flops_read": 0.0})):
            length = int(line["length"])
            asked.setdefault((line["corpus"], name), []).extend(
                clip_cell(["rw"], band="low", length=length, **columns)
                if line["corpus"] == "natural"
                else video_cell(["rw"], variant="spatial", length=length, **columns)
            )
    for (corpus, name), questions in asked.items():
        natural = corpus == "natural"
        protocol, config = ("natural", "natural") if natural else ("membership-video", "video-spatial")
        folder = tmp_path / f"{corpus}-{name}"
        if name == "rag":
            retrieved(folder, questions, protocol=protocol, config=config)
        else:
            write_run(folder, questions, protocol=protocol, config=config, model=ANSWERER)
    made = {(row["corpus"], str(row["length"])): row for row in table(tmp_path, "retrieval")}
    assert len(made) == len(printed)
    for line in printed:
        found = made[line["corpus"], line["length"]]
        assert f"{found['one_query_flops'] / TF:,.0f}" == line["one_query_flops"]
        # costs per answer are printed in whole TF, from which these follow to some percent
        assert found["break_even"] == pytest.approx(float(line["break_even"]), rel=0.03)
        assert found["saving"] == pytest.approx(float(line["saving"].removesuffix("×")), rel=0.03)


def test_printed_values_stand_beside_measured_ones(tmp_path: Path) -> None:
    study(tmp_path)
    (made,) = tables([tmp_path], benchmark="eccbench", names=["retrieval"])
    (cells,) = made.prints
    assert cells["accuracy"].text == "58.3"
    assert cells["saving"].text == "3.7×"
    assert cells["saving"].differs
    assert cells["index_flops"].value == pytest.approx(0.43e15)
    assert "natural, 64" in " ".join(made.compared)


def test_without_the_full_video_there_is_nothing_to_save(tmp_path: Path) -> None:
    asked = video(RAG, hit=HITS, **costs(400, 10, 10))
    retrieved(tmp_path / "rag", asked, protocol="membership-video", config="video-sequential")
    # another model's, and the same model's on another dataset
    whole = video(FULL, flops_write=70.0 * TF, flops_read=10.0 * TF)
    options: dict[str, Any] = {"protocol": "membership-video", "config": "video-sequential"}
    write_run(tmp_path / "other", whole, model="Qwen3-VL (8B)", **options)
    write_run(tmp_path / "seed", whole, model=ANSWERER, dataset="sha256:other", **options)
    one = row(tmp_path, "retrieval")
    assert one["accuracy"] == 5 / 7
    assert (one["baseline"], one["n_full"], one["accuracy_full"]) == (None, 0, None)
    assert (one["saving"], one["break_even"]) == (None, None)
    assert one["one_query_flops"] == pytest.approx(420 * TF)


def test_a_price_that_nobody_knows_is_null(tmp_path: Path) -> None:
    unknown: dict[str, Any] = dict.fromkeys(costs(0, 0, 0))
    asked = video(RAG, hit=HITS, **unknown)
    retrieved(tmp_path / "rag", asked, protocol="membership-video", config="video-sequential")
    whole = video(FULL, flops_write=70.0 * TF, flops_read=10.0 * TF)
    write_run(
        tmp_path / "full", whole, protocol="membership-video", config="video-sequential", model=ANSWERER
    )
    one = row(tmp_path, "retrieval")
    nothing = ("answer_flops", "index_flops", "one_query_flops", "saving", "break_even")
    assert [one[name] for name in nothing] == [None] * len(nothing)
    assert one["answer_flops_full"] == pytest.approx(80 * TF)


def test_the_answerers_price_is_not_that_of_retrieval(tmp_path: Path) -> None:
    """A card of retrieval tells of the answerer what a card of the answerer tells: that prices it, and not this."""
    told: dict[str, Any] = {"prompt_tokens": 2000, "completion_tokens": 8, "media": [[], []]}
    priced, unpriced = costs(400, 10, 10), dict.fromkeys(costs(0, 0, 0))
    for name, columns in (("priced", priced), ("unpriced", unpriced)):
        folder = tmp_path / name / "rag"
        asked = video(["rr"], **told, **columns)
        retrieved(folder, asked, protocol="membership-video", config="video-sequential")
        card = json.loads((folder / "card.json").read_text())
        card["system"]["facts"] = {"model_info": {"model_path": ANSWERER}}
        (folder / "card.json").write_text(json.dumps(card))
    assert connect([tmp_path / "priced" / "rag"]).sql("SELECT DISTINCT flops FROM responses").fetchall() == [
        (420 * TF,)
    ]
    assert connect([tmp_path / "unpriced" / "rag"]).sql(
        "SELECT DISTINCT flops_write, flops_read, flops FROM responses"
    ).fetchall() == [(None, None, None)]


def test_variants_are_pooled_and_baselines_are_not(tmp_path: Path) -> None:
    for variant in ("sequential", "spatial"):
        config = f"video-{variant}"
        asked = video(RAG, variant, hit=HITS, **costs(400, 10, 100))
        retrieved(tmp_path / f"rag-{variant}", asked, protocol="membership-video", config=config)
        for layout in ("video", "frames"):
            whole = video(FULL, variant, flops_write=70.0 * TF, flops_read=10.0 * TF)
            write_run(
                tmp_path / f"{layout}-{variant}",
                whole,
                protocol="membership-video",
                config=config,
                model=ANSWERER,
                options={"layout": layout},
            )
    found = table(tmp_path, "retrieval")
    assert len(found) == len({each["baseline"] for each in found}) == 2
    for each in found:
        assert (each["corpus"], each["n"], each["n_full"]) == ("synthetic", 14, 16)
        # it costs more than the full video: no number of questions makes up for that
        assert each["break_even"] is None
        assert each["saving"] < 1
        # a stream is redrawn with what was asked about it under both variants
        both = interval(replicates(lambda totals: totals[0] / totals[1], [6, 4], [8, 6]))
        assert each["accuracy_bootstrap"] == pytest.approx(both, abs=1e-12)
