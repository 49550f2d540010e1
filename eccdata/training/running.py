"""`eccdata train`: an architecture's declared configurations, each a run in its own folder, and the best of them."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eccdata import provenance
from eccdata.backbones.settings import canonical
from eccdata.errors import EccdataError, problem
from eccdata.progress import Progress
from eccdata.settings import check
from eccdata.systems.server_facts import differences

from .bags import bag_accuracies
from .folders import BAGS, BEST, CARD, CONFIGURATION, CURVE, SELECTION, read_json, run_folder, write_json
from .rows import Splits, open_splits
from .settings import CONFIGURATIONS, TrainingSettings, configurations, smoke_data

if TYPE_CHECKING:
    from .loop import Device, Loop, State

FORMAT = 1
LIBRARIES = ("accelerate", "datasets", "numpy", "pyarrow", "safetensors", "torch", "transformers")


@dataclass(frozen=True)
class Trained:
    """What training an architecture came to.

    Attributes:
        folder: Where its runs are.
        name: The architecture, as in Table 12.
        width: D.
        runs: What each run's card says, by the configuration's number.
        bags: What the bag memories reach on the validation rows, by their labels.
        selected: The number of the configuration with the highest accuracy on validation; None before any is known.

    """

    folder: Path
    name: str
    width: int
    runs: Mapping[int, Mapping[str, Any]]
    bags: Mapping[str, float]
    selected: int | None

    @property
    def checkpoint(self) -> Path:
        """The weights of the selected run.

        Raises:
            EccdataError: If none has been judged yet.

        """
        if self.selected is None:
            raise problem(f"{self.folder} holds no weights that validation has judged.")
        return run_folder(self.folder, self.selected) / BEST

    def __str__(self) -> str:
        lines = [f"{self.name}, D = {self.width}; accuracy on validation:"]
        for number, card in self.runs.items():
            outcome = card["outcome"]
            best = "not judged yet" if outcome["accuracy"] is None else f"{outcome['accuracy']:.4f}"
            lines.append(
                f"  configuration {number}: {best} after {_epochs(outcome['epochs'])}, {outcome['seconds']:.0f} s"
                f" ({outcome['ended'] or 'unfinished: run the same command again'})"
            )
        lines.append("  on the same rows: " + ", ".join(f"{k} {v:.4f}" for k, v in self.bags.items()))
        if self.selected is not None:
            lines.append(
                f"Selected: configuration {self.selected}. Evaluate it with: "
                f"eccdata evaluate RELEASE -c tokens -s backbone --option checkpoint={self.folder}"
            )
        return "\n".join(lines)


def train(
    name: str,
    *,
    out: str | Path,
    width: int = 64,
    data: str | Path | None = None,
    revision: str | None = None,
    numbers: Sequence[int] | None = None,
    settings: Mapping[str, Any] | None = None,
    smoke: bool = False,
    hours: float | None = None,
    device: Device = "auto",
    progress: Progress | None = None,
) -> Trained:
    """Train an architecture's configurations and choose the best on validation (eccbench.txt, C.1).

    Each run keeps checkpoints and its card in `out/configuration-<number>`; killed, the same call goes on where it was
    and comes to the same weights, bit by bit on a CPU. Under `torchrun` it trains on all the processes' devices.

    Args:
        name: As in Table 12, or its slug.
        out: The architecture's folder at this width: made, or one that holds these very runs.
        width: D, a multiple of 16.
        data: A release's folder or a dataset's id on the Hub with the configuration `tokens`; built if None.
        revision: The Hub dataset's.
        numbers: Which of the declared configurations, from 1; all if None, with `smoke` the first.
        settings: Settings of all runs (`TrainingSettings`) in place of those declared, as values or as text.
        smoke: Short streams and few epochs: minutes on a CPU. Rows are built unless `data` is given.
        hours: Stop a run once it has taken so long. A later call may allow more.
        device: `cpu`, `cuda`, or whichever there is.
        progress: Called with steps, steps in all, and what is being done.

    Raises:
        EccdataError: For a mistake in what was asked for, before anything is trained.

    """
    name = canonical(name)
    declared = configurations(name, width, smoke=smoke)
    chosen = list(numbers) if numbers is not None else list(range(1, 2 if smoke else CONFIGURATIONS + 1))
    if not chosen or any(not 1 <= number <= len(declared) for number in chosen):
        raise problem(
            f"There are configurations 1 to {len(declared)} of {name}, and these were asked for:", chosen
        )
    if hours is not None and not hours > 0:
        raise problem(f"hours={hours}: a run takes more than that.")
    given = check(TrainingSettings, settings or {})
    asked = {number: TrainingSettings(**{**declared[number - 1], **given}) for number in chosen}
    folder = Path(out)
    _check_folder(folder)
    splits = open_splits(data, revision=revision, built=smoke_data() if smoke else None)
    identities = {
        number: _identity(name, width, number, each, splits, smoke=smoke) for number, each in asked.items()
    }
    for number, identity in identities.items():
        _check_run(run_folder(folder, number), identity)
    bags = _bags(folder, identities.values(), splits)
    for number, each in asked.items():
        _train_one(
            run_folder(folder, number), identities[number], each, splits, bags, hours, device, progress
        )
    return _select(folder)


def _train_one(
    folder: Path,
    identity: Mapping[str, Any],
    settings: TrainingSettings,
    splits: Splits,
    bags: Mapping[str, float],
    hours: float | None,
    device: Device,
    progress: Progress | None,
) -> None:
    card = read_json(folder / CARD)
    if card is not None and card["outcome"]["ended"] is not None:
        return
    from .loop import Loop, new_accelerator

    loop = Loop(
        folder,
        name=identity["architecture"],
        width=identity["width"],
        settings=settings,
        splits=splits,
        accelerator=new_accelerator(device),
        hours=hours,
        progress=progress,
    )
    if loop.accelerator.num_processes != identity["processes"]:
        raise problem(
            f"There are {loop.accelerator.num_processes} processes; WORLD_SIZE says {identity['processes']}."
        )
    _write_run(folder, identity, loop, loop.state, bags)
    try:
        for state in loop.run():
            _write_run(folder, identity, loop, state, bags)
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(
            f"Interrupted: {folder} keeps the last checkpoint. Run the same command again to go on."
        ) from stopped


def _identity(
    name: str, width: int, number: int, settings: TrainingSettings, splits: Splits, *, smoke: bool
) -> dict[str, Any]:
    """What makes two runs the same."""
    return {
        "architecture": name,
        "width": width,
        "configuration": number,
        "smoke": smoke,
        "settings": settings.facts(),
        "data": splits.facts["digests"],
        "processes": int(os.environ.get("WORLD_SIZE", "1")),
    }


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise EccdataError(f"{folder} is a file; training runs are kept in a folder.")
    if folder.is_dir() and any(folder.iterdir()):
        ours = [path for path in folder.iterdir() if path.name.startswith((CONFIGURATION, SELECTION, BAGS))]
        if not ours:
            raise EccdataError(f"{folder} holds something else than training runs. Give it another folder.")


def _check_run(folder: Path, identity: Mapping[str, Any]) -> None:
    card = read_json(folder / CARD)
    if card is None:
        return
    kept = card.get("identity")
    if card.get("format") != FORMAT or kept != identity:
        raise problem(
            f"{folder} holds another training run. What differs (there → asked for now):",
            differences(kept or {}, dict(identity)),
            "Give this one another folder, or remove that run.",
        )


def _bags(folder: Path, identities: Iterable[Mapping[str, Any]], splits: Splits) -> dict[str, float]:
    """The bag memories' accuracies on the validation rows: worked out once a folder."""
    digest = next(iter(identities))["data"]["validation"]
    kept = read_json(folder / BAGS)
    if kept is None or kept["digest"] != digest:
        kept = {"digest": digest, "accuracy": bag_accuracies(splits.validation.dataset)}
        if _is_main():
            write_json(folder / BAGS, kept)
    found: dict[str, float] = kept["accuracy"]
    return found


