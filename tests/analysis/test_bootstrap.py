from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import bootstrap, chisquare

from eccdata.analysis import bootstrap as module
from eccdata.analysis.bootstrap import REPLICATES, add_bootstrap, redrawn_totals, weights

Counts = NDArray[np.float64]


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute((files("eccdata.analysis") / "macros.sql").read_text("utf-8"))
        add_bootstrap(connection)
        yield connection


def ask(con: duckdb.DuckDBPyConnection, expression: str, counts: Counts, more: str = "true AS p") -> Any:
    """Give an aggregate over streams whose counts are called a, b, c, d."""
    listed = ", ".join(
        f"({', '.join('NULL' if np.isnan(value) else repr(float(value)) for value in row)})" for row in counts
    )
    names = ", ".join("abcd"[: counts.shape[1]])
    query = f"SELECT {expression} FROM (SELECT *, {more} FROM (VALUES {listed}) AS streams({names}))"
    return con.execute(query).fetchall()[0][0]


def by_hand(counts: Counts, statistic: Callable[[Counts], Counts], key: int = 0) -> dict[str, float]:
    """The interval of a statistic of the totals [count, replicate], from the weights, in plain NumPy."""
    ordered = np.array(sorted(counts.tolist()))
    with np.errstate(invalid="ignore", divide="ignore"):
        values = statistic((weights(len(counts), key).astype(float) @ ordered).T)
    low, high = np.nanquantile(np.where(np.isinf(values), np.nan, values), [0.025, 0.975])
    return {"low": low, "high": high}


