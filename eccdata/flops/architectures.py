"""Architectures as data: what ships, what a user has declared, and which name means which."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt, ValidationError, model_validator

from eccdata.errors import EccdataError, problem, unknown
from eccdata.vision_tokens import Family, families

FILE_VARIABLE = "ECCDATA_ARCHITECTURES"
"""The environment variable that names the file of a user's own declarations."""


class _Numbers(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Experts(_Numbers):
    """A mixture of experts.

    Attributes:
        count: E.
        active: k, of each token.
        shared_ffn: Width of an expert that is always active; None where there is none.

    """

    count: PositiveInt
    active: PositiveInt
    shared_ffn: PositiveInt | None = None


class DenseLayers(_Numbers):
    """The first layers of a mixture of experts, where these have one feed-forward.

    Attributes:
        count: How many.
        ffn: Its width.

    """

    count: PositiveInt
    ffn: PositiveInt


class Language(_Numbers):
    """A language model, in the terms of Table 4.

    Attributes:
        layers: L_t.
        width: d_t.
        heads: n_q.
        kv_heads: n_kv.
        head_width: h_t.
        ffn: f_t; per expert, where it is a mixture.
        vocabulary: V_voc, by the shape of the output projection.
        gated: Whether feed-forwards have three matrices, and not two.
        experts: The mixture, where it is one.
        dense_layers: Its first layers, where these are none.
        image_lora_rank: r of the adapters that run where an image is present.

    """

    layers: PositiveInt
    width: PositiveInt
    heads: PositiveInt
    kv_heads: PositiveInt
    head_width: PositiveInt
    ffn: PositiveInt
    vocabulary: PositiveInt
    gated: bool = True
    experts: Experts | None = None
    dense_layers: DenseLayers | None = None
    image_lora_rank: PositiveInt | None = None

    @model_validator(mode="after")
    def _fits(self) -> Language:
        if self.dense_layers is not None and (self.experts is None or self.dense_layers.count > self.layers):
            raise ValueError(
                "dense_layers are the first layers of a mixture (experts), and not more than all"
            )
        if self.experts is not None and self.experts.active > self.experts.count:
            raise ValueError("more experts are active than there are")
        return self


class Vision(_Numbers):
    """A vision tower.

    Attributes:
        layers: L_v.
        width: d_v.
        ffn: f_v.
        gated: Whether feed-forwards have three matrices, and not two.
        patch: p_v, in pixels.
        frames_per_group: Frames that are packed together, whose patches attend to each other; 1 where none are.
        pass_patches: Patches of a pass, where these are the same whatever the size of a frame.
        class_tokens: Tokens that are put before a pass's patches.
        passes_per_frame: Crops of a frame.
        windowed_layers: How many of the layers attend in windows.
        window_patches: Patches of a window.

    """

    layers: PositiveInt
    width: PositiveInt
    ffn: PositiveInt
    gated: bool
    patch: PositiveInt
    frames_per_group: PositiveInt = 1
    pass_patches: PositiveInt | None = None
    class_tokens: NonNegativeInt = 0
    passes_per_frame: PositiveInt = 1
    windowed_layers: NonNegativeInt = 0
    window_patches: PositiveInt | None = None

    @model_validator(mode="after")
    def _fits(self) -> Vision:
        if (self.pass_patches is None) == (self.frames_per_group == 1):
            raise ValueError(
                "either frames_per_group (2 or more) or pass_patches says what attends to each other"
            )
        if (self.windowed_layers > 0) != (self.window_patches is not None):
            raise ValueError("windowed_layers and window_patches go together")
        if self.windowed_layers > self.layers:
            raise ValueError("more layers have windows (windowed_layers) than there are")
        return self


class Connector(_Numbers):
    """What maps a tower's features into a language model; the kinds are functions in `eccdata.flops.formulas`.

    Attributes:
        kind: Which formula.
        passes: Of a merger: how often it runs, adapters of the same shape included.
        tokens_per_frame: Of a merger: how many tokens it gives for a frame, where tokens are averaged behind it.
        ffn: Of a gated merger: the width of its feed-forward.
        queries: Of a resampler: how many tokens a call gives.

    """

    kind: Literal["merger", "gated_merger", "unshuffle", "pooling", "resampler"]
    passes: PositiveInt = 1
    tokens_per_frame: PositiveInt | None = None
    ffn: PositiveInt | None = None
    queries: PositiveInt | None = None

    @model_validator(mode="after")
    def _fits(self) -> Connector:
        for kind, name in (("gated_merger", "ffn"), ("resampler", "queries")):
            if (self.kind == kind) != (getattr(self, name) is not None):
                raise ValueError(f"{name} goes with kind {kind}, and with no other")
        return self


class Source(_Numbers):
    """Where a declaration comes from.

    Attributes:
        checkpoint: The checkpoint's folder or id, as it was given.
        sha256: Digest of its config.json.

    """

    checkpoint: str
    sha256: str


class Architecture(_Numbers):
    """A model, as far as its price goes.

    Attributes:
        name: As in Table 2.
        names: Further names.
        checkpoints: Ids on the Hub.
        family: Whose rule says how many tokens clips cost; None for a model of text alone.
        context: The most positions it was trained on, where known.
        language: Its language model.
        vision: Its tower, where it has one.
        connector: What stands between the two.
        source: Where the declaration comes from, of a user's own.

    """

    name: str
    names: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    family: str | None = None
    context: PositiveInt | None = None
    language: Language
    vision: Vision | None = None
    connector: Connector | None = None
    source: Source | None = None

    @model_validator(mode="after")
    def _whole(self) -> Architecture:
        if len({part is None for part in (self.family, self.vision, self.connector)}) > 1:
            raise ValueError("family, vision and connector go together")
        if self.family is not None and self.family not in (known := [family.name for family in families()]):
            raise ValueError(f"family {self.family} is not known: {', '.join(known)}")
        return self

    @property
    def all_names(self) -> tuple[str, ...]:
        """All that it is called."""
        return (self.name, *self.names, *self.checkpoints)

    @property
    def rules(self) -> Family | None:
        """The family whose rules its clips follow."""
        return next((family for family in families() if family.name == self.family), None)


def architecture(model: str) -> Architecture:
    """The architecture that a name means, to the letter; a user's own declarations go first.

    Args:
        model: A name as in Table 2, one of its other names in the paper's tables, or a checkpoint's id.

    Raises:
        EccdataError: There is none of this name.

    """
    found = find(model)
    if found is None:
        error = unknown("model with a price", model, [each.name for each in architectures()])
        raise EccdataError(
            f"{error} Another one is declared from its config.json: eccdata flops add CHECKPOINT."
        )
    return found


def find(model: str) -> Architecture | None:
    """As `architecture`, and None where there is none."""
    return next((each for each in architectures() if model in each.all_names), None)


def architectures() -> tuple[Architecture, ...]:
    """All that have a price: a user's own, then those of Table 2.

    Raises:
        EccdataError: The user's file cannot be read.

    """
    return (*declared(), *shipped())


@cache
def shipped() -> tuple[Architecture, ...]:
    """The models of Table 2, in its order."""
    text = files("eccdata.flops").joinpath("architectures.yaml").read_text(encoding="utf-8")
    return read(yaml.safe_load(text), "architectures.yaml")


def user_file() -> Path:
    """Where a user's own declarations are: $ECCDATA_ARCHITECTURES, or a file in the platform's folder for settings.

    The file is `architectures.yaml`, the folder on Linux $XDG_CONFIG_HOME/eccdata or ~/.config/eccdata.
    """
    import typer  # here, since prices are asked for where no command line is

    named = os.environ.get(FILE_VARIABLE)
    return Path(named) if named else Path(typer.get_app_dir("eccdata")) / "architectures.yaml"


def declared(file: Path | None = None) -> tuple[Architecture, ...]:
    """A user's own declarations; none where there is no file.

    Raises:
        EccdataError: The file cannot be read, or naming each thing that is wrong in it.

    """
    path = file or user_file()
    try:
        stat = path.stat()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise EccdataError(f"{path} cannot be read: {error.strerror}.") from error
    return _declared(path, stat.st_mtime_ns, stat.st_size)


@cache
def _declared(path: Path, _mtime_ns: int, _size: int) -> tuple[Architecture, ...]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise EccdataError(f"{path} is no YAML file: {' '.join(str(error).split())}") from error
    except RecursionError:
        raise EccdataError(
            f"{path} holds no architectures: its content is nested too deeply to be read."
        ) from None
    return read(content, str(path))


def read(content: Any, where: str) -> tuple[Architecture, ...]:
    """Read declarations, of the form of `architectures.yaml`.

    Args:
        content: The file's content.
        where: What to call it in errors.

    Raises:
        EccdataError: Naming each field that is missing or wrong, and each name that stands for two models.

    """
    if (
        not isinstance(content, Mapping)
        or content.keys() != {"models"}
        or not isinstance(content["models"], list)
    ):
        raise EccdataError(
            f"{where} holds no architectures: it has to be a mapping with one key, `models`, a list."
        )
    found, wrong = [], []
    for place, entry in enumerate(content["models"]):
        name = entry.get("name") if isinstance(entry, Mapping) else None
        try:
            found.append(Architecture.model_validate(_tuples(entry)))
        except ValidationError as error:
            wrong += [f"{name or f'model {place + 1}'}: {fault}" for fault in faults(error)]
    wrong += [f"{name}: stands for more than one model" for name in _twice(found)]
    if wrong:
        raise problem(
            f"{where} declares what cannot be priced:",
            wrong,
            "The shipped architectures.yaml explains every field.",
        )
    return tuple(found)


def faults(error: ValidationError) -> list[str]:
    """What is wrong with a declaration, each as `field: what`."""
    return [
        f"{'.'.join(map(str, fault['loc'])) or 'as a whole'}: {fault['msg'].removeprefix('Value error, ')}"
        for fault in error.errors()
    ]


def _tuples(entry: Any) -> Any:
    """Lists as tuples, which can be keys."""
    if not isinstance(entry, Mapping):
        return entry
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


def _twice(found: Iterable[Architecture]) -> list[str]:
    names = [name for each in found for name in each.all_names]
    return sorted({name for name in names if names.count(name) > 1})
