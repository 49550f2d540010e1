from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from eccdata.analysis import tables
from eccdata.analysis.views import open_views
from support.results import cell, video_cell, write_run

QUESTIONS = cell(["rw", "r-"])


def labels(*folders: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    views = open_views(folders)
    views.connection.close()
    return {run.name: run.label for run in views.runs}, views.notes


def test_arms_of_a_model_share_its_label(tmp_path: Path) -> None:
    for arm in ("none", "a", "b"):
        write_run(tmp_path / arm, QUESTIONS, arm=arm)
    write_run(tmp_path / "human", cell(["r"]), config="easyhuman-text", dataset="other")
    named, notes = labels(tmp_path)
    assert set(named.values()) == {"model"}
    assert notes == ()


def test_runs_on_other_data_are_kept_apart_arm_by_arm(tmp_path: Path) -> None:
    for seed in ("0", "1"):
        for arm in ("a", "b"):
            write_run(tmp_path / f"{arm}-{seed}", QUESTIONS, arm=arm, dataset=f"digest-of-seed-{seed}")
    named, notes = labels(tmp_path)
    assert named == {
        "a-0": "model [data f-seed-0]",
        "b-0": "model [data f-seed-0]",
        "a-1": "model [data f-seed-1]",
        "b-1": "model [data f-seed-1]",
    }
    assert re.match(
        r"model on text is 2 rows, for its runs differ: \[data f-seed-0\] is a-0, b-0; ", notes[0]
    )


def test_arms_on_different_data_are_never_paired(tmp_path: Path) -> None:
    write_run(tmp_path / "a", QUESTIONS, arm="a", dataset="data0000")
    write_run(tmp_path / "b", QUESTIONS, arm="b", dataset="data1111")
    named, notes = labels(tmp_path)
    assert named == {"a": "model [data data0000]", "b": "model [data data1111]"}
    assert len(notes) == 1


def test_other_options_and_systems_are_kept_apart(tmp_path: Path) -> None:
    write_run(tmp_path / "plain", QUESTIONS)
    write_run(tmp_path / "short", QUESTIONS, options={"max_tokens": 16})
    write_run(tmp_path / "local", QUESTIONS, system="transformers")
    named, _ = labels(tmp_path)
    assert named == {
        "local": "model [transformers]",
        "plain": "model [sglang]",
        "short": "model [sglang, max_tokens=16]",
    }


def test_a_model_that_reasons_on_one_configuration_alone_is_two(tmp_path: Path) -> None:
    for name, options in (("a", {"thinking": True}), ("b", {"system_prompt": "Think in <think> first."})):
        folder = tmp_path / name
        questions = cell(["rw"])
        write_run(folder / "text", questions, options=options)
        write_run(folder / "text-a", questions, options=options, arm="a")
        write_run(folder / "human", questions, config="easyhuman-text")
        views = open_views([folder])
        assert {run.name: run.label for run in views.runs} == {
            "human": "model [thinking not set]",
            "text": "model [thinking]",
            "text-a": "model [thinking]",
        }
        assert "model on text is [thinking], for its runs on other configurations are not." in views.notes


def test_servers_are_told_where_arms_differ_and_kept_apart_where_an_arm_is_doubled(tmp_path: Path) -> None:
    one = write_run(tmp_path / "a", QUESTIONS, arm="a", server="1111111122")
    two = write_run(tmp_path / "b", QUESTIONS, arm="b", server="3333333344")
    named, notes = labels(one, two)
    assert set(named.values()) == {"model"}
    assert notes == ("model on text: its runs were answered by different servers (a, b).",)
    write_run(tmp_path / "a2", QUESTIONS, arm="a", server="3333333344")
    named, _ = labels(tmp_path)
    assert named == {
        "a": "model [server 11111111]",
        "a2": "model [server 33333333]",
        "b": "model [server 33333333]",
    }


def test_without_cards_runs_that_cannot_be_told_apart_go_by_their_names(tmp_path: Path) -> None:
    write_run(tmp_path / "x", QUESTIONS, card=False)
    write_run(tmp_path / "y", QUESTIONS, card=False, options={"max_tokens": 16})
    named, notes = labels(tmp_path)
    assert named == {"x": "model [x]", "y": "model [y]"}
    assert len(notes) == 3, "two without a card, and one model that was taken apart"


# Options that change answers, on other configurations: tables set these side by side, text beside video.

BOTH = {"arm": "none", "max_tokens": 8192, "temperature": 0.0, "system_prompt": None}


def on_text_and_video(
    folder: Path, text: dict[str, Any], video: dict[str, Any], *, text_system: str = "sglang"
) -> None:
    for length in (512, 1024):
        name = folder / f"text-{length}"
        write_run(
            name,
            cell(["rr"], length=length) + cell(["rw"], length=length, band="max"),
            options=BOTH | text,
            system=text_system,
            dataset=f"text{length}",
            config="text" if length == 512 else "easyhuman-text",
        )
    for variant in ("sequential", "spatial"):
        write_run(
            folder / variant,
            video_cell(["rr"], variant=variant, length=16),
            config=f"video-{variant}",
            protocol="membership-video",
            options=BOTH | {"layout": "video", "frame_multiple": 1} | video,
        )


@pytest.mark.parametrize(
    ("text", "video", "system", "said"),
    [
        ({"temperature": 0.7}, {}, "sglang", ("temperature=0.7", "temperature=0.0")),
        ({}, {"max_tokens": 16}, "sglang", ("max_tokens=8192", "max_tokens=16")),
        ({"thinking": True}, {"thinking": False}, "sglang", ("thinking", "not thinking")),
        ({}, {}, "retrieval", ("retrieval", "sglang")),
        ({"seed": 1, "top_p": 0.5}, {"seed": 1, "top_p": 0.9}, "sglang", ("top_p=0.5", "top_p=0.9")),
    ],
)
def test_no_row_is_of_runs_that_differ_in_what_changes_answers(
    tmp_path: Path, text: dict[str, Any], video: dict[str, Any], system: str, said: tuple[str, str]
) -> None:
    on_text_and_video(tmp_path / "results", text, video, text_system=system)
    named, notes = labels(tmp_path / "results")
    assert named == {
        "text-512": f"model [{said[0]}]",
        "text-1024": f"model [{said[0]}]",
        "sequential": f"model [{said[1]}]",
        "spatial": f"model [{said[1]}]",
    }
    assert f"model on text is [{said[0]}], for its runs on other configurations are not." in notes
    (table,) = tables([tmp_path / "results"], names=["synthetic"])
    assert {row["label"]: (row["text_512_low"], row["video_16_low"]) for row in table.rows} == {
        f"model [{said[0]}]": (1.0, None),
        f"model [{said[1]}]": (None, 1.0),
    }


def test_an_option_that_only_one_protocol_has_tells_nothing_apart(tmp_path: Path) -> None:
    """What text cannot have, such as frames, is no difference to text; among clips it is one."""
    on_text_and_video(tmp_path / "same", {}, {"layout": "frames"})
    named, notes = labels(tmp_path / "same")
    assert set(named.values()) == {"model"}
    assert notes == ()
    card = tmp_path / "same" / "spatial" / "card.json"
    card.write_bytes(card.read_bytes().replace(b'"layout":"frames"', b'"layout":"video"'))
    named, _ = labels(tmp_path / "same")
    assert named["sequential"] == "model [layout=frames]"
    assert named["spatial"] == "model [layout=video]"


def test_options_of_a_system_count_where_its_fingerprint_names_them(tmp_path: Path) -> None:
    options = (
        ("one", {"base_url": "http://a", "retries": 3, "extra": {"top_k": 20}, "top_logprobs": 20}),
        ("two", {"base_url": "http://b", "retries": 7, "extra": {"top_k": 40}, "top_logprobs": 0}),
    )
    for config, (name, given) in zip(("text", "easyhuman-text"), options, strict=True):
        run = write_run(tmp_path / name, QUESTIONS, config=config)
        card = orjson.loads((run / "card.json").read_bytes())
        fingerprint = {"model": "m", "base_url": given["base_url"], "extra": given["extra"]}
        card["system"] |= {"options": given, "fingerprints": {"server": fingerprint}}
        (run / "card.json").write_bytes(orjson.dumps(card))
    named, _ = labels(tmp_path)
    assert named == {"one": "model [extra={'top_k': 20}]", "two": "model [extra={'top_k': 40}]"}


def test_two_long_prompts_are_told_apart_by_a_digest(tmp_path: Path) -> None:
    for name, end in (("a", "first."), ("b", "last.")):
        prompt = f"You read streams of symbols, one by one,\nand answer {end}"
        write_run(tmp_path / name, QUESTIONS, options={"system_prompt": prompt}, config=f"{name}-text")
    named, _ = labels(tmp_path)
    assert len(set(named.values())) == 2
    for name in named.values():
        assert re.fullmatch(r"model \[system_prompt=You read streams of symbols, one… [0-9a-f]{6}\]", name)


def test_a_run_without_a_card_is_not_taken_to_be_like_one_that_has_one(tmp_path: Path) -> None:
    write_run(tmp_path / "text", QUESTIONS, options={"temperature": 0.0})
    write_run(tmp_path / "human", QUESTIONS, config="easyhuman-text", card=False)
    named, _ = labels(tmp_path)
    assert named == {"text": "model", "human": "model [options unknown]"}


def test_other_servers_on_other_configurations_are_told(tmp_path: Path) -> None:
    write_run(tmp_path / "text", QUESTIONS, server="1111")
    write_run(tmp_path / "human", QUESTIONS, config="easyhuman-text", server="2222")
    named, notes = labels(tmp_path)
    assert set(named.values()) == {"model"}
    assert notes == ("model: other servers answered on other configurations (easyhuman-text; text).",)


def test_nothing_given_by_name_is_what_a_fingerprint_does_not_name(tmp_path: Path) -> None:
    for arm, fingerprint in (("none", {}), ("a", {"extra": {"top_logprobs": 20}})):
        run = write_run(tmp_path / arm, QUESTIONS, arm=arm)
        card = orjson.loads((run / "card.json").read_bytes())
        card["system"] = {**card["system"], "options": {"extra": {}}, "fingerprints": {"server": fingerprint}}
        (run / "card.json").write_bytes(orjson.dumps(card))
    named, _ = labels(tmp_path)
    assert set(named.values()) == {"model"}
