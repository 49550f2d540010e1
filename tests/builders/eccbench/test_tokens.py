from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from eccdata import catalog
from eccdata.errors import EccdataError
from support.building import Make, assert_golden, assert_same_however_prepared, rows
from support.peak import PEAK_KIB

GOLDEN = {"1.0.0": "4ac325f788ff6285"}


@pytest.fixture(name="make")
def _make(tmp_path: Path) -> Make:
    return lambda **settings: catalog.builder("eccbench", "tokens").create(
        cache_dir=str(tmp_path), **settings
    )


def test_rows_are_those_of_this_version(make: Make) -> None:
    assert_golden(make(sequences=40, test_lengths=(64,), test_streams=2), GOLDEN)


def test_the_defaults_are_the_papers(make: Make) -> None:
    builder = make()
    sizes = dict.fromkeys(("train", "validation", "test"), 0)
    for cell in builder.cells():
        sizes[cell.split] += cell.stop - cell.start
    assert sizes == {"train": 475_000, "validation": 25_000, "test": 80}
    assert [dict(cell.key) for cell in builder.cells() if cell.split == "test"] == [
        {"length": length, "band": band} for length in (2048, 4096) for band in ("low", "max")
    ]
    assert builder.settings | {"seed": 0} == {
        "seed": 0,
        "queries": 32,
        "candidate_lengths": (3, 6),
        "alphabet_size": 16,
        "sequences": 500_000,
        "min_length": 32,
        "max_length": 1024,
        "validation_fraction": 0.05,
        "test_lengths": (2048, 4096),
        "test_streams": 20,
    }


def test_what_a_row_says(make: Make) -> None:
    builder = make(sequences=400, test_lengths=(64,), test_streams=2)
    train, validation, test = (rows(builder, split) for split in ("train", "validation", "test"))
    assert (len(train), len(validation), len(test)) == (380, 20, 4)
    assert train[130]["stream_id"] == "tokens-train-s000130"
    assert validation[0]["stream_id"] == "tokens-validation-s000000"
    assert [row["stream_id"] for row in test] == [
        f"tokens-L0064-{band}-s{index:02d}" for band in ("low", "max") for index in (0, 1)
    ]
    for row in train + validation + test:
        stream = bytes(row["stream"])
        assert row["length"] == len(stream)
        assert (row["lz_rate"] is None) == (row not in test)
        assert len(row["queries"]) == 32
        candidates = [bytes(query["candidate"]) for query in row["queries"]]
        assert len(set(candidates)) == 32
        for candidate, query in zip(candidates, row["queries"], strict=True):
            assert query["position"] == stream.find(candidate)
            assert query["answer"] == (0 if candidate in stream else 1)
            assert query["negative_kind"] == (None if candidate in stream else "uniform")
        lengths = [
            sorted(len(query["candidate"]) for query in row["queries"] if query["answer"] == answer)
            for answer in (0, 1)
        ]
        assert lengths[0] == lengths[1]
        assert len(lengths[0]) == 16


def test_training_sequences_are_uniform(make: Make) -> None:
    found = rows(make(sequences=1200, validation_fraction=0, test_lengths=()), "train")
    lengths = np.array([row["length"] for row in found])
    assert lengths.min() >= 32
    assert lengths.max() <= 1024
    assert stats.kstest(lengths, stats.randint(32, 1025).cdf).pvalue > 1e-3
    symbols = np.concatenate([row["stream"] for row in found])
    assert stats.chisquare(np.bincount(symbols, minlength=16)).pvalue > 1e-3
    pairs = symbols[:-1] * 16 + symbols[1:]
    assert stats.chisquare(np.bincount(pairs, minlength=256)).pvalue > 1e-3
    sizes = [len(query["candidate"]) for row in found for query in row["queries"] if query["answer"] == 0]
    assert stats.chisquare(np.bincount(sizes, minlength=7)[3:]).pvalue > 1e-3


def test_test_streams_are_those_of_the_text_set(make: Make, tmp_path: Path) -> None:
    text = catalog.builder("eccbench", "text").create(cache_dir=str(tmp_path), lengths=(64,), streams=2)
    streams = {row["stream_id"].removeprefix("text-"): row["stream"] for row in rows(text)}
    tokens = {
        row["stream_id"].removeprefix("tokens-"): row["stream"]
        for row in rows(make(sequences=1, test_lengths=(64,), test_streams=2))
    }
    assert tokens == streams


def test_a_row_depends_on_its_index_alone(make: Make) -> None:
    many = make(sequences=1300, validation_fraction=0.1, test_lengths=())
    for split in ("train", "validation"):
        whole = rows(many, split)
        for sequences in (1, 137, 1200):
            part = rows(make(sequences=sequences, validation_fraction=0.1, test_lengths=()), split)
            assert len(part) <= sequences
            assert part == whole[: len(part)]
    assert rows(make(sequences=10, seed=1), "train") != rows(make(sequences=10), "train")
    train, validation = rows(many, "train"), rows(many, "validation")
    assert not {tuple(row["stream"]) for row in train} & {tuple(row["stream"]) for row in validation}


def test_rows_are_the_same_however_they_are_prepared(make: Make, tmp_path: Path) -> None:
    assert_same_however_prepared(make(sequences=2200, test_lengths=(32, 64), test_streams=1), str(tmp_path))


BUILD = f"""
import sys
from eccdata import catalog
import datasets
datasets.disable_progress_bars()
builder = catalog.builder("eccbench", "tokens").create(
    cache_dir=sys.argv[1], sequences=int(sys.argv[2]), test_lengths=()
)
builder.download_and_prepare()
print({PEAK_KIB})
"""


def test_memory_does_not_grow_with_the_number_of_sequences(tmp_path: Path) -> None:
    def peak_bytes(sequences: int) -> int:
        run = subprocess.run(
            [sys.executable, "-c", BUILD, str(tmp_path / str(sequences)), str(sequences)],
            check=True,
            capture_output=True,
            text=True,
        )
        return int(run.stdout.split()[-1]) * 1024

    few, many = peak_bytes(3_000), peak_bytes(25_000)
    print(f"peak memory: {few / 2**20:.0f} MiB for 3,000 sequences, {many / 2**20:.0f} MiB for 25,000")
    # 22,000 sequences more take 31 MiB as Arrow
    assert many - few < 16 * 2**20
    assert many < 2**30


def test_bad_settings_are_told_together(make: Make) -> None:
    with pytest.raises(EccdataError) as error:
        make(
            sequences=0,
            min_length=5,
            max_length=4,
            validation_fraction=1.5,
            test_lengths=(64, 64, 3),
            test_streams=0,
            queries=31,
        )
    for part in (
        "sequences=0",
        "min_length=5",
        "max_length=4",
        "validation_fraction=1.5",
        "test_lengths=64: given 2 times",
        "test_lengths=3",
        "test_streams=0",
        "queries=31",
    ):
        assert part in str(error.value)
    with pytest.raises(EccdataError, match="candidate_lengths=3,12"):
        make(alphabet_size=256, candidate_lengths=(3, 12))
