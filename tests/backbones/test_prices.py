"""What is built is what C.2 prices: the shapes of every module and state give the formulas again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from eccdata.backbones import BackboneConfig
from eccdata.backbones.architectures import build
from eccdata.backbones.layers import ShortConvolution
from eccdata.backbones.mixers.attention import Attention
from eccdata.backbones.mixers.compressive import CompressiveAttention
from eccdata.backbones.mixers.deltaformer import DeltaFormer
from eccdata.backbones.mixers.deltanet import DeltaNet
from eccdata.backbones.mixers.gla import GLA
from eccdata.backbones.mixers.mamba2 import Mamba2
from eccdata.backbones.mixers.memory_mosaic import ContextMemory, PersistentMemory
from eccdata.backbones.mixers.mom import MoM
from eccdata.backbones.mixers.retnet import RetNet
from eccdata.backbones.mixers.rwkv7 import TimeMix
from eccdata.backbones.mixers.ttt_mlp import TTTMLP, WindowAttention
from eccdata.backbones.settings import ARCHITECTURES
from eccdata.flops.backbones import backbone_flops


def weights(*matrices: torch.Tensor) -> int:
    """FLOPs of one token through matrices: a multiply-add for each weight."""
    return 2 * sum(int(matrix.numel()) for matrix in matrices)


def state(mixer: Any, width: int) -> Any:
    return mixer.start(torch.empty(1, 0, width))


def passes(count: int) -> Callable[[Any, int, int], int]:
    """A number of products a token the size of the state."""
    return lambda mixer, width, tokens: count * tokens * weights(state(mixer, width).memory[0])


def attention(pairs: Callable[[int], int]) -> Callable[[Any, int, int], int]:
    """A score and a weighted value for each pair, as wide as the cache's keys and values."""

    def flops(mixer: Any, width: int, tokens: int) -> int:
        cache = state(mixer, width)
        wide = sum(int(kept.shape[1] * kept.shape[3]) for kept in (cache.keys, cache.values))
        return 2 * wide * pairs(tokens)

    return flops


def causal(tokens: int) -> int:
    return tokens * (tokens + 1) // 2


def strictly_causal(tokens: int) -> int:
    return tokens * (tokens - 1) // 2


def deltaformer(mixer: DeltaFormer, width: int, tokens: int) -> int:
    return sum(attention(pairs)(mixer, width, tokens) for pairs in (causal, strictly_causal))


def window(mixer: WindowAttention, width: int, tokens: int) -> int:
    seen = sum(min(token, state(mixer, width).keys.shape[2] + 1) for token in range(1, tokens + 1))
    return attention(lambda _: seen)(mixer, width, tokens)


def fast_weights(mixer: TTTMLP, width: int, tokens: int) -> int:
    """Forward at the key, backward to the hidden layer, both gradients, forward at the query."""
    learnt = state(mixer, width).now
    up, down = learnt.up[0], learnt.down[0]
    return tokens * weights(up, down, down, up, down, up, down)


def mom(mixer: MoM, width: int, tokens: int) -> int:
    """A delta rule in each active memory, and their convolutions, of which the walk counts one."""
    active = mixer.top_k + 1
    one = state(mixer, width).memory[0, 0]
    return tokens * (active * 3 * weights(one) + (active - 1) * weights(mixer.conv.weight))


def persistent(mixer: PersistentMemory, width: int, tokens: int) -> int:
    return tokens * weights(mixer.memory_keys, mixer.memory_values)


def compressive(mixer: CompressiveAttention, width: int, tokens: int) -> int:
    """Follow the slots of an actual pass; kv is used for each slot once, by whatever makes it."""
    blocks, rest = divmod(tokens, mixer.block)
    wide = mixer.distances.shape[0] * mixer.distances.shape[2]
    flops = tokens * weights(mixer.query.weight, mixer.kv.weight, mixer.out.weight)
    kept = state(mixer, width)
    for block in range(blocks + 1):
        new = rest if block == blocks else mixer.block
        slots = sum(part.content.shape[1] for part in kept)
        # content, position and value for each pair
        flops += 3 * 2 * wide * (new * slots + causal(new))
        if block == blocks:
            break
        before = kept
        with torch.no_grad():
            _, kept = mixer(torch.zeros(1, mixer.block, width), kept)
        first_lost, second_lost = (evicted(mixer, before, level) for level in (0, 1))
        for made, compress in (
            (before.recent.content.shape[1], mixer.compress_1),
            (first_lost, mixer.compress_2),
        ):
            count = made // compress.stride[0]
            flops += count * weights(compress.weight, mixer.kv.weight)
        if second_lost:
            gru = mixer.long_term_gru
            flops += second_lost * (weights(mixer.long_term_kv.weight) + 4 * width)
            flops += weights(gru.weight_ih, gru.weight_hh, mixer.kv.weight)
    return flops


def evicted(mixer: CompressiveAttention, before: Any, level: int) -> int:
    """Slots that fall out of a compressed memory when a block fills."""
    if not before.recent.content.shape[1]:
        return 0
    ratio = mixer.per_block[0] // mixer.per_block[1]
    made = mixer.per_block[0] if level == 0 else evicted(mixer, before, 0) // ratio
    held = (before.first, before.second)[level].content.shape[1]
    return max(0, int(held) + made - mixer.sizes[level])


BEYOND_WEIGHTS: dict[type, Callable[[Any, int, int], int]] = {
    Attention: attention(causal),
    Mamba2: passes(2),
    GLA: passes(2),
    RetNet: passes(2),
    DeltaNet: passes(3),
    TimeMix: passes(4),
    DeltaFormer: deltaformer,
    WindowAttention: window,
    TTTMLP: fast_weights,
    MoM: mom,
    ContextMemory: attention(strictly_causal),
    PersistentMemory: persistent,
}


def flops(module: nn.Module, width: int, tokens: int) -> int:
    """Walk the modules: what every token goes through by its weights, and what states and caches add."""
    if isinstance(module, CompressiveAttention):
        return compressive(module, width, tokens)
    if isinstance(module, nn.Linear | ShortConvolution):
        return tokens * weights(module.weight)
    if isinstance(module, nn.GRUCell):
        return tokens * weights(module.weight_ih, module.weight_hh)
    if isinstance(module, nn.GRU):
        return tokens * weights(module.weight_ih_l0, module.weight_hh_l0)
    own = BEYOND_WEIGHTS[type(module)](module, width, tokens) if type(module) in BEYOND_WEIGHTS else 0
    return own + sum(flops(child, width, tokens) for child in module.children())


@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_shapes_give_table_12(name: str, width: int) -> None:
    backbone = build(BackboneConfig(architecture=name, width=width))
    for length in (2048, 4096):
        assert flops(backbone, width, length + 1) == backbone_flops(name, width=width, length=length)


@pytest.mark.parametrize("width", [16, 32, 48])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_and_at_other_sizes_too(name: str, width: int) -> None:
    backbone = build(BackboneConfig(architecture=name, width=width, layers=2))
    for length in (9, 700):
        assert flops(backbone, width, length + 1) == backbone_flops(
            name, width=width, length=length, layers=2
        )
