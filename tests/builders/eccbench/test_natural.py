from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import datasets
import pytest

import eccdata
from eccdata import catalog
from eccdata.builder import Builder
from eccdata.builders.eccbench.footage.local_clips import NOTICE
from eccdata.builders.eccbench.natural import Natural
from eccdata.errors import EccdataError
from support.building import assert_golden, assert_same_however_prepared, rows
from support.dinov2 import save_tiny_dinov2
from support.footage import ANNOTATIONS, EVENTS, cooking, match, small_copies, write_epic, write_soccernet

GOLDEN = {"1.0.0": "15bb44ceddb10b6e"}
SMALL: dict[str, Any] = {"lengths": (8, 16), "clips_per_length": (20, 10)}
NAMES = list(EVENTS)

Make = Callable[..., Builder]


@pytest.fixture(name="copies", scope="module")
def _copies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return small_copies(tmp_path_factory.mktemp("copies"))


@pytest.fixture(name="papers", scope="module")
def _papers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Annotations of as much footage as the paper's set takes, without the footage."""
    folder = tmp_path_factory.mktemp("papers")
    kitchens = {
        f"P{i:02d}_{100 + i}": cooking(i, 1300 if i % 3 else 450, [NAMES[(i + j) % 10] for j in range(2)], 9)
        for i in range(110)
    }
    halves = {
        f"league/2015/game {g}/{half}": match(2 * g + half, 2500, [900.0, 2000.0] if g % 3 == 0 else [])
        for g in range(15)
        for half in (1, 2)
    }
    return {
        "epic": write_epic(folder / "epic", kitchens),
        "soccernet": write_soccernet(folder / "soccernet", halves),
    }


@pytest.fixture(name="make")
def _make(tmp_path: Path, copies: dict[str, Path]) -> Make:
    def make(data_dirs: dict[str, Path] = copies, **settings: Any) -> Builder:
        folders = {name: str(path) for name, path in data_dirs.items()}
        builder: Builder = Natural.create(
            cache_dir=str(tmp_path / "cache"), data_dirs=folders, **{**SMALL, **settings}
        )
        return builder

    return make


def test_rows_are_those_of_this_version(make: Make) -> None:
    assert_golden(make(), GOLDEN)


def test_the_paper_s_sizes_mix_and_balance_come_out(make: Make, papers: dict[str, Path]) -> None:
    builder = make(papers, videos="unchecked", lengths=(8, 16, 64, 128, 512, 1024), clips_per_length=())
    found = rows(builder)
    for length, epic, soccernet in (
        (8, 236, 16),
        (16, 236, 16),
        (64, 236, 16),
        (128, 100, 10),
        (512, 100, 10),
        (1024, 42, 10),
    ):
        of = [row for row in found if row["length"] == length]
        clips = {row["clip_id"]: row for row in of}
        assert Counter(row["source"] for row in clips.values()) == {"epic": epic, "soccernet": soccernet}
        yes = Counter(row["category"] for row in of if row["answer"] == 0)
        assert yes == Counter(row["category"] for row in of if row["answer"] == 1)
        assert set(yes) == {*NAMES, "red_card"}
        # table 7: one question a clip at 64, up to three above
        per_clip = Counter(row["clip_id"] for row in of)
        assert max(per_clip.values()) == (1 if length <= 64 else 3)
        if length >= 128:
            assert len(of) / len(clips) > 2
    assert all(row["slowdown"] == 1 for row in found if row["length"] <= 64)


def test_the_defaults_are_the_papers(make: Make, tmp_path: Path) -> None:
    settings = Natural.create(cache_dir=str(tmp_path)).settings
    assert settings == {
        "seed": 0,
        "lengths": (8, 16, 64, 128, 512, 1024),
        "clips_per_length": (),
        "questions_per_clip": (),
        "categories": (*NAMES, "red_card"),
        "max_slowdown": 3.0,
        "max_gap_s": 60.0,
        "videos": "required",
        "soccernet_videos": "720p",
        "density": False,
        "density_cutoff": 0.0401,
    }


def test_what_a_row_says(make: Make, copies: dict[str, Path]) -> None:
    found = rows(make())
    assert [row["question_id"] for row in found[:2]] == [
        "natural-L0008-open_fridge-000",
        "natural-L0008-open_fridge-001",
    ]
    for row in found:
        assert (copies[row["source"]] / row["video_path"]).is_file()
        assert row["end_s"] - row["start_s"] == pytest.approx(row["length"])
        assert row["slowdown"] == 1
        assert row["license"] == {"epic": "CC-BY-NC-4.0", "soccernet": "SoccerNet-NDA"}[row["source"]]
        assert row["question"].startswith("Did ")
        assert bool(row["annotation_ids"]) == (row["answer"] == 0)
        assert row["density_score"] is row["density_band"] is row["encoder_missed_target"] is None
    assert {Path(row["video_path"]).suffix for row in found} == {".MP4", ".mp4", ".mkv"}


