from __future__ import annotations

from pathlib import Path

import pytest

from eccdata.builders.eccbench.footage import epic
from eccdata.errors import EccdataError
from support.footage import ANNOTATIONS, Act, Kitchen, act, write_epic


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_annotations_are_read_by_timestamps_and_column_names(tmp_path: Path) -> None:
    kitchen = Kitchen(
        3700,
        [
            act(3661.25, "take milk from fridge", 2.5),
            act(10.5, "open fridge"),
            act(20, "cut tomato with knife"),
        ],
    )
    write_epic(tmp_path, {"P01_11": kitchen})
    footage = epic.read_footage(tmp_path)
    assert footage.dense
    (video,) = footage.videos
    assert (video.video_id, video.path, video.end_s) == (
        "P01_11",
        "EPIC-KITCHENS/P01/videos/P01_11.MP4",
        3700,
    )
    # of both files, in order of time
    assert [a.annotation_id for a in video.annotations] == ["P01_11_1", "P01_11_2", "P01_11_0"]
    opened, cut, taken = video.annotations
    assert (opened.start_s, opened.end_s) == (10.5, 13.5)
    assert (taken.start_s, taken.end_s) == (3661.25, 3663.75)
    assert (taken.words, taken.verb_class, taken.nouns, taken.noun_classes) == (
        "take",
        0,
        ("milk", "fridge"),
        (88, 12),
    )
    assert cut.noun_classes == (43, 4)


def test_videos_are_found_in_either_spelling_and_without_the_top_folder(tmp_path: Path) -> None:
    kitchen = Kitchen(100, [act(1, "open fridge"), act(5, "open fridge")])
    write_epic(tmp_path, {"P01_11": kitchen, "P02_101": kitchen, "P03_01": kitchen})
    for path in ("EPIC-KITCHENS/P01/videos/P01_11.mp4", "P02/videos/P02_101.MP4"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).touch()
    assert [video.path for video in epic.read_footage(tmp_path).videos] == [
        "EPIC-KITCHENS/P01/videos/P01_11.mp4",
        "P02/videos/P02_101.MP4",
        "EPIC-KITCHENS/P03/videos/P03_01.MP4",
    ]


def test_what_lies_beyond_the_video_is_cut_or_left_out(tmp_path: Path) -> None:
    acts = [
        act(95, "open fridge", 20),
        act(120, "open fridge"),
        act(50, "open fridge", -2),
        act(1, "open fridge"),
    ]
    write_epic(tmp_path, {"P01_11": Kitchen(100, acts)})
    (video,) = epic.read_footage(tmp_path).videos
    assert [(a.start_s, a.end_s) for a in video.annotations] == [(1, 4), (95, 100)]


@pytest.mark.parametrize(
    ("timestamp", "seconds"), [("00:00:00.560", 0.56), ("01:02:03.04", 3723.04), ("00:59:59.99", 3599.99)]
)
def test_timestamps(timestamp: str, seconds: float) -> None:
    assert epic.seconds(timestamp) == pytest.approx(seconds)


@pytest.mark.parametrize("timestamp", ["", "12.5", "00:61:00", "00:00:60.1", "a:b:c", "-1:00:00"])
def test_what_is_no_timestamp_is_told(timestamp: str) -> None:
    with pytest.raises(ValueError, match=r"HH:MM:SS|invalid literal"):
        epic.seconds(timestamp)


def test_bad_rows_are_told_together_by_file_and_line(tmp_path: Path) -> None:
    kitchen = Kitchen(100, [act(at, "open fridge") for at in range(1, 60, 4)])
    write_epic(tmp_path, {"P01_11": kitchen})
    path = tmp_path / ANNOTATIONS / "EPIC_100_train.csv"
    rows = lines(path)
    rows[1] = rows[1].replace("00:00:01.00", "later")
    rows[2] = rows[2].replace("P01_11,", "P09_99,")
    rows[3] = rows[3].replace("['fridge']", "fridge")
    path.write_text("\n".join(rows))
    with pytest.raises(EccdataError) as error:
        epic.read_footage(tmp_path)
    message = str(error.value)
    assert "EPIC_100_train.csv, line 2 (P01_11_0): 'later' is no time" in message
    assert "EPIC_100_train.csv, line 3: EPIC_100_video_info.csv has no video 'P09_99'" in message
    assert "EPIC_100_train.csv, line 4 (P01_11_2)" in message


def test_a_file_without_labels_is_not_taken_for_one_with_them(tmp_path: Path) -> None:
    write_epic(tmp_path, {"P01_11": Kitchen(100, [act(1, "open fridge"), act(9, "open fridge")])})
    folder = tmp_path / ANNOTATIONS
    (folder / "EPIC_100_validation.csv").write_bytes((folder / "EPIC_100_test_timestamps.csv").read_bytes())
    with pytest.raises(EccdataError, match=r"(?s)EPIC_100_validation.csv lacks these columns:.*verb_class"):
        epic.read_footage(tmp_path)


def test_missing_annotation_files_are_named(tmp_path: Path) -> None:
    assert epic.missing_annotations(tmp_path) == [
        "EPIC_100_train.csv",
        "EPIC_100_validation.csv",
        "EPIC_100_video_info.csv",
    ]
    with pytest.raises(EccdataError, match="--data-dir epic=PATH"):
        epic.read_footage(tmp_path)


def test_the_digest_is_that_of_contents(tmp_path: Path) -> None:
    one, same, other = (tmp_path / name for name in ("one", "same", "other"))
    kitchen = Kitchen(100, [act(1, "open fridge"), act(9, "open fridge")])
    for root in (one, same):
        write_epic(root, {"P01_11": kitchen})
    write_epic(other, {"P01_11": Kitchen(100, [*kitchen.acts, Act(20, 21, "take", 0, (("spoon", 1),))])})
    assert epic.annotations_digest(one) == epic.annotations_digest(same) != epic.annotations_digest(other)
