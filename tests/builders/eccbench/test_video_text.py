"""`video-sequential` and `video-spatial`: one test file, because each is what it is beside the other and `text`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eccdata import catalog
from eccdata.builder import Builder
from eccdata.builders.eccbench.text import TextConfig, text_queries
from eccdata.builders.eccbench.video_questions import SPATIAL, Main, Shown, shown_questions
from eccdata.errors import EccdataError
from eccdata.streams.lempel_ziv import lempel_ziv_rate
from eccdata.streams.seeding import generator
from eccdata.video import wrong_belts
from eccdata.video.lanes import joint_symbols
from eccdata.video.mp4 import frames_digest, mp4_bytes
from eccdata.video.reading import read_video
from support.building import assert_golden, assert_same_however_prepared, rows

GOLDEN = {
    ("video-sequential", "per-letter"): {"1.0.0": "9704791598c82067"},
    ("video-sequential", "per-event"): {"1.0.0": "c468d927ed44ca0d"},
    ("video-spatial", "per-letter"): {"1.0.0": "7fc21d9d8cb5d9b8"},
    ("video-spatial", "per-event"): {"1.0.0": "fadb9e798f54bc3e"},
}
CONFIGS = ("video-sequential", "video-spatial")
LANES = ("per-letter", "per-event")
YES = 0

Make = Callable[..., Builder]


@pytest.fixture(name="make")
def _make(tmp_path: Path) -> Make:
    return lambda config, **settings: catalog.builder("eccbench", config).create(
        cache_dir=str(tmp_path), **settings
    )


def light(builder: Builder) -> list[dict[str, Any]]:
    """Rows without their videos."""
    tables = [builder.table(cell).drop_columns(["video", "candidate_video"]) for cell in builder.cells()]
    return pa.concat_tables(tables).to_pylist()  # type: ignore[no-any-return]


def joint(row: dict[str, Any], symbols: str, lanes: str) -> bytes:
    return joint_symbols(row[symbols], row[lanes]).tobytes()


@pytest.mark.parametrize(("config", "lanes"), GOLDEN)
def test_rows_are_those_of_this_version(make: Make, config: str, lanes: str) -> None:
    builder = make(config, lengths=(8, 32, 128), streams=2, lanes=lanes)
    assert_golden(builder, GOLDEN[config, lanes])


@pytest.mark.parametrize("config", CONFIGS)
def test_the_defaults_are_the_papers(make: Make, config: str) -> None:
    builder = make(config)
    assert builder.settings == {
        "seed": 0,
        "queries": 16,
        "candidate_lengths": (3, 6),
        "alphabet_size": 16,
        "lengths": (8, 16, 32, 64, 128, 256, 512, 1024),
        "bands": ("low", "max"),
        "streams": 20,
        "negatives": "uniform",
        "lanes": "per-letter",
    }
    streams: Counter[tuple[Any, ...]] = Counter()
    for cell in builder.cells():
        streams[tuple(cell.key.values())] += cell.stop - cell.start
        # a cell is held in memory with a stream's video in each of its rows
        size = cell.stop - cell.start
        assert size == 1 or size * 16 * int(cell.key["length"]) <= 20_480
    assert streams == {
        (length, band): 20 for length in builder.settings["lengths"] for band in ("low", "max")
    }


@pytest.mark.parametrize("negatives", ["uniform", "hard"])
@pytest.mark.parametrize("lanes", LANES)
def test_streams_and_answers_are_those_of_text(make: Make, lanes: str, negatives: str) -> None:
    settings = {"lengths": (8, 64), "streams": 3, "negatives": negatives}
    text = rows(make("text", **settings))
    sequential = light(make("video-sequential", lanes=lanes, **settings))
    spatial = light(make("video-spatial", lanes=lanes, **settings))
    assert len(text) == len(sequential) == len(spatial) == 192
    for one, two, three in zip(text, sequential, spatial, strict=True):
        for config, video in (("video-sequential", two), ("video-spatial", three)):
            assert video["question_id"] == one["question_id"].replace("text", config, 1)
            assert video["stream_id"] == one["stream_id"].replace("text", config, 1)
            assert config == f"video-{video['variant']}"
            same = ("stream", "answer", "band", "length", "lz_rate", "alphabet_size")
            assert [video[name] for name in same] == [one[name] for name in same]
        assert two["candidate"] == one["candidate"]
        assert two["negative_kind"] == one["negative_kind"]
        for name in ("lanes", "frames_digest", "joint_lz_rate"):
            assert two[name] == three[name]
        if one["answer"] == YES:
            ours = {
                name: value for name, value in two.items() if not name.endswith("_id") and name != "variant"
            }
            assert ours.items() <= three.items()
            if lanes == "per-letter":
                assert two["position"] == one["position"]
        else:
            assert len(three["candidate"]) == len(one["candidate"])
            assert three["negative_kind"] == "wrong-belt"


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("config", CONFIGS)
def test_what_a_row_says(make: Make, config: str, lanes: str) -> None:
    found = rows(make(config, lengths=(64,), streams=2, lanes=lanes))
    for row in found:
        stream, candidate = joint(row, "stream", "lanes"), joint(row, "candidate", "candidate_lanes")
        assert row["position"] == stream.find(candidate)
        assert row["answer"] == (YES if candidate in stream else 1)
        assert row["joint_lz_rate"] == lempel_ziv_rate(np.frombuffer(stream, np.uint8))
        assert (row["joint_lz_rate"] == row["lz_rate"]) == (lanes == "per-letter")
        for video, symbols, belts, digest in (
            ("video", "stream", "lanes", "frames_digest"),
            ("candidate_video", "candidate", "candidate_lanes", "candidate_frames_digest"),
        ):
            events = np.stack([row[symbols], row[belts]], axis=1)
            assert row[video]["bytes"] == mp4_bytes(events)
            assert row[digest] == frames_digest(events)
        assert row["video"]["path"] == f"{row['stream_id']}.mp4"
        assert row["candidate_video"]["path"] == f"{row['question_id']}.mp4"
    first = read_video(found[0]["candidate_video"]["bytes"])
    assert first.events[:, 0].tolist() == found[0]["candidate"]
    assert first.events[:, 1].tolist() == found[0]["candidate_lanes"]


def test_letters_keep_their_belts_and_the_belts_are_evenly_used(make: Make) -> None:
    found = light(make("video-sequential", lengths=(64,), streams=10))
    belts: dict[str, dict[int, int]] = defaultdict(dict)
    for row in found:
        for symbols, lanes in (("stream", "lanes"), ("candidate", "candidate_lanes")):
            for letter, belt in zip(row[symbols], row[lanes], strict=True):
                assert belts[row["stream_id"]].setdefault(letter, belt) == belt
    whole = [Counter(of.values()) for of in belts.values() if len(of) == 16]
    assert len(whole) >= 10
    assert all(sorted(of.values()) == [5, 5, 6] for of in whole)
    assert len({tuple(sorted(of.items())) for of in belts.values()}) == 20


def test_a_spatial_negative_has_one_letter_on_a_wrong_belt(make: Make) -> None:
    for lanes in LANES:
        moved_once = 0
        for row in light(make("video-spatial", lengths=(8, 64), streams=5, lanes=lanes)):
            if row["answer"] == YES:
                assert row["window_position"] == -1
                continue
            start = row["window_position"]
            window = slice(start, start + len(row["candidate"]))
            assert row["stream"][window] == row["candidate"]
            pairs = zip(row["candidate"], row["lanes"][window], row["candidate_lanes"], strict=True)
            moved = [letter for letter, true, shown in pairs if true != shown]
            assert len(set(moved)) == 1
            counts = Counter(row["candidate"])
            moved_once += len(moved) == 1
            if lanes == "per-event":
                assert len(moved) == 1
            else:
                assert len(moved) == (1 if 1 in counts.values() else counts[moved[0]])
                on = set(zip(row["candidate"], row["candidate_lanes"], strict=True))
                assert len(on) == len(counts), "a letter on two belts would tell the answer"
        assert moved_once > 80


def test_both_answers_show_the_very_same_letters(make: Make) -> None:
    """Whoever does not see belts cannot tell a spatial negative at all; whoever knows only belts can, mostly."""
    sides: dict[str, tuple[Counter[bytes], Counter[bytes]]] = defaultdict(lambda: (Counter(), Counter()))
    for row in light(make("video-spatial", lengths=(8, 64, 256), streams=4)):
        sides[row["stream_id"]][row["answer"]][bytes(row["candidate"])] += 1
    assert len(sides) == 24
    assert all(yes == no and yes.total() == 8 for yes, no in sides.values())


def drawn(streams: int, band: str) -> list[tuple[int, Shown]]:
    """Spatial questions with the number of their stream, without rendering them."""
    config = TextConfig(lengths=(32,))
    found = []
    for index in range(streams):
        stream, queries = text_queries(config, 32, band, index, "uniform")
        key = (index, "test", band)
        main = Main.draw(stream.symbols.tobytes(), "per-letter", generator(*key, "lanes"), 16)
        shown = shown_questions(
            queries,
            main,
            (SPATIAL,),
            generator(*key, "candidates"),
            generator(*key, "negatives"),
            alphabet_size=16,
            cell="a stream",
        )
        found += [(index, question) for question in shown]
    return found


def seen(question: Shown) -> tuple[int, ...]:
    """All that a candidate by itself can say: letters and belts up to renaming, which streams draw evenly."""
    letters: dict[int, int] = {}
    belts: dict[int, int] = {}
    return tuple(
        number
        for letter, belt in question.events.tolist()
        for number in (letters.setdefault(letter, len(letters)), belts.setdefault(belt, len(belts)))
    )


def shape(question: Shown) -> tuple[int, ...]:
    """Less of it, of which there are enough examples to learn from: how many letters share a belt."""
    belts = Counter(dict(question.events.tolist()).values())
    return tuple(sorted(belts.values()))


def candidate_only(questions: list[tuple[int, Shown]], seen: Callable[[Shown], tuple[int, ...]]) -> float:
    """Accuracy of the best reader of single candidates: fitted on half of the streams, judged on the other."""
    right = []
    for part in (0, 1):
        votes: Counter[tuple[int, ...]] = Counter()
        for index, question in questions:
            if index % 2 == part:
                votes[seen(question)] += 1 if question.query.position >= 0 else -1
        for index, question in questions:
            if index % 2 != part:
                vote = votes[seen(question)]
                right.append(0.5 if vote == 0 else float((vote > 0) == (question.query.position >= 0)))
    return float(np.mean(right))


def test_single_candidates_do_not_tell_and_would_with_belts_moved_evenly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noise = 0.5 / (400 * 16) ** 0.5
    for band, streams in (("max", 400), ("low", 40)):
        questions = drawn(streams, band)
        for reader in (seen, shape):
            assert candidate_only(questions, reader) == pytest.approx(
                0.5, abs=3.5 * noise * (400 / streams) ** 0.5
            )
    monkeypatch.setattr(wrong_belts, "_move", lambda *_: 0.5)
    assert candidate_only(drawn(400, "max"), shape) > 0.5 + 3.5 * noise


def test_a_row_depends_on_its_place_alone(make: Make) -> None:
    for config in CONFIGS:
        of = {row["question_id"]: row for row in light(make(config, lengths=(8, 16, 64), streams=3))}
        part = light(make(config, lengths=(64, 16), streams=2, bands=("max",)))
        assert len(part) == 64
        assert all(of[row["question_id"]] == row for row in part)


def test_cells_are_cut_and_rows_are_not(make: Make) -> None:
    builder = make("video-spatial", lengths=(1024,), streams=3, bands=("max",), queries=2)
    one = [builder.table(cell) for cell in builder.cells()]
    whole = make("video-spatial", lengths=(1024,), streams=2, bands=("max",), queries=2)
    assert pa.concat_tables(one).slice(0, 4).to_pylist() == whole.table(whole.cells()[0]).to_pylist()
    many = make("video-spatial", lengths=(1024,), streams=3)
    assert [(cell.start, cell.stop) for cell in many.cells()][:3] == [(0, 1), (1, 2), (2, 3)]


def test_rows_are_the_same_however_they_are_prepared(make: Make, tmp_path: Path) -> None:
    assert_same_however_prepared(make("video-spatial", lengths=(8,), streams=2), str(tmp_path))


def test_bad_settings_are_told_together(make: Make) -> None:
    with pytest.raises(EccdataError) as error:
        make("video-spatial", lengths=(2, 8), lanes="per-frame", alphabet_size=20, queries=3)
    for part in (
        "lengths=2",
        "lanes=per-frame",
        "alphabet_size=20: must be at most 16",
        "queries=3",
    ):
        assert part in str(error.value)


def test_a_stream_in_which_nothing_is_absent_is_named(make: Make) -> None:
    builder = make(
        "video-spatial",
        lengths=(1024,),
        streams=1,
        bands=("max",),
        alphabet_size=3,
        candidate_lengths=(2, 2),
        queries=2,
        lanes="per-event",
    )
    with pytest.raises(EccdataError, match="L1024-max-s00"):
        builder.table(builder.cells()[0])


def test_the_card_tells_what_little_is_needed(make: Make) -> None:
    builder = make("video-spatial", lengths=(64,), streams=10)
    findings = builder.findings(lambda split: (builder.table(cell) for cell in builder.cells()))
    # who knows the belt of each letter needs no order
    assert "| 64 | `low` | 1.000 | 1.000 | 1.000 |" in findings
    assert "| 64 | `max` | 1.000 | 1.000 | 1.000 |" in findings
    assert findings.count("wrong-belt") == 4
    per_event = make("video-spatial", lengths=(64,), streams=10, lanes="per-event")
    findings = per_event.findings(lambda split: (per_event.table(cell) for cell in per_event.cells()))
    assert "| 64 | `max` | 1.000 |" not in findings
