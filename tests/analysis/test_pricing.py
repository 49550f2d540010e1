"""Prices in the views: the macros against the NumPy formulas, and what each kind of response costs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
import yaml

from eccdata.analysis import connect, tables
from eccdata.errors import EccdataError
from eccdata.flops import answer_tokens, coefficients, formulas, price
from eccdata.flops.architectures import FILE_VARIABLE, shipped
from support.results import cell, schema_of, video_cell, write_run

REPLY: dict[str, Any] = {
    "prompt_tokens": 576,
    "completion_tokens": 40,
    "commit_char": 6,
    "reply_chars": 24,
    "reply": "x" * 24,
}


def costs(results: Path, columns: str = "input_tokens, answer_tokens, flops_write, flops_read, flops") -> Any:
    with connect([results]) as connection:
        return connection.execute(f"SELECT {columns} FROM responses ORDER BY question_id").fetchall()


def media(*clips: tuple[int, int, int], mime: str = "video/mp4") -> list[dict[str, Any]]:
    return [
        {
            "name": f"clip {place}",
            "mime": mime,
            "sha256": "0",
            "indices": list(range(frames)),
            "times_s": [float(index) for index in range(frames)],
            "width": width,
            "height": height,
        }
        for place, (frames, width, height) in enumerate(clips)
    ]


def shapes(*clips: tuple[int, int, int], layout: str = "video") -> list[dict[str, Any]]:
    return [{"frames": f, "width": w, "height": h, "layout": layout} for f, w, h in clips]


def video(tmp_path: Path, model: str, columns: Mapping[str, Any], schema: pa.Schema | None = None) -> Path:
    protocol = "membership-video"
    rows = video_cell(["r"], variant="sequential", length=64)
    for name, value in (REPLY | {"prompt_tokens": 7000} | dict(columns)).items():
        rows[0][name] = value
    return write_run(
        tmp_path / "results" / model,
        rows,
        model=model,
        config="video-sequential",
        protocol=protocol,
        schema=schema or schema_of(protocol),
    ).parent


def test_macros_are_the_formulas(tmp_path: Path) -> None:
    """To 1e-12, on rows as wild as they come."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([4, 12])))
    size = 20_000
    models = [coefficients(each) for each in shipped()]
    b, a, f_voc = (np.array(column)[rng.integers(0, 12, size)] for column in zip(*models, strict=True))
    n = rng.integers(0, 10**6, size).astype(float)
    t_out = rng.integers(1, 10**5, size)
    chars = rng.integers(1, 10**6, size)
    i = np.where(rng.random(size) < 0.2, -1, (rng.random(size) * chars).astype(int))
    reasoning = np.where(rng.random(size) < 0.5, 0, rng.integers(0, 10**6, size))
    table = pa.table(
        {
            "b": b, "a": a, "f_voc": f_voc, "n": n, "t_out": pa.array(t_out, pa.int32()),
            "i": pa.array([None if place < 0 else int(place) for place in i], pa.int32()),
            "l": pa.array(chars, pa.int32()), "reasoning": pa.array(reasoning, pa.int64()),
        }
    )  # fmt: skip
    write_run(tmp_path / "run", cell(["r"]))
    with connect([tmp_path / "run"]) as connection:
        connection.register("wild", table)
        found = connection.execute("""
            SELECT prefill(b, a, n) AS prefill, t, decode(b, a, f_voc, n, t) AS decode
            FROM (SELECT *, answer_tokens_until(t_out, i, l, reasoning) AS t FROM wild)
        """).fetchnumpy()
    t = answer_tokens(t_out, np.where(i < 0, np.nan, i), chars, reasoning)
    np.testing.assert_allclose(found["t"], t, rtol=1e-12)
    np.testing.assert_allclose(found["prefill"], formulas.prefill(b, a, n), rtol=1e-12)
    np.testing.assert_allclose(found["decode"], formulas.decode(b, a, f_voc, n, t), rtol=1e-12)


