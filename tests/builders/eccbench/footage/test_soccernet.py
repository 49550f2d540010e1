from __future__ import annotations

import json
from pathlib import Path

import pytest

from eccdata.builders.eccbench.footage import soccernet
from eccdata.errors import EccdataError
from support.footage import write_soccernet

GAME = "england_epl/2014-2015/2015-02-21 - 18-00 Chelsea 1 - 1 Burnley"


def test_halves_are_videos_and_positions_milliseconds_in_text(tmp_path: Path) -> None:
    write_soccernet(
        tmp_path,
        {
            f"{GAME}/1": [(0.0, "Kick-off", "visible"), (754.123, "Red card", "not shown")],
            f"{GAME}/2": [(2900.5, "Yellow->red card", "visible")],
        },
    )
    footage = soccernet.read_footage(tmp_path, "720p")
    assert not footage.dense
    first, second = footage.videos
    assert (first.video_id, first.path, first.end_s) == (f"{GAME}/1", f"{GAME}/1_720p.mkv", 754.123)
    assert [(a.start_s, a.end_s, a.words, a.shown) for a in first.annotations] == [
        (0.0, 0.0, "Kick-off", True),
        (754.123, 754.123, "Red card", False),
    ]
    # over 45 minutes: the position counts, not a minute that begins anew
    assert (second.path, second.end_s) == (f"{GAME}/2_720p.mkv", 2900.5)
    assert second.annotations[0].annotation_id == f"{GAME}#2"
    assert soccernet.read_footage(tmp_path, "224p").videos[0].path == f"{GAME}/1_224p.mkv"


def test_broken_labels_are_told_together(tmp_path: Path) -> None:
    write_soccernet(tmp_path, {f"{GAME}/1": [(1.0, "Goal", "visible"), (2.0, "Foul", "visible")]})
    path = tmp_path / GAME / soccernet.LABELS
    labels = json.loads(path.read_text())
    labels["annotations"][0]["gameTime"] = "3 - 00:01"
    del labels["annotations"][1]["position"]
    path.write_text(json.dumps(labels))
    other = tmp_path / "a" / "b" / "c"
    other.mkdir(parents=True)
    (other / soccernet.LABELS).write_text("{")
    with pytest.raises(EccdataError) as error:
        soccernet.read_footage(tmp_path, "720p")
    message = str(error.value)
    assert f"a/b/c/{soccernet.LABELS}: JSONDecodeError" in message
    assert "annotation 0: ValueError: gameTime '3 - 00:01'" in message
    assert "annotation 1: KeyError: 'position'" in message


def test_no_game_at_all_is_told(tmp_path: Path) -> None:
    assert soccernet.missing_annotations(tmp_path) == ["LEAGUE/SEASON/GAME/Labels-v2.json"]
