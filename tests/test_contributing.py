"""CONTRIBUTING.md: the package in it is written out, installed and used, so that what a reader copies works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest
import yaml

from eccdata.release.description import ConfigDescription, Description, License, Provenance, ResponsibleAI

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
FILES = dict(re.findall(r"^`([\w/.]+)`:\n\n```\w+\n(.*?)^```$", TEXT, re.M | re.S))
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Write the package out, with the entry points that an installation would give it, and run commands with it."""
    package = tmp_path / "package"
    others = {"pairs/__init__.py": "", "pairs/queries/__init__.py": "", "pairs/licence.txt": "As you like.\n"}
    for name, text in (FILES | others).items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    info = package / "eccdata_pairs-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    groups = project["entry-points"].items()
    (info / "entry_points.txt").write_text(
        "".join(f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in groups)
    )

    def ran(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "eccdata", *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(package), "HF_HOME": str(tmp_path / "hf"), "COLUMNS": "100"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return ran


def test_the_package_lists_builds_verifies_asks_and_counts(run: Run) -> None:
    listed = run("list", "pairs")
    assert "Two digits and whether they are equal." in listed
    assert "How many pairs there are." in listed
    assert "Accuracy on pairs" in listed
    run("build", "pairs", "--out", "release")
    assert "no problem found" in run("verify", "release")
    run("evaluate", "release", "--system", "always-yes", "--out", "results/always-yes")
    assert re.search(r"always-yes +100 +\d\d\.\d", run("tables", "results"))


def test_its_data_files_are_declared() -> None:
    setuptools = tomllib.loads(FILES["pyproject.toml"])["tool"]["setuptools"]
    declared = {
        (package.replace(".", "/"), glob)
        for package, globs in setuptools["package-data"].items()
        for glob in globs
    }
    for name in (*FILES, "pairs/licence.txt"):
        if name.startswith("pairs/") and not name.endswith(".py"):
            path = PurePosixPath(name)
            assert any(
                path.is_relative_to(package) and path.relative_to(package).match(glob)
                for package, glob in declared
            ), name


def test_the_description_has_all_that_is_needed() -> None:
    said = yaml.safe_load(FILES["pairs/pairs.yaml"])
    for model, values in (
        (Description, said),
        (License, said["license"]),
        (Provenance, said["provenance"]),
        (ResponsibleAI, said["rai"]),
        (ConfigDescription, said["configs"]["digits"]),
    ):
        needed = {name for name, field in model.model_fields.items() if field.is_required()}
        assert needed == set(values)
