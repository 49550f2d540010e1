"""A model's numbers from its checkpoint's config.json: language models of text alone, and the families that see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from eccdata.errors import problem
from eccdata.flops.architectures import (
    Architecture,
    Connector,
    DenseLayers,
    Experts,
    Language,
    Source,
    Vision,
    faults,
    shipped,
)
from eccdata.vision_tokens import Family, family_of

FRAME = 448
"""The side in pixels of the pictures of towers that take them in one size (B.3)."""

DENSE = frozenset(
    {
        *("gemma", "glm4v_text", "granite", "llama", "minicpmv", "mistral", "olmo2", "phi3", "phi4mm"),
        *("qwen2", "qwen2_5_vl", "qwen2_5_vl_text", "qwen3", "qwen3_vl_text", "smollm3"),
    }
)
"""Kinds of language model (`model_type`) with one gated feed-forward a layer, and attention to all that came before."""


@dataclass(frozen=True, slots=True)
class _Mixture:
    """How a kind of mixture of experts calls its numbers."""

    count: str
    ffn: str = "moe_intermediate_size"
    shared_count: str | None = None
    """Experts of width `ffn` that are always active."""
    shared_ffn: str | None = None
    """Width of one that is."""
    dense: str | None = None
    """How many of the first layers are of one feed-forward, of width `intermediate_size`."""


MIXTURES: Mapping[str, _Mixture] = {
    "mixtral": _Mixture("num_local_experts", ffn="intermediate_size"),
    "olmoe": _Mixture("num_experts", ffn="intermediate_size"),
    "qwen2_moe": _Mixture("num_experts", shared_ffn="shared_expert_intermediate_size"),
    "qwen3_moe": _Mixture("num_experts"),
    "qwen3_vl_moe_text": _Mixture("num_experts"),
    "qwen3_omni_moe_text": _Mixture("num_experts"),
    "glm4_moe": _Mixture("n_routed_experts", shared_count="n_shared_experts", dense="first_k_dense_replace"),
    "glm4v_moe_text": _Mixture(
        "n_routed_experts", shared_count="n_shared_experts", dense="first_k_dense_replace"
    ),
}
"""Kinds of language model that are mixtures of experts."""

PARTS = (
    "thinker_config",
    "text_config",
    "llm_config",
    "llm_cfg",
    "vision_config",
    "vision_tower_cfg",
    "vision_lora",
)
"""Where a config.json keeps numbers of parts."""

NUMBERS = frozenset(
    {
        *("architectures", "model_type", "version", "hidden_size", "intermediate_size", "num_hidden_layers"),
        *("num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size", "max_position_embeddings"),
        *(
            "sliding_window",
            "use_sliding_window",
            "layer_types",
            "num_experts_per_tok",
            "decoder_sparse_step",
        ),
        *("mlp_only_layers", "depth", "patch_size", "spatial_patch_size", "temporal_patch_size"),
        *("spatial_merge_size", "out_hidden_size", "window_size", "fullatt_block_indexes"),
        *("deepstack_visual_indexes", "downsample_ratio", "query_num", "r"),
        *(
            name
            for kind in MIXTURES.values()
            for name in (kind.count, kind.ffn, kind.shared_count, kind.shared_ffn, kind.dense)
            if name is not None
        ),
    }
)
"""The fields from which a price follows."""


def numbers(config: Mapping[str, Any]) -> dict[str, Any]:
    """What of a config.json says what the model costs, and nothing else."""
    return {
        name: numbers(value) if name in PARTS else value
        for name, value in config.items()
        if value is not None and (name in NUMBERS or (name in PARTS and isinstance(value, Mapping)))
    }


def from_config(config: Mapping[str, Any], *, name: str, source: Source | None = None) -> Architecture:
    """Make an architecture from the contents of a config.json.

    Args:
        config: The contents, or what `numbers` leaves of them.
        name: What to call the model.
        source: Where they come from.

    Raises:
        EccdataError: Naming each field that is missing, and each that says something that has no formula.

    """
    fields = _Fields(config)
    architecture = next(iter(config.get("architectures") or ()), None)
    whole = fields.part("thinker_config") or fields
    family = family_of(architecture, config)
    if family is None and (whole.part("vision_config") or whole.part("vision_tower_cfg")):
        fields.wrong.append(
            f"architectures: {architecture} sees, and how many tokens its clips cost is not known"
        )
    text = next(filter(None, (whole.part(part) for part in ("text_config", "llm_config", "llm_cfg"))), whole)
    lora = fields.part("vision_lora")
    language = _language(text, lora.whole("r") if lora and family and family.name == "Phi-4-MM" else None)
    vision, connector = _eyes(whole, family) if family is not None else (None, None)
    try:
        if not fields.wrong:
            return Architecture(
                name=name,
                checkpoints=(source.checkpoint,) if source and source.checkpoint != name else (),
                family=family.name if family else None,
                context=text.maybe("max_position_embeddings"),
                language=Language(**language),
                vision=vision,
                connector=connector,
                source=source,
            )
    except ValidationError as error:
        fields.wrong += faults(error)
    raise problem(
        f"What {name} costs does not follow from its config.json:",
        fields.wrong,
        "Give a config.json that has these fields, or write the model's numbers into the file of your own "
        "declarations: eccdata flops says where it is.",
    )


@dataclass(slots=True)
class _Fields:
    """The fields of a config or of a part of one; what is wrong with them is gathered, so as to be told together."""

    values: Mapping[str, Any]
    prefix: str = ""
    wrong: list[str] = field(default_factory=list)

    def part(self, name: str) -> _Fields | None:
        value = self.values.get(name)
        return _Fields(value, f"{self.prefix}{name}.", self.wrong) if isinstance(value, Mapping) else None

    def maybe(self, name: str) -> int | None:
        value = self.values.get(name)
        # older files have a patch's or a picture's side twice over
        if isinstance(value, list) and value and value.count(value[0]) == len(value):
            value = value[0]
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

    def whole(self, *names: str) -> int:
        """The first of these that is there; 1 where none is, which is told."""
        for name in names:
            if (found := self.maybe(name)) is not None:
                return found
        given = self.values.get(names[0])
        what = "missing" if given is None else f"has to be a whole number above 0, and is {given!r}"
        self.wrong.append(f"{self.prefix}{names[0]}: {what}")
        return 1

    def listed(self, name: str) -> Sequence[Any]:
        value = self.values.get(name)
        if not isinstance(value, list):
            self.wrong.append(f"{self.prefix}{name}: missing")
            return ()
        return value

    def only(self, name: str, *allowed: Any) -> None:
        """See that a field, where it is there, says what the formulas are for."""
        if (value := self.values.get(name)) is not None and value not in allowed:
            self.wrong.append(f"{self.prefix}{name}: {value!r} has no formula")


def _language(text: _Fields, lora_rank: int | None) -> dict[str, Any]:
    kind = text.values.get("model_type")
    mixture = MIXTURES.get(str(kind))
    if kind is None:
        text.wrong.append(f"{text.prefix}model_type: missing")
    elif mixture is None and kind not in DENSE:
        known = ", ".join(sorted({*DENSE, *MIXTURES}))
        text.wrong.append(f"{text.prefix}model_type: {kind!r} has no formula; known are {known}")
    width, heads = text.whole("hidden_size"), text.whole("num_attention_heads")
    if text.maybe("head_dim") is None and width % heads:
        text.wrong.append(f"{text.prefix}head_dim: missing, and the width is no multiple of the heads")
    _attention(text)
    found = {
        "layers": text.whole("num_hidden_layers"),
        "width": width,
        "heads": heads,
        "kv_heads": text.whole("num_key_value_heads"),
        "head_width": text.maybe("head_dim") or max(1, width // heads),
        "ffn": text.whole(mixture.ffn if mixture else "intermediate_size"),
        "vocabulary": text.whole("vocab_size"),
        "image_lora_rank": lora_rank,
    }
    return found | (_mixture(text, mixture) if mixture else {})


def _attention(text: _Fields) -> None:
    """See that every layer attends to all that came before."""
    window, limit = text.values.get("sliding_window"), text.values.get("max_position_embeddings")
    wide = isinstance(window, int) and isinstance(limit, int) and window >= limit
    if window is not None and text.values.get("use_sliding_window") is not False and not wide:
        text.wrong.append(f"{text.prefix}sliding_window: attention in windows has no formula")
    kinds = {str(kind) for kind in text.values.get("layer_types") or ()} - {"full_attention"}
    if kinds:
        text.wrong.append(f"{text.prefix}layer_types: {', '.join(sorted(kinds))} has no formula")


def _mixture(text: _Fields, kind: _Mixture) -> dict[str, Any]:
    text.only("decoder_sparse_step", 1)
    text.only("mlp_only_layers", [])
    shared = None
    if kind.shared_ffn is not None:
        shared = text.whole(kind.shared_ffn)
    elif kind.shared_count is not None and text.values.get(kind.shared_count) != 0:
        shared = text.whole(kind.shared_count) * text.whole(kind.ffn)
    count, active = text.whole(kind.count), text.whole("num_experts_per_tok")
    found: dict[str, Any] = {"experts": Experts(count=count, active=active, shared_ffn=shared)}
    if kind.dense is not None and text.values.get(kind.dense) != 0:
        found["dense_layers"] = DenseLayers(count=text.whole(kind.dense), ffn=text.whole("intermediate_size"))
    return found


def _eyes(whole: _Fields, family: Family) -> tuple[Vision | None, Connector | None]:
    """Tower and connector of a family that sees (B.3)."""
    if family.name == "Phi-4-MM":
        # its config.json says nothing of the tower, which is the same in every checkpoint
        known = next(each for each in shipped() if each.family == family.name)
        return known.vision, known.connector
    vision = whole.part("vision_config") or whole.part("vision_tower_cfg")
    if vision is None:
        whole.wrong.append(f"{whole.prefix}vision_config: missing")
        return None, None
    tower = _grid if family.video is not None and family.video["rule"] == "grid" else _passes
    before = len(vision.wrong)
    try:
        made = tower(whole, vision, family)
    except ValidationError as error:
        # where a field is missing, that is what is wrong
        vision.wrong.extend(faults(error) if len(vision.wrong) == before else ())
        return None, None
    return made if len(vision.wrong) == before else (None, None)


def _grid(whole: _Fields, vision: _Fields, family: Family) -> tuple[Vision, Connector]:  # noqa: ARG001
    """Towers whose patches attend to each other within a group of frames of any size, merged two by two."""
    vision.only("spatial_merge_size", 2)
    layers, patch = vision.whole("depth"), vision.whole("patch_size", "spatial_patch_size")
    glm = family.name == "GLM-4.5V"
    windows: dict[str, int] = {}
    if family.name == "Qwen2.5-VL":
        windows["windowed_layers"] = layers - len(vision.listed("fullatt_block_indexes"))
        windows["window_patches"] = max(1, vision.whole("window_size") // patch) ** 2
    if glm:
        # the tower's feed-forward has the width that comes out, the merger's the one that is called intermediate
        connector = Connector(kind="gated_merger", ffn=vision.whole("intermediate_size"))
    elif family.name == "Qwen2.5-VL":
        connector = Connector(kind="merger")
    else:
        connector = Connector(kind="merger", passes=1 + len(vision.listed("deepstack_visual_indexes")))
    tower = Vision(
        layers=layers,
        width=vision.whole("hidden_size"),
        ffn=vision.whole("out_hidden_size" if glm else "intermediate_size"),
        gated=glm or family.name == "Qwen2.5-VL",
        patch=patch,
        frames_per_group=vision.whole("temporal_patch_size"),
        **windows,
    )
    return tower, connector


def _passes(whole: _Fields, vision: _Fields, family: Family) -> tuple[Vision, Connector]:
    """Towers that take pictures in one size."""
    patch = vision.whole("patch_size")
    if family.name == "InternVL3.5":
        whole.only("downsample_ratio", 0.5)
        connector = Connector(kind="unshuffle")
    elif family.name == "LongVILA":
        connector = Connector(kind="merger", tokens_per_frame=(FRAME // patch) ** 2 // 4 or 1)
    else:
        connector = Connector(kind="resampler", queries=whole.whole("query_num"))
    tower = Vision(
        layers=vision.whole("num_hidden_layers"),
        width=vision.whole("hidden_size"),
        ffn=vision.whole("intermediate_size"),
        gated=False,
        patch=patch,
        pass_patches=(FRAME // patch) ** 2 or 1,
        class_tokens=1 if family.name == "InternVL3.5" else 0,
    )
    return tower, connector
