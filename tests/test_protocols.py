from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

import datasets
import pytest

from eccdata import catalog, protocols
from eccdata.dataset import Opened, open_dataset
from eccdata.errors import EccdataError
from eccdata.evaluators.eccbench.membership import Membership
from support.questions import questions

VIDEO = ("lanes", "video", "candidate_lanes", "candidate_video")


def opened(dataset: datasets.Dataset, benchmark: str | None = None) -> Opened:
    return replace(open_dataset(dataset, config="text", split="test"), benchmark=benchmark)


def with_columns(dataset: datasets.Dataset, *names: str) -> datasets.Dataset:
    for name in names:
        dataset = dataset.add_column(name, [[0]] * len(dataset))
    return dataset


def natural() -> datasets.Dataset:
    rows = [{"question_id": "q", "clip_id": "c", "question": "Did it rain?", "answer": "yes"}]
    return datasets.Dataset.from_list(rows)


@pytest.mark.parametrize("benchmark", ["eccbench", None])
@pytest.mark.parametrize(
    ("dataset", "protocol"),
    [
        (questions(2), "membership"),
        (with_columns(questions(2), *VIDEO), "membership-video"),
        (natural(), "natural"),
    ],
    ids=["text", "video", "natural"],
)
def test_what_the_dataset_has_chooses_the_protocol(
    dataset: datasets.Dataset, protocol: str, benchmark: str | None
) -> None:
    evaluator = protocols.only_one(opened(dataset, benchmark), None, {"arm": "a"})
    assert (evaluator.benchmark, evaluator.protocol) == ("eccbench", protocol)
    assert evaluator.arm == "a"  # type: ignore[attr-defined]


def test_where_none_fits_each_says_why() -> None:
    dataset = questions(2).remove_columns("stream")
    with pytest.raises(EccdataError, match="can be asked by no protocol of eccbench") as caught:
        protocols.only_one(opened(dataset), "eccbench", {})
    assert "- eccbench.membership: it lacks the columns stream\n" in str(caught.value)
    assert "- eccbench.natural: it lacks the columns clip_id, question\n" in str(caught.value)


def test_a_refused_row_is_a_reason() -> None:
    dataset = with_columns(questions(2), "lanes")
    with pytest.raises(
        EccdataError, match=r"eccbench\.membership: The row of stream .* asks about letters on belts"
    ):
        protocols.only_one(opened(dataset), None, {})


def test_where_several_fit_they_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class One(Membership):  # type: ignore[misc]
        protocol: ClassVar[str] = "one"

    monkeypatch.setattr(catalog, "protocols", lambda _: ["one", "two"])
    monkeypatch.setattr(catalog, "evaluator", lambda *_: One)
    several = "can be asked by several protocols:\n  - eccbench.one\n  - eccbench.two\nSay which one (--protocol NAME)."
    with pytest.raises(EccdataError, match=re.escape(several)):
        protocols.only_one(opened(questions(2), "eccbench"), None, {})


def test_an_option_that_the_chosen_protocol_lacks_is_told_of_it() -> None:
    with pytest.raises(EccdataError, match="layout: no such setting"):
        protocols.only_one(opened(questions(2)), None, {"layout": "frames"})
