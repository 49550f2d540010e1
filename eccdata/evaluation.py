"""Evaluation: a dataset under a protocol, put to a system. Killed or failed, the same call goes on where it was."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import datasets

from eccdata import background, cards, catalog, protocols, results, rows
from eccdata.asking import ask
from eccdata.carding import write_card
from eccdata.counts import Counts
from eccdata.dataset import open_dataset
from eccdata.errors import EccdataError, problem
from eccdata.evaluator import Evaluator
from eccdata.job import Job, Session
from eccdata.keys import digest
from eccdata.progress import Progress
from eccdata.requests import Json
from eccdata.results import NO_COLUMNS, Results
from eccdata.run import Run
from eccdata.settings import make
from eccdata.showing import Showing
from eccdata.store import Store
from eccdata.store_file import StoreInUse
from eccdata.systems import System
from eccdata.systems.server_facts import differences

STORE = "store.sqlite3"
RESPONSES = "responses"
MEDIA = "media"


def evaluate(
    dataset: str | Path | datasets.Dataset,
    *,
    system: str | System,
    out: str | Path,
    protocol: str | Evaluator | None = None,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    benchmark: str | None = None,
    options: Mapping[str, Any] | None = None,
    system_options: Mapping[str, Any] | None = None,
    where: str | None = None,
    limit: int | None = None,
    concurrency: int = 64,
    accept_changed_server: bool = False,
    accept_audit_failures: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Put a dataset's questions to a system, keep every response, and write the scored results and a card.

    Every response is in `out/store.sqlite3` the moment it arrives. The same call again asks only what has no
    answer yet, whatever ended the first one; a finished run asks nothing and writes the same results.

    Args:
        dataset: A release's folder, a dataset's id on the Hub, or a dataset in memory.
        system: A system's name, or a system.
        out: The run's folder: made, or one that holds this very run.
        protocol: A protocol's name (`eccdata list`), or an evaluator; may be left out where only one fits the dataset.
        config: The configuration; may be left out where there is only one.
        split: The split; where left out, `test`, or the only one.
        revision: The Hub dataset's branch, tag or commit.
        benchmark: The benchmark, where the dataset does not say it itself.
        options: The protocol's options by name, as values or as text.
        system_options: The system's options by name, as values or as text.
        where: A SQL expression that chooses rows, such as `length <= 64 and band = 'low'`.
        limit: The most questions to ask, from the first on.
        concurrency: How many requests may be in flight at once.
        accept_changed_server: Go on though the server is not as it was: earlier answers stay, the rest is asked of
            the new one, and the column `server` tells them apart.
        accept_audit_failures: Go on though the server's count of vision tokens says that the model saw something else
            than was sent.
        force: Discard the run that `out` holds.
        progress: Called with (done, total, what); total is None while it is not known.

    Returns:
        Counts of what has a reply, failed and was not asked, and the replies' scores; `complete` where every
        question has a reply.

    Raises:
        EccdataError: For a mistake in what was asked for, before anything is asked.
        KeyboardInterrupt: After Ctrl-C, once requests in flight are cancelled and what there is is written.
        SystemExit: The same after SIGTERM.

    """
    if concurrency < 1 or (limit is not None and limit < 1):
        raise EccdataError(f"concurrency={concurrency} and limit={limit} must be at least 1.")
    if isinstance(system, str):
        system_class = catalog.system(system)
        system_name, asked_system = system, make(system_class, system_options or {}, given=_given("system"))
    else:
        system_name, asked_system = _entry_name(system), system
        _no_options("system", system_options)
    opened = open_dataset(dataset, config=config, split=split, revision=revision)
    notes: tuple[str, ...] = ()
    if protocol is None:
        evaluator = protocols.only_one(opened, benchmark, options or {}, _given("protocol"))
        notes = (
            f"Asked by {evaluator.benchmark}.{evaluator.protocol}, the only protocol that fits this dataset.",
        )
    elif isinstance(protocol, str):
        evaluator = protocols.named(protocol, opened, benchmark, options or {}, _given("protocol"))
    else:
        evaluator = protocol
        _no_options("protocol", options)
    protocols.require_columns(opened, evaluator)
    chosen = rows.where(opened.dataset, where) if where else opened.dataset
    if not chosen.num_rows:
        raise EccdataError(
            f"There is nothing to ask: {opened.source} ({opened.config}, {opened.split}) has no rows"
            + (f" for which {where!r} is true." if where else ".")
        )
    folder = Path(out)
    _check_folder(folder, force=force)
    return _evaluate(
        Job(
            opened=opened,
            chosen=chosen,
            evaluator=evaluator,
            options=options or {},
            system=asked_system,
            system_name=system_name,
            system_options=system_options or {},
            out=folder,
            where=where,
            limit=limit,
            concurrency=concurrency,
            accept_changed_server=accept_changed_server,
            progress=progress,
            showing=Showing(folder / MEDIA, accept_audit_failures)
            if evaluator.shows_media and getattr(asked_system, "reads_media", False)
            else None,
            notes=notes,
        )
    )


