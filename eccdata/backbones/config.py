"""What a saved backbone says about itself."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from transformers import PretrainedConfig

from eccdata.errors import problem

from . import settings as table


class BackboneConfig(PretrainedConfig):
    """The shape of a `MemoryBackbone`: everything needed to build it again.

    Attributes:
        architecture: A name of Table 12, or its slug (`transformer-rope`); kept as the name.
        width: D, a multiple of 16.
        layers: The number of layers; three in the paper.
        alphabet_size: Symbols are 0 … alphabet_size − 1; the next number pads candidates.
        candidate_slots: Symbols of the longest candidate.
        settings: What is the architecture's own, by name; Table 11's at this width where not given.

    Raises:
        EccdataError: For an unknown architecture or setting, or a size that cannot be.

    """

    model_type = "eccdata-memory-backbone"
    attribute_map = {"hidden_size": "width", "num_hidden_layers": "layers", "vocab_size": "alphabet_size"}  # noqa: RUF012

    architecture: str = "Transformer (RoPE)"
    width: int = 64
    layers: int = table.LAYERS
    alphabet_size: int = 16
    candidate_slots: int = 6
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self, **kwargs: Any) -> None:
        """Check the sizes and look up the settings that were not given."""
        self.architecture = table.canonical(self.architecture)
        known = table.settings(self.architecture, self.width)
        given = self.settings
        wrong = [f"{name}: is no setting of {self.architecture}" for name in given if name not in known]
        wrong += [
            f"{name}={getattr(self, name)}: must be at least 1"
            for name in ("layers", "alphabet_size", "candidate_slots")
            if getattr(self, name) < 1
        ]
        if wrong:
            settable = ", ".join(known) or "none"
            raise problem(
                f"There is no such {self.architecture}:", wrong, f"Its own settings are: {settable}."
            )
        self.settings = {**known, **given}
        super().__post_init__(**kwargs)

    @property
    def pad_id(self) -> int:
        """The symbol of an empty slot of a candidate."""
        return self.alphabet_size
