"""Stands where SGLang's compiled kernels would, which PyPI has for CUDA alone.

SGLang imports names from here unconditionally and calls them only where it found the CPU kernels' operators
registered in torch; it finds none, and takes its plain PyTorch paths. So every name can be imported and none called.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch

_library = torch.library.Library("sgl_kernel", "DEF")
# SGLang reads these attributes of torch.ops.sgl_kernel while importing its models
for _operator in (
    "fused_sigmoid_mul_cpu",
    "fused_qk_gemma_rmsnorm_cpu",
    "fused_qk_gemma_rmsnorm_with_gate_cpu",
    "fused_qkvzba_split_reshape_cat_contiguous_cpu",
):
    _library.define(f"{_operator}(Tensor x) -> Tensor")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"sgl_kernel.{name} has no CPU stand-in")

    return missing
