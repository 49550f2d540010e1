from __future__ import annotations

import datasets
import pytest

from eccdata.training.bags import bag_accuracies
from support.token_rows import token_rows


def test_bags_answer_by_their_grams() -> None:
    features = token_rows(sequences=4, test_lengths=()).features
    row = {
        "stream_id": "one",
        "band": "max",
        "length": 6,
        "alphabet_size": 16,
        "stream": [0, 1, 2, 0, 2, 3],
        "lz_rate": None,
        "queries": [
            {"candidate": candidate, "answer": answer, "position": -1, "negative_kind": None}
            for candidate, answer in (
                ([0, 1, 2], "yes"),
                ([5, 1, 2], "no"),  # a symbol that never came: all bags know
                ([3, 1, 2], "no"),  # a pair that never came: k = 1 does not
                ([0, 2, 0, 1], "no"),  # 0 2 0 never came: k = 1 and 2 do not
            )
        ],
    }
    accuracies = bag_accuracies(datasets.Dataset.from_list([row], features=features))
    assert accuracies == pytest.approx({"bag(k=1)": 0.5, "bag(k=2)": 0.75, "bag(k=3)": 1.0})
