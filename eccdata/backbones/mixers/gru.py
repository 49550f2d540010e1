"""The gated recurrent unit (Cho et al. 2014)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..base import Mixer


class Hidden(NamedTuple):
    """The hidden state [B, D]."""

    hidden: Tensor


class GRU(Mixer[Hidden]):
    """One layer of torch's GRU, of hidden width D, fused on a GPU.

    It is a recurrence through nonlinear gates, which no chunked form can compute: token follows token inside torch's
    kernel. The paper does not say what stands around it; here each layer has the pre-norm residual of the others.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gru = nn.GRU(width, width, batch_first=True)

    def start(self, x: Tensor) -> Hidden:
        """Give zeros."""
        return Hidden(x.new_zeros(x.shape[0], x.shape[-1]))

    def forward(self, x: Tensor, state: Hidden | None = None) -> tuple[Tensor, Hidden]:
        """Run over the tokens."""
        hidden = (self.start(x) if state is None else state).hidden
        # bf16 recurrences lose what they carry over thousands of tokens, and not every CPU has them
        with torch.autocast(x.device.type, enabled=False):
            weights = self.gru.weight_hh_l0.dtype
            y, hidden = self.gru(x.to(weights), hidden.to(weights)[None].contiguous())
        return y.to(x.dtype), Hidden(hidden[0])

    def read(self, x: Tensor, state: Hidden) -> Tensor:
        """Take one step from the same hidden state for each question."""
        gru, hidden = self.gru, state.hidden[:, None]
        reset_x, update_x, new_x = functional.linear(x, gru.weight_ih_l0, gru.bias_ih_l0).chunk(3, -1)
        reset_h, update_h, new_h = functional.linear(hidden, gru.weight_hh_l0, gru.bias_hh_l0).chunk(3, -1)
        update = (update_x + update_h).sigmoid()
        new = (new_x + (reset_x + reset_h).sigmoid() * new_h).tanh()
        return new + update * (hidden - new)
