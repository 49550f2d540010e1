"""From an architecture's name and settings to its layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .base import Mixer, PreNorm, Stack, Tokenwise
from .config import BackboneConfig
from .layers import MLP, SwiGLU
from .mixers.attention import Attention
from .mixers.compressive import CompressiveAttention, GRUGated
from .mixers.deltaformer import DeltaFormer
from .mixers.deltanet import DeltaNet
from .mixers.gla import GLA
from .mixers.gru import GRU
from .mixers.mamba2 import Mamba2
from .mixers.memory_mosaic import ContextMemory, PersistentMemory
from .mixers.mom import MoM
from .mixers.retnet import RetNet
from .mixers.rwkv7 import RWKV7
from .mixers.ttt_mlp import TTTMLP, WindowAttention
from .settings import HEAD_WIDTH

Layer = list[Mixer[Any]]


def build(config: BackboneConfig) -> Mixer[tuple[Any, ...]]:
    """Put the layers of an architecture together."""
    width, heads, settings = config.width, config.width // HEAD_WIDTH, dict(config.settings)
    if config.architecture == "RWKV-7":
        return RWKV7(width, heads, config.layers, **settings)
    layer = _LAYERS[config.architecture]
    return Stack([part for _ in range(config.layers) for part in layer(width, heads, **settings)])


def _pre_norm(width: int, *parts: Mixer[Any]) -> Layer:
    return [PreNorm(width, part) for part in parts]


def _mlp(width: int, ratio: int) -> Mixer[Any]:
    return Tokenwise(MLP(width, ratio))


def _swiglu(width: int, ratio: int) -> Mixer[Any]:
    return Tokenwise(SwiGLU(width, ratio))


def _before(
    mixer: Callable[..., Mixer[Any]], feed_forward: Callable[[int, int], Mixer[Any]], **fixed: Any
) -> Callable[..., Layer]:
    """Give layers of a mixer and the feed-forward network after it, both pre-norm."""

    def layer(width: int, heads: int, *, ffn: int, **settings: Any) -> Layer:
        return _pre_norm(width, mixer(width, heads, **settings, **fixed), feed_forward(width, ffn))

    return layer


def _gru(width: int, heads: int) -> Layer:
    del heads
    return _pre_norm(width, GRU(width))


def _mamba2(width: int, heads: int, **settings: int) -> Layer:
    del heads
    return _pre_norm(width, Mamba2(width, **settings))


def _ttt_mlp(width: int, heads: int, *, ffn: int, window: int, mini_batch: int) -> Layer:
    attention, memory = (
        WindowAttention(width, heads, window=window),
        TTTMLP(width, heads, mini_batch=mini_batch),
    )
    return _pre_norm(width, attention, memory, _mlp(width, ffn))


def _memory_mosaic(width: int, heads: int, *, persistent_memories: int, expand_persistent: int) -> Layer:
    persistent = PersistentMemory(width, heads, memories=persistent_memories, size=expand_persistent * width)
    return _pre_norm(width, ContextMemory(width, heads), persistent)


def _compressive(width: int, heads: int, *, ffn: int, **settings: int) -> Layer:
    parts: list[Mixer[Any]] = [CompressiveAttention(width, heads, **settings), _mlp(width, ffn)]
    return [GRUGated(width, part) for part in parts]


_LAYERS: Mapping[str, Callable[..., Layer]] = {
    "Compressive Transformer": _compressive,
    "DeltaFormer": _before(DeltaFormer, _swiglu),
    "DeltaNet": _before(DeltaNet, _swiglu),
    "GLA": _before(GLA, _swiglu),
    "Gated DeltaNet": _before(DeltaNet, _swiglu, gated=True),
    "Mamba-2": _mamba2,
    "Memory Mosaic": _memory_mosaic,
    "MoM": _before(MoM, _swiglu),
    "RetNet": _before(RetNet, _swiglu),
    "GRU": _gru,
    "TTT-MLP": _ttt_mlp,
    "Transformer (RoPE)": _before(Attention, _mlp),
    "Transformer (conv)": _before(Attention, _mlp),
}