def test_a_reply_without_a_character_is_charged_one_token(tmp_path: Path) -> None:
    """Which is no NaN, and neither are its FLOPs."""
    empty = REPLY | {"commit_char": 0, "reply_chars": 0, "reply": ""}
    write_run(tmp_path / "results" / "a", cell(["r"], **empty), model="Qwen3-VL")
    ((_, charged, *_, flops),) = costs(tmp_path / "results")
    assert charged == 1 == answer_tokens(40, 0, 0)
    assert flops == price("Qwen3-VL", prompt_tokens=576, answer_tokens=1).total


def test_text(tmp_path: Path) -> None:
    write_run(tmp_path / "results" / "a", cell(["rw"], **REPLY), model="Qwen3-VL")
    expected = price("Qwen3-VL", prompt_tokens=576, answer_tokens=10)
    assert (
        costs(tmp_path / "results")
        == [(576.0, 10.0, expected.write, expected.read, pytest.approx(expected.total))] * 2
    )


def test_phis_adapters_do_not_run_on_text(tmp_path: Path) -> None:
    write_run(tmp_path / "results" / "a", cell(["r"], **REPLY), model="Phi-4-MM")
    ((*_, write, _, _),) = costs(tmp_path / "results")
    b, a, _ = coefficients("Phi-4-MM", images=False)
    assert write == formulas.prefill(b, a, 576.0)


def test_reasoning_that_came_apart_is_charged(tmp_path: Path) -> None:
    """180 characters of it, and the marker at 6 of 24 characters of the reply."""
    write_run(tmp_path / "results" / "a", cell(["r"], **REPLY, reasoning="ä" * 180), model="Qwen3-VL")
    ((_, charged, *_),) = costs(tmp_path / "results")
    assert charged == 40 * (180 + 6) / (180 + 24)


def test_half_of_a_reply_without_a_marker_is_charged(tmp_path: Path) -> None:
    write_run(tmp_path / "results" / "a", cell(["m"], **REPLY | {"commit_char": None}), model="Qwen3-VL")
    ((_, charged, *_),) = costs(tmp_path / "results")
    assert charged == 20


def test_what_has_no_price_is_null_and_never_zero(tmp_path: Path) -> None:
    untold = REPLY | {"prompt_tokens": None}
    nothing: dict[str, Any] = dict.fromkeys(REPLY)
    for model, columns, system in (
        ("window", REPLY, "window"),
        ("Qwen3-VL", untold, "sglang"),
        ("GLM-4.5V", nothing, "sglang"),
    ):
        write_run(tmp_path / "results" / model, cell(["r"], **columns), model=model, system=system)
    found = costs(tmp_path / "results", "model, input_tokens, answer_tokens, flops_write, flops_read, flops")
    assert sorted(found) == [
        ("GLM-4.5V", None, None, None, None, None),
        ("Qwen3-VL", None, 10.0, None, None, None),
        ("window", 576.0, 10.0, None, None, None),
    ]


@pytest.mark.parametrize("kept", ["media", "clips"])
def test_video(kept: str, tmp_path: Path) -> None:
    """Frames are grouped clip by clip; the results of a version that keeps no `clips` are read from their media."""
    models = ("Qwen2.5-VL", "Qwen3-VL", "InternVL3.5 8B", "MiniCPM-V 4.5", "Phi-4-MM")
    clips = ((63, 448, 448), (5, 448, 448))
    schema = schema_of("membership-video")
    if kept == "media":
        schema = schema.remove(schema.get_field_index("clips"))
    for model in models:
        columns = {"media": media(*clips), "clips": shapes(*clips), "frames_sent": 68}
        results = video(tmp_path, model, columns, schema)
    asked = [(frames, (width, height)) for frames, width, height in clips]
    found = costs(results, "model, input_tokens, answer_tokens, flops_write, flops_read, flops")
    assert {row[0] for row in found} == set(models)
    for model, n, t, write, read, whole in found:
        expected = price(model, clips=asked, answer_tokens=10)
        b, a, f_voc = coefficients(model)
        looked = expected.vision + expected.connector
        assert (n, t) == (7000.0, 10.0)
        assert write == pytest.approx(looked + formulas.prefill(b, a, 7000.0), rel=1e-12)
        assert read == pytest.approx(formulas.decode(b, a, f_voc, 7000.0, 10.0), rel=1e-12)
        assert whole == pytest.approx(write + read, rel=1e-12)