def test_rows_are_the_same_however_they_are_prepared(
    make: Make, tmp_path: Path, copies: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = make()
    folders = {name: str(path) for name, path in copies.items()}
    # local settings are none of a builder's own
    monkeypatch.setattr(Natural, "settings", {**builder.settings, "data_dirs": folders})
    assert_same_however_prepared(builder, str(tmp_path))


def test_a_length_depends_on_itself_alone_and_a_seed_changes_all(make: Make) -> None:
    both = rows(make())
    alone = rows(make(lengths="16", clips_per_length="10"))
    assert alone == [row for row in both if row["length"] == 16]
    other = rows(make(seed=1))
    assert {row["clip_id"] for row in other} != {row["clip_id"] for row in both}


def test_clips_are_slowed_where_the_longest_is_too_short(make: Make) -> None:
    found = rows(make(lengths=(256,), clips_per_length=(8,), questions_per_clip=(1,)))
    slowed = [row for row in found if row["source"] == "epic"]
    assert slowed
    for row in slowed:
        assert 1 < row["slowdown"] <= 3
        assert row["slowdown"] == pytest.approx(256 / (row["end_s"] - row["start_s"]))
    with pytest.raises(EccdataError, match="no pair of clips"):
        rows(make(lengths=(512,), clips_per_length=(8,), questions_per_clip=(1,)))


def test_the_cache_of_datasets_knows_other_annotations_and_not_other_places(
    make: Make, copies: dict[str, Path], tmp_path: Path
) -> None:
    moved = {
        name: shutil.copytree(path / ANNOTATIONS, tmp_path / name) if name == "epic" else path
        for name, path in copies.items()
    }

    def name(of: dict[str, Path], **settings: Any) -> str:
        return str(make(of, videos="unchecked", **settings).config_id)

    first = name(copies)
    assert name(moved) == first == name(copies, density_device="cpu")
    assert name({"epic": copies["epic"]}) != first != name(copies, seed=1)
    csv = moved["epic"] / "EPIC_100_train.csv"
    csv.write_text(csv.read_text() + csv.read_text().splitlines()[-1].replace("take", "put") + "\n")
    assert name(moved) != first


def test_missing_videos_are_told_once_with_where_to_get_them(
    make: Make, copies: dict[str, Path], tmp_path: Path
) -> None:
    bare = {
        "epic": shutil.copytree(copies["epic"], tmp_path / "epic", ignore=shutil.ignore_patterns("*.MP4")),
        "soccernet": shutil.copytree(
            copies["soccernet"], tmp_path / "soccernet", ignore=shutil.ignore_patterns("*.mkv")
        ),
    }
    with pytest.raises(EccdataError) as error:
        make(bare).cells()
    message = str(error.value)
    assert "of EPIC-KITCHENS-100" in message
    assert "1 of SoccerNet-v2" in message
    assert f"{bare['epic']}/EPIC-KITCHENS/P00/videos/P00_100.MP4" in message
    assert "_720p.mkv" in message
    assert "CC BY-NC 4.0" in message
    assert "non-disclosure agreement" in message
    assert message.count("  - ") <= 10
    # what is there will do, if that is asked for
    found = rows(make(bare, videos="present"))
    assert {row["source"] for row in found} == {"epic"}
    assert {Path(row["video_path"]).suffix for row in found} == {".mp4"}
    # and annotations alone say the same as with all videos, but for the spelling of file names
    unchecked = rows(make(bare, videos="unchecked"))
    assert [row["clip_id"] for row in unchecked] == [row["clip_id"] for row in rows(make())]


def test_missing_annotations_are_told(make: Make, copies: dict[str, Path], tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(EccdataError) as error:
        make({"epic": empty, "soccernet": empty}).cells()
    for part in (
        "EPIC_100_train.csv",
        "EPIC_100_video_info.csv",
        "Labels-v2.json",
        "3 of EPIC",
        "1 of SoccerNet",
    ):
        assert part in str(error.value)


def test_broken_videos_are_told_together(make: Make, copies: dict[str, Path], tmp_path: Path) -> None:
    broken = shutil.copytree(copies["epic"], tmp_path / "epic")
    used = sorted({row["video_path"] for row in rows(make({"epic": copies["epic"]}))})
    (broken / used[0]).write_bytes(b"")
    (broken / used[1]).write_text("no video")
    shutil.copy(next(copies["epic"].rglob("P01_101.*")), broken / used[2])
    with av.open(str(broken / used[3]), "w", format="mp4") as output:
        sound = output.add_stream("aac", rate=16000)
        frame = av.AudioFrame(format="fltp", layout="mono", samples=1024)
        frame.planes[0].update(bytes(4096))
        frame.rate, frame.pts = 16000, 0
        output.mux(sound.encode(frame))
        output.mux(sound.encode())
    with pytest.raises(EccdataError) as error:
        make({"epic": broken}).cells()
    message = str(error.value)
    assert message.count("  - ") == 3
    for path in (used[0], used[1], used[3]):
        assert path in message


def test_a_video_that_is_too_short_is_told(make: Make, copies: dict[str, Path], tmp_path: Path) -> None:
    short = shutil.copytree(copies["epic"], tmp_path / "epic")
    latest = max(rows(make({"epic": short})), key=lambda row: row["end_s"])
    path = short / latest["video_path"]
    with av.open(str(path)) as whole, av.open(str(tmp_path / "cut.mp4"), "w") as cut:
        source = whole.streams.video[0]
        stream = cut.add_stream_from_template(source)
        for packet in whole.demux(source):
            if packet.pts is not None and packet.pts * packet.time_base < 5:
                packet.stream = stream
                cut.mux(packet)
    shutil.move(tmp_path / "cut.mp4", path)
    with pytest.raises(EccdataError, match=r"lasts 5\.\d* s, and a clip of it ends at"):
        make({"epic": short}).cells()


def test_bad_settings_are_told_together(make: Make, tmp_path: Path) -> None:
    with pytest.raises(EccdataError) as error:
        make(
            {"epik": tmp_path, "epic": tmp_path / "nowhere"},
            lengths=(8, 8, 1),
            clips_per_length=(4, 2),
            categories=("open_fridge", "open_window"),
            max_slowdown=0.5,
            videos="some",
            density_cutoff="mean",
        )
    for part in (
        "data_dirs=epik: there is no such source",
        "nowhere is no folder",
        "lengths=1: must be at least 2",
        "lengths=8: given 2 times",
        "clips_per_length=4,2: must be as many numbers as lengths (3)",
        "categories=open_window",
        "max_slowdown=0.5",
        "videos=some",
        "density_cutoff=mean",
    ):
        assert part in str(error.value)
    with pytest.raises(EccdataError, match="clips_per_length=3: must be at least 2 and even"):
        make(clips_per_length=(3, 2))
    with pytest.raises(EccdataError, match="no clips of 9 frames"):
        make(lengths=(9,), clips_per_length=(), questions_per_clip=())


def test_without_a_source_it_says_what_it_needs(tmp_path: Path) -> None:
    builder = Natural.create(cache_dir=str(tmp_path))
    with pytest.raises(EccdataError, match=r"--data-dir epic=PATH and --data-dir soccernet=PATH"):
        builder.cells()


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("answer", 1, "the answer is yes exactly where"),
        ("question", "Did it?", "question is 'Did it?'"),
        ("license", "CC0", "license is 'CC0'"),
        ("slowdown", 2.0, "slowdown is 2.0"),
        ("video_path", "/home/video.mp4", "does not lie below"),
        ("density_score", 0.1, "measured, but without"),
        ("category", "open_window", "no category 'open_window'"),
        ("end_s", 0.0, "the clip lasts from"),
    ],
)
def test_what_is_wrong_in_a_row_is_found(make: Make, column: str, value: object, says: str) -> None:
    builder = make(lengths=(16,), clips_per_length=(10,))
    table = builder.table(builder.cells()[0])
    content = table.to_pylist()
    at = next(at for at, row in enumerate(content) if row["answer"] == 0)
    content[at][column] = value
    found = builder.check(type(table).from_pylist(content, schema=table.schema))
    assert any(says in problem and content[at]["question_id"] in problem for problem in found), found


