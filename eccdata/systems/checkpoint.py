"""What a model's checkpoint says of what it costs and how it takes pictures: a few small files beside its weights."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from eccdata.requests import Json

HUB_LIMIT_S = 5.0
"""How long the Hub may take for a first answer."""

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


def checkpoint_facts(place: str, *, sees: bool = True) -> dict[str, Json]:
    """Read what prices and the token audit need of a checkpoint; nothing where it cannot be had.

    Args:
        place: A folder of this machine, or a model's id on the Hub.
        sees: Whether the model takes pictures, and so has processors.

    Returns:
        `config` (the numbers from which a price follows, see `eccdata.flops.config.numbers`), `config_sha256` (of
        config.json), `video` and `image` (numbers of the processors), as far as they are there.

    """
    from eccdata.flops.config import numbers  # here, since most systems have no checkpoint

    content = read(place, "config.json")
    config = _parsed(content)
    found: dict[str, Json] = {"config": numbers(config)}
    if config:
        found["config_sha256"] = hashlib.sha256(content).hexdigest()
    if sees:
        found |= _processors(place)
    return {name: values for name, values in found.items() if values}


def read(place: str, name: str) -> bytes:
    """A file of a checkpoint; empty where it cannot be had.

    Args:
        place: A folder of this machine, or a model's id on the Hub.
        name: The file's name.

    """
    try:
        return fetch(place, name)
    except OSError:
        return b""


def fetch(place: str, name: str) -> bytes:
    """As `read`, and an error that says why where a file cannot be had.

    Raises:
        OSError: It is not in the folder; or the place is no id on the Hub, has no such file there, or cannot be
            reached, which is found out in seconds, and is not kept from before.

    """
    path = Path(place) / name if Path(place).is_dir() else Path(_from_hub(place, name))
    return path.read_bytes()


def _processors(place: str) -> dict[str, Json]:
    processor = _read(place, "processor_config.json")
    # an older checkpoint has one file for both
    images = _read(place, "preprocessor_config.json") or processor.get("image_processor") or {}
    videos = _read(place, "video_preprocessor_config.json") or processor.get("video_processor") or images
    return {"video": _some(videos, _OF_PROCESSOR), "image": _some(images, _OF_PROCESSOR)}


def _some(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Json]:
    return {name: values[name] for name in names if values.get(name) is not None}


def _read(place: str, name: str) -> dict[str, Any]:
    return _parsed(read(place, name))


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _from_hub(place: str, name: str) -> str:
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    from huggingface_hub.errors import HFValidationError

    try:
        # asked once before, since the download tries for half a minute where nobody is there
        get_hf_file_metadata(hf_hub_url(place, name), timeout=HUB_LIMIT_S)
        return hf_hub_download(place, name, etag_timeout=HUB_LIMIT_S)
    except HFValidationError as error:
        raise OSError(str(error)) from error
    except Exception as error:  # the errors of whichever HTTP client the Hub's library is built on
        try:
            return hf_hub_download(place, name, local_files_only=True)
        except OSError:
            raise OSError(" ".join(str(error).split()) or type(error).__name__) from error
