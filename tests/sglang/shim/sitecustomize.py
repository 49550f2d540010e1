"""Makes PyPI's torchvision importable beside a CPU build of torch.

Its compiled operators link CUDA and do not load there, yet on import it registers fakes for two of them, which
fails for operators nobody declared. They are declared here, just before that import. Python runs a module of
this name at the start of every process that has its folder on PYTHONPATH, SGLang's spawned workers included.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

_libraries: list[Any] = []  # a torch Library undeclares its operators when it is collected


class _BeforeTorchvision(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> None:
        if fullname != "torchvision":
            return
        sys.meta_path.remove(self)
        import torch

        if torch.version.cuda is None:
            library = torch.library.Library("torchvision", "DEF")
            for operator in ("nms", "qnms"):
                library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            _libraries.append(library)


sys.meta_path.insert(0, _BeforeTorchvision())
