from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eccdata.release import Release, manifests
from eccdata.release.profile import Moments, profile
from support.toy import Toy

Make = Callable[..., Release]


def test_the_index_leads_to_every_row(make: Make) -> None:
    release = make(settings={"lengths": (8, 16, 32)})
    index = json.loads((release.path / "questions_dataset.json").read_text())
    for config, entry in index["configs"].items():
        assert entry["rows"] == {"train": 6, "test": 18}
        seen = []
        for bucket in entry["buckets"]:
            manifest = json.loads((release.path / bucket["manifest"]).read_text())
            assert manifest["key"] == {"length": bucket["length"]}
            rows = []
            for group in manifest["row_groups"]:
                table = pq.read_table(release.path / group["file"])
                rows += table.slice(group["first_row"], group["rows"]).to_pylist()
                with pq.ParquetFile(release.path / group["file"]) as file:
                    same = file.read_row_group(group["row_group"]).to_pylist()
                assert rows[-group["rows"] :] == same
            assert manifest["rows"] == bucket["rows"] == len(rows)
            assert manifest["ids"] == {"listed": True, "all": [row["question_id"] for row in rows]}
            assert {row["length"] for row in rows} == {bucket["length"]}
            yes = sum(row["answer"] == 0 for row in rows)
            counted = {"yes": yes, "no": len(rows) - yes}
            assert manifest["counts"]["answer"] == {k: v for k, v in counted.items() if v}
            rates = [row["rate"] for row in rows]
            assert manifest["statistics"]["rate"]["mean"] == pytest.approx(np.mean(rates))
            assert manifest["statistics"]["rate"]["std"] == pytest.approx(np.std(rates))
            seen += [row["question_id"] for row in rows]
        assert len(set(seen)) == len(seen) == 24, config


def test_a_large_bucket_gives_its_first_and_last_id(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "IDS_LISTED", 5)
    release = make()
    manifest = json.loads((release.path / "manifests/digits/test/length-8/manifest.json").read_text())
    assert manifest["ids"] == {"listed": False, "first": "test-L0008-q00", "last": "test-L0008-q05"}


@given(st.lists(st.lists(st.floats(-1e6, 1e6), max_size=20), min_size=1, max_size=5))
def test_moments_add_up(parts: list[list[float]]) -> None:
    together = Moments()
    for part in parts:
        one = Moments()
        for value in part:
            one.add(Moments(1, value, 0.0, value, value))
        together.add(one)
    values = np.array([value for part in parts for value in part])
    assert together.count == len(values)
    if len(values):
        assert together.mean == pytest.approx(values.mean(), abs=1e-6)
        assert together.std == pytest.approx(values.std(), rel=1e-6, abs=1e-6)
        assert (together.least, together.greatest) == (values.min(), values.max())
    else:
        assert math.isnan(together.std)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 9))
def test_profiles_of_parts_add_up_to_the_profile_of_the_whole(seed: int, cut: int) -> None:
    builder = Toy.create(seed=seed, rows=10)
    table = builder.table(builder.cells()[1])
    whole = profile(table, Toy.features())
    parts = profile(table.slice(0, cut), Toy.features())
    parts.add(profile(table.slice(cut), Toy.features()))
    assert parts.as_dict() == whole.as_dict()
    assert whole.rows == 10
    assert whole.counts["answer"].total() == 10


def test_a_label_out_of_range_and_nulls_are_told_apart() -> None:
    builder = Toy.create(rows=4)
    rows = builder.table(builder.cells()[0]).to_pylist()
    for row, answer in zip(rows, (0, 1, None, 5), strict=True):
        row["answer"] = answer
    found = profile(pa.Table.from_pylist(rows, schema=Toy.features().arrow_schema), Toy.features())
    assert found.counts["answer"] == {"yes": 1, "no": 1, "(5 is no label)": 1}
