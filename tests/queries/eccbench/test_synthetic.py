from __future__ import annotations

from pathlib import Path

from eccdata.analysis import tables
from support.bootstrap import interval, replicates
from support.results import cell, video_cell, write_run


def test_the_shape_of_table_5(tmp_path: Path) -> None:
    questions = (
        cell(["rrrw", "rrww"], length=512)
        + cell(["rw-x"], length=512, band="max")
        + cell(["rrrr"], length=1024)
        + cell(["rrrr"], length=8)
    )
    write_run(tmp_path / "text", questions, model="Qwen3-VL (8B)")
    for variant, outcomes in (("sequential", ["rrrw"]), ("spatial", ["rwww"])):
        shown = video_cell(outcomes, variant=variant, length=16)
        if variant == "spatial":
            shown += video_cell(["rrrr"], variant=variant, length=16, band="max")
        write_run(
            tmp_path / variant,
            shown,
            model="Qwen3-VL (8B)",
            config=f"video-{variant}",
            protocol="membership-video",
        )
    (made,) = tables([tmp_path], names=["synthetic"], out=tmp_path / "tables")
    (one,) = made.rows
    cells = {
        name: value
        for name, value in one.items()
        if name.startswith(("text", "video")) and not name.endswith("bootstrap")
    }
    assert cells == {
        "text_512_low": 5 / 8,
        "text_512_max": 1 / 3,
        "text_1024_low": 1.0,
        "text_1024_max": None,
        "video_16_low": (3 / 4 + 1 / 4) / 2,
        "video_16_max": None,  # of one variant alone
        "video_64_low": None,
        "video_64_max": None,
    }
    assert (one["n"], one["failed"]) == (27, 1)
    assert one["text_512_low_bootstrap"] == interval(replicates(lambda t: t[0] / t[1], [3, 2], [4, 4]))
    assert one["video_16_max_bootstrap"] is None
    markdown = (tmp_path / "tables" / "eccbench" / "synthetic.md").read_text()
    # beside each what the paper prints of this model, marked where the interval lies elsewhere
    printed = (
        "62.5 (85.8)≠ | 33.3 (71.3) | 100.0 (84.0) | – (60.4) | 50.0 (61.9) | – (63.4) | – (59.7) | – (60.0)"
    )
    assert f"| Qwen3-VL (8B) | {printed} | 1 |" in markdown
    assert (
        "Qwen3-VL (8B) was not asked: config text, length 1024, band max; "
        "config video-sequential and video-spatial, length 64; config video-sequential, length 16, band max."
    ) in markdown
