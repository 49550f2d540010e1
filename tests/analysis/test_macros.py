from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact

from support.bootstrap import interval

MACROS = (files("eccdata.analysis") / "macros.sql").read_text("utf-8")


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(MACROS)
        yield connection


def value(con: duckdb.DuckDBPyConnection, expression: str) -> Any:
    return con.execute(f"SELECT {expression}").fetchall()[0][0]


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.integers(1, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=20)
)
def test_wilson_is_scipys(con: duckdb.DuckDBPyConnection, cases: list[tuple[int, int]]) -> None:
    listed = ", ".join(map(str, cases))
    ours = con.execute(f"SELECT k, n, wilson(k, n) FROM (VALUES {listed}) AS cases(k, n)").fetchall()
    for k, n, found in ours:
        theirs = binomtest(k, n).proportion_ci(method="wilson")
        assert (found["low"], found["high"]) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
        assert 0 <= found["low"] <= k / n + 1e-12
        assert k / n - 1e-12 <= found["high"] <= 1


def test_wilsons_ends_are_exact(con: duckdb.DuckDBPyConnection) -> None:
    wrong = "wilson(n, n).high <> 1 OR wilson(0, n).low <> 0"
    assert value(con, f"(SELECT count(*) FROM range(1, 5000) AS t(n) WHERE {wrong})") == 0


def test_wilson_of_nothing_is_nothing(con: duckdb.DuckDBPyConnection) -> None:
    assert value(con, "wilson(0, 0)") is None


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 600)] * 4), min_size=20))
def test_fisher_is_scipys(con: duckdb.DuckDBPyConnection, splits: list[tuple[int, int, int, int]]) -> None:
    listed = ", ".join(map(str, splits))
    ours = con.execute(
        f"SELECT *, fisher_one_sided(a, b, c, d) FROM (VALUES {listed}) AS splits(a, b, c, d)"
    ).fetchall()
    for a, b, c, d, p in ours:
        theirs = fisher_exact([[a, b], [c, d]], alternative="greater").pvalue
        assert p == pytest.approx(theirs, abs=1e-9, rel=1e-7)


@pytest.mark.parametrize(
    ("split", "gap", "p"),
    [
        # rows of Table 10 whose n, coverage, accuracy, gap and p leave one possible split of arm A's answers:
        # kept right, kept wrong, declined right, declined wrong
        ((543, 87, 7, 2), "+0.084", "0.363"),
        ((156, 27, 75, 25), "+0.102", "0.026"),
        ((26, 15, 25, 18), "+0.053", "0.393"),
        ((259, 153, 14, 10), "+0.045", "0.404"),
        ((16, 3, 40, 14), "+0.101", "0.287"),
        ((665, 255, 15, 8), "+0.071", "0.297"),
        ((138, 26, 2, 3), "+0.441", "0.036"),
        ((82, 31, 3, 9), "+0.476", "0.002"),
        ((117, 46, 7, 3), "+0.018", "0.576"),
        ((175, 30, 11, 3), "+0.068", "0.354"),
        ((138, 51, 8, 6), "+0.159", "0.166"),
    ],
)
def test_fisher_gives_the_papers_p(
    con: duckdb.DuckDBPyConnection, split: tuple[int, int, int, int], gap: str, p: str
) -> None:
    kept_right, kept_wrong, declined_right, declined_wrong = split
    difference = kept_right / (kept_right + kept_wrong) - declined_right / (declined_right + declined_wrong)
    assert f"{difference:+.3f}" == gap
    assert f"{value(con, f'fisher_one_sided{split}'):.3f}" == p


def test_interval_is_numpys_quantiles_of_what_is_defined(con: duckdb.DuckDBPyConnection) -> None:
    values = np.random.default_rng(5).normal(size=997)
    values[::10] = np.nan
    listed = ", ".join("NULL" if np.isnan(v) else repr(float(v)) for v in values)
    ours = value(con, f"(SELECT interval_95(v) FROM (SELECT unnest([{listed}]::DOUBLE[]) AS v))")
    assert ours == pytest.approx(interval(values))
    assert value(con, "(SELECT interval_95(v) FROM (SELECT NULL::DOUBLE AS v))") is None


@pytest.mark.parametrize(
    ("lengths", "pools"),
    [
        ([8], [[8]]),
        ([512, 1024], [[512], [1024], [512, 1024]]),
        ([8, 512], [[8], [512], [8, 512]]),
        ([8, 512, 1024], [[8], [512], [1024], [512, 1024], [8, 512, 1024]]),
    ],
)
def test_pools(con: duckdb.DuckDBPyConnection, lengths: list[int], pools: list[list[int]]) -> None:
    assert sorted(value(con, f"pools({lengths}, [512, 1024])")) == sorted(pools)


def test_harmonic_numbers(con: duckdb.DuckDBPyConnection) -> None:
    numbers = [0, 1, 2, 3, *range(15, 30), 1000, 10_000_000]
    listed = ", ".join(f"({n})" for n in numbers)
    found = con.execute(f"SELECT n, harmonic(n) FROM (VALUES {listed}) AS cases(n)").fetchall()
    for n, sum_of_inverses in found:
        assert sum_of_inverses == pytest.approx(float((1 / np.arange(1, n + 1)).sum()), abs=1e-12)


def test_the_confidence_of_an_answer_given_and_of_one_declined(con: duckdb.DuckDBPyConnection) -> None:
    cases = {
        ("yes", 0.7): 0.7,
        ("no", 0.7): 0.3,
        ("abstain", 0.7): 0.7,
        ("abstain", 0.1): 0.9,
        ("abstain", 0.5): 0.5,
    }
    for (prediction, probability), confidence in cases.items():
        assert value(con, f"confidence_of('{prediction}', {probability}::DOUBLE)") == confidence
    assert value(con, "favours_yes('abstain', 0.5)") is True
    # 1 - 0.9 is not 0.1 to a computer
    assert value(con, "confidence_of('no', 0.9::DOUBLE) = confidence_of('yes', 0.1::DOUBLE)") is True


def test_an_exact_sum_has_no_order(con: duckdb.DuckDBPyConnection) -> None:
    numbers = np.random.default_rng(0).random(1000)
    orders = [numbers, numbers[::-1], np.sort(numbers)]
    sums = {
        value(con, f"(SELECT exact_sum(x) FROM (SELECT unnest({order.tolist()}) AS x))") for order in orders
    }
    assert len(sums) == 1
    assert sums.pop() == pytest.approx(numbers.sum(), abs=1e-9)