def streams(number: int, columns: int = 4, seed: int = 0) -> Counts:
    """Streams of sixteen questions: right, asked, and so on."""
    rng = np.random.default_rng(seed)
    asked = rng.integers(4, 17, (number, columns // 2))
    right = rng.binomial(asked, rng.beta(2, 1, (number, 1)))
    return np.stack([right, asked], axis=2).reshape(number, columns).astype(float)


@pytest.mark.parametrize("size", [2, 7, 40, 401])
def test_weights_are_draws_with_replacement(size: int) -> None:
    drawn = weights(size, 0).astype(int)
    assert drawn.shape == (REPLICATES, size)
    assert (drawn.sum(axis=1) == size).all()
    assert chisquare(drawn.sum(axis=0)).pvalue > 1e-3
    # how often one stream is drawn is binomial, and what is drawn in one replicate says nothing of the next
    assert drawn.var(axis=0).mean() == pytest.approx(1 - 1 / size, rel=0.05)
    for left, right in ((drawn[1:], drawn[:-1]), (weights(size, 1), weights(size, 2))):
        assert abs(np.corrcoef(left.ravel(), right.ravel())[0, 1]) < 4 / np.sqrt(left.size)


def test_weights_are_the_same_whatever_was_drawn_before() -> None:
    assert (weights(40, 0) == weights(40, 0)).all()
    assert weights(40, 0)[:3, :8].tolist() == FIRST


FIRST = [[2, 0, 1, 1, 2, 3, 0, 0], [1, 1, 1, 1, 0, 0, 2, 2], [1, 1, 0, 1, 5, 2, 0, 1]]


@pytest.mark.parametrize("number", [2, 3, 20, 77])
def test_each_statistic_is_numpys(con: duckdb.DuckDBPyConnection, number: int) -> None:
    counts = streams(number)
    pair = np.insert(counts[:, :2], 2, [[0], [0]], axis=1)
    expected = {
        "bootstrap_share(a, b)": by_hand(pair, lambda t: t[0] / t[1]),
        "bootstrap_difference(a, b, c, d)": by_hand(counts, lambda t: t[0] / t[1] - t[2] / t[3]),
        "bootstrap_mean(a, b, c, d)": by_hand(counts, lambda t: (t[0] / t[1] + t[2] / t[3]) / 2),
    }
    for expression, interval in expected.items():
        assert ask(con, expression, counts) == pytest.approx(interval, abs=1e-12), expression


def test_a_contrast_redraws_both_bands_by_themselves(con: duckdb.DuckDBPyConnection) -> None:
    counts = streams(50)
    first, second = counts[counts[:, 3] > 8], counts[counts[:, 3] <= 8]

    def redrawn(group: Counts, key: int) -> Counts:
        drawn: Counts = weights(len(group), key).astype(float) @ np.array(sorted(group.tolist()))
        return drawn.T

    one, other = redrawn(first, 1), redrawn(second, 2)
    shares = one[0] / one[1] - other[0] / other[1]
    means = (one[0] / one[1] + one[2] / one[3] - other[0] / other[1] - other[2] / other[3]) / 2
    for expression, values in (
        ("bootstrap_mean_contrast(a, b, c, d, d > 8, d <= 8)", means),
        ("bootstrap_contrast(a, b, d > 8, d <= 8)", shares),
    ):
        low, high = np.quantile(values, [0.025, 0.975])
        # of two counts the streams are in another order than of four: the same distribution, other draws
        tight = 1e-12 if "mean" in expression else 0.02
        assert ask(con, expression, counts) == pytest.approx({"low": low, "high": high}, abs=tight)
    variance = sum(by.var() / len(by) for by in (first[:, 0], second[:, 0]))
    interval = ask(con, "bootstrap_contrast(a, 1, d > 8, d <= 8)", counts)
    assert interval["high"] - interval["low"] == pytest.approx(2 * 1.96 * variance**0.5, rel=0.06)


def test_intervals_are_scipys(con: duckdb.DuckDBPyConnection) -> None:
    counts = streams(60)

    def gap(a: Counts, b: Counts, c: Counts, d: Counts, axis: int) -> Counts:
        return a.sum(axis) / b.sum(axis) - c.sum(axis) / d.sum(axis)  # type: ignore[no-any-return]

    theirs = bootstrap(
        tuple(counts.T),
        gap,
        paired=True,
        method="percentile",
        n_resamples=20_000,
        rng=np.random.default_rng(3),
    ).confidence_interval
    ours = ask(con, "bootstrap_difference(a, b, c, d)", counts)
    width = theirs.high - theirs.low
    assert ours == pytest.approx({"low": theirs.low, "high": theirs.high}, abs=0.06 * width)


def test_redraws_in_which_nothing_was_declined_are_left_out(con: duckdb.DuckDBPyConnection) -> None:
    # of three streams one declined anything: it is missing from (2/3)^3 of the redraws
    counts = np.array([[3.0, 4.0, 0.0, 0.0], [1.0, 4.0, 0.0, 0.0], [2.0, 3.0, 1.0, 2.0]])
    totals = (weights(3, 0).astype(float) @ np.array(sorted(counts.tolist()))).T
    defined = totals[3] > 0
    gaps = totals[0][defined] / totals[1][defined] - totals[2][defined] / totals[3][defined]
    low, high = np.quantile(gaps, [0.025, 0.975])
    assert ask(con, "bootstrap_difference(a, b, c, d)", counts) == pytest.approx({"low": low, "high": high})
    chance = ask(con, "bootstrap_chance(a, b, c, d)", counts)
    assert chance == {
        "not_positive": pytest.approx((gaps <= 0).mean()),
        "undefined": REPLICATES - defined.sum(),
    }
    assert chance["undefined"] == pytest.approx(REPLICATES * 8 / 27, rel=0.1)


@pytest.mark.parametrize(
    ("counts", "expression"),
    [
        (streams(1), "bootstrap_share(a, b)"),
        (streams(5) * [1, 0, 1, 1], "bootstrap_share(a, b)"),
        (np.array([[1.0, 2.0], [np.nan, 2.0], [1.0, 2.0]]), "bootstrap_share(a, b)"),
        (streams(5), "bootstrap_share(a, b) FILTER (false)"),
        (streams(5), "bootstrap_contrast(a, b, true, false)"),
        (streams(5), "bootstrap_chance(a, b, NULL, d)"),
    ],
    ids=["one stream", "nothing asked", "unknown", "none", "no other band", "unknown count"],
)
def test_what_has_no_interval(con: duckdb.DuckDBPyConnection, counts: Counts, expression: str) -> None:
    if "FILTER" in expression:
        assert con.execute("SELECT bootstrap_share(a, 1) FROM range(0) AS t(a)").fetchall() == [(None,)]
    else:
        assert ask(con, expression, counts) is None


def test_every_redraw_undefined(con: duckdb.DuckDBPyConnection) -> None:
    chance = ask(con, "bootstrap_chance(a, b, 0, 0)", streams(5))
    assert chance == {"not_positive": None, "undefined": REPLICATES}


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(12)), st.sampled_from([1.0, 0.37, 1e15]))
def test_order_of_streams_does_not_matter(
    con: duckdb.DuckDBPyConnection, order: list[int], unit: float
) -> None:
    counts = streams(12) * unit
    expression = "bootstrap_difference(a, b, c, d)"
    assert ask(con, expression, counts[order]) == ask(con, expression, counts)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_cells_do_not_depend_on_threads_or_on_each_other(threads: int) -> None:
    with duckdb.connect(config={"threads": threads}) as con:
        add_bootstrap(con)
        con.execute("""
            CREATE TABLE streams AS
            SELECT i // 50 AS cell, i % 17 AS a, 16 AS b, hash(i) % 5 AS c, 6 AS d
            FROM range(130000) AS t(i) WHERE i % (50 + i // 3250) < 40
        """)
        rows = con.execute("""
            SELECT cell, bootstrap_share(a, b), bootstrap_difference(a, b, c, d), bootstrap_share(a * 0.1, b)
            FROM streams GROUP BY ALL ORDER BY ALL
        """).fetchall()
        assert len(rows) == 2600
        for cell in (0, 777, 2599):
            alone = con.execute(
                "SELECT bootstrap_share(a, b), bootstrap_difference(a, b, c, d), bootstrap_share(a * 0.1, b) "
                "FROM streams WHERE cell = ?",
                [cell],
            ).fetchall()[0]
            assert rows[cell][1:3] == alone[:2]
            assert rows[cell][3] == pytest.approx(alone[2], rel=1e-12)


