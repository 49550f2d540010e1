"""What a model's checkpoint says of how it takes pictures: a few small files beside its weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from eccdata.requests import Json

_OF_CONFIG = ("architectures", "model_type", "version")
_OF_PROCESSOR = (
    "patch_size",
    "merge_size",
    "temporal_patch_size",
    "size",
    "min_pixels",
    "max_pixels",
    "video_processor_type",
    "image_processor_type",
)


def checkpoint_facts(place: str) -> dict[str, Json]:
    """Read what the token audit needs of a checkpoint; nothing where it cannot be had.

    Args:
        place: A folder of this machine, or a model's id on the Hub.

    Returns:
        `config` (architectures, model type, version), `video` and `image` (numbers of the processors), as far as
        they are there.

    """
    processor = _read(place, "processor_config.json")
    # an older checkpoint has one file for both
    images = _read(place, "preprocessor_config.json") or processor.get("image_processor") or {}
    videos = _read(place, "video_preprocessor_config.json") or processor.get("video_processor") or images
    found = {
        "config": _some(_read(place, "config.json"), _OF_CONFIG),
        "video": _some(videos, _OF_PROCESSOR),
        "image": _some(images, _OF_PROCESSOR),
    }
    return {name: values for name, values in found.items() if values}


def _some(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Json]:
    return {name: values[name] for name in names if values.get(name) is not None}


def _read(place: str, name: str) -> dict[str, Any]:
    try:
        content = (Path(place) / name if Path(place).is_dir() else Path(_from_hub(place, name))).read_bytes()
        found = orjson.loads(content)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _from_hub(place: str, name: str) -> str:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return hf_hub_download(place, name, etag_timeout=5)
    except HfHubHTTPError as error:
        raise OSError(str(error)) from error
