"""Frames as points: DINOv2's patch embeddings, averaged and brought to unit length (eccbench.txt, B.6.2)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

import av
import numpy as np
from numpy.typing import NDArray

from eccdata.errors import EccdataError, problem
from eccdata.video.clips import Frame

DINOV2 = "facebook/dinov2-base"


class Embedder(Protocol):
    """Something that turns pictures into points of unit length."""

    @property
    def digest(self) -> str:
        """Digest of all that decides about the points."""

    def embed(self, frames: Iterable[Frame]) -> NDArray[np.float32]:
        """Embed frames (planar YUV 4:2:0): float32 [frames, dimensions], rows of length one."""


class Dinov2:
    """A DINOv2 model of `transformers`, with the preparation of pictures that its checkpoint asks for.

    Args:
        model: A name on the Hub, or the path of a folder that `save_pretrained` wrote.
        device: Such as `cpu`, `cuda` or `cuda:1`; `auto` takes a GPU where there is one.
        batch_size: Frames embedded at once.

    Raises:
        EccdataError: PyTorch or transformers are not installed; there is no such model or device, or the model is no
            DINOv2.

    """

    def __init__(self, model: str = DINOV2, *, device: str = "auto", batch_size: int = 16) -> None:
        if batch_size < 1:
            raise EccdataError(f"The batch size is {batch_size}; it must be 1 or more.")
        torch, transformers = _libraries()
        self.device = device if device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
        self.batch_size = batch_size
        try:
            # float32, since what is compared are small angles
            self.model: Any = transformers.AutoModel.from_pretrained(model, dtype=torch.float32).eval()
            self.processor: Any = transformers.AutoImageProcessor.from_pretrained(model, backend="pil")
        except (OSError, ValueError) as error:
            raise EccdataError(
                f"{model!r} cannot be loaded: {str(error).splitlines()[0]} Give the name of a model on the Hub, or the "
                "folder of one that was saved with its image processor."
            ) from error
        if self.model.config.model_type not in ("dinov2", "dinov2_with_registers"):
            raise EccdataError(f"{model!r} is a {self.model.config.model_type} model, not a DINOv2.")
        try:
            self.model.to(self.device)
        except (RuntimeError, AssertionError) as error:
            raise EccdataError(f"There is no device {device!r} here: {str(error).splitlines()[0]}") from error

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the weights and the preparation of pictures, wherever they were loaded from."""
        found = hashlib.sha256()
        for name, values in sorted(self.model.state_dict().items()):
            found.update(f"{name} {tuple(values.shape)}".encode())
            found.update(values.cpu().numpy().tobytes())
        preparation = {
            key: value
            for key, value in self.processor.to_dict().items()
            if isinstance(value, bool | int | float | list | tuple | dict)
        }
        found.update(json.dumps(preparation, sort_keys=True, default=str).encode())
        return found.hexdigest()

    def embed(self, frames: Iterable[Frame]) -> NDArray[np.float32]:
        """Embed frames (planar YUV 4:2:0): float32 [frames, hidden size], rows of length one.

        Holds one batch of frames at a time. The class token and registers are no patches and do not count.
        """
        parts = [self._batch(batch) for batch in _batches(frames, self.batch_size)]
        if not parts:
            raise EccdataError("There is no frame to embed.")
        return np.concatenate(parts)

    def _batch(self, frames: list[Frame]) -> NDArray[np.float32]:
        torch, _ = _libraries()
        pictures = [
            av.VideoFrame.from_ndarray(frame, format="yuv420p").to_ndarray(format="rgb24") for frame in frames
        ]
        pixels = self.processor(images=pictures, return_tensors="pt")["pixel_values"].to(self.device)
        with torch.inference_mode():
            states = self.model(pixel_values=pixels).last_hidden_state
            # in front of the patches
            others = 1 + getattr(self.model.config, "num_register_tokens", 0)
            means = states[:, others:].mean(dim=1)
            points = torch.nn.functional.normalize(means, dim=-1)
        return np.asarray(points.cpu().numpy(), np.float32)


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise problem(
            f"Density is measured with PyTorch and transformers, and {error.name} is not installed here.",
            remedy="Install eccdata[models].",
        ) from error
    return torch, transformers


def _batches(frames: Iterable[Frame], size: int) -> Iterator[list[Frame]]:
    rest = iter(frames)
    while batch := list(islice(rest, size)):
        yield batch
