"""`croissant.json` as mlcroissant reads it, and the YAML that it is made from."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import mlcroissant as mlc
import pyarrow.parquet as pq
import pytest

from eccdata import EccdataError, catalog
from eccdata.release import build
from eccdata.release.croissant_check import plain
from eccdata.release.description import license_text, read_description
from eccdata.release.record import read_record
from support import toy


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    toy.install(monkeypatch, tmp_path)
    return build("toybench", out=tmp_path / "release").path


def test_it_is_valid_without_a_word_of_complaint(built: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        metadata = mlc.Dataset(built / "croissant.json").metadata
    assert [record.message for record in caplog.records] == []
    assert metadata.ctx.conforms_to.value == "http://mlcommons.org/croissant/1.1"
    assert [str(record_set.id) for record_set in metadata.record_sets] == [
        "digits-train",
        "digits-test",
        "list-train",
        "list-test",
    ]


def test_all_records_are_the_rows_from_wherever_the_release_lies(built: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(built, moved)
    shutil.rmtree(built)
    dataset = mlc.Dataset(moved / "croissant.json")
    for config in ("digits", "list"):
        for split in ("train", "test"):
            rows = pq.read_table(moved / f"data/{config}/{split}-00000-of-00001.parquet").to_pylist()
            name = f"{config}-{split}"
            assert [plain(record, name) for record in dataset.records(name)] == rows


def test_every_file_stands_with_its_digest_and_size(built: Path) -> None:
    jsonld = json.loads((built / "croissant.json").read_text())
    entries = {e["@id"]: e for e in jsonld["distribution"] if e["@type"] == "cr:FileObject"}
    shards = [shard for made in read_record(built).configs.values() for shard in made.shards]
    assert {(s.path, s.sha256, f"{s.size_bytes} B") for s in shards} == {
        (path, entry["sha256"], entry["contentSize"]) for path, entry in entries.items()
    }


def test_it_has_the_vocabularies_own_names(built: Path) -> None:
    jsonld = json.loads((built / "croissant.json").read_text())
    assert jsonld["conformsTo"] == [
        "http://mlcommons.org/croissant/1.1",
        "http://mlcommons.org/croissant/RAI/1.0",
    ]
    assert jsonld["@context"]["prov"] == "http://www.w3.org/ns/prov#"
    minimal = {
        "rai:dataLimitations": ["Small."],
        "rai:dataBiases": ["None known."],
        "rai:personalSensitiveInformation": ["None."],
        "rai:dataUseCases": ["Tests."],
        "rai:dataSocialImpact": "None.",
        "rai:hasSyntheticData": True,
        "prov:wasDerivedFrom": ["https://example.org/source"],
        "prov:wasGeneratedBy": "A generator.",
    }
    assert {name: jsonld[name] for name in minimal} == minimal
    assert jsonld["datePublished"].startswith("2026-01-02")
    assert not any(name.startswith(("rai:dataData", "dataCollection")) for name in jsonld)


def described() -> list[str]:
    return list(catalog.entries("croissant"))


def columns(benchmark: str, config: str) -> set[str]:
    """All columns of a configuration, those inside lists of structs too."""
    found = set()
    for column, feature in catalog.builder(benchmark, config).features().items():
        inner = getattr(feature, "feature", None)
        found |= {column, *(f"{column}.{name}" for name in (inner if isinstance(inner, dict) else ()))}
    return found


@pytest.mark.parametrize("benchmark", list(catalog.entries("croissant")))
def test_every_benchmark_describes_its_configurations_and_columns_and_no_others(benchmark: str) -> None:
    description = read_description(benchmark)
    assert len(license_text(benchmark)) > 1000
    assert set(description.configs) == set(catalog.configs(benchmark))
    there = set().union(*(columns(benchmark, config) for config in catalog.configs(benchmark)))
    assert {name for name, said in description.columns.items() if said} == there


def test_a_description_that_lacks_something_says_what(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    toy.install(monkeypatch, tmp_path)
    path = tmp_path / "toybench_croissant" / "toybench.yaml"
    whole = path.read_text()

    def said(text: str) -> str:
        path.write_text(text)
        with pytest.raises(EccdataError) as error:
            build("toybench", out=tmp_path / "release")
        return str(error.value)

    assert "rai.data_biases: Field required" in said(whole.replace("data_biases", "data_bias"))
    assert "rai.data_bias: Extra inputs" in said(whole.replace("data_biases", "data_bias"))
    assert "redistribution" in said(whole.replace("redistribution: allowed", "redistribution: maybe"))
    assert "says nothing of these configurations:\n  - list" in said(
        "\n".join(line for line in whole.splitlines() if "list:" not in line)
    )
    assert "cannot be read" in said("a: [")
    assert "The licence text 'other.txt' does not stand" in said(whole.replace("licence.txt", "other.txt"))


FOREIGN = {
    "text": ("video", "belt", "soccer", "kitchen", "`natural`", "`tokens`", "clip"),
    "easyhuman-text": (
        "video",
        "belt",
        "soccer",
        "kitchen",
        "`natural`",
        "`tokens`",
        "low band",
        "`hard`",
        "clip",
    ),
    "tokens": ("video", "belt", "soccer", "kitchen", "`natural`", "`hard`", "deviation", "clip"),
    "video-sequential": ("soccer", "kitchen", "`natural`", "`tokens`", "deviation", "clip"),
    "video-spatial": ("soccer", "kitchen", "`natural`", "`tokens`", "deviation", "clip"),
    "easyhuman-video": ("soccer", "kitchen", "`natural`", "`tokens`", "low band", "clip"),
    "natural": ("belt", "lempel", "`tokens`", "candidate", "uniform"),
}
"""What a release of one configuration has no business speaking of."""


@pytest.mark.parametrize("config", catalog.configs("eccbench"))
def test_a_description_speaks_of_the_configurations_that_are_there(config: str) -> None:
    said = read_description("eccbench", [config])
    there = {name: what for name, what in said.columns.items() if name in columns("eccbench", config)}
    statements = said.model_copy(
        update={"columns": there, "configs": {config: said.configs[config]}, "url": "", "citation": ""}
    )
    text = statements.model_dump_json().lower()
    assert [word for word in FOREIGN[config] if word.lower() in text] == []


def test_configurations_are_described_for_any_settings() -> None:
    for config in read_description("eccbench").configs.values():
        assert not any(character.isdigit() for character in config.summary), config.summary


def test_the_card_and_croissant_of_a_release_speak_of_what_it_holds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    toy.install(monkeypatch, tmp_path)
    path = tmp_path / "toybench_croissant" / "toybench.yaml"
    marked = "{of: [list], says: Lists are long.}"
    path.write_text(
        path.read_text()
        .replace("keywords: [toy]", "keywords: [toy, {of: [digits], says: counting}]")
        .replace("purpose: To test releases.", f"purpose: [To test releases., {marked}]")
        .replace("data_biases: [None known.]", f"data_biases: [None known., {marked}]")
        .replace("stream: Digits.", f"stream: [Digits., {marked}]")
    )
    for configs, words in ((["digits"], 0), (["list"], 3), (["digits", "list"], 3)):
        release = build("toybench", out=tmp_path / "-".join(configs), configs=configs).path
        card = (release / "README.md").read_text()
        jsonld = json.loads((release / "croissant.json").read_text())
        assert card.count("Lists are long.") == words
        assert ("- counting" in card.split("---")[1]) == ("digits" in configs)
        # a list of one is written as its member
        assert jsonld["keywords"] == (["toy", "counting"] if "digits" in configs else "toy")
        assert jsonld["rai:dataBiases"] == ["None known.", "Lists are long."][: 1 + (words > 0)]
        assert jsonld["description"].endswith("To test releases." + "\n\nLists are long." * (words > 0))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("{of: [lists], says: Long.}", "`configs` describes none that is called lists"),
        ("{of: list, says: Long.}", "`of` (a list of configurations) with `says`"),
        ("{for: [list], says: Long.}", "`of` (a list of configurations) with `says`"),
        ("{of: [list], says: 3}", "rai.data_biases.0: Input should be a valid string"),
        ("{of: [secret], says: Long.}", "at least 1 item"),
    ],
)
def test_a_mark_that_cannot_be_meant_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, statement: str, message: str
) -> None:
    toy.install(monkeypatch, tmp_path)
    path = tmp_path / "toybench_croissant" / "toybench.yaml"
    path.write_text(path.read_text().replace("data_biases: [None known.]", f"data_biases: [{statement}]"))
    with pytest.raises(EccdataError) as error:
        build("toybench", out=tmp_path / "release")
    assert message in str(error.value)
