"""What a training run can be told, and the configurations that are declared for each architecture."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from eccdata.backbones.settings import LAYERS, canonical, slug
from eccdata.backbones.settings import settings as architecture_settings
from eccdata.errors import problem

CONFIGURATIONS = 4
"""So many configurations are declared for each architecture and width (eccbench.txt, C.1)."""
SMOKE_WIDTH = 32
"""A width that a CPU trains in minutes."""


@dataclass(frozen=True)
class TrainingSettings:
    """Everything that a training run's weights depend on, besides the rows and the architecture.

    The paper states epochs, the schedule with its warm-up and where to stop; weight decay and clipping it does not.

    Attributes:
        learning_rate: The highest, reached after the warm-up; AdamW's.
        batch_size: The most sequences of a batch, on each process.
        layers: Layers of the architecture.
        epochs: The most passes over the training rows; the cosine schedule reaches 0 after them.
        warmup: The share of all steps in which the learning rate rises.
        target_accuracy: Training ends once the accuracy on validation reaches it.
        weight_decay: AdamW's.
        clip: The largest norm of a gradient.
        seed: Of the weights and of the order of batches.
        checkpoint_every: Steps between checkpoints, apart from those at each epoch's end.

    """

    learning_rate: float
    batch_size: int
    layers: int = LAYERS
    epochs: int = 125
    warmup: float = 0.01
    target_accuracy: float = 0.97
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 0
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            EccdataError: Naming every setting that is out of range.

        """
        wrong = []
        if not 0 < self.learning_rate < 1:
            wrong.append(f"learning_rate={self.learning_rate}: above 0 and below 1")
        wrong += [
            f"{name}={getattr(self, name)}: at least 1"
            for name in ("batch_size", "layers", "epochs", "checkpoint_every")
            if getattr(self, name) < 1
        ]
        if not 0 <= self.warmup <= 1:
            wrong.append(f"warmup={self.warmup}: from 0 to 1")
        if not self.target_accuracy > 0:
            wrong.append(f"target_accuracy={self.target_accuracy}: above 0; above 1 never stops early")
        if not self.weight_decay >= 0:
            wrong.append(f"weight_decay={self.weight_decay}: 0 or above")
        if not self.clip > 0:
            wrong.append(f"clip={self.clip}: above 0")
        if self.seed < 0:
            wrong.append(f"seed={self.seed}: 0 or above")
        if wrong:
            raise problem("These training settings are out of range:", wrong)

    def facts(self) -> dict[str, Any]:
        """The settings by name."""
        return dataclasses.asdict(self)


def configurations(name: str, width: int, *, smoke: bool = False) -> list[dict[str, Any]]:
    """Give the declared configurations of an architecture at a width: settings by name.

    Args:
        name: As in Table 12, or its slug.
        width: D, a multiple of the head width.
        smoke: Those for a CPU and minutes.

    Raises:
        EccdataError: For an unknown architecture, or a width that cannot be.

    """
    name = canonical(name)
    architecture_settings(name, width)  # refuses a width that cannot be
    declared = _declared()
    if smoke:
        common = declared["smoke"]["training"]
        return [{**common, **own} for own in declared["smoke"]["configurations"]]
    by_width: Mapping[int, list[dict[str, Any]]] = declared["architectures"].get(name, declared["widths"])
    return [dict(own) for own in by_width[min((w for w in by_width if w >= width), default=max(by_width))]]


def smoke_data() -> dict[str, Any]:
    """Give the builder's settings of the rows that `--smoke` trains on."""
    return {**_declared()["smoke"]["data"], "test_lengths": ()}


def run_name(name: str, width: int) -> str:
    """Give the name of a folder for an architecture's runs: `transformer-rope-d64`."""
    return f"{slug(canonical(name))}-d{width}"


def smoke_test_data() -> dict[str, Any]:
    """Give the builder's settings of the streams that a CPU-sized study tests on."""
    return dict(_declared()["smoke"]["test_data"])


@cache
def _declared() -> dict[str, Any]:
    text = (files("eccdata.training") / "configurations.yaml").read_text("utf-8")
    declared: dict[str, Any] = yaml.safe_load(text)
    return declared
