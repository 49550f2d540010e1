"""Questions that a run has answered more than once."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from eccdata.analysis.views import Views
from eccdata.errors import problem

ROWS_AT_ONCE = 1 << 19
"""How many names of questions are told apart together, unless one run has more."""


def check_questions(views: Views, connection: duckdb.DuckDBPyConnection) -> None:
    """See that no run has two responses to one question: they would be counted, and paired, twice.

    Args:
        views: The views over the runs.
        connection: One of its connections.

    Raises:
        EccdataError: Naming the runs that have.

    """
    batches: list[list[int]] = []
    rows = 0
    for place, run in enumerate(views.runs):
        # a few runs at a time, for their questions are soon told apart and forgotten
        rows += run.responses
        if not batches or rows > ROWS_AT_ONCE:
            batches.append([])
            rows = run.responses
        batches[-1].append(place)
    short = "hash(run_id, question_id)"
    suspect = [place for batch in batches if _surplus(views, connection, batch, short) for place in batch]
    # two short keys may be the same by chance
    found = {place: _surplus(views, connection, [place], "question_id") for place in suspect}
    if any(found.values()):
        raise problem(
            "These runs hold more than one response to a question:",
            [f"{views.runs[place].name}: {surplus} too many" for place, surplus in found.items() if surplus],
            "Run `eccdata evaluate` again: it writes the responses anew from the store.",
        )


def _surplus(views: Views, connection: duckdb.DuckDBPyConnection, places: Sequence[int], key: str) -> int:
    """How many responses of some runs have a key that another one has."""
    source = views.sources.rows(places)
    distinct = f"SELECT count(*) FROM (SELECT DISTINCT {key} FROM {source})"  # noqa: S608 (names are ours)
    # counted now, and not as when the files were opened: one that was written anew since has no doubles for that
    ((rows,),) = connection.execute(f"SELECT count(*) FROM {source}").fetchall()  # noqa: S608 (names are ours)
    return int(rows - connection.execute(distinct).fetchall()[0][0])