def test_clips_are_cut_outside_of_releases_alone(make: Make, tmp_path: Path) -> None:
    folder = tmp_path / "clips"
    builder = make(lengths=(8,), clips_per_length=(4,), categories="open_fridge,red_card", clips=str(folder))
    found = rows(builder)
    assert {path.stem for path in folder.glob("*.mp4")} == {row["clip_id"] for row in found}
    assert "NDA" in (folder / NOTICE).read_text() or "non-disclosure" in (folder / NOTICE).read_text()
    for path in folder.glob("*.mp4"):
        with av.open(str(path)) as container:
            frames = list(container.decode(video=0))
        assert [frame.time for frame in frames] == list(range(8))
        assert (frames[0].width, frames[0].height) == (640, 360)
    # those that are there are kept
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.mp4")}
    removed = next(iter(before))
    removed.unlink()
    rows(builder)
    after = {path: path.stat().st_mtime_ns for path in folder.glob("*.mp4")}
    assert {path for path in before if before[path] != after[path]} == {removed}
    (tmp_path / "build.json").touch()
    with pytest.raises(EccdataError, match="lies in the release"):
        rows(builder)


def test_density_becomes_columns_and_is_not_measured_twice(make: Make, tmp_path: Path) -> None:
    model = str(save_tiny_dinov2(tmp_path / "model"))
    options = {
        "lengths": (8,),
        "clips_per_length": (2,),
        "categories": "open_fridge",
        "density": True,
        "density_model": model,
        "density_cache": str(tmp_path / "density"),
        "density_device": "cpu",
    }
    builder = make(density_cutoff="median", **options)
    found = rows(builder)
    assert len(found) == 2
    scores = [row["density_score"] for row in found]
    assert all(0 < score < 1 for score in scores)
    assert [row["density_cutoff"] for row in found] == pytest.approx([sum(scores) / 2] * 2)
    assert Counter(row["density_band"] for row in found) == {"low": 1, "high": 1}
    for row in found:
        assert row["encoder_missed_target"] == (abs(row["bits_per_frame"] / 32_000 - 1) > 0.05)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "density").iterdir()}
    again = rows(make(density_cutoff=0.9, **options))
    assert [row["density_score"] for row in again] == scores
    assert {row["density_band"] for row in again} == {"low"}
    assert all(path.stat().st_mtime_ns == at for path, at in files.items() if path.suffix == ".npz")
    assert "| 8 | 0.9000 | 2 / 0 | 2 / 0 |" in builder.findings(
        lambda split: iter([make(density_cutoff=0.9, **options).table(builder.cells()[0])])
    )


