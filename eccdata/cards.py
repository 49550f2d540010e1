"""Evaluation cards: what was asked of whom, with what outcome, and how to do it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eccdata.counts import Scores, percent
from eccdata.requests import Json

FORMAT = 2
"""Raised whenever a field of the card changes its meaning."""


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """What was asked.

    Attributes:
        source: The folder or Hub id as it was given.
        revision: The Hub commit.
        config: The configuration.
        split: The split.
        digest: SHA-256 over the content of all rows of the split.
        rows: Rows of the split.
        where: The SQL expression that chose among them.
        limit: The most questions to ask.

    """

    source: str
    revision: str | None
    config: str
    split: str
    digest: str
    rows: int
    where: str | None
    limit: int | None


@dataclass(frozen=True, slots=True)
class ProtocolFacts:
    """How it was asked.

    Attributes:
        benchmark: The benchmark.
        name: The protocol.
        version: The protocol's version.
        options: All its options, defaults included.
        decoding: How replies were generated.
        prompts: SHA-256 over the messages of all questions, in order.

    """

    benchmark: str
    name: str
    version: int
    options: Mapping[str, Json]
    decoding: Mapping[str, Json]
    prompts: str


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """Who was asked.

    Attributes:
        name: The system's entry-point name.
        model: The model's name, as it stands in tables.
        options: All its options, defaults included; no secrets.
        decodes: Whether it generates text, so that the protocol's decoding applies to it.
        fingerprints: What could change an answer, for every server that the run accepted, by digest.
        facts: What the system says of itself.

    """

    name: str
    model: str
    options: Mapping[str, Json]
    decodes: bool
    fingerprints: Mapping[str, Mapping[str, Json]]
    facts: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ScoreFacts:
    """What the replies are worth; failures are left out. Shares are null where there is nothing to take one of.

    Attributes:
        scored: Replies that are right or not right.
        answered: How many of them answer and do not abstain; null where the protocol knows no abstention.
        correct: How many are right.
        accuracy: `correct / scored`: an abstention counts as wrong.
        coverage: `answered / scored`.
        accuracy_on_answered: `correct / answered`.

    """

    scored: int
    answered: int | None
    correct: int
    accuracy: float | None
    coverage: float | None
    accuracy_on_answered: float | None

    @classmethod
    def of(cls, scores: Scores) -> ScoreFacts:
        """Take them from what was counted while the results were written."""
        return cls(**{field.name: getattr(scores, field.name) for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it.

    Attributes:
        complete: Every question has a reply.
        questions: Questions that the run is to ask.
        replied: Questions with a reply.
        failed: Questions whose last try failed; the next run asks them again.
        unasked: Questions that were not asked.
        status: Questions by status.
        abstention: Replied questions by kind of abstention.
        scores: What the replies are worth; null where the protocol does not say which are correct.
        cut_below_limit: Replies that the server cut before the token limit in force.
        tokens: Sums over all questions whose response tells; null where none does.
        servers: Questions by the digest of the answering server's fingerprint.
        stopped: Why the last session ended early; null where it did not.

    """

    complete: bool
    questions: int
    replied: int
    failed: int
    unasked: int
    status: Mapping[str, int]
    abstention: Mapping[str, int]
    scores: ScoreFacts | None
    cut_below_limit: int
    tokens: Mapping[str, int | None]
    servers: Mapping[str, int]
    stopped: str | None


