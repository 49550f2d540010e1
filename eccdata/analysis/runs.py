"""Run folders: finding them, and reading their cards."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from eccdata import catalog
from eccdata.analysis.footers import Footer, read_footer
from eccdata.cards import FORMAT
from eccdata.errors import EccdataError, problem

IDENTITY = ("run_id", "benchmark", "config", "split", "protocol", "system", "model")
"""Columns that are the same in every response of a run."""
REQUIRED = (*IDENTITY, "question_id", "status", "server")
TOLD = (*IDENTITY, "status", "server")
"""Columns that mostly have one value in a file, which its footer tells."""
ANEW = "it writes card and responses anew from the store, without asking anything twice"
ARM = "arm"
"""The protocol option whose values are conditions that tables set side by side, and so never keep apart."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: a folder of responses and the card that says how they came about.

    Attributes:
        folder: Its folder, resolved.
        files: Its Parquet files, in the order of their names.
        card: The contents of its `card.json`; empty where it has none.
        name: The folder's name, with as many parents as tell it from the other runs.
        identity: The values of `IDENTITY`.
        server: Digests of the servers that answered.
        responses: How many responses it holds.
        failed: How many of them are failures.
        label: The model's name, with what tells it from other runs of that name that must not be pooled with it.
        columns: The columns that all its files have.
        footers: What its files say of themselves.

    """

    folder: Path
    files: tuple[Path, ...]
    card: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    identity: Mapping[str, str] = field(default_factory=dict)
    server: tuple[str, ...] = ()
    responses: int = 0
    failed: int = 0
    label: str = ""
    columns: frozenset[str] = frozenset()
    footers: tuple[Footer, ...] = ()

    @property
    def options(self) -> Mapping[str, Any]:
        """The protocol's options, from the card; empty where it does not say."""
        found = _dig(self.card, "protocol", "options")
        return found if isinstance(found, Mapping) else {}

    @property
    def system_options(self) -> Mapping[str, Any]:
        """The system's options that its fingerprint names, from the card: those that could change an answer."""
        given = _dig(self.card, "system", "options")
        named = set(_names(_dig(self.card, "system", "fingerprints")))
        return (
            {name: value for name, value in given.items() if name in named}
            if isinstance(given, Mapping)
            else {}
        )

    @property
    def thinking(self) -> bool | None:
        """Whether the model was told to reason, by an option or a system prompt that asks for `<think>`; or neither."""
        told = self.options.get("thinking")
        if told is None and "<think>" in str(self.options.get("system_prompt") or ""):
            return True
        return None if told is None else bool(told)

    @property
    def dataset(self) -> str | None:
        """The digest of the rows that were asked, from the card."""
        return _dig(self.card, "dataset", "digest")  # type: ignore[no-any-return]

    @property
    def unasked(self) -> int:
        """How many of its questions the run has yet to ask, as its card says."""
        return _dig(self.card, "outcome", "unasked") or 0

    @property
    def started_at(self) -> datetime | None:
        """When its first session began, from the card."""
        begun = [
            session["started_at"] for session in _dig(self.card, "sessions") or () if "started_at" in session
        ]
        return datetime.fromtimestamp(min(begun) / 1e6, UTC) if begun else None


