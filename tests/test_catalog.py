"""What is installed is found by entry points, a stranger's package included."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints, entry_points

import pytest

from eccdata import catalog
from eccdata.errors import EccdataError


def install(monkeypatch: pytest.MonkeyPatch, *extra: EntryPoint) -> None:
    """Make the given entry points look installed beside the real ones."""

    def found(*, group: str) -> EntryPoints:
        return EntryPoints([*entry_points(group=group), *(e for e in extra if e.group == group)])

    monkeypatch.setattr(catalog, "entry_points", found)


def test_unknown_names_are_told_with_what_there_is() -> None:
    for call in (
        lambda: catalog.configs("ecbench"),
        lambda: catalog.builder("eccbench", "txt"),
        lambda: catalog.evaluator("eccbench", "member"),
        lambda: catalog.system("windw"),
        lambda: catalog.croissant("eccbnch"),
    ):
        with pytest.raises(EccdataError, match=r"There is no .* Did you mean"):
            call()


def test_a_strangers_benchmark_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, EntryPoint("theirs.small", "collections:OrderedDict", "eccdata.builders"))
    assert "theirs" in catalog.benchmarks()
    assert catalog.configs("theirs") == ["small"]
    assert catalog.builder("theirs", "small").__name__ == "OrderedDict"
    assert catalog.queries("theirs") == {}


def test_two_packages_with_one_name_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, EntryPoint("window", "collections:OrderedDict", "eccdata.systems"))
    with pytest.raises(EccdataError, match="both add 'window'"):
        catalog.systems()


def test_an_entry_that_cannot_be_imported_says_what_it_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, EntryPoint("lost", "nowhere_at_all:X", "eccdata.systems"))
    with pytest.raises(EccdataError, match="No module named 'nowhere_at_all'"):
        catalog.system("lost")


def test_the_eccbench_croissant_description_is_a_file() -> None:
    assert catalog.croissant("eccbench").is_file()