def test_more_streams_than_weights_are_held_of() -> None:
    """Few kinds of streams are drawn as kinds, many as streams; both have the textbook's spread."""
    number = 12_000
    with duckdb.connect() as con:
        add_bootstrap(con)
        con.execute(
            f"CREATE TABLE s AS SELECT i % 17 AS a, hash(i) % 1000003 AS b FROM range({number}) AS t(i)"
        )
        kinds, single, spread_a, spread_b = con.execute(
            "SELECT bootstrap_share(a, 1), bootstrap_share(b, 1), stddev_pop(a), stddev_pop(b) FROM s"
        ).fetchall()[0]
        for interval, spread in ((kinds, spread_a), (single, spread_b)):
            width = interval["high"] - interval["low"]
            assert width == pytest.approx(2 * 1.96 * spread / number**0.5, rel=0.06)


def test_kinds_of_streams_have_the_distribution_of_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.repeat(streams(5), 40, axis=0)[:, None, :]
    one_by_one = module._redrawn_cells(counts, 0)
    monkeypatch.setattr(module, "_KEPT", 1)
    by_kind = module._redrawn_cells(counts, 0)
    assert not (one_by_one == by_kind).all()
    assert by_kind.mean(axis=0) == pytest.approx(one_by_one.mean(axis=0), rel=0.01)
    first, second = (np.cov(totals[:, 0].T) for totals in (one_by_one, by_kind))
    assert second == pytest.approx(first, rel=0.15, abs=0.05 * first.max())


def test_totals(con: duckdb.DuckDBPyConnection) -> None:
    counts = streams(9)
    ordered = np.array(sorted(counts.tolist()))
    found = ask(con, "bootstrap_totals(list([a, b, c, d]::DOUBLE[]), 3)", counts)
    assert np.array(found) == pytest.approx((weights(9, 3).astype(float) @ ordered).T)
    assert np.array(found) == pytest.approx(redrawn_totals(ordered, 3).T)
    query = (
        "SELECT bootstrap_totals(rows, 0) FROM (VALUES ([[1.0, 2.0]]), (NULL), ([[1.0], [3.0]])) AS t(rows)"
    )
    one, nothing, two = (row[0] for row in con.execute(query).fetchall())
    assert (one, nothing) == (None, None)
    assert np.array(two) == pytest.approx(redrawn_totals(np.array([[1.0], [3.0]]), 0).T)
