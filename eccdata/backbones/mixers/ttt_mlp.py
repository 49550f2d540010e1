"""Test-time training: a memory that is a small MLP, trained on what is written (Sun et al. 2025)."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..base import Mixer
from ..layers import RMSNorm, linear, merge_heads, split_heads
from ..recurrences.chunks import at_least_single, full_precision
from .attention import attention_read

BASE_RATE = 0.1
"""The learning rate's upper end; the original's for MLPs."""


class Window(NamedTuple):
    """Keys and values [B, H, W, d] of the last W tokens, zeros before the first, and how many there were, up to W."""

    keys: Tensor
    values: Tensor
    seen: int


class WindowAttention(Mixer[Window]):
    """Attention from each token to itself and the W before it.

    The paper leaves open how it knows where a token stands. Here a head learns what to add to the score at each
    distance in the window; without that, neither this nor the fast weights would see any order.

    Args:
        width: D.
        heads: H.
        window: W.

    """

    def __init__(self, width: int, heads: int, *, window: int) -> None:
        super().__init__()
        self.heads, self.window = heads, window
        self.qkv = linear(width, 3 * width)
        self.bias = nn.Parameter(torch.zeros(heads, 1, window + 1))
        self.out = linear(width, width)

    def start(self, x: Tensor) -> Window:
        """Give zeros."""
        zeros = x.new_zeros(x.shape[0], self.heads, self.window, x.shape[-1] // self.heads)
        return Window(zeros, zeros, 0)

    def forward(self, x: Tensor, state: Window | None = None) -> tuple[Tensor, Window]:
        """Attend within the window."""
        before = self.start(x) if state is None else state
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        keys, values = (
            torch.cat([before.keys.to(k.dtype), k], 2),
            torch.cat([before.values.to(v.dtype), v], 2),
        )
        length = x.shape[1]
        # [B, H, T, d, W + 1]
        near_keys, near_values = keys.unfold(2, self.window + 1, 1), values.unfold(2, self.window + 1, 1)
        scores = (q[..., None] * near_keys).sum(-2) * q.shape[-1] ** -0.5 + self.bias
        token = torch.arange(before.seen, before.seen + length, device=x.device)[:, None]
        weights = scores.masked_fill(token + self._offsets(x) < 0, -torch.inf).softmax(-1).to(v.dtype)
        y = (near_values * weights[..., None, :]).sum(-1)
        last = Window(
            keys[:, :, length:].clone(), values[:, :, length:].clone(), min(before.seen + length, self.window)
        )
        return self.out(merge_heads(y)), last

    def read(self, x: Tensor, state: Window) -> Tensor:
        """Attend from each question to the window and itself."""
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        bias = self.bias.masked_fill(state.seen + self._offsets(x) < 0, -torch.inf)
        return self.out(merge_heads(attention_read(q, k, v, state.keys, state.values, bias)))

    def _offsets(self, x: Tensor) -> Tensor:
        return torch.arange(-self.window, 1, device=x.device)


class FastWeights(NamedTuple):
    """An MLP a stream and head: [B, H, f, 4f], [B, H, 1, 4f], [B, H, 4f, f], [B, H, 1, f]."""

    up: Tensor
    up_bias: Tensor
    down: Tensor
    down_bias: Tensor


class Learnt(NamedTuple):
    """The weights at the beginning of the mini-batch, those now, and how many of its tokens there were."""

    anchor: FastWeights
    now: FastWeights
    position: int


class TTTMLP(Mixer[Learnt]):
    """C.2's fast-weight memory: each head's f → 4f → f MLP takes one gradient step a token.

    It learns to map a token's key to its value, through a residual and a layer norm; a query is answered by the same
    MLP. Gradients are taken at the weights the mini-batch began with, so that within one all is matrix products (the
    dual form). Mini-batches follow each other: their gradients depend on all before through nonlinearities, and so
    there is one step of Python for each — 4 to 8 for 1,024 tokens.

    Args:
        width: D.
        heads: H.
        mini_batch: b.

    """

    def __init__(self, width: int, heads: int, *, mini_batch: int) -> None:
        super().__init__()
        inner = width // heads
        self.heads, self.mini_batch = heads, mini_batch
        self.qkv = linear(width, 3 * width)
        self.rate = linear(width, heads, bias=True)
        self.gate = linear(width, width)
        self.out = linear(width, width)
        self.up = nn.Parameter(torch.randn(heads, inner, 4 * inner) * 0.08)
        self.up_bias = nn.Parameter(torch.zeros(heads, 1, 4 * inner))
        self.down = nn.Parameter(torch.randn(heads, 4 * inner, inner) * 0.08)
        self.down_bias = nn.Parameter(torch.zeros(heads, 1, inner))
        self.inner_scale = nn.Parameter(torch.ones(heads, 1, inner))
        self.inner_shift = nn.Parameter(torch.zeros(heads, 1, inner))
        self.norm = RMSNorm(width)

    def start(self, x: Tensor) -> Learnt:
        """Give the weights to begin with, which are trained."""
        first = (self.up, self.up_bias, self.down, self.down_bias)
        weights = FastWeights(*(at_least_single(part).expand(x.shape[0], *part.shape) for part in first))
        return Learnt(weights, weights, 0)

    def forward(self, x: Tensor, state: Learnt | None = None) -> tuple[Tensor, Learnt]:
        """Learn from T tokens, mini-batch by mini-batch."""
        anchor, now, position = self.start(x) if state is None else state
        first, length = self.mini_batch - position, x.shape[1]
        cuts = [0, *range(first, length, self.mini_batch), length]
        arguments, outputs = self._arguments(x), []
        for begin, end in itertools.pairwise(cuts):
            piece = (part[:, :, begin:end] for part in arguments)
            y, *weights = learn(*piece, self.inner_scale, self.inner_shift, *anchor, *now)
            outputs.append(y)
            now, position = FastWeights(*weights), position + end - begin
            if position == self.mini_batch:
                anchor, position = now, 0
        return self._output(torch.cat(outputs, 2), x), Learnt(anchor, now, position)

    def read(self, x: Tensor, state: Learnt) -> Tensor:
        """Let each question be learnt alone, and answered."""
        norm = (self.inner_scale, self.inner_shift)
        y, *_ = learn(*self._arguments(x), *norm, *state.anchor, *state.now, alone=True)
        return self._output(y, x)

    def _arguments(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        rate = BASE_RATE * self.rate(x).sigmoid().transpose(1, 2)[..., None]
        return functional.normalize(q, dim=-1), functional.normalize(k, dim=-1), v, rate

    def _output(self, y: Tensor, x: Tensor) -> Tensor:
        return self.out(self.norm(merge_heads(y.to(x.dtype))) * functional.gelu(self.gate(x)))


@full_precision
def learn(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    rate: Tensor,
    scale: Tensor,
    shift: Tensor,
    *weights: Tensor,
    alone: bool = False,
) -> tuple[Tensor, ...]:
    """Take the gradient steps of one mini-batch, or of a part of it, and answer each query after its token's step.

    Args:
        q: [B, H, T, f], with k and v alike.
        k: See q.
        v: See q.
        rate: Learning rates [B, H, T, 1].
        scale: Of the layer norm [H, 1, f].
        shift: Of the layer norm [H, 1, f].
        weights: `FastWeights` at which gradients are taken, and those that are changed.
        alone: Whether each token is the only one learnt.

    Returns:
        The answers [B, H, T, f], and the weights after the last token (where not alone).

    """
    anchor, now = FastWeights(*weights[:4]), FastWeights(*weights[4:])
    inner = k @ anchor.up + anchor.up_bias
    hidden = functional.gelu(inner, approximate="tanh")
    normal, deviation = _normalised(hidden @ anchor.down + anchor.down_bias)
    # the loss is half the squared distance of normal·scale + shift from v − k
    slope = (normal * scale + shift - (v - k)) * scale
    slope = slope - slope.mean(-1, keepdim=True) - normal * (slope * normal).mean(-1, keepdim=True)
    down_slope = rate * slope / deviation
    up_slope = (down_slope @ anchor.down.mT) * _gelu_slope(inner)
    correct = _correct_alone if alone else _correct
    answer_inner = q @ now.up + now.up_bias - correct(q, k, up_slope)
    answer_hidden = functional.gelu(answer_inner, approximate="tanh")
    answer = answer_hidden @ now.down + now.down_bias - correct(answer_hidden, hidden, down_slope)
    answer = q + _normalised(answer)[0] * scale + shift
    if alone:
        return (answer,)
    return (
        answer,
        now.up - k.mT @ up_slope,
        now.up_bias - up_slope.sum(2, keepdim=True),
        now.down - hidden.mT @ down_slope,
        now.down_bias - down_slope.sum(2, keepdim=True),
    )


def _correct(x: Tensor, inputs: Tensor, slopes: Tensor) -> Tensor:
    """Give what the steps up to each token change of a layer's output at x: its weights' part and its bias's."""
    return (x @ inputs.mT + 1).tril() @ slopes


def _correct_alone(x: Tensor, inputs: Tensor, slopes: Tensor) -> Tensor:
    return ((x * inputs).sum(-1, keepdim=True) + 1) * slopes


def _normalised(x: Tensor) -> tuple[Tensor, Tensor]:
    variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    deviation = (variance + 1e-6).sqrt()
    return (x - mean) / deviation, deviation


def _gelu_slope(x: Tensor) -> Tensor:
    """Differentiate the gelu of tanh form."""
    factor, cubic = (2 / torch.pi) ** 0.5, 0.044715
    saturation = torch.tanh(factor * (x + cubic * x**3))
    return 0.5 * (1 + saturation) + 0.5 * x * (1 - saturation**2) * factor * (1 + 3 * cubic * x**2)
