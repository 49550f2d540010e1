"""What tables cost: all of them over many responses, and three of them beside the same in hand-written polars.

Half a million responses are made, or as many as `ECCDATA_RESPONSES` says: 10,000,000 are what the tables are meant for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from eccdata.analysis import tables
from support.many_responses import write_responses
from support.peak import PEAK_KIB

RESPONSES = int(os.environ.get("ECCDATA_RESPONSES", "500000"))
MODELS = 40 if RESPONSES > 2_000_000 else 12
MEMORY_MIB = 4 * 1024
TIMES_BY_HAND = 25 if RESPONSES > 2_000_000 else 80
"""What all tables may take, in terms of what three of them take by hand. At half a million responses half of it is what
the redraws take, which are as many for any number of responses."""

pytestmark = pytest.mark.benchmark


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    begun = time.perf_counter()
    written = write_responses(folder, RESPONSES, models=MODELS)
    print(
        f"\n{written:,} responses of {MODELS} models in {time.perf_counter() - begun:.0f} s; {os.cpu_count()} cores"
    )
    return folder


def test_all_tables_keep_to_two_threads_and_four_gigabytes(results: Path, tmp_path: Path) -> None:
    """In a process of its own, held to two cores where the system lets it be."""
    script = f"""
import os, resource, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
begun = time.perf_counter()
from eccdata.analysis import tables
made = tables([{str(results)!r}], out={str(tmp_path / "tables")!r}, memory_limit="2500MB", threads=2)
taken = time.perf_counter() - begun
wrong = [table.error for table in made if table.error]
used = resource.getrusage(resource.RUSAGE_SELF)
cpu = used.ru_utime + used.ru_stime
print(len(made), sum(table.made for table in made), taken, cpu, {PEAK_KIB} / 1024, wrong, sep="|")
"""
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    number, made, taken, cpu, peak, wrong = done.stdout.strip().split("|")
    print(
        f"\n{number} tables, {made} of them with rows: {float(taken):.1f} s, {float(cpu):.1f} s of CPU time, "
        f"peak memory {float(peak):.0f} MiB"
    )
    by_hand = sum(least(results, counted) for counted in (accuracy, coverage, calibration))
    print(
        f"the counts of three of them in hand-written polars: {by_hand:.2f} s of CPU time; all tables take "
        f"{float(cpu) / by_hand:.1f} times that"
    )
    assert wrong == "[]"
    assert int(made) >= 15
    assert float(peak) < MEMORY_MIB
    assert float(cpu) < TIMES_BY_HAND * by_hand


def accuracy(responses: pl.LazyFrame) -> pl.LazyFrame:
    """The point estimates of the table of accuracies."""
    return (
        responses.filter(
            pl.col("arm") == "none", pl.col("config").is_in(["text", "video-sequential", "video-spatial"])
        )
        .group_by("model", "config", "length", "band")
        .agg(pl.len(), pl.col("correct").sum(), (pl.col("prediction") != "abstain").sum().alias("answered"))
    )


def coverage(responses: pl.LazyFrame) -> pl.LazyFrame:
    """Those of the table of coverage: every length, and all of them."""
    by_length = (
        responses.filter(pl.col("config") != "easyhuman-text")
        .group_by("model", "config", "length", "arm")
        .agg(pl.len(), (pl.col("prediction") != "abstain").sum().alias("answered"))
    )
    return by_length.group_by("model", "config", "arm").agg(pl.col("len", "answered").sum())


def calibration(responses: pl.LazyFrame) -> pl.LazyFrame:
    """Those of the table of calibration: arms matched question by question."""
    chosen = responses.filter(pl.col("config") != "easyhuman-text", pl.col("status") == "ok")
    keys = ["model", "config", "length", "question_id"]
    a, b = (chosen.filter(pl.col("arm") == arm).select(*keys, "prediction", "correct") for arm in ("a", "b"))
    return (
        a.join(b, on=keys, suffix="_b")
        .with_columns(kept=pl.col("prediction_b") != "abstain", answered=pl.col("prediction") != "abstain")
        .group_by("model", "config", "length")
        .agg(
            pl.len(),
            pl.col("answered").sum().alias("answered_a"),
            pl.col("kept").sum().alias("answered_b"),
            (pl.col("correct") & pl.col("kept")).sum().alias("kept_right"),
            (pl.col("correct") & ~pl.col("kept")).sum().alias("declined_right"),
        )
    )


def with_polars(results: Path, counted: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
    """Count over all files, whatever columns they have more."""
    wanted = ["model", "config", "arm", "length", "band", "question_id", "status", "prediction", "correct"]
    frames = []
    for config in ("text", "video-sequential", "video-spatial", "natural"):
        frame = pl.scan_parquet(sorted(results.glob(f"{config}-*/responses/*.parquet")))
        names = {name: "density_band" if (name, config) == ("band", "natural") else name for name in wanted}
        frames.append(frame.select(pl.col(column).alias(name) for name, column in names.items()))
    return counted(pl.concat(frames)).collect(engine="streaming")


def least(results: Path, counted: Callable[[pl.LazyFrame], pl.LazyFrame]) -> float:
    """CPU time of the faster one of two passes, in seconds."""
    return min(cpu_time(lambda: with_polars(results, counted)) for _ in range(2))


def cpu_time(work: Callable[[], object]) -> float:
    """CPU time of all threads in seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.parametrize(
    ("name", "counted", "limit"),
    [("accuracy", accuracy, 110), ("coverage", coverage, 75), ("calibration", calibration, 50)],
)
def test_a_table_beside_hand_written_polars(
    results: Path, name: str, counted: Callable[[pl.LazyFrame], pl.LazyFrame], limit: float
) -> None:
    """The least that a table's point estimates take, with no views, no redraws, no look at what is missing."""
    table = cpu_time(lambda: tables([results], names=[name]))
    by_hand = least(results, counted)
    print(
        f"\n{name:12} {table:6.2f} s of CPU time; hand-written polars {by_hand:5.2f} s; {table / by_hand:5.1f} times"
    )
    assert table < limit * by_hand
