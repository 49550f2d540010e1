"""What `eccdata list` shows: everything installed, with its settings and their defaults."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eccdata import catalog
from eccdata.errors import EccdataError, unknown


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a builder, a protocol or a system."""

    name: str
    type: str
    default: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is installed.

    Attributes:
        kind: `configuration`, `protocol`, `system` or `table`.
        benchmark: Its benchmark; empty for a system.
        name: Its name.
        summary: The first line of its documentation, or what keeps it from being loaded.
        settings: What can be set.

    """

    kind: str
    benchmark: str
    name: str
    summary: str
    settings: tuple[Setting, ...] = ()

    @property
    def path(self) -> str:
        """The name that `eccdata list` takes for it."""
        return f"{self.benchmark}/{self.name}" if self.benchmark else self.name


def items(name: str | None = None) -> list[Item]:
    """Everything installed, or what goes by a name: a benchmark, an item, or a benchmark's item (`a/b`).

    Raises:
        EccdataError: If nothing goes by that name.

    """
    found = []
    for benchmark in catalog.benchmarks():
        found += [_item("configuration", benchmark, config) for config in catalog.configs(benchmark)]
        found += [_item("protocol", benchmark, protocol) for protocol in catalog.protocols(benchmark)]
        found += [
            Item("table", benchmark, table, _sql_title(path.read_text()))
            for table, path in catalog.queries(benchmark).items()
        ]
    found += [_item("system", "", system) for system in catalog.systems()]
    if name is None:
        return found
    chosen = [item for item in found if name in (item.benchmark, item.name, item.path)]
    if not chosen:
        raise unknown("benchmark, configuration, protocol, table or system", name, {i.path for i in found})
    return chosen


def as_json(found: Sequence[Item]) -> str:
    """Give the items as a JSON array."""
    return orjson.dumps([dataclasses.asdict(item) for item in found], option=orjson.OPT_INDENT_2).decode()


def render(found: Sequence[Item], *, detailed: bool) -> RenderableType:
    """Lay the items out for a terminal, with their settings if `detailed`."""
    parts: list[RenderableType] = []
    for kind in dict.fromkeys(item.kind for item in found):
        table = Table(title=f"{kind}s".capitalize(), title_justify="left", box=None, pad_edge=False)
        table.add_column("name", style="bold", no_wrap=True)
        table.add_column("what it is")
        for item in found:
            if item.kind == kind:
                table.add_row(Text(item.path), Text(item.summary))
        parts += [table, Text()]
    if detailed:
        parts += [_settings_table(item) for item in found if item.settings]
    else:
        parts.append(Text("eccdata list NAME shows the settings of one.", style="dim"))
    return Group(*parts)


def _settings_table(item: Item) -> Table:
    table = Table(title=f"Settings of {item.path}", title_justify="left", box=None, pad_edge=False)
    for column in ("name", "type", "default", "meaning"):
        table.add_column(column, style="bold" if column == "name" else "", no_wrap=column == "name")
    for setting in item.settings:
        table.add_row(Text(setting.name), Text(setting.type), Text(setting.default), Text(setting.meaning))
    return table


def _item(kind: str, benchmark: str, name: str) -> Item:
    load: dict[str, Any] = {
        "configuration": lambda: catalog.builder(benchmark, name),
        "protocol": lambda: catalog.evaluator(benchmark, name),
        "system": lambda: catalog.system(name),
    }
    try:
        cls = load[kind]()
    except EccdataError as error:  # one broken plugin does not hide the others
        return Item(kind, benchmark, name, f"cannot be loaded: {error}")
    options = cls.BUILDER_CONFIG_CLASS if kind == "configuration" else cls
    return Item(kind, benchmark, name, _summary(cls), tuple(_settings(options)))


def _settings(cls: Any) -> list[Setting]:
    import datasets

    kept_by_datasets = {f.name for f in dataclasses.fields(datasets.BuilderConfig)}
    meanings = _attributes(cls)
    found = []
    for f in dataclasses.fields(cls):
        if not f.init or f.name in kept_by_datasets:
            continue
        if f.default is not dataclasses.MISSING:
            default = _shown(f.default)
        elif f.default_factory is not dataclasses.MISSING:
            default = _shown(f.default_factory())
        else:
            default = "(needed)"
        kind = f.type if isinstance(f.type, str) else getattr(f.type, "__name__", str(f.type))
        found.append(Setting(f.name, kind, default, meanings.get(f.name, "")))
    return found


def _shown(value: Any) -> str:
    """Write a default as it would be typed after `name=`."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _summary(cls: Any) -> str:
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def _attributes(cls: Any) -> dict[str, str]:
    """Read the `Attributes:` section of a docstring, bases first."""
    meanings: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        section = re.search(
            r"^Attributes:\n(.*?)(?:^\S|\Z)", inspect.cleandoc(base.__doc__ or ""), re.M | re.S
        )
        if section:
            for match in re.finditer(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", section[1], re.M | re.S):
                meanings[match[1]] = " ".join(match[2].split())
    return meanings


def _sql_title(text: str) -> str:
    match = re.search(r"^--\s*(?:title:\s*)?(.+)$", text, re.M)
    return match[1].strip() if match else ""
