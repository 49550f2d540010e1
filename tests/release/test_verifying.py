from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest

from eccdata import EccdataError, catalog
from eccdata.release import Release, Verification, verify
from support import forge
from support.toy import Toy

Make = Callable[..., Release]
TEST = "data/digits/test-00000-of-00001.parquet"
TRAIN = "data/digits/train-00000-of-00001.parquet"


@pytest.fixture
def release(make: Make) -> Path:
    return make(configs=["digits"]).path


def problems(folder: Path, **arguments: Any) -> str:
    found = verify(folder, **arguments)
    assert not found.ok
    return "\n".join(found.problems)


def test_a_release_as_built_has_no_problem(make: Make) -> None:
    release = make()
    told: list[str] = []
    found = verify(release.path, progress=lambda done, total, what: told.append(what))
    assert found == Verification(release.path, "toybench", (), (), 15, 36, 36)
    assert found.ok
    assert "no problem found" in str(found)
    assert {"Summing files", "Looking into digits", "Looking into list"} <= set(told)


def test_it_can_be_moved_and_may_hold_what_the_hub_adds(release: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "copy"
    shutil.copytree(release, moved)
    shutil.rmtree(release)
    (moved / ".gitattributes").write_text("*.parquet filter=lfs\n")
    (moved / ".cache/huggingface").mkdir(parents=True)
    (moved / ".cache/huggingface/x").write_text("")
    assert verify(moved).ok


def test_a_flipped_bit_is_found_in_every_file(release: Path, tmp_path: Path) -> None:
    names = [p.relative_to(release).as_posix() for p in release.rglob("*") if p.is_file()]
    assert len(names) == 11
    for name in names:
        copy = tmp_path / "copy"
        shutil.copytree(release, copy)
        forge.flip_bit(copy / name)
        # what was flipped may be the name in SHA256SUMS itself, which then names no file
        assert name in problems(copy) or name == "SHA256SUMS"
        shutil.rmtree(copy)


def test_files_that_are_missing_and_files_too_many_are_named_together(release: Path) -> None:
    (release / "LICENSE").unlink()
    (release / TRAIN).unlink()
    (release / "data/digits/extra.parquet").write_text("")
    found = problems(release)
    assert "LICENSE: named by SHA256SUMS, but missing" in found
    assert f"{TRAIN}: named by SHA256SUMS, but missing" in found
    assert f"{TRAIN}: cannot be read as Parquet" in found
    assert "data/digits/extra.parquet: no file of this release" in found


def test_links_are_found_though_their_bytes_are_the_right_ones(release: Path, tmp_path: Path) -> None:
    for name in (TEST, "manifests"):
        (release / name).rename(tmp_path / Path(name).name)
        (release / name).symlink_to(tmp_path / Path(name).name)
    (release / "nowhere").symlink_to(tmp_path / "gone")
    found = problems(release)
    assert f"{TEST}: a link to {tmp_path}/test-00000" in found
    assert "manifests: a link to " in found
    assert "nowhere: a link to " in found
    assert f"{TEST}: changed" not in found


def test_a_release_may_be_reached_through_a_link(release: Path, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(release)
    assert verify(tmp_path / "linked").ok


def test_swapped_shards_are_found_though_summed_anew(make: Make) -> None:
    folder = make(configs=["digits"], settings={"lengths": (8, 16, 32, 64)}).path
    one, two = (folder / f"data/digits/test-0000{i}-of-00002.parquet" for i in (0, 1))
    other = one.with_suffix(".other")
    one.rename(other)
    two.rename(one)
    other.rename(two)
    assert f"{one.relative_to(folder)}: changed" in problems(folder)
    forge.resum(folder)
    assert "croissant" not in problems(folder)
    assert "build.json says that length is 8, the rows say [32]" in problems(folder)
    forge.cover(folder)
    assert "build.json says that length is 8, the rows say [32]" in problems(folder)


def test_an_edited_label_is_found_though_every_digest_was_written_anew(release: Path) -> None:
    def edit(rows: list[forge.Row]) -> None:
        rows[1]["answer"] = 1 - rows[1]["answer"]

    forge.edit_rows(release, TEST, edit)
    forge.cover(release)
    found = problems(release)
    assert "digits: test-L0008-q01: the answer does not follow from the stream" in found
    assert "row group 0 is not what its builder makes" in found
    assert "manifests/digits/test/length-8/manifest.json: counts" in found
    assert "changed" not in found


def test_rows_that_are_consistent_but_not_the_seeds_are_found(release: Path) -> None:
    def edit(rows: list[forge.Row]) -> None:
        rows[0]["stream"] = rows[0]["stream"][::-1]

    forge.edit_rows(release, TRAIN, edit)
    forge.cover(release)
    assert f"{TRAIN}: row group 0 is not what its builder makes of the same seed" in problems(release)


def test_ids_that_stand_twice_are_named(release: Path) -> None:
    def edit(rows: list[forge.Row]) -> None:
        rows[7]["question_id"] = rows[2]["question_id"]

    forge.edit_rows(release, TEST, edit)
    forge.cover(release)
    assert "digits: 1 ids stand more than once: 'test-L0008-q02'" in problems(release)


def test_a_sample_of_cells_is_looked_into_where_rows_are_many(make: Make) -> None:
    release = make(configs=["digits"], settings={"lengths": tuple(range(10, 60)), "rows": 4})
    whole, some = verify(release.path), verify(release.path, sample=40)
    assert (whole.rows, whole.rows_checked) == (204, 204)
    assert (some.rows, some.rows_checked, some.ok) == (204, 44, True)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda c: c.pop("rai:dataBiases"), "lacks rai:dataBiases"),
        (lambda c: c.pop("prov:wasGeneratedBy"), "lacks prov:wasGeneratedBy"),
        (lambda c: c.pop("distribution"), f"does not list {TEST}"),
        (lambda c: c.pop("name"), "lacks name"),
        (
            lambda c: c["recordSet"][0]["field"][0]["source"]["fileSet"].update({"@id": "nowhere"}),
            "is not valid",
        ),
        (lambda c: c["recordSet"].pop(), "records of digits-test cannot be loaded"),
        (
            lambda c: c["recordSet"][1]["field"][2]["source"]["extract"].update(column="candidates"),
            "records of digits-test cannot be loaded",
        ),
        (
            lambda c: c["recordSet"][1]["field"][1]["source"]["extract"].update(column="candidate"),
            "differs from its row in length",
        ),
        (lambda c: c["distribution"][-1].update(sha256="0" * 64), "gives another digest or size"),
    ],
)
def test_croissant_is_held_against_format_files_and_rows(release: Path, edit: Any, said: str) -> None:
    forge.edit_json(release / "croissant.json", edit)
    forge.resum(release)
    found = problems(release)
    assert said in found
    assert all(line.startswith("croissant.json: ") for line in found.splitlines())


