"""Which protocol a dataset is asked by: the one that is named, or the only one that fits it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eccdata import catalog, rows
from eccdata.dataset import Opened
from eccdata.errors import EccdataError, problem, unknown
from eccdata.evaluator import Evaluator
from eccdata.settings import fit, make


def named(
    protocol: str,
    opened: Opened,
    benchmark: str | None,
    options: Mapping[str, Any],
    given: Callable[[str], str] | None = None,
) -> Evaluator:
    """Make the evaluator of a protocol.

    Args:
        protocol: The protocol's name.
        opened: The dataset that it is to ask.
        benchmark: The benchmark, where the dataset does not say it itself.
        options: The protocol's options by name, as values or as text.
        given: How an option is given, for the error that says which ones are missing.

    Raises:
        EccdataError: Where it is not known which benchmark's protocol is meant, there is no such protocol, or an
            option does not fit it.

    """
    evaluator = catalog.evaluator(_benchmark(opened, benchmark, protocol), protocol)
    return make(evaluator, options, given=given)


def only_one(
    opened: Opened,
    benchmark: str | None,
    options: Mapping[str, Any],
    given: Callable[[str], str] | None = None,
) -> Evaluator:
    """Make the evaluator of the only protocol that a dataset can be asked by.

    Those of the dataset's benchmark are tried, or all that are installed where it is not known. One fits where the
    dataset has the columns it needs and it takes the first row apart into questions.

    Raises:
        EccdataError: Where none fits, with the reason for each; where several do, with their names.

    """
    known = _known(opened, benchmark)
    fitting: list[tuple[str, str]] = []
    reasons = []
    for name in [known] if known is not None else catalog.benchmarks():
        for protocol in catalog.protocols(name):
            reason = _refusal(opened, name, protocol, options)
            if reason is None:
                fitting.append((name, protocol))
            else:
                reasons.append(f"{name}.{protocol}: {reason}")
    where = f"{opened.source} ({opened.config}, {opened.split})"
    if not fitting:
        of = f"no protocol of {known}" if known is not None else "no installed protocol"
        raise problem(f"{where} can be asked by {of}:", reasons, "`eccdata list` says what each one needs.")
    if len(fitting) > 1:
        raise problem(
            f"{where} can be asked by several protocols:",
            [".".join(one) for one in fitting],
            "Say which one (--protocol NAME)"
            + (", and of which benchmark (--benchmark NAME)." if known is None else "."),
        )
    return make(catalog.evaluator(*fitting[0]), options, given=given)


def require_columns(opened: Opened, evaluator: Evaluator) -> None:
    """Check that a dataset has the columns that a protocol asks from.

    Raises:
        EccdataError: Naming every column that is missing.

    """
    missing = _missing(opened, evaluator)
    if missing:
        raise problem(
            f"{opened.source} ({opened.config}, {opened.split}) cannot be asked by {evaluator.protocol}: "
            "it lacks the columns",
            missing,
            f"It has: {', '.join(opened.dataset.column_names)}.",
        )


def _missing(opened: Opened, evaluator: Evaluator) -> list[str]:
    return [name for name in evaluator.needs() if name not in opened.dataset.column_names]


def _refusal(opened: Opened, benchmark: str, protocol: str, options: Mapping[str, Any]) -> str | None:
    """Why a protocol cannot ask a dataset; None where it can."""
    try:
        cls = catalog.evaluator(benchmark, protocol)
        # An option that is another protocol's must not rule this one out: `make` tells it once the choice is made.
        fitting, _ = fit(cls, options)
        evaluator = make(cls, fitting)
        missing = _missing(opened, evaluator)
        if missing:
            return f"it lacks the columns {', '.join(missing)}"
        for row in rows.iterate(opened.dataset):
            next(iter(evaluator.questions(row)), None)
            break
    except EccdataError as error:
        return " ".join(str(error).split())
    return None


def _known(opened: Opened, given: str | None) -> str | None:
    if given is not None and opened.benchmark is not None and given != opened.benchmark:
        raise EccdataError(f"{opened.source} is a release of {opened.benchmark}, not of {given}.")
    return given or opened.benchmark


def _benchmark(opened: Opened, given: str | None, protocol: str) -> str:
    """The benchmark whose protocol is meant: the given one, the release's own, or the only one that has it."""
    known = _known(opened, given)
    if known is not None:
        return known
    having = [name for name in catalog.benchmarks() if protocol in catalog.protocols(name)]
    if not having:
        known_protocols = {one for name in catalog.benchmarks() for one in catalog.protocols(name)}
        raise unknown("protocol", protocol, known_protocols)
    if len(having) != 1:
        raise problem(
            f"{opened.source} does not say which benchmark it is of, and several have a protocol {protocol!r}:",
            having,
            "Say which one.",
        )
    return having[0]
