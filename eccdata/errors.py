"""The one error that reaches a user for a mistake of theirs."""

from __future__ import annotations

import difflib
import re
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
    near = [repr(each) for each in _nearest(name, names)]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    there = f"There is: {', '.join(names)}." if names else "None is installed."
    return EccdataError(f"There is no {kind} called {name!r}.{hint} {there}")


def _nearest(name: str, names: Iterable[str]) -> list[str]:
    """The names that begin as `name` does, three at most, or the one that is spelt most like it, if any."""
    spelt = {each: _plain(each) for each in names}
    wanted = _plain(name)
    longer = [each for each, plain in spelt.items() if wanted and plain.startswith(wanted)]
    if longer:
        return longer[:3]
    near = difflib.get_close_matches(wanted, spelt.values(), n=1)
    return [each for each, plain in spelt.items() if plain in near][:1]


def _plain(name: str) -> str:
    """A name without what is often spelt differently: case, blanks, hyphens, dots."""
    return re.sub(r"[\W_]+", "", name).casefold()