def _write_run(
    folder: Path, identity: Mapping[str, Any], loop: Loop, state: State, bags: Mapping[str, float]
) -> None:
    """Write the card and the curve as they are now."""
    if not loop.accelerator.is_main_process:
        return
    judged = state.curve
    best = max(judged, key=lambda row: row["validation_accuracy"], default=None)
    write_json(
        folder / CARD,
        {
            "format": FORMAT,
            "identity": identity,
            "parameters": loop.parameters,
            "data": loop.splits.facts,
            "steps": loop.steps,
            "device": str(loop.accelerator.device),
            "precision": loop.accelerator.mixed_precision,
            "outcome": {
                "ended": state.ended,
                "accuracy": best and best["validation_accuracy"],
                "loss": best and best["validation_loss"],
                "bags": bags,
                "step": state.step,
                "epochs": state.epoch + state.turn / loop.turns,
                "seconds": round(state.seconds, 3),
            },
            "curve": CURVE,
            "versions": dict(provenance.versions(*LIBRARIES)),
            "git_revision": provenance.git_revision(),
        },
    )
    if judged:
        unfinished = folder / f".{CURVE}.incomplete"
        with unfinished.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [*judged[0], *bags], lineterminator="\n")
            writer.writeheader()
            writer.writerows({**row, **bags} for row in judged)
        unfinished.replace(folder / CURVE)


def _select(folder: Path) -> Trained:
    """Choose, among all the runs of a folder, the one that validation judged best; of equals the first."""
    cards: dict[int, dict[str, Any]] = {}
    for number in range(1, CONFIGURATIONS + 1):
        card = read_json(run_folder(folder, number) / CARD)
        if card is not None:
            cards[number] = card
    judged = {n: card for n, card in cards.items() if card["outcome"]["accuracy"] is not None}
    selected = max(judged, key=lambda n: judged[n]["outcome"]["accuracy"], default=None)
    first = next(iter(cards.values()))
    if _is_main():
        write_json(
            folder / SELECTION,
            {
                "selected": selected,
                "by": "accuracy on validation",
                "accuracy": {str(n): card["outcome"]["accuracy"] for n, card in cards.items()},
                "bags": first["outcome"]["bags"],
            },
        )
    identity = first["identity"]
    return Trained(
        folder, identity["architecture"], identity["width"], cards, first["outcome"]["bags"], selected
    )


def _is_main() -> bool:
    return os.environ.get("RANK", "0") == "0"


def _epochs(count: float) -> str:
    shown = f"{count:.4g}"
    return f"{shown} epoch" if shown == "1" else f"{shown} epochs"
