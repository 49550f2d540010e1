"""Labels: which runs of a model may be pooled, and what tells the others apart."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eccdata.analysis.runs import ARM, Run

SAME_ANSWERS = frozenset({"base_url", "model", "top_logprobs"})
"""Options of systems that stand in fingerprints and change no answer, or whose outcome is told: where a server is, the
name it goes by (`model` of the identity is what it came to), and whether it says more of the same answer."""
LONGEST = 32
"""How many characters of an option's value a label has."""

Tags = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Aspect:
    """Something that changes answers.

    Attributes:
        scope: Runs for which it gives the same can be compared though one of them lacks the value: not having the
            option of a protocol means nothing for the runs of another one.
        value: What it is in a run; None where the run has no such thing.

    """

    scope: Callable[[Run], str]
    value: Callable[[Run], str | None]


def label(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """Label each run, so that pooling the responses of one label never mixes what differs.

    Runs of one model that differ in their arm alone share the label, which is the model's name: tables set arms
    side by side. Runs that differ in the system, the split, an option of the protocol, or an option of the system
    that changes answers get labels that say so, on whatever configurations they are, for tables set these side by
    side too; an option that one of two protocols does not have tells nothing apart. So do runs on different data of
    one configuration. Runs on different servers share a label as long as no arm is there twice.

    Returns:
        The labelled runs, and one sentence for each model that was taken apart or whose server changed.

    """
    models = defaultdict(list)
    for run in runs:
        models[run.identity["benchmark"], run.identity["model"]].append(run)
    tags = {folder: found for members in models.values() for folder, found in _tags(members).items()}
    groups = defaultdict(list)
    for run in runs:
        groups[tuple(run.identity[key] for key in ("benchmark", "config", "protocol", "model"))].append(run)
    labelled: dict[Path, Run] = {}
    notes: list[str] = []
    told = set()
    for (_, config, _, model), members in groups.items():
        parts = _take_apart(members, tags)
        for tag, part in parts:
            name = f"{model} [{tag}]" if tag else model
            labelled |= {run.folder: replace(run, label=name) for run in part}
            if len({run.server for run in part}) > 1:
                told.add(name)
                names = ", ".join(run.name for run in part)
                notes.append(f"{name} on {config}: its runs were answered by different servers ({names}).")
        if len(parts) > 1:
            names = "; ".join(f"[{tag}] is {', '.join(run.name for run in part)}" for tag, part in parts)
            notes.append(f"{model} on {config} is {len(parts)} rows, for its runs differ: {names}.")
        elif parts[0][0]:
            notes.append(
                f"{model} on {config} is [{parts[0][0]}], for its runs on other configurations are not."
            )
    found = [labelled[run.folder] for run in runs]
    return found, [*notes, *_other_servers(found, told)]


def _other_servers(runs: Iterable[Run], told: set[str]) -> Iterator[str]:
    """Say which labels are of different servers on different configurations."""
    servers: dict[tuple[str, str], dict[tuple[str, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        servers[run.identity["benchmark"], run.label][run.server].append(run.identity["config"])
    for (_, name), configs in servers.items():
        if len(configs) > 1 and name not in told:
            listed = "; ".join(", ".join(dict.fromkeys(each)) for each in configs.values())
            yield f"{name}: other servers answered on other configurations ({listed})."


def _tags(runs: Sequence[Run]) -> dict[Path, Tags]:
    """What tells a model's runs apart, as little of it as does."""
    parts: list[tuple[Tags, list[Run]]] = [((), list(runs))]
    for aspect in _aspects(runs):
        if not any(_differ(aspect, part) for _, part in parts):
            continue
        finer: list[tuple[Tags, list[Run]]] = []
        for found, part in parts:
            values = _by(part, [lambda run, of=aspect: of.value(run) or ""])  # type: ignore[misc]
            finer += [((*found, *filter(None, value)), some) for value, some in values.items()]
        parts = finer
    return {run.folder: found for found, part in parts for run in part}


def _aspects(runs: Sequence[Run]) -> Iterator[_Aspect]:
    """All that may differ, in the order in which labels have it."""

    def of_protocol(run: Run) -> str:
        return run.identity["protocol"]

    def of_system(run: Run) -> str:
        return run.identity["system"]

    yield _Aspect(of_protocol, lambda run: run.identity["system"])
    yield _Aspect(of_protocol, lambda run: f"split {run.identity['split']}")
    if any(run.options for run in runs):
        yield _Aspect(of_protocol, lambda run: None if run.options else "options unknown")
    yield _Aspect(of_protocol, _thinking)
    for name in sorted({name for run in runs for name in run.options} - {ARM, "thinking"}):
        yield _Aspect(of_protocol, lambda run, name=name: _shown(run.options, name))  # type: ignore[misc]
    for name in sorted({name for run in runs for name in run.system_options} - SAME_ANSWERS):
        yield _Aspect(of_system, lambda run, name=name: _shown(run.system_options, name))  # type: ignore[misc]


def _thinking(run: Run) -> str | None:
    return {True: "thinking", False: "not thinking", None: "thinking not set" if run.options else None}[
        run.thinking
    ]


def _shown(options: Mapping[str, Any], name: str) -> str | None:
    # nothing given by name is what a fingerprint has that does not name it
    if name not in options or options[name] in ({}, []):
        return None
    value = str(options[name])
    if len(value) > LONGEST or value.splitlines() not in ([], [value]):
        digest = hashlib.sha256(value.encode()).hexdigest()
        value = f"{' '.join(value.split())[:LONGEST]}… {digest[:6]}"
    return f"{name}={value}"


def _differ(aspect: _Aspect, runs: Sequence[Run]) -> bool:
    values: set[str | None] = set()
    having: set[str] = set()
    lacking: set[str] = set()
    for run in runs:
        value = aspect.value(run)
        (lacking if value is None else having).add(aspect.scope(run))
        values.add(value)
    return len(values - {None}) > 1 or not having.isdisjoint(lacking)


def _take_apart(runs: list[Run], tags: Mapping[Path, Tags]) -> list[tuple[str, list[Run]]]:
    """Split a model's runs on one configuration into those that may be pooled, each part with what tells it apart."""
    keys: list[Callable[[Run], str]] = [lambda run: f"data {(run.dataset or 'unknown')[-8:]}"]

    def tag(run: Run) -> str:
        return ", ".join(tags[run.folder])

    if not _arms_once(_by(runs, [tag, *keys])):
        keys.append(lambda run: f"server {'+'.join(digest[:8] for digest in run.server)}")
    if not _arms_once(_by(runs, [tag, *keys])):
        keys = [lambda run: run.name]
    differing = [tag, *(key for key in keys if len({key(run) for run in runs}) > 1)]
    return [(", ".join(filter(None, found)), part) for found, part in _by(runs, differing).items()]


def _by(runs: Iterable[Run], keys: Sequence[Callable[[Run], str]]) -> dict[Tags, list[Run]]:
    parts = defaultdict(list)
    for run in runs:
        parts[tuple(key(run) for key in keys)].append(run)
    return parts


def _arms_once(parts: Mapping[Any, Sequence[Run]]) -> bool:
    return all(len({str(run.options.get(ARM)) for run in part}) == len(part) for part in parts.values())
