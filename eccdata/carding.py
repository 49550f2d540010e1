"""The making of a run's card out of all that the session knows."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from eccdata import cards, provenance
from eccdata.counts import TOKENS, Counts
from eccdata.job import Job, Session, fields
from eccdata.systems.masking import without_credentials
from eccdata.systems.server_facts import told

LIBRARIES = ("aiohttp", "datasets", "duckdb", "huggingface-hub", "numpy", "orjson", "polars", "pyarrow")


def write_card(job: Job, session: Session, counts: Counts) -> None:
    """Write the card of a session that has ended, with its results written."""
    _, example = next(job.questions())
    opened, evaluator = job.opened, job.evaluator
    source = _without_home(opened.source)
    cards.Card(
        format=cards.FORMAT,
        run_id=session.run_id,
        dataset=cards.DatasetFacts(
            source=source,
            revision=opened.revision,
            config=opened.config,
            split=opened.split,
            digest=opened.digest,
            rows=opened.dataset.num_rows,
            where=job.where,
            limit=job.limit,
        ),
        protocol=cards.ProtocolFacts(
            benchmark=evaluator.benchmark,
            name=evaluator.protocol,
            version=evaluator.version,
            options=fields(evaluator),
            decoding=dataclasses.asdict(example.decoding),
            prompts=counts.prompts,
        ),
        system=cards.SystemFacts(
            name=job.system_name,
            model=job.system.label,
            options=told(fields(job.system)),
            decodes=getattr(job.system, "decodes", True),
            fingerprints=session.store.servers(),
            facts=dict(job.system.facts()),
        ),
        outcome=cards.Outcome(
            complete=counts.replied == counts.questions,
            questions=counts.questions,
            replied=counts.replied,
            failed=counts.failed,
            unasked=counts.questions - counts.written,
            status=dict(sorted(counts.status.items())),
            abstention=dict(sorted(counts.abstention.items())),
            cut_below_limit=counts.cut_below_limit,
            tokens={name: counts.tokens.get(name) for name in TOKENS},
            scores=None if counts.scores is None else cards.ScoreFacts.of(counts.scores),
            servers=dict(counts.servers),
            stopped=session.asked.stopped,
        ),
        sessions=session.store.sessions(),
        versions=dict(provenance.versions(*LIBRARIES)),
        git_revision=provenance.git_revision(),
        command=cards.command(
            dataset=source,
            revision=opened.revision,
            config=opened.config,
            split=opened.split,
            benchmark=evaluator.benchmark,
            protocol=evaluator.protocol,
            options=job.options,
            system=job.system_name,
            system_options={
                name: without_credentials(value) if isinstance(value, str) else value
                for name, value in job.system_options.items()
            },
            where=job.where,
            limit=job.limit,
            concurrency=job.concurrency,
            out=_without_home(str(job.out)),
        ),
        media=None
        if job.showing is None
        else {**job.showing.facts(), "vision_tokens": dict(sorted(counts.vision_tokens.items()))},
    ).write(job.out)


def _without_home(path: str) -> str:
    home = str(Path.home())
    return "~" + path[len(home) :] if path.startswith(home + "/") else path