def find_runs(results: Sequence[Path | str]) -> tuple[list[Run], list[str]]:
    """Find the runs in `results`, each a run folder or a folder that holds run folders, in the order given.

    A folder given twice counts once. `identity`, `server`, `responses`, `failed` and `label` are not set yet:
    that takes a look at the responses (`eccdata.analysis.views`).

    Returns:
        The runs, and one sentence for each run inside a given folder that has no responses yet and is left out, and
        for each that has no card.

    Raises:
        EccdataError: Naming every folder that does not exist, is no run and holds none, or has no responses,
            and every Parquet file that cannot be read or lacks a column that every response has. Or naming every
            run whose card is of another format than this version's.

    """
    if isinstance(results, (str, Path)):
        results = [results]
    if not results:
        raise EccdataError("No results were given. Name at least one run folder, such as results/NAME.")
    folders: dict[Path, None] = {}
    footers = _Footers()
    wrong, notes = [], []
    for given in map(Path, results):
        if not given.is_dir():
            wrong.append(f"{given}: {'is no folder' if given.exists() else 'does not exist'}")
        elif _is_run(given):
            if not footers.any_responses(given):
                wrong.append(f"{given}: has no responses yet")
            folders[given.resolve()] = None
        else:
            inside = sorted(child for child in given.iterdir() if _is_run(child))
            ready = [child for child in inside if footers.any_responses(child)]
            empty = set(inside).difference(ready)
            notes += [f"{child} has no responses yet and is left out." for child in inside if child in empty]
            if not ready:
                wrong.append(f"{given}: is no run and holds none that has responses")
            folders.update(dict.fromkeys(child.resolve() for child in ready))
    if wrong:
        raise problem(
            "These are no results:", wrong, "Results are what `eccdata evaluate … --out results/NAME` wrote."
        )
    names = _short_names(list(folders))
    runs = [
        Run(folder, tuple(_responses(folder)), _card(folder), name)
        for folder, name in zip(folders, names, strict=True)
    ]
    notes += [
        f"{run.folder} has no card.json: which data and options it was asked with is not known. Run `eccdata evaluate` "
        f"again: {ANEW}."
        for run in runs
        if not run.card
    ]
    _check_cards(runs)
    return _with_columns(runs, footers), notes


def check_columns(runs: Iterable[Run]) -> None:
    """See that the responses have what their protocol, where it is installed, carries along and finds out.

    A column that some run lacks would read as null, and tables count nulls as failures or not at all. Columns that
    the protocol does not know are welcome.

    Raises:
        EccdataError: Naming each run whose responses lack columns, and the columns.

    """
    wrong = []
    known = catalog.entries("evaluators")
    for run in runs:
        benchmark, protocol = run.identity["benchmark"], run.identity["protocol"]
        if f"{benchmark}.{protocol}" not in known:
            continue
        evaluator = catalog.evaluator(benchmark, protocol)
        needed = [*evaluator.carried, *evaluator.schema.names]
        if lacking := [name for name in needed if name not in run.columns]:
            wrong.append(f"{run.folder}: {', '.join(lacking)}")
    if wrong:
        raise problem(
            "The responses of these runs lack columns that this version's tables and views read:",
            wrong,
            f"Another version of eccdata or of the protocol wrote them. Run `eccdata evaluate` again: {ANEW}.",
        )


def check_identities(runs: Iterable[Run]) -> None:
    """See that no run is there twice.

    Raises:
        EccdataError: Naming the folders that hold one and the same run.

    """
    folders = defaultdict(list)
    for run in runs:
        folders[run.identity["run_id"]].append(run.folder)
    twice = [f"{run_id}: {', '.join(map(str, them))}" for run_id, them in folders.items() if len(them) > 1]
    if twice:
        raise problem(
            "The same run was given more than once, and its responses would count more than once:",
            twice,
            "Give one folder of each.",
        )


def _is_run(folder: Path) -> bool:
    return folder.is_dir() and ((folder / "responses").is_dir() or (folder / "card.json").is_file())


def _responses(folder: Path) -> list[Path]:
    return sorted((folder / "responses").glob("*.parquet"))


class _Footers:
    """The footers of files, each read once; of a damaged file what is wrong with it."""

    def __init__(self) -> None:
        self._known: dict[Path, Footer | str] = {}

    def __call__(self, path: Path) -> Footer | str:
        if path not in self._known:
            try:
                self._known[path] = read_footer(path, TOLD)
            except (pa.ArrowException, OSError) as error:
                self._known[path] = str(error).splitlines()[0]
        return self._known[path]

    def any_responses(self, folder: Path) -> bool:
        """Whether a folder has any; a damaged file is told with the others."""
        found = map(self, _responses(folder.resolve()))
        return any(isinstance(footer, str) or footer.rows > 0 for footer in found)