def test_a_server_that_took_half_the_frames_is_charged_for_half_the_looking(tmp_path: Path) -> None:
    columns = {"clips": shapes((64, 448, 448)), "vision_tokens_reported": 256 * 16, "frames_sent": 64}
    ((_, _, write, _, _),) = costs(video(tmp_path, "Qwen2.5-VL", columns))
    b, a, _ = coefficients("Qwen2.5-VL")
    half = price("Qwen2.5-VL", frames=32, frame_size=(448, 448))
    assert write == pytest.approx(half.vision + half.connector + formulas.prefill(b, a, 7000.0), rel=1e-12)


def test_images_are_charged_one_by_one(tmp_path: Path) -> None:
    columns = {"clips": shapes((7, 448, 448), layout="frames"), "frames_sent": 7}
    ((_, _, write, _, _),) = costs(video(tmp_path, "Qwen2.5-VL", columns))
    b, a, _ = coefficients("Qwen2.5-VL")
    seven = price("Qwen2.5-VL", frames=7, frame_size=(448, 448), layout="frames")
    assert write == pytest.approx(seven.vision + seven.connector + formulas.prefill(b, a, 7000.0), rel=1e-12)


def test_long_videos_are_charged_as_the_processor_shrinks_them(tmp_path: Path) -> None:
    columns = {"clips": shapes((1024, 448, 448)), "frames_sent": 1024}
    ((_, _, write, _, _),) = costs(video(tmp_path, "Qwen3-VL", columns))
    b, a, _ = coefficients("Qwen3-VL")
    shrunk = price("Qwen3-VL", frames=1024, frame_size=(448, 448), limits=True)
    assert write == pytest.approx(
        shrunk.vision + shrunk.connector + formulas.prefill(b, a, 7000.0), rel=1e-12
    )


def test_clips_that_no_rule_speaks_of_have_no_price(tmp_path: Path) -> None:
    # which tiles InternVL cuts a picture of this shape into is not known
    columns = {"clips": shapes((7, 640, 360), layout="frames"), "frames_sent": 7}
    ((_, _, write, read, whole),) = costs(video(tmp_path, "InternVL3.5 8B", columns))
    assert (write, whole) == (None, None)
    assert read is not None
    unknown = video(tmp_path / "unknown", "Qwen3-VL", {})
    assert costs(unknown)[0][2] is None, "what it was shown is not known, and that is not nothing"


def test_runs_of_text_and_of_video_stand_side_by_side(tmp_path: Path) -> None:
    write_run(tmp_path / "results" / "text", cell(["r"], **REPLY), model="Qwen3-VL")
    video(tmp_path, "Qwen2.5-VL", {"clips": shapes((8, 448, 448)), "frames_sent": 8})
    assert [row[-1] is not None for row in costs(tmp_path / "results")] == [True, True]


def test_what_a_system_states_goes_first(tmp_path: Path) -> None:
    own: dict[str, Any] = {"flops_write": 5e15, "flops_read": 3e12}
    write_run(tmp_path / "results" / "rag", cell(["r"], **REPLY, **own), model="Qwen3-VL", system="retrieval")
    assert costs(tmp_path / "results") == [(576.0, 10.0, 5e15, 3e12, 5.003e15)]
    # and does not speak for the runs that state nothing
    write_run(tmp_path / "results" / "plain", cell(["r"], **REPLY), model="Qwen3-VL")
    total = price("Qwen3-VL", prompt_tokens=576, answer_tokens=10).total
    assert sorted(row[-1] for row in costs(tmp_path / "results")) == [pytest.approx(total), 5.003e15]


