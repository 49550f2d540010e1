"""The package as it is installed: what pyproject.toml declares is what the tree holds."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest

from eccdata import catalog

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTENT = ("builders", "evaluators", "croissant", "queries")


def test_every_folder_with_python_is_a_declared_package() -> None:
    found = set()
    for top in ("eccdata", *CONTENT):
        for init in (ROOT / top).rglob("__init__.py"):
            name = ".".join(init.parent.relative_to(ROOT).parts)
            found.add(name if top == "eccdata" else f"eccdata.{name}")
    assert found == set(PROJECT["tool"]["setuptools"]["packages"])


@pytest.mark.parametrize("group", catalog.GROUPS)
def test_every_entry_point_loads(group: str) -> None:
    names = catalog.entries(group)
    assert names
    for entry in names.values():
        assert entry.load() is not None


def test_base_install_has_no_torch() -> None:
    base = [line for line in requires("eccdata") or [] if "extra ==" not in line]
    assert not any(line.startswith(("torch", "transformers", "sglang")) for line in base)


def test_import_and_help_load_nothing_heavy() -> None:
    code = (
        "import sys, eccdata, eccdata.cli; "
        "print([m for m in ('datasets', 'torch', 'pyarrow', 'duckdb', 'pandas') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_library_never_imports_content() -> None:
    for path in (ROOT / "eccdata").rglob("*.py"):
        for line in path.read_text().splitlines():
            words = line.split()
            if words[:1] in (["import"], ["from"]):
                assert not words[1].startswith(
                    tuple(f"{prefix}{name}" for name in CONTENT for prefix in ("", "eccdata."))
                ), f"{path}: {line}"


def test_readme_test_command_is_the_one_that_ci_runs() -> None:
    command = "pip install -q '.[test]' && pytest"
    assert command.replace(" -q", "") in (ROOT / "README.md").read_text()
    assert command in (ROOT / ".ci/run").read_text()
