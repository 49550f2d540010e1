"""Releases of video: what stands in the files, and that everybody can read it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import duckdb
import huggingface_hub
import polars as pl
import pyarrow.parquet as pq
import pytest

import eccdata
from eccdata.release import Release, build, pushing
from support.hub import Hub, running_hub

SETTINGS = {"lengths": (8, 128), "streams": 2}
PATH = "data/video-spatial/test-00000-of-00001.parquet"
LOAD = """
import hashlib, json, sys
from datasets import load_dataset
folder, revision = sys.argv[1], (sys.argv[2:] or [None])[0]
load = lambda **more: load_dataset(folder, "video-spatial", split="test", revision=revision, **more)
some = {"filters": [("length", "==", 8)]}
def told(rows):
    return [
        [row["question_id"], *(hashlib.sha256(row[name]["bytes"]).hexdigest() for name in ("video", "candidate_video"))]
        for row in rows
    ]
whole = told(load())
assert told(load(streaming=True)) == whole
assert told(load(**some)) == told(load(streaming=True, **some)) == whole[:64]
assert load(columns=["question_id"]).column_names == ["question_id"]
print(json.dumps(whole))
assert "eccdata" not in sys.modules
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return build(
        "eccbench",
        out=tmp_path_factory.mktemp("video") / "release",
        configs=["video-spatial", "video-sequential"],
        settings=SETTINGS,
    )


def told(release: Release) -> list[list[str]]:
    rows = pq.read_table(release.path / PATH, columns=["question_id", "video", "candidate_video"]).to_pylist()
    return [
        [
            row["question_id"],
            *(hashlib.sha256(row[name]["bytes"]).hexdigest() for name in ("video", "candidate_video")),
        ]
        for row in rows
    ]


def fresh(home: Path, *arguments: str, **environment: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *arguments],
        env={**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_video_is_stored_once_a_stream(release: Release) -> None:
    for config in ("video-spatial", "video-sequential"):
        with pq.ParquetFile(release.path / f"data/{config}/test-00000-of-00001.parquet") as file:
            columns = {
                file.metadata.row_group(0).column(i).path_in_schema: i
                for i in range(file.metadata.num_columns)
            }
            for group in range(file.num_row_groups):
                chunk = file.metadata.row_group(group).column(columns["video.bytes"])
                rows = file.read_row_group(group, columns=["stream_id", "video"]).to_pylist()
                once = {row["stream_id"]: len(row["video"]["bytes"]) for row in rows}
                assert len(rows) == 16 * len(once)
                assert "RLE_DICTIONARY" in chunk.encodings
                assert sum(once.values()) < chunk.total_uncompressed_size < 1.02 * sum(once.values())
    videos = pl.scan_parquet(release.path / "data/*/*.parquet").select(
        pl.col("video").struct.field("bytes").bin.size().alias("main"),
        pl.col("candidate_video").struct.field("bytes").bin.size().alias("option"),
    )
    as_files = videos.sum().collect().row(0)
    # the pictures repeat from file to file, and the compression finds them
    assert release.size_bytes < 0.6 * (as_files[0] / 16 + as_files[1])


def test_it_loads_with_datasets_alone_even_beside_a_broken_torchcodec(
    release: Release, tmp_path: Path
) -> None:
    broken = tmp_path / "broken" / "torchcodec"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text('raise RuntimeError("Could not load libtorchcodec")\n')
    (broken.parent / "torchcodec-0.14.0.dist-info").mkdir()
    (broken.parent / "torchcodec-0.14.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torchcodec\nVersion: 0.14.0\n"
    )
    path = os.pathsep.join([str(broken.parent), os.environ.get("PYTHONPATH", "")])
    assert fresh(tmp_path / "home", str(release.path), PYTHONPATH=path) == told(release)


def test_a_row_can_be_had_on_the_fly(release: Release, tmp_path: Path) -> None:
    loaded = eccdata.load_dataset(
        "eccbench", "video-spatial", split="test", cache_dir=str(tmp_path), lengths=(8,), streams=1
    )
    assert isinstance(loaded.features["video"], datasets.Video)
    assert not loaded.features["video"].decode
    first = pq.read_table(release.path / PATH).slice(0, 1).to_pylist()[0]
    assert loaded[0] == first


def test_others_read_the_files_too(release: Release) -> None:
    path = str(release.path / PATH)
    expected = [(8, 64, 4), (128, 64, 4)]
    query = "select length, count(*), count(distinct video.bytes) from read_parquet($p) group by 1 order by 1"
    assert duckdb.execute(query, {"p": path}).fetchall() == expected
    frame = (
        pl.read_parquet(path)
        .group_by("length")
        .agg(pl.len(), pl.col("video").struct.field("bytes").n_unique().alias("n"))
    )
    assert frame.sort("length").rows() == expected


def test_the_card_the_manifests_and_croissant_tell_of_videos(release: Release) -> None:
    card = (release.path / "README.md").read_text()
    assert "| `video` | `Video` | all |" in card
    croissant = json.loads((release.path / "croissant.json").read_text())
    fields = {field["@id"]: field for found in croissant["recordSet"] for field in found["field"]}
    assert fields["video-spatial-test/video"]["dataType"] == "sc:VideoObject"
    manifest = json.loads(
        (release.path / "manifests/video-spatial/test/length-8_band-low/manifest.json").read_text()
    )
    assert "frames_digest" not in manifest["counts"]
    assert manifest["counts"]["negative_kind"] == {"wrong-belt": 16}
    assert eccdata.verify(release.path, sample=64).ok


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with running_hub() as running:
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", running.url)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", "/nowhere/token")
        monkeypatch.setattr(pushing, "HfApi", partial(huggingface_hub.HfApi, endpoint=running.url))
        monkeypatch.setenv("HF_TOKEN", "hf_writer")
        yield running


def test_it_is_pushed_and_loads_by_revision(release: Release, hub: Hub, tmp_path: Path) -> None:
    eccdata.push(release.path, repo_id="somebody/videos", tag="v1")
    environment = {**hub.environment(str(tmp_path / "home"))}
    home = Path(environment.pop("HF_HOME", str(tmp_path / "home")))
    environment.setdefault("HF_HUB_OFFLINE", "0")
    assert fresh(home, "somebody/videos", "v1", **environment) == told(release)