def test_a_declared_model_has_a_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "results" / "a", cell(["r"], **REPLY), model="mine")
    assert costs(tmp_path / "results", "flops") == [(None,)]
    language = {
        "layers": 2,
        "width": 8,
        "heads": 2,
        "kv_heads": 1,
        "head_width": 4,
        "ffn": 16,
        "vocabulary": 100,
    }
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"models": [{"name": "mine", "language": language}]}))
    monkeypatch.setenv(FILE_VARIABLE, str(path))
    total = price("mine", prompt_tokens=576, answer_tokens=10).total
    assert costs(tmp_path / "results", "flops") == [(pytest.approx(total),)]
    with connect([tmp_path / "results"]) as connection:
        assert connection.execute("SELECT model, declared FROM architectures WHERE place = 0").fetchall() == [
            ("mine", True)
        ]


def test_a_served_checkpoint_is_priced_by_what_its_card_says(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "results" / "a", cell(["r"], **REPLY), model="smollm2")
    path = folder / "card.json"
    card = orjson.loads(path.read_bytes())
    config = {
        "model_type": "llama", "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
        "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152,
    }  # fmt: skip
    card["system"]["facts"] = {"checkpoint": {"config": config, "config_sha256": "0" * 64}}
    path.write_bytes(orjson.dumps(card))
    with connect([tmp_path / "results"]) as connection:
        found = connection.execute("SELECT flops_write FROM responses").fetchall()
        assert connection.execute("SELECT priced_as, b FROM run_prices").fetchall() == [
            ("smollm2", 2.0 * 30 * (2 * 576**2 + 2 * 576 * 192 + 3 * 576 * 1536))
        ]
    assert found[0][0] > 0


def test_clips_have_a_price_in_sql_too(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(["r"]))
    with connect([tmp_path / "run"]) as connection:
        found = connection.execute("""
            SELECT model, vision_tokens(model, 64, 640, 360), vision_flops(model, 64, 640, 360) FROM architectures
        """).fetchall()
        assert connection.execute("SELECT vision_tokens('nobody', 1, 2, 3)").fetchall() == [(None,)]
        assert connection.execute("SELECT vision_flops(NULL, 1, 2, 3)").fetchall() == [(None,)]
    assert len(found) == len(shipped())
    for model, tokens, flops in found:
        expected = price(model, frames=64, frame_size=(640, 360))
        assert (tokens, flops) == (
            expected.vision_tokens,
            pytest.approx(expected.vision + expected.connector),
        )


def test_nothing_of_it_is_read_where_it_is_not_asked_for(tmp_path: Path) -> None:
    clips = shapes((64, 448, 448))
    results = video(tmp_path, "Qwen3-VL", {"clips": clips, "media": media((64, 448, 448)), "frames_sent": 64})
    with connect([results]) as connection:
        plan = connection.execute("EXPLAIN SELECT count(*) FROM responses WHERE correct").fetchall()[0][1]
        assert "clip" not in plan
        priced = connection.execute("EXPLAIN SELECT sum(flops) FROM responses").fetchall()[0][1]
    assert "clips" in priced
    assert "media" not in priced


def test_damaged_declarations_are_told_before_anything_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "run", cell(["r"]))
    (tmp_path / "mine.yaml").write_text("models: 3")
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "mine.yaml"))
    with pytest.raises(EccdataError, match="holds no architectures"):
        connect([tmp_path / "run"])


def test_tables_2_and_3_are_the_papers(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cell(["r"]))
    for table, compared in zip(
        tables([tmp_path / "run"], names=["flops-coefficients", "flops-costs"]), (36, 108), strict=True
    ):
        assert table.error is None
        assert len(table.rows) == 12
        printed = [value for cells in table.prints for value in cells.values()]
        assert [value.differs for value in printed] == [False] * compared
