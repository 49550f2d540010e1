"""One training run: from its rows and settings to its best weights, through any number of kills."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.utils import set_seed
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader
from transformers import get_cosine_schedule_with_warmup

from eccdata.backbones import BackboneConfig, MemoryBackbone
from eccdata.errors import problem
from eccdata.progress import Progress, silent

from . import checkpoints
from .batches import epoch_batches, ordered_batches
from .folders import BEST, CHECKPOINTS, quiet_transformers
from .rows import MembershipRows, Splits
from .settings import TrainingSettings

Device = Literal["auto", "cpu", "cuda"]
LOOK_AT_CLOCK_EVERY = 10
"""Steps between looks at the clock: on many GPUs all have to agree on what it says."""


@dataclass
class State:
    """How far a run is; all of it is in each checkpoint.

    Attributes:
        epoch: The current one, from 0.
        turn: Steps of it that are taken.
        step: Steps in all.
        loss: Sum of the losses of the current epoch's steps.
        seconds: What it has taken so far.
        curve: A row each time that validation judged: epochs and steps until then, the learning rate, the mean loss
            of the epoch's steps, loss and accuracy on validation, seconds.
        best: The highest accuracy on validation so far.
        ended: Why it ended: `target`, `epochs`, `diverged`; None while there is more to do, also where `hours` were up.

    """

    epoch: int = 0
    turn: int = 0
    step: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    curve: list[dict[str, float]] = field(default_factory=list)
    best: float = -1.0
    ended: str | None = None

    def progress(self) -> dict[str, Any]:
        """The state as JSON."""
        return asdict(self)


def new_accelerator(device: Device) -> Accelerator:
    """Take the processes and devices that there are; `torchrun` and `accelerate launch` say how many.

    Weights are float32; on a GPU that has bfloat16, products are computed in it. On a CPU it gains nothing.

    Raises:
        EccdataError: If there is no such device.

    """
    if device == "cuda" and not torch.cuda.is_available():
        raise problem("There is no GPU that torch can use: device=cuda.", remedy="Use auto or cpu.")
    narrow = device != "cpu" and torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    return Accelerator(
        cpu=device == "cpu",
        mixed_precision="bf16" if narrow else "no",
        # short streams reach no compressed memory, and a router need not choose every memory
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
    )


class Loop:
    """A run in its folder; `run` trains it to its end, from its last checkpoint on."""

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        width: int,
        settings: TrainingSettings,
        splits: Splits,
        accelerator: Accelerator,
        hours: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Make the model, or take it up where its last checkpoint left it.

        Args:
            folder: The run's.
            name: The architecture.
            width: D.
            settings: The run's.
            splits: The rows.
            accelerator: Where it runs.
            hours: Stop once the run has taken so long, all sessions together; a later call may allow more.
            progress: Called with steps, steps in all, and what is being done.

        """
        self.folder, self.settings, self.splits, self.accelerator = folder, settings, splits, accelerator
        self.budget_s = math.inf if hours is None else hours * 3600
        self.report = progress or silent
        self.state = State()
        set_seed(settings.seed)
        config = BackboneConfig(
            architecture=name,
            width=width,
            layers=settings.layers,
            alphabet_size=splits.train.alphabet_size,
            candidate_slots=splits.train.slots,
        )
        model = MemoryBackbone(config)
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        optimizer = torch.optim.AdamW(
            model.parameters(), settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.model, self.optimizer = accelerator.prepare(model, optimizer)
        self.turns = len(self._epoch(0)) // accelerator.num_processes
        self.steps = self.turns * settings.epochs
        self.schedule = get_cosine_schedule_with_warmup(
            optimizer, math.ceil(self.steps * settings.warmup), self.steps
        )
        accelerator.register_for_checkpointing(self.schedule)
        found = checkpoints.latest(folder / CHECKPOINTS)
        if found is not None:
            self.state = State(**checkpoints.load(accelerator, found))

    def run(self) -> Iterator[State]:
        """Train; gives the state after each epoch, and once more where the hours are up."""
        state = self.state
        while state.ended is None and not self._time_is_up():
            if self._train_epoch():
                self._judge()
                self._end_epoch()
            else:
                self._judge()
            self._save()
            yield state

    def _train_epoch(self) -> bool:
        """Take the steps that are left of the current epoch; False where the hours were up first."""
        state, settings, accelerator = self.state, self.settings, self.accelerator
        began, before = time.monotonic(), state.seconds
        losses = torch.tensor(state.loss, dtype=torch.float64)
        batches = self._epoch(state.epoch)[accelerator.process_index :: accelerator.num_processes]
        self.model.train()
        for batch in self._read(self.splits.train, batches[state.turn :]):
            loss = self.model(**batch).loss
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(self.model.parameters(), settings.clip)
            self.optimizer.step()
            self.schedule.step()
            self.optimizer.zero_grad()
            losses = losses.to(loss.device) + loss.detach()
            state.turn += 1
            state.step += 1
            state.seconds = before + time.monotonic() - began
            last = state.turn == self.turns
            if state.step % settings.checkpoint_every == 0 and not last:
                state.loss = float(losses)
                self._save()
            if state.step % LOOK_AT_CLOCK_EVERY == 0:
                best = f" (validation accuracy {state.best:.3f})" if state.curve else ""
                self.report(state.step, self.steps, f"trained{best}")
                if not last and self._time_is_up():
                    state.loss = float(losses)
                    return False
        state.loss = float(losses)
        return True

    def _judge(self) -> None:
        """Judge the weights by validation, and keep them where they are the best."""
        state = self.state
        began = time.monotonic()
        loss, accuracy = self.judge(self.splits.validation)
        state.seconds += time.monotonic() - began
        state.curve.append(
            {
                "epoch": state.epoch + state.turn / self.turns,
                "step": state.step,
                "learning_rate": self.schedule.get_last_lr()[0],
                "training_loss": state.loss / state.turn,
                "validation_loss": loss,
                "validation_accuracy": accuracy,
                "seconds": round(state.seconds, 3),
            }
        )
        if accuracy > state.best:
            state.best = accuracy
            self._keep_best()

    def _end_epoch(self) -> None:
        """See whether this was the last epoch, or the next one begins."""
        state = self.state
        judged = state.curve[-1]
        state.epoch, state.turn, state.loss = state.epoch + 1, 0, 0.0
        if not math.isfinite(judged["validation_loss"]) or not math.isfinite(judged["training_loss"]):
            state.ended = "diverged"
        elif judged["validation_accuracy"] >= self.settings.target_accuracy:
            state.ended = "target"
        elif state.epoch == self.settings.epochs:
            state.ended = "epochs"

    @torch.no_grad()
    def judge(self, split: MembershipRows) -> tuple[float, float]:
        """Give the mean loss and the accuracy over all questions of a split."""
        accelerator = self.accelerator
        batches = ordered_batches(split.lengths, 2 * self.settings.batch_size)
        self.model.eval()
        sums = torch.zeros(3, dtype=torch.float64)
        for batch in self._read(split, batches[accelerator.process_index :: accelerator.num_processes]):
            logits: Tensor = self.model(batch["streams"], batch["candidates"]).logits
            labels = batch["labels"].flatten()
            logits = logits.flatten(0, 1).float()
            asked = labels >= 0
            loss = functional.cross_entropy(logits, labels, reduction="sum")
            right = ((logits.argmax(-1) == labels) & asked).sum()
            sums = sums.to(loss.device) + torch.stack([loss.double(), right.double(), asked.sum().double()])
        sums = accelerator.reduce(sums.to(accelerator.device))
        loss_sum, right_sum, questions = sums.tolist()
        return loss_sum / questions, right_sum / questions

    def _epoch(self, epoch: int) -> list[NDArray[np.int64]]:
        return epoch_batches(
            self.splits.train.lengths,
            self.settings.batch_size,
            seed=self.settings.seed,
            epoch=epoch,
            processes=self.accelerator.num_processes,
        )

    def _read(
        self, split: MembershipRows, batches: Sequence[NDArray[np.int64]]
    ) -> Iterator[dict[str, Tensor]]:
        """Read batches, on a GPU ahead of it, in processes of their own."""
        on_gpu = self.accelerator.device.type == "cuda"
        loader: DataLoader[dict[str, Tensor]] = DataLoader(
            _Batches(split, batches),
            batch_size=None,
            num_workers=min(2, os.cpu_count() or 1) if on_gpu else 0,
            pin_memory=on_gpu,
            # else each loader would draw from the random state that a resumed run has to find again
            generator=torch.Generator(),
        )
        for batch in loader:
            yield {
                name: tensor.to(self.accelerator.device, non_blocking=True) for name, tensor in batch.items()
            }

    def _save(self) -> None:
        checkpoints.save(self.accelerator, self.folder / CHECKPOINTS, self.state.step, self.state.progress())

    def _keep_best(self) -> None:
        """Write the weights as a pretrained model, in place of the earlier ones.

        A kill between the two loses nothing: the run goes on from before this epoch's end, and comes here again.
        """
        if self.accelerator.is_main_process:
            best, unfinished = self.folder / BEST, self.folder / f".{BEST}.incomplete"
            shutil.rmtree(unfinished, ignore_errors=True)
            model: nn.Module = self.accelerator.unwrap_model(self.model)
            with quiet_transformers():
                model.save_pretrained(unfinished)
            shutil.rmtree(best, ignore_errors=True)
            unfinished.rename(best)
        self.accelerator.wait_for_everyone()

    def _time_is_up(self) -> bool:
        if self.budget_s == math.inf:
            return False
        taken = torch.tensor(self.state.seconds, device=self.accelerator.device)
        return bool(self.accelerator.reduce(taken, reduction="mean").item() >= self.budget_s)


class _Batches(torch.utils.data.Dataset[dict[str, Tensor]]):
    """Batches by their number."""

    def __init__(self, split: MembershipRows, batches: Sequence[NDArray[np.int64]]) -> None:
        self.split = split
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, number: int) -> dict[str, Tensor]:
        if number >= len(self.batches):
            raise IndexError(number)
        batch = self.split.batch(self.batches[number])
        return {name: torch.from_numpy(array) for name, array in batch._asdict().items()}
