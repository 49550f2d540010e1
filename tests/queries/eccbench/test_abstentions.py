from __future__ import annotations

from pathlib import Path

from support.results import cell, clip_cell, video_cell, write_run
from support.tables import table


def test_kinds(tmp_path: Path) -> None:
    write_run(tmp_path / "b", cell(["rw--", "mmmo", "rrxx"]), arm="b")
    write_run(tmp_path / "a", cell(["rrrr"]), arm="a")
    names = ("arm", "n", "failed", "abstained", "explicit", "format", "overflow", "abstained_share")
    assert [tuple(one[name] for name in names) for one in table(tmp_path, "abstentions")] == [
        ("a", 4, 0, 0, 0, 0, 0, 0.0),
        ("b", 10, 2, 6, 2, 3, 1, 0.6),
    ]
    shares = ("explicit_share", "format_share", "overflow_share")
    assert [tuple(one[name] for name in shares) for one in table(tmp_path, "abstentions")] == [
        (None, None, None),
        (2 / 6, 3 / 6, 1 / 6),
    ]


def test_all_three_subsets(tmp_path: Path) -> None:
    write_run(tmp_path / "text", cell(["r-"]), arm="b")
    for variant, letters in (("sequential", "rm--"), ("spatial", "rm--")):
        questions = video_cell([letters], variant=variant, length=8)
        write_run(tmp_path / variant, questions, config=f"video-{variant}", protocol="membership-video")
    clips = clip_cell(["rx", "or"], band="low", length=64)
    write_run(tmp_path / "natural", clips, config="natural", protocol="natural")
    names = ("subset", "length", "arm", "n", "failed", "explicit", "format", "overflow")
    assert [tuple(one[name] for name in names) for one in table(tmp_path, "abstentions")] == [
        ("synthetic text", 512, "b", 2, 0, 1, 0, 0),
        ("synthetic video", 8, "none", 8, 0, 4, 2, 0),
        ("natural video", 64, "none", 3, 1, 0, 0, 1),
    ]
