"""Small membership datasets in memory, for tests of what comes after the building."""

from __future__ import annotations

import datasets
import numpy as np

FEATURES = datasets.Features(
    {
        "question_id": datasets.Value("string"),
        "stream_id": datasets.Value("string"),
        "band": datasets.Value("string"),
        "length": datasets.Value("int32"),
        "alphabet_size": datasets.Value("int32"),
        "stream": datasets.List(datasets.Value("uint8")),
        "candidate": datasets.List(datasets.Value("uint8")),
        "answer": datasets.ClassLabel(names=["yes", "no"]),
        "position": datasets.Value("int32"),
        "lz_rate": datasets.Value("float64"),
        "negative_kind": datasets.Value("string"),
    }
)


def questions(count: int, *, length: int = 32, seed: int = 0) -> datasets.Dataset:
    """Membership questions on max-entropy streams, sixteen a stream, half positive, in the columns of `text`."""
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(count):
        number, query = divmod(index, 16)
        if query == 0:
            stream = rng.integers(0, 16, length)
            positions = rng.permutation(length - 4 + 1)
        if query % 2 == 0:
            position = int(positions[query // 2 % len(positions)])
            candidate = stream[position : position + 4]
        else:
            position, candidate = -1, rng.integers(0, 16, 6)
        rows.append(
            {
                "question_id": f"text-L{length:04d}-max-s{number:02d}-q{query:02d}",
                "stream_id": f"text-L{length:04d}-max-s{number:02d}",
                "band": "max",
                "length": length,
                "alphabet_size": 16,
                "stream": stream.tolist(),
                "candidate": candidate.tolist(),
                "answer": "yes" if position >= 0 else "no",
                "position": position,
                "lz_rate": 3.5,
                "negative_kind": None if position >= 0 else "uniform",
            }
        )
    return datasets.Dataset.from_list(rows, features=FEATURES)