@pytest.mark.parametrize(
    ("name", "was", "now", "said"),
    [
        ("README.md", "version: 1.2.3", "version: 1.2.4", "configs/digits/version is '1.2.4'"),
        ("README.md", "sha256-", "sha256-0", "configs/digits/description is"),
        ("README.md", "test-*-of-*", "train-*-of-*", "configs/digits/data_files is"),
        ("README.md", "'0': 'yes'\n", "'0': 'no'\n", "README.md"),
        ("README.md", "dtype: float64", "dtype: float32", "describes rate otherwise"),
        ("README.md", "---\n", "", "its YAML cannot be read"),
        ("questions_dataset.json", '"rows": 6', '"rows": 7', "rows of digits/"),
        ("questions_dataset.json", '"digits"', '"digit"', "has no configuration digits"),
        ("manifests/digits/test/length-8/manifest.json", "q03", "q3", "manifest.json: ids not as"),
        ("manifests/digits/test/length-8/manifest.json", "{", "", "manifest.json: cannot be read"),
        ("build.json", '"rows": 6', '"rows": 5', "build.json says 5"),
        ("build.json", '"format"', '"form"', "no build record of this version"),
    ],
)
def test_what_is_said_of_the_files_is_held_against_them(
    release: Path, name: str, was: str, now: str, said: str
) -> None:
    path = release / name
    assert was in path.read_text()
    path.write_text(path.read_text().replace(was, now))
    forge.resum(release)
    assert said in problems(release)


def test_all_problems_are_told_together_and_the_first_ten_shown(release: Path) -> None:
    def edit(rows: list[forge.Row]) -> None:
        for row in rows:
            row["answer"] = 1 - row["answer"]

    forge.edit_rows(release, TEST, edit)
    (release / "LICENSE").write_text("Mine.")
    found = verify(release)
    assert len(found.problems) > 12
    assert sum("does not follow" in problem for problem in found.problems) == 12
    assert str(found).count("\n  - ") == 10
    assert f"({len(found.problems)} in all)" in str(found)


def test_without_the_builder_the_rows_own_claims_stay_unchecked_and_that_is_a_problem(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = catalog.entries
    monkeypatch.setattr(
        catalog,
        "entries",
        lambda group: {k: v for k, v in installed(group).items() if not k.startswith("toybench")},
    )
    assert problems(release).splitlines() == [
        "digits: no installed package builds toybench/digits: its rows are unchecked"
    ]


def test_another_version_of_the_builder_is_noted(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Toy, "VERSION", datasets.Version("2.0.0"))
    found = verify(release)
    assert found.ok
    assert "made by version 1.2.3 of its builder, 2.0.0 is installed" in str(found)


def test_settings_that_the_installed_builder_does_not_know_are_a_problem(release: Path) -> None:
    path = release / "build.json"
    path.write_text(path.read_text().replace('"lengths": [', '"sizes": ['))
    forge.resum(release)
    assert "sizes: no such setting" in problems(release)


@pytest.mark.parametrize("missing", ["build.json", "SHA256SUMS"])
def test_what_is_no_release_is_refused(release: Path, tmp_path: Path, missing: str) -> None:
    (release / missing).unlink()
    with pytest.raises(EccdataError, match=f"(?s)no release made by.*{missing}"):
        verify(release)
    with pytest.raises(EccdataError, match="There is no folder"):
        verify(tmp_path / "nowhere")
