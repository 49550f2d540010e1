"""From an architecture's name and settings to its layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .base import Mixer, PreNorm, Stack, Tokenwise
from .config import BackboneConfig
from .layers import MLP
from .mixers.attention import Attention
from .mixers.gru import GRU
from .settings import HEAD_WIDTH


def build(config: BackboneConfig) -> Mixer[tuple[Any, ...]]:
    """Put the layers of an architecture together."""
    layers = _LAYERS[config.architecture](config)
    return Stack([PreNorm(config.width, part) for _ in range(config.layers) for part in layers()])


def _heads(config: BackboneConfig) -> int:
    return config.width // HEAD_WIDTH


Layers = Callable[[], list[Mixer[Any]]]


def _transformer(config: BackboneConfig) -> Layers:
    width, settings = config.width, config.settings
    return lambda: [
        Attention(width, _heads(config), rope_theta=settings.get("rope_theta"), conv=settings.get("conv")),
        Tokenwise(MLP(width, settings["ffn"])),
    ]


def _gru(config: BackboneConfig) -> Layers:
    return lambda: [GRU(config.width)]


_LAYERS: Mapping[str, Callable[[BackboneConfig], Layers]] = {
    "Transformer (RoPE)": _transformer,
    "Transformer (conv)": _transformer,
    "GRU": _gru,
}