def _card(folder: Path) -> Mapping[str, Any]:
    path = folder / "card.json"
    if not path.is_file():
        return {}
    try:
        card = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise EccdataError(
            f"{path} is no JSON: {error}. Run `eccdata evaluate` again to write it."
        ) from error
    if not isinstance(card, dict):
        raise EccdataError(f"{path} is no evaluation card: it holds no JSON object.")
    return card


def _check_cards(runs: Sequence[Run]) -> None:
    wrong = [
        f"{run.folder}: card.json has format {run.card.get('format', 'none')}"
        for run in runs
        if run.card and run.card.get("format") != FORMAT
    ]
    if wrong:
        raise problem(
            f"These runs are not of this version of eccdata, whose cards have format {FORMAT}:",
            wrong,
            f"Read them with the version that wrote them, or run `eccdata evaluate` again with this one: {ANEW}.",
        )
    wrong = [
        f"{run.folder}: {'.'.join(keys)} is {str(value)[:40]!r}"
        for run in runs
        for keys, fits in _FITTING.items()
        if (value := _dig(run.card, *keys)) is not None and not fits(value)
    ]
    if wrong:
        raise problem(
            "These runs' cards (card.json) hold what no card holds:",
            wrong,
            f"Run `eccdata evaluate` again: {ANEW}.",
        )


def _are_sessions(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, Mapping) and isinstance(each.get("started_at", 0), int)
        # microseconds up to the year 9999, which is where dates end
        and 0 <= each.get("started_at", 0) < 253_370_764_800_000_000
        for each in value
    )  # fmt: skip


_FITTING: Mapping[tuple[str, ...], Callable[[Any], bool]] = {
    ("dataset", "digest"): lambda value: isinstance(value, str),
    ("protocol", "options"): lambda value: isinstance(value, Mapping),
    ("system", "options"): lambda value: isinstance(value, Mapping),
    ("outcome", "unasked"): lambda value: isinstance(value, int) and 0 <= value < 2**31,
    ("sessions",): _are_sessions,
}
"""What is read of a card, and whether a value can stand there."""


def _with_columns(runs: Iterable[Run], footers: _Footers) -> list[Run]:
    wrong = []
    found = []
    for run in runs:
        told = []
        for path in run.files:
            footer = footers(path)
            if isinstance(footer, str):
                wrong.append(f"{path}: {footer}")
                continue
            names = {name for name, _ in footer.columns}
            if lacking := [name for name in REQUIRED if name not in names]:
                wrong.append(f"{path}: lacks {', '.join(lacking)}")
            told.append(footer)
        columns = [{name for name, _ in footer.columns} for footer in told]
        common = frozenset(set.intersection(*columns) if columns else ())
        found.append(replace(run, columns=common, footers=tuple(told)))
    if wrong:
        raise problem(
            "These files are no responses of a run:",
            wrong,
            f"Run `eccdata evaluate` again: {ANEW}.",
        )
    return found


def _short_names(folders: Sequence[Path]) -> list[str]:
    """Name folders by as few of their last parts as tell them all apart."""
    depths = dict.fromkeys(folders, 0)
    shared = list(folders)
    while shared:
        for folder in shared:
            depths[folder] += 1
        # one that is told apart already may still be taken for one that is not
        ends = Counter(folder.parts[-depths[shared[0]] :] for folder in folders)
        shared = [folder for folder in shared if ends[folder.parts[-depths[folder] :]] > 1]
    return ["/".join(folder.parts[-depth:]) for folder, depth in depths.items()]


def _names(value: Any) -> Iterator[str]:
    """All names in a JSON value, however deep."""
    if isinstance(value, Mapping):
        for name, inside in value.items():
            yield name
            yield from _names(inside)


def _dig(card: Mapping[str, Any], *keys: str) -> Any:
    value: Any = card
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
