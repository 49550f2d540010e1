"""What the bag memories reach on the rows that a backbone is judged on: short streams need no memory for order."""

from __future__ import annotations

from typing import Any

import datasets
import numpy as np

from eccdata import rows
from eccdata.systems.memories import Bag
from eccdata.systems.memories.bag import MAX_GRAM


def bag_accuracies(dataset: datasets.Dataset) -> dict[str, float]:
    """Put the questions of `tokens` rows to the reference memories `bag(k=1)` to `bag(k=3)`.

    A bag says yes where all of a candidate's k-grams occurred somewhere in the stream; where a candidate is shorter
    than k, too. It takes about a millisecond a row.

    Returns:
        The share of right answers by the memory's label.

    """
    bags = [Bag(k) for k in range(1, MAX_GRAM + 1)]
    right = dict.fromkeys(bags, 0)
    questions = 0
    for row in rows.iterate(dataset):
        stream = np.array(row["stream"], np.uint8)
        queries: list[dict[str, Any]] = row["queries"]
        questions += len(queries)
        for bag in bags:
            state = bag.remember(stream, row["alphabet_size"])
            right[bag] += sum(
                (state.read(np.array(query["candidate"], np.uint8)) >= 0.5) == (query["answer"] == "yes")
                for query in queries
            )
    return {bag.label: right[bag] / max(1, questions) for bag in bags}
