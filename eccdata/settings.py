"""Options from the command line (`name=value`) into dataclasses, with every mistake told at once."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from eccdata.errors import EccdataError, problem

T = TypeVar("T")


def parse_pairs(pairs: Iterable[str], flag: str) -> dict[str, str]:
    """Read `["lengths=512,1024", "streams=4"]`, as given to `flag`."""
    found: dict[str, str] = {}
    wrong = []
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name.strip():
            wrong.append(repr(pair))
        else:
            found[name.strip().replace("-", "_")] = value.strip()
    if wrong:
        raise problem(f"{flag} takes name=value, and these are not of that form:", wrong)
    return found


def check(cls: type[Any], values: Mapping[str, Any], *, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Bring `values` to the types of the dataclass `cls`: text becomes numbers, `a,b` becomes a tuple.

    Args:
        cls: A dataclass whose annotations say what each setting is.
        values: Settings by name, as text or as values.
        names: The fields that may be set; all by default.

    Raises:
        EccdataError: Naming each unknown setting and each value that does not fit, at once.

    """
    checked, wrong = fit(cls, values, names=names)
    if wrong:
        raise misfit(cls, wrong, names=names)
    return checked


def fit(
    cls: type[Any], values: Mapping[str, Any], *, names: Iterable[str] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Do what `check` does, but give what fits and say what is wrong with the rest, for a caller that knows more."""
    hints = get_type_hints(cls)
    known = _settable(cls, names)
    fitting: dict[str, Any] = {}
    wrong = []
    for name, value in values.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            wrong.append(f"{name}: no such setting" + (f" (did you mean {near[0]}?)" if near else ""))
            continue
        try:
            fitting[name] = _fit(hints[name], value)
        except ValidationError as error:
            reasons = "; ".join(dict.fromkeys(e["msg"] for e in error.errors()))
            wrong.append(f"{name}={value}: {reasons}")
    return fitting, wrong


def misfit(cls: type[Any], wrong: Sequence[str], *, names: Iterable[str] | None = None) -> EccdataError:
    """The error that says what is wrong with the settings of `cls`, and what can be set."""
    settable = ", ".join(_settable(cls, names)) or "nothing"
    return problem(f"These settings do not fit {cls.__name__}:", wrong, f"It can set: {settable}.")


def make(cls: type[T], values: Mapping[str, Any], *, given: Callable[[str], str] | None = None) -> T:
    """Make a `cls` from settings given as text or as values; see `check`.

    Args:
        cls: A dataclass.
        values: Settings by name.
        given: How a setting is given, for the error that says which ones are missing.

    """
    checked = check(cls, values)
    required = {
        f.name
        for f in dataclasses.fields(cls)  # type: ignore[arg-type]
        if f.init and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    }
    missing = sorted(required - checked.keys())
    if missing:
        told = [f"{name}, given by {given(name)}" for name in missing] if given else missing
        raise problem(f"{cls.__name__} needs these settings:", told)
    try:
        return cls(**checked)
    except ValueError as error:
        raise EccdataError(f"{cls.__name__}: {error}") from error


def _settable(cls: type[Any], names: Iterable[str] | None) -> list[str]:
    return list(names) if names is not None else [f.name for f in dataclasses.fields(cls) if f.init]


def _fit(hint: Any, value: Any) -> Any:
    if isinstance(value, str) and get_origin(hint) in (tuple, list, set, frozenset):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, str) and get_origin(hint) in (dict, Mapping):
        return TypeAdapter(hint).validate_json(value)
    return TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True)).validate_python(value)
