"""The one error that reaches a user for a mistake of theirs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

SHOWN = 10


class EccdataError(Exception):
    """A mistake in what was asked for, told once and whole: what was wrong, every offending item, what to do.

    The command line prints it without a traceback and exits with 2.
    """


def problem(what: str, items: Sequence[object] = (), remedy: str = "") -> EccdataError:
    """Put an error together: one sentence, the first ten offending items and their count, and what to do.

    Args:
        what: A sentence that names the input and what is wrong with it.
        items: All the offending items; ten are shown.
        remedy: A sentence that says what to do.

    """
    lines = [what]
    lines += [f"  - {item}" for item in items[:SHOWN]]
    if len(items) > SHOWN:
        lines.append(f"  … and {len(items) - SHOWN} more ({len(items)} in all)")
    if remedy:
        lines.append(remedy)
    return EccdataError("\n".join(lines))


def listed(items: Sequence[object], separator: str = ", ") -> str:
    """Put items into a sentence: the first ten, and how many more there are."""
    more = f"{separator}and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return separator.join(map(str, items[:SHOWN])) + more


def unknown(kind: str, name: str, known: Iterable[str]) -> EccdataError:
    """Say that there is no `kind` called `name`, what there is, and the nearest spelling."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    there = f"There is: {', '.join(names)}." if names else "None is installed."
    return EccdataError(f"There is no {kind} called {name!r}.{hint} {there}")
