"""What the video configurations of ECCBench share: belts, candidates, columns, and where the videos stand.

**Bytes in Parquet, one row a question.** The other way that the Hub knows is a folder of files, named by
`*_file_name` columns of a metadata file. Both were tried, on the streams that these configurations have:

* Size. A stream's video serves all its questions. Parquet writes a value that repeats in a row group once, in the
  column's dictionary; and since there are only 48 pictures in both parities, its compression then finds most of
  every file in the one before. Twenty streams of 1,024 frames with 320 questions take 1.5 MB, where the same MP4
  files take 31 MB. In a folder a file can be named by 16 rows, and nothing shrinks.
* Files. The folder has one for each stream and each candidate, 5,440 a configuration, to be listed, hashed and
  committed; Parquet has two. One commit, one digest and one row group a cell are as for every other configuration.
* Loading. `load_dataset` reads Parquet with `columns=` and `filters=`, and streams a row group, some hundred kB, at
  a time. A folder of 1,020 files took 7 s to load and 11 s to begin to stream on a local disk, read every row under
  a filter, and refused `columns=`.
* Decoding. A folder's columns are `Video(decode=True)`, whose rows cannot be read at all where torchcodec is
  missing or broken. Here they are `Video(decode=False)`: a row gives `{"bytes": ..., "path": ...}`, which PyAV,
  torchcodec, decord2 or a browser decodes, and `cast_column("video", Video())` gives torchcodec's decoder. The Hub's
  viewer plays a `Video` column of Parquet either way; the path is there to tell it the format.

What it costs: the cache of `datasets`, which knows no dictionaries, holds a stream's video once a question: 1.9 GB
for a whole configuration. Load the lengths that are needed (`filters=`), or stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eccdata.builder import Cell
from eccdata.streams.lempel_ziv import lempel_ziv_rate
from eccdata.video.glyphs import LETTERS
from eccdata.video.mp4 import frames_digest, mp4_bytes

from . import limits
from .common import ANSWERS, SYMBOLS, list_array, query_values, repeat, with_columns
from .findings import findings, leaks
from .limits import above
from .video_checks import MEDIA, joint_lists
from .video_questions import Main, Shown

VIDEO = datasets.Video(decode=False)

FRAMES_PER_CELL = 20_480
"""Frames that the rows of a cell show together, main videos counted once a row: 29 MB where rows are held in memory.
Part of how releases are cut into row groups, not of what the rows are."""


def features(group: str, more: dict[str, Any] | None = None) -> datasets.Features:
    """The columns of a row; `group` is what streams are told apart by, `more` is said of streams besides."""
    return datasets.Features(
        {
            "question_id": datasets.Value("string"),
            "stream_id": datasets.Value("string"),
            "variant": datasets.Value("string"),
            group: datasets.Value("string"),
            "length": datasets.Value("int32"),
            "alphabet_size": datasets.Value("int32"),
            "stream": SYMBOLS,
            "lanes": SYMBOLS,
            **(more or {}),
            "candidate": SYMBOLS,
            "candidate_lanes": SYMBOLS,
            "answer": ANSWERS,
            "position": datasets.Value("int32"),
            "window_position": datasets.Value("int32"),
            "lz_rate": datasets.Value("float64"),
            "joint_lz_rate": datasets.Value("float64"),
            "negative_kind": datasets.Value("string"),
            "frames_digest": datasets.Value("string"),
            "candidate_frames_digest": datasets.Value("string"),
            "video": VIDEO,
            "candidate_video": VIDEO,
        }
    )


def wrong_alphabet(alphabet_size: int) -> list[str]:
    """What is wrong with the size of an alphabet that is to be shown."""
    return above("alphabet_size", [alphabet_size], len(LETTERS), "so that each has a letter")


def wrong_sizes(lengths: Sequence[int], queries: int) -> list[str]:
    """What is wrong with streams whose rows are to be made together, each with the stream's video."""
    most = limits.STREAM_FRAMES // max(1, queries)
    # whatever is too long for any stream is told already
    possible = [length for length in lengths if length <= limits.STREAM_SYMBOLS]
    return above("lengths", possible, max(1, most), f"with {queries} queries a stream")


def video_cells(keys: Iterable[dict[str, str | int]], streams: int, queries: int) -> list[Cell]:
    """Cells of as many streams as `FRAMES_PER_CELL` allows, at least one, for each key (which has a `length`)."""
    found = []
    for key in keys:
        size = max(1, FRAMES_PER_CELL // (queries * int(key["length"])))
        found += [Cell("test", key, start, min(start + size, streams)) for start in range(0, streams, size)]
    return found


def video_rows(
    schema: pa.Schema, name: str, main: Main, questions: Sequence[Shown], **columns: Any
) -> pa.Table:
    """The rows of the stream `name`, one a question; `columns` are the stream's own, one value each."""
    events = main.events
    own = {
        "stream_id": name,
        "length": len(events),
        "joint_lz_rate": lempel_ziv_rate(np.frombuffer(main.joint, dtype=np.uint8)),
        "frames_digest": frames_digest(events),
        **columns,
    }
    rows = [
        {
            **own,
            **query_values(shown.query),
            "question_id": f"{name}-q{i:02d}",
            "variant": shown.variant,
            "candidate_lanes": list(shown.lanes),
            "window_position": shown.window_position,
            "candidate_frames_digest": frames_digest(shown.events),
        }
        for i, shown in enumerate(questions)
    ]
    one = {
        "stream": list_array([len(events)], pa.array(np.ascontiguousarray(events[:, 0]))),
        "lanes": list_array([len(events)], pa.array(np.ascontiguousarray(events[:, 1]))),
        "video": _videos([name], [events]),
    }
    arrays = {column: repeat(values, len(rows)) for column, values in one.items()}
    arrays["candidate_video"] = _videos([row["question_id"] for row in rows], [q.events for q in questions])
    return with_columns(schema, rows, arrays)


def video_findings(tables: Iterable[pa.Table]) -> str:
    """How far one gets without a memory for order, or without any, where letters and belts are seen."""
    light = [table.drop_columns([*MEDIA, "lanes", "frames_digest"]) for table in _seen(tables)]
    belts = [
        table.drop_columns(["candidate"]).rename_columns({"candidate_lanes": "candidate"}) for table in light
    ]
    return "\n\n".join(
        [
            "What is seen is a letter with its belt.",
            findings(light),
            "The first of these readers, where it sees on which belts the letters of a candidate lie, and not the "
            "letters:",
            leaks(belts),
        ]
    )


def _seen(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The tables with pairs of letter and belt for symbols, grouped by variant where there are several."""
    for table in tables:
        for name, lanes in (("stream", "lanes"), ("candidate", "candidate_lanes")):
            place = table.column_names.index(name)
            table = table.set_column(place, name, joint_lists(table[name], table[lanes]))
        if "structure" in table.column_names:
            group = pc.binary_join_element_wise(table["structure"], table["variant"], ", ")
            table = table.set_column(table.column_names.index("structure"), "structure", group)
        yield table


def _videos(names: Sequence[str], events: Sequence[NDArray[np.uint8]]) -> pa.Array:
    return pa.StructArray.from_arrays(
        [
            pa.array([mp4_bytes(each) for each in events], pa.binary()),
            pa.array([f"{name}.mp4" for name in names], pa.string()),
        ],
        fields=list(VIDEO.pa_type),
    )