@dataclass(frozen=True, slots=True)
class Card:
    """The whole card, as it stands in `card.json`.

    Attributes:
        format: Version of this layout.
        run_id: Twelve hex digits of the digest of the run's identity.
        dataset: What was asked.
        protocol: How it was asked.
        system: Who was asked.
        outcome: What came of it.
        sessions: Every process that asked: when it began and ended, how (`done`, `failures`, `stopped`, `interrupted`,
            `killed`), what it stored, its seconds of wall and CPU time, its concurrency.
        versions: Versions of Python, of this package and of the libraries it stands on.
        git_revision: The package's commit, where it ran from a checkout.
        command: The command that does it again.
        media: Where clips were shown: what the token audit knows of the model, what it found, and whether the run was
            told to go on all the same.

    """

    format: int
    run_id: str
    dataset: DatasetFacts
    protocol: ProtocolFacts
    system: SystemFacts
    outcome: Outcome
    sessions: list[dict[str, Json]]
    versions: Mapping[str, str]
    git_revision: str | None
    command: str
    media: Mapping[str, Json] | None = None

    def write(self, folder: Path) -> None:
        """Write `card.json` and `card.md`, each replaced as a whole."""
        as_json = json.dumps(asdict(self), indent=2, ensure_ascii=False, default=str) + "\n"
        for name, text in (("card.json", as_json), ("card.md", self.markdown())):
            unfinished = folder / f".{name}.incomplete"
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(folder / name)

    def markdown(self) -> str:
        """The card for a reader."""
        data, protocol, system, outcome = self.dataset, self.protocol, self.system, self.outcome
        state = "complete" if outcome.complete else "**incomplete**"
        lines = [
            f"# {system.model} on {protocol.benchmark}, {data.config}",
            "",
            f"Run `{self.run_id}`, {state}: {outcome.replied} of {outcome.questions} questions replied, "
            f"{outcome.failed} failed, {outcome.unasked} not asked.",
        ]
        if outcome.stopped:
            lines += ["", f"The last session stopped early: {outcome.stopped}"]
        lines += [
            "",
            "## What was asked",
            "",
            *_table(
                {
                    "dataset": data.source + (f" at {data.revision}" if data.revision else ""),
                    "configuration, split": f"{data.config}, {data.split}",
                    "rows": data.rows,
                    "chosen by": data.where or "all rows",
                    "limit": data.limit or "none",
                    "digest of the rows": data.digest,
                    "protocol": f"{protocol.benchmark}.{protocol.name}, version {protocol.version}",
                    "digest of the prompts": protocol.prompts,
                    **self._options(),
                }
            ),
            "",
            "## Who was asked",
            "",
            *_table(
                {"system": system.name, "model": system.model}
                | {f"option `{name}`": value for name, value in system.options.items()}
            ),
        ]
        for name, fingerprint in system.fingerprints.items():
            responses = outcome.servers.get(name, 0)
            lines += [
                "",
                f"Server `{name[:12]}` ({responses} questions):",
                "",
                "```json",
                json.dumps(fingerprint, indent=2, ensure_ascii=False, sort_keys=True, default=str),
                "```",
            ]
        lines += [
            "",
            "## What came of it",
            "",
            *_table(
                self._scores()
                | {f"status {name}": count for name, count in outcome.status.items()}
                | {f"abstention, {name}": count for name, count in outcome.abstention.items()}
                | {"cut by the server below the limit": outcome.cut_below_limit}
                | {
                    name.replace("_", " "): "not told" if count is None else count
                    for name, count in outcome.tokens.items()
                }
            ),
            *self._media(),
            "",
            "## Sessions",
            "",
            "| began | ended as | replies | failures | wall s | CPU s | concurrency |",
            "|---|---|---|---|---|---|---|",
            *[_session(session) for session in self.sessions],
            "",
            "## Made with",
            "",
            *_table({**self.versions, "git revision": self.git_revision or "not a checkout"}),
            "",
            "## To do it again",
            "",
            "```sh",
            self.command,
            "```",
            "",
        ]
        return "\n".join(lines)

    def _options(self) -> dict[str, Json]:
        """The protocol's options and decoding, without what does not apply to a system that generates no text."""
        options, decoding = self.protocol.options, self.protocol.decoding
        if not self.system.decodes:
            rows = {f"option `{name}`": value for name, value in options.items() if name not in decoding}
            return rows | {"decoding": "does not apply: the system generates no text"}
        return {f"option `{name}`": value for name, value in options.items()} | {
            f"decoding `{name}`": value for name, value in decoding.items()
        }

    def _scores(self) -> dict[str, Json]:
        scores = self.outcome.scores
        if scores is None:
            return {}
        rows: dict[str, Json] = {"replied": self.outcome.replied}
        if scores.answered is None:
            return rows | {"correct": scores.correct, "accuracy": percent(scores.accuracy)}
        return rows | {
            "answered (replied and not abstained)": scores.answered,
            "correct": scores.correct,
            "accuracy, abstentions as wrong": percent(scores.accuracy),
            "coverage, answered of replied": percent(scores.coverage),
            "accuracy on answered": percent(scores.accuracy_on_answered),
        }

    def _media(self) -> list[str]:
        if self.media is None:
            return []
        facts = dict(self.media)
        tokens, faults = facts.pop("vision_tokens"), facts.pop("faults")
        kinds = {
            "right": "the server's count is what they cost",
            "wrong": "**the server's count is not what they cost**",
            "untold": "the server tells no count",
            "unaudited": "what they cost is not known for this model",
        }
        return [
            "",
            "## What the model saw",
            "",
            *_table(
                {f"replies with clips, {kinds[kind]}": count for kind, count in tokens.items()}
                | {name.replace("_", " "): value for name, value in facts.items() if value not in (None, {})}
            ),
            *[line for fault in faults for line in ("", f"- {fault}")],
        ]


def command(
    *,
    dataset: str,
    revision: str | None,
    config: str,
    split: str,
    benchmark: str,
    protocol: str,
    options: Mapping[str, Json],
    system: str,
    system_options: Mapping[str, Json],
    where: str | None,
    limit: int | None,
    concurrency: int,
    out: str,
) -> str:
    """The command line that repeats a run; only options that were given stand in it."""
    parts = ["eccdata", "evaluate", dataset]
    if revision:
        parts += ["--revision", revision]
    parts += ["--config", config, "--split", split, "--benchmark", benchmark, "--protocol", protocol]
    for name, value in options.items():
        parts += protocol_option(name, _plain(value))
    parts += ["--system", system]
    for name, value in system_options.items():
        parts += system_option(name, _plain(value))
    if where:
        parts += ["--where", where]
    if limit is not None:
        parts += ["--limit", str(limit)]
    parts += ["--concurrency", str(concurrency), "--out", out]
    return shlex.join(parts)


def protocol_option(name: str, value: str) -> list[str]:
    """The arguments that give a protocol's option on the command line."""
    if name in ("arm", "max_tokens"):
        return [f"--{name.replace('_', '-')}", value]
    return ["--protocol-option", f"{name}={value}"]


def system_option(name: str, value: str) -> list[str]:
    """The arguments that give a system's option on the command line."""
    if name in ("base_url", "model"):
        return [f"--{name.replace('_', '-')}", value]
    return ["--option", f"{name}={value}"]


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _table(values: Mapping[str, Any]) -> list[str]:
    rows = [f"| {name} | {_cell(value)} |" for name, value in values.items()]
    return ["| | |", "|---|---|", *rows]


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.replace("|", "\\|").replace("\n", " ")


def _session(session: Mapping[str, Any]) -> str:
    began = datetime.fromtimestamp(session["started_at"] / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    wall, cpu = session.get("wall_s"), session.get("cpu_s")
    cells = [
        began,
        session["outcome"],
        session["answers"],
        session["failures"],
        "" if wall is None else f"{wall:.1f}",
        "" if cpu is None else f"{cpu:.1f}",
        session.get("concurrency", ""),
    ]
    return f"| {' | '.join(str(cell) for cell in cells)} |"
