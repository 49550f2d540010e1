"""The small parts that several architectures share."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from .settings import swiglu_width


def linear(inputs: int, outputs: int, *, bias: bool = False) -> nn.Linear:
    """Give a matrix, by default without bias."""
    return nn.Linear(inputs, outputs, bias=bias)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[B, T, H·d] → [B, H, T, d]."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """[B, H, T, d] → [B, T, H·d]."""
    return x.transpose(1, 2).flatten(2)


def rotary(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    """Turn each pair (x_i, x_{i+d/2}) by its token's position times theta^(−2i/d).

    Angles are computed in single precision at least: bf16 cannot tell 4,095 from 4,096.

    Args:
        x: [..., T, d], d even.
        positions: int [T].
        theta: The base.

    """
    width = x.shape[-1]
    precise = torch.promote_types(x.dtype, torch.float32)
    frequencies = theta ** (-torch.arange(0, width, 2, device=x.device, dtype=precise) / width)
    angles = positions.to(precise)[:, None] * frequencies
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)


class RMSNorm(nn.RMSNorm):
    """Root mean square normalisation in the input's type, whatever its weights' is, so that it stays one kernel."""

    def __init__(self, width: int) -> None:
        super().__init__(width, eps=1e-5)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., width] to [..., width]."""
        return functional.rms_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.eps)


def time_step_bias(heads: int) -> Tensor:
    """Draw biases [H] whose softplus is between 0.001 and 0.1, evenly on a logarithmic scale (Dao and Gu 2024)."""
    step = torch.empty(heads).uniform_(math.log(1e-3), math.log(0.1)).exp()
    return step + torch.log(-torch.expm1(-step))


class SwiGLU(nn.Module):
    """W₃(silu(W₁x) ⊙ W₂x), of the inner width that C.2 prices (Shazeer 2020)."""

    def __init__(self, width: int, ratio: int) -> None:
        super().__init__()
        inner = swiglu_width(width, ratio)
        self.up = linear(width, 2 * inner)
        self.down = linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., D] to [..., D]."""
        gate, value = self.up(x).chunk(2, -1)
        return self.down(functional.silu(gate) * value)


class MLP(nn.Module):
    """W₂ gelu(W₁x), of inner width ratio·D."""

    def __init__(self, width: int, ratio: int) -> None:
        super().__init__()
        self.up = linear(width, ratio * width, bias=True)
        self.down = linear(ratio * width, width, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., D] to [..., D]."""
        return self.down(functional.gelu(self.up(x)))


class ShortConvolution(nn.Module):
    """A causal depthwise convolution; its state [B, w−1, C] is the last inputs, zeros at first.

    Args:
        channels: C.
        width: w, in tokens.
        activation: Whether silu follows.

    """

    def __init__(self, channels: int, width: int, *, activation: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, channels).uniform_(-(width**-0.5), width**-0.5))
        self.activation = activation

    def start(self, x: Tensor) -> Tensor:
        """Give the state before the first token, for a batch like x [B, …]."""
        width, channels = self.weight.shape
        return x.new_zeros(x.shape[0], width - 1, channels)

    def forward(self, x: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
        """Filter x [B, T, C] after the inputs `last`; give the outputs and the last inputs now."""
        # under autocast x may be narrower than what was kept
        window = torch.cat([last.to(x.dtype), x], 1)
        length = x.shape[1]
        y = sum(window[:, lag : lag + length] * weight for lag, weight in enumerate(self.weight))
        # a copy: a view would keep the whole window for as long as the state is kept
        return self._activate(y), window[:, length:].clone()

    def read(self, x: Tensor, last: Tensor) -> Tensor:
        """Filter each of x [..., Q, C] as the one token after the inputs `last` [..., w−1, C]."""
        before = (last * self.weight[:-1]).sum(-2, keepdim=True)
        return self._activate(before + x * self.weight[-1])

    def _activate(self, y: Tensor) -> Tensor:
        return functional.silu(y) if self.activation else y
