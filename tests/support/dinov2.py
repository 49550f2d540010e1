"""A tiny random DINOv2: the real code of `transformers`, and weights that mean nothing."""

from __future__ import annotations

from pathlib import Path


def save_tiny_dinov2(folder: Path, *, seed: int = 0) -> Path:
    """Save a model of two layers and 32 dimensions, for pictures of 56 × 56, with its image processor."""
    import torch
    from transformers import BitImageProcessorPil, Dinov2Config, Dinov2Model

    torch.manual_seed(seed)
    config = Dinov2Config(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        mlp_ratio=2,
        image_size=56,
        patch_size=14,
    )
    Dinov2Model(config).save_pretrained(folder)
    side = {"height": 56, "width": 56}
    BitImageProcessorPil(size={"shortest_edge": 56}, crop_size=side).save_pretrained(folder)
    return folder