def _evaluate(job: Job) -> Run:
    began, cpu_began = time.perf_counter(), time.process_time()
    sessions: list[Session] = []
    try:
        ended = background.run(lambda: _ask(job, sessions))
        if not sessions:
            assert ended.signal is not None
            raise background.stop_caller(ended.signal, "Interrupted before anything was asked.")
        session = sessions[0]
        if ended.signal is not None:
            session.asked.stopped = "interrupted"
        counts = _write_results(job, session)
        stopped = session.asked.stopped
        outcome = (
            "interrupted"
            if ended.signal is not None
            else "stopped"
            if stopped
            else "failures"
            if counts.replied < counts.questions
            else "done"
        )
        wall_s = round(time.perf_counter() - began, 3)
        facts: dict[str, Json] = {
            "wall_s": wall_s,
            "cpu_s": round(time.process_time() - cpu_began, 3),
            "concurrency": job.concurrency,
            "where": job.where,
            "limit": job.limit,
        }
        session.store.end_session(outcome, facts)
        write_card(job, session, counts)
    finally:
        for session in sessions:
            session.results.discard()
            session.store.close()
    run = Run(
        run_id=session.run_id,
        folder=job.out,
        questions=counts.questions,
        replied=counts.replied,
        failed=counts.failures,
        errors=dict(counts.errors),
        scores=counts.scores,
        unasked=counts.questions - counts.written,
        asked=session.asked.asked,
        wall_s=wall_s,
        stopped=stopped,
        notes=(
            *job.notes,
            *(job.showing.notes() if job.showing is not None else ()),
            *(job.system.notes() if hasattr(job.system, "notes") else ()),
        ),
    )
    if ended.signal is not None:
        raise background.stop_caller(ended.signal, run.interruption)
    return run


async def _ask(job: Job, sessions: list[Session]) -> None:
    """Open the system and the store and ask; leaves the open store in `sessions`, for its results to be written."""
    await job.system.open()
    try:
        job.out.mkdir(parents=True, exist_ok=True)
        store = Store.open(job.out / STORE)
        try:
            session = _admit(job, store)
        except BaseException:
            store.close()
            raise
        sessions.append(session)
        try:
            await ask(
                job.questions(),
                system=await job.watched_system(),
                store=store,
                servers=list(store.servers()),
                current=session.server,
                concurrency=job.concurrency,
                asked=session.asked,
                results=session.results,
                report=job.report,
            )
        except asyncio.CancelledError:
            session.asked.stopped = "interrupted"
        job.report(session.asked)
    finally:
        await job.system.close()


def _admit(job: Job, store: Store) -> Session:
    """Check that the store is this run's, and its server one that the run accepts; begin a session."""
    identity, fingerprint = job.identity(), dict(job.system.fingerprint())
    kept = store.identity()
    if kept is None:
        store.set_meta("identity", identity)
    elif kept != identity:
        raise problem(
            f"{job.out} holds another run. What differs (there → asked for now):",
            differences(kept, identity),
            "Give this run another folder, or replace that run with force.",
        )
    accepted = store.servers()
    name = digest(fingerprint)
    if accepted and name not in accepted:
        changed = differences(list(accepted.values())[-1], fingerprint)
        if not job.accept_changed_server:
            raise problem(
                f"The server is not the one that {job.out} was asked of (then → now):",
                changed,
                _how_to_go_on(changed),
            )
    store.accept_server(fingerprint)
    first, *_ = store.servers()
    run_id = digest({**identity, "server": first})[:12]
    store.begin_session()
    return Session(store, run_id, name, _begin_results(job, run_id))


def _how_to_go_on(changed: list[str]) -> str:
    hint = (
        " SGLang draws a seed at each start unless it is given one (--random-seed)."
        if any("random_seed" in line for line in changed)
        else ""
    )
    return (
        "Start the server as it was, or accept the changed one (--accept-server; in Python "
        f"accept_changed_server=True): earlier answers stay, the rest is asked of it.{hint}"
    )


def _begin_results(job: Job, run_id: str) -> Results:
    identity = {
        "run_id": run_id,
        "benchmark": job.evaluator.benchmark,
        "config": job.opened.config,
        "split": job.opened.split,
        "protocol": job.evaluator.protocol,
        "system": job.system_name,
        "model": job.system.label,
    }
    path = job.out / RESPONSES / f"{run_id}.parquet"
    details = getattr(job.system, "columns", NO_COLUMNS)
    return Results(path, evaluator=job.evaluator, identity=identity, details=details)


def _write_results(job: Job, session: Session) -> Counts:
    """Let the results appear that were written along; make them from the store where some were left out."""
    whole = session.asked.drained and session.asked.stopped is None
    if whole and not session.results.overflowed:
        return session.results.finish()
    session.results.discard()

    def report(questions: int) -> None:
        if job.progress is not None:
            job.progress(questions, max(questions, session.asked.questions), "scored")

    return results.write(
        _begin_results(job, session.run_id),
        job.questions(),
        model=job.system.label,
        store=session.store,
        servers=list(session.store.servers()),
        report=report,
    )


def _entry_name(system: System) -> str:
    place = f"{type(system).__module__}:{type(system).__qualname__}"
    for name, entry in catalog.entries("systems").items():
        if entry.value == place:
            return name
    return type(system).__qualname__


def _given(kind: Literal["system", "protocol"]) -> Callable[[str], str]:
    """How an option is given: on the command line, and in Python."""
    flag, argument = (
        (cards.system_option, "system_options") if kind == "system" else (cards.protocol_option, "options")
    )
    return lambda name: f"{' '.join(flag(name, '…'))} ({argument}={{{name!r}: …}} in Python)"


def _no_options(kind: str, options: Mapping[str, Any] | None) -> None:
    if options:
        raise problem(
            f"A {kind} that is given as an object has its options already; these cannot be:", [*options]
        )


def _check_folder(folder: Path, *, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise EccdataError(f"{folder} is a file; a run is kept in a folder.")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not (folder / STORE).exists():
        raise EccdataError(f"{folder} holds something else than a run. Give the run a folder of its own.")
    if force:
        try:
            Store.open(folder / STORE).close()
        except StoreInUse:
            raise
        except EccdataError:
            pass  # damaged, or no store at all: to be discarded like any other
        for pattern in (f"{STORE}*", f"{RESPONSES}/*.parquet", "card.json", "card.md"):
            for path in folder.glob(pattern):
                path.unlink()