def test_a_release_says_what_it_was_made_from_and_holds_no_picture(
    copies: dict[str, Path], tmp_path: Path
) -> None:
    release = tmp_path / "release"
    built = eccdata.build(
        "eccbench",
        out=release,
        configs=["natural"],
        settings={**SMALL, "clips_per_length": "1000,10"},
        data_dirs={"epic": copies["epic"]},
    )
    assert [note for note in built.notes if "without soccernet" in note]
    record = json.loads((release / "build.json").read_text())
    assert set(record["configs"]["natural"]["sources"]) == {"epic"}
    everything = "".join(
        path.read_text()
        for path in release.rglob("*")
        if path.suffix in (".json", ".md", "")
        if path.is_file()
    )
    assert str(copies["epic"]) not in everything
    card = (release / "README.md").read_text()
    for part in (
        "Left out: SoccerNet-v2",
        "annotations-only",
        "--data-dir epic=PATH",
        "What the footage has no more of",
        record["configs"]["natural"]["sources"]["epic"],
    ):
        assert part in card
    assert (release / "SHA256SUMS").read_text().count(".parquet") == 1

    # by itself it is checked without the footage, and made again with it
    alone = eccdata.verify(release)
    assert alone.ok, str(alone)
    assert any("--data-dir epic=PATH" in note for note in alone.notes)
    whole = eccdata.verify(release, data_dirs={"epic": copies["epic"]})
    assert whole.ok, str(whole)
    assert not whole.notes
    other = write_epic(tmp_path / "other", {"P01_101": cooking(5, 150.0, NAMES[:3], 3)})
    assert "made from other sources" in str(eccdata.verify(release, data_dirs={"epic": other}))

    # annotations may be pushed; a picture that strayed in may not
    assert eccdata.push(release, repo_id="somebody/eccbench", dry_run=True).files
    (release / "data" / "natural" / "clip.mp4").write_bytes(b"0")
    with pytest.raises(EccdataError, match=r"clip\.mp4: no file of this release"):
        eccdata.push(release, repo_id="somebody/eccbench", dry_run=True)


def test_without_copies_it_is_left_out_of_everything_and_said_so(tmp_path: Path) -> None:
    from eccdata.release.building import _chosen

    classes, notes = _chosen("eccbench", None, {})
    assert "natural" not in classes
    assert "text" in classes
    assert notes == [
        "natural is left out: it reads your own copies (--data-dir epic=PATH, --data-dir soccernet=PATH)"
    ]
    with pytest.raises(EccdataError, match=r"no source .*'epik'.*Did you mean 'epic'"):
        eccdata.build("eccbench", out=tmp_path / "release", data_dirs={"epik": tmp_path})


def test_it_is_registered_and_streams(copies: dict[str, Path], tmp_path: Path) -> None:
    assert catalog.builder("eccbench", "natural") is Natural
    streamed = eccdata.load_dataset(
        "eccbench",
        "natural",
        split="test",
        streaming=True,
        cache_dir=str(tmp_path),
        data_dirs={name: str(path) for name, path in copies.items()},
        **SMALL,
    )
    assert isinstance(streamed, datasets.IterableDataset)
    assert next(iter(streamed))["question_id"] == "natural-L0008-open_fridge-000"
