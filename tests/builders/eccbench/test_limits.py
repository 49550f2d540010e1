"""Settings that no machine could serve are told at once, before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from eccdata import EccdataError, catalog
from eccdata.cli import main

HUGE = str(10**21)
INFINITE = ("validation_fraction", "max_slowdown", "max_gap_s", "density_cutoff")


@pytest.mark.parametrize(
    ("config", "setting"),
    [
        *[
            (config, name)
            for config in ("text", "easyhuman-text", "video-sequential", "video-spatial", "easyhuman-video")
            for name in ("lengths", "streams", "queries", "alphabet_size")
        ],
        *[
            ("tokens", name)
            for name in (
                *("sequences", "queries", "min_length", "max_length", "test_lengths", "test_streams"),
                *("alphabet_size", "validation_fraction"),
            )
        ],
        *[
            ("natural", name)
            for name in (
                *("lengths", "clips_per_length", "questions_per_clip"),
                *("max_slowdown", "max_gap_s", "density_batch_size", "density_cutoff"),
            )
        ],
    ],
)
def test_huge_settings_are_told_in_one_sentence(config: str, setting: str, tmp_path: Path) -> None:
    value = "inf" if setting in INFINITE else HUGE
    with pytest.raises(EccdataError) as error:
        catalog.builder("eccbench", config).create(cache_dir=str(tmp_path), **{setting: value})
    told = [
        line for line in str(error.value).splitlines() if line.strip(" -").startswith(f"{setting}={value}: ")
    ]
    # `alphabet_size` of a video has two reasons to be wrong, and a count of clips goes with the lengths
    assert 1 <= len(told) <= 2


@pytest.mark.parametrize("config", ["text", "tokens", "easyhuman-text", "video-spatial", "easyhuman-video"])
def test_huge_candidates_are_told(config: str, tmp_path: Path) -> None:
    with pytest.raises(EccdataError, match=f"candidate_lengths={HUGE}: must be at most 64"):
        catalog.builder("eccbench", config).create(cache_dir=str(tmp_path), candidate_lengths=f"3,{HUGE}")


@pytest.mark.parametrize(
    ("config", "settings", "told"),
    [
        ("text", {"lengths": 2**20 + 1}, "lengths=1048577: must be at most 1,048,576"),
        (
            "text",
            {"lengths": 2**20, "candidate_lengths": "1,64", "streams": 1},
            "131,072 with 64 lengths of candidates",
        ),
        ("text", {"streams": 65_537, "lengths": 8}, "streams=65537: must be at most 65,536 with 16 queries"),
        ("text", {"streams": 65, "lengths": 2**20}, "streams=65: must be at most 64 with streams of 1048576"),
        (
            "easyhuman-text",
            {"streams": 65, "lengths": 2**20},
            "streams=65: must be at most 64 with streams of 1048576",
        ),
        (
            "tokens",
            {"test_streams": 1025, "test_lengths": 2**20},
            "test_streams=1025: must be at most 1,024 with streams",
        ),
        ("tokens", {"max_length": 2**15 + 1}, "max_length=32769: must be at most 32,768"),
        ("video-spatial", {"lengths": 2**16 + 1}, "lengths=65537: must be at most 65,536 with 16 queries"),
    ],
)
def test_each_limit_is_the_last_value_that_is_taken(
    config: str, settings: dict[str, int | str], told: str, tmp_path: Path
) -> None:
    builder = catalog.builder("eccbench", config)
    plain = {of: str(value) for of, value in settings.items()}
    with pytest.raises(EccdataError) as error:
        builder.create(cache_dir=str(tmp_path), **plain)
    assert told in str(error.value)
    if "candidate_lengths" not in settings:
        name, value = next(iter(settings.items()))
        assert isinstance(value, int)
        builder.create(cache_dir=str(tmp_path), **{**plain, name: str(value - 1)})


@pytest.mark.parametrize("setting", ["lengths=99999999999999", f"streams={HUGE}"])
def test_the_command_ends_with_2_and_no_traceback(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr(
        "sys.argv",
        ["eccdata", "build", "eccbench", "--config", "text", "--set", setting, "--out", str(out)],
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    told = capfd.readouterr().err
    assert told.count(f"{setting}: must be at most") == 1
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []
