"""What is installed: builders, evaluators, systems, queries and Croissant descriptions, found by entry points.

An entry is named `<benchmark>.<config>` (builders), `<benchmark>.<protocol>` (evaluators) or by its own name
(systems). Queries and Croissant entries are named by the benchmark and point at the package that holds
`<benchmark>/*.sql` and `<benchmark>.yaml`. A stranger's package adds its own in its pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from eccdata.errors import EccdataError, unknown

if TYPE_CHECKING:
    from eccdata.builder import Builder
    from eccdata.evaluator import Evaluator
    from eccdata.systems import System

GROUPS = ("builders", "evaluators", "systems", "queries", "croissant")


def entries(group: str) -> dict[str, EntryPoint]:
    """All entries of a group by name, not loaded; of two with one name the later installed wins nothing: an error."""
    found: dict[str, EntryPoint] = {}
    for entry in _installed(entry_points, f"eccdata.{group}"):
        known = found.setdefault(entry.name, entry)
        if known.value != entry.value:
            raise EccdataError(
                f"Two installed packages both add {entry.name!r} to eccdata.{group}: "
                f"{known.value} and {entry.value}. Uninstall one of them."
            )
    return dict(sorted(found.items()))


@cache
def _installed(find: Callable[..., Iterable[EntryPoint]], group: str) -> tuple[EntryPoint, ...]:
    # Looking through all that is installed takes tens of milliseconds, and one run looks a dozen times.
    return tuple(find(group=group))


def benchmarks() -> list[str]:
    """The names of all benchmarks that have a builder or an evaluator."""
    names = [*entries("builders"), *entries("evaluators")]
    return sorted({name.partition(".")[0] for name in names})


def configs(benchmark: str) -> list[str]:
    """The configurations of a benchmark that can be built."""
    return _of(benchmark, "builders")


def protocols(benchmark: str) -> list[str]:
    """The protocols of a benchmark that can be run."""
    return _of(benchmark, "evaluators")


def builder(benchmark: str, config: str) -> type[Builder]:
    """The builder class of one configuration."""
    if config not in configs(benchmark):
        raise unknown(f"configuration of {benchmark}", config, configs(benchmark))
    return _load("builders", f"{benchmark}.{config}")  # type: ignore[no-any-return]


def evaluator(benchmark: str, protocol: str) -> type[Evaluator]:
    """The evaluator class of one protocol."""
    if protocol not in protocols(benchmark):
        raise unknown(f"protocol of {benchmark}", protocol, protocols(benchmark))
    return _load("evaluators", f"{benchmark}.{protocol}")  # type: ignore[no-any-return]


def systems() -> list[str]:
    """The names of all systems."""
    return list(entries("systems"))


def system(name: str) -> type[System]:
    """The class of one system."""
    if name not in systems():
        raise unknown("system", name, systems())
    return _load("systems", name)  # type: ignore[no-any-return]


def queries(benchmark: str) -> dict[str, Traversable]:
    """The SQL files of a benchmark by table name, in the order of their names."""
    return _queries(benchmark, ".sql")


def stages(benchmark: str) -> dict[str, Traversable]:
    """The SQL files in its `stages` by name: counts that its tables share."""
    return _queries(benchmark, ".sql", "stages")


def references(benchmark: str) -> dict[str, Traversable]:
    """The CSV files in its `reference` by file name: values that a paper prints."""
    return {path.name: path for path in _queries(benchmark, ".csv", "reference").values()}


def _queries(benchmark: str, suffix: str, *inside: str) -> dict[str, Traversable]:
    if benchmark not in entries("queries"):
        return {}
    folder = (files(_load("queries", benchmark)) / benchmark).joinpath(*inside)
    found = [path for path in folder.iterdir() if path.name.endswith(suffix)] if folder.is_dir() else []
    return dict(sorted((path.name.removesuffix(suffix), path) for path in found))


def figures(benchmark: str) -> dict[str, Traversable]:
    """The figures that stand beside a benchmark's queries, in the order of their names.

    `<query>.vl.yaml` or, where a query has several, `<query>.<part>.vl.yaml`.
    """
    if benchmark not in entries("queries"):
        return {}
    folder = files(_load("queries", benchmark)) / benchmark
    ending = ".vl.yaml"
    found = {path.name.removesuffix(ending): path for path in folder.iterdir() if path.name.endswith(ending)}
    return dict(sorted(found.items()))


def croissant(benchmark: str) -> Traversable:
    """The YAML file that says of a benchmark what its features cannot."""
    if benchmark not in entries("croissant"):
        raise unknown("benchmark with a Croissant description", benchmark, entries("croissant"))
    return files(_load("croissant", benchmark)) / f"{benchmark}.yaml"


def _of(benchmark: str, group: str) -> list[str]:
    if benchmark not in benchmarks():
        raise unknown("benchmark", benchmark, benchmarks())
    return [name.partition(".")[2] for name in entries(group) if name.partition(".")[0] == benchmark]


def _load(group: str, name: str) -> Any:
    entry = entries(group)[name]
    try:
        return entry.load()
    except ImportError as error:
        # a base install has no torch: an entry that wants it says which extra brings it
        extra = (error.name or "").partition(".")[0] in ("torch", "transformers")
        raise EccdataError(
            f"{name!r} ({entry.value}) cannot be imported: {error}."
            + (" Install eccdata[models]." if extra else "")
        ) from error
