"""Prices from a checkpoint's config.json: the models of Table 2 from the fields that theirs have, and others."""

from __future__ import annotations

from typing import Any

import pytest

from eccdata.errors import EccdataError
from eccdata.flops import coefficients, price
from eccdata.flops.architectures import architecture
from eccdata.flops.config import from_config, numbers

Config = dict[str, Any]


def language(
    kind: str, width: int, ffn: int, layers: int, heads: int, kv: int, vocabulary: int, **more: Any
) -> Config:
    return {
        "model_type": kind,
        "hidden_size": width,
        "intermediate_size": ffn,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "vocab_size": vocabulary,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        **more,
    }


def qwen25(ffn: int) -> Config:
    return {
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": ffn,
        "num_heads": 16,
        "in_chans": 3,
        "out_hidden_size": 3584,
        "spatial_merge_size": 2,
        "spatial_patch_size": 14,
        "patch_size": 14,
        "temporal_patch_size": 2,
        "window_size": 112,
        "fullatt_block_indexes": [7, 15, 23, 31],
        "tokens_per_second": 2,
    }


def qwen3(out: int) -> Config:
    return {
        "depth": 27,
        "hidden_size": 1152,
        "intermediate_size": 4304,
        "num_heads": 16,
        "out_hidden_size": out,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "deepstack_visual_indexes": [8, 16, 24],
    }


def siglip(size: int = 980) -> Config:
    return {
        "model_type": "siglip_vision_model",
        "hidden_size": 1152,
        "intermediate_size": 4304,
        "num_hidden_layers": 27,
        "num_attention_heads": 16,
        "patch_size": 14,
        "image_size": size,
    }


def intern(width: int, ffn: int, layers: int) -> Config:
    return {
        "model_type": "intern_vit_6b",
        "hidden_size": width,
        "intermediate_size": ffn,
        "num_hidden_layers": layers,
        "patch_size": 14,
        "image_size": 448,
    }


def internvl(text: Config, vision: Config) -> Config:
    return {
        "architectures": ["InternVLChatModel"],
        "model_type": "internvl_chat",
        "downsample_ratio": 0.5,
        "force_image_size": 448,
        "llm_config": {"architectures": ["Qwen3ForCausalLM"], "max_position_embeddings": 40960, **text},
        "vision_config": vision,
    }


MOE = {
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 768,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "head_dim": 128,
}
GLM = {
    "n_routed_experts": 128,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "first_k_dense_replace": 1,
    "moe_intermediate_size": 1408,
    "head_dim": 128,
    "max_position_embeddings": 65536,
}
SMOLLM2 = language(
    "llama", 576, 1536, 30, 9, 3, 49152, architectures=["LlamaForCausalLM"], max_position_embeddings=8192
)

TABLE_4: dict[str, Config] = {
    "Qwen2.5-VL (7B)": {
        "architectures": ["Qwen2_5_VLForConditionalGeneration"],
        **language(
            "qwen2_5_vl", 3584, 18944, 28, 28, 4, 152064, sliding_window=32768, use_sliding_window=False
        ),
        "max_position_embeddings": 128000,
        "vision_config": qwen25(3420),
    },
    "MIMO-VL (7B)": {
        "architectures": ["Qwen2_5_VLForConditionalGeneration"],
        **language("qwen2_5_vl", 4096, 11008, 36, 32, 8, 151680, max_position_embeddings=128000),
        "vision_config": qwen25(3456),
    },
    "Qwen3-VL (8B)": {
        "architectures": ["Qwen3VLForConditionalGeneration"],
        "model_type": "qwen3_vl",
        "text_config": language(
            "qwen3_vl_text", 4096, 12288, 36, 32, 8, 151936, head_dim=128, max_position_embeddings=262144
        ),
        "vision_config": qwen3(4096),
    },
    "Qwen3-Omni (30B, A3B)": {
        "architectures": ["Qwen3OmniMoeForConditionalGeneration"],
        "model_type": "qwen3_omni_moe",
        "talker_config": {"text_config": language("qwen3_omni_moe_talker_text", 1024, 2048, 20, 16, 2, 3072)},
        "thinker_config": {
            "audio_config": {"d_model": 1280},
            "text_config": language(
                "qwen3_omni_moe_text", 2048, 768, 48, 32, 4, 152064, max_position_embeddings=65536, **MOE
            ),
            "vision_config": qwen3(2048),
        },
    },
    "GLM-4.5V (104B, A12B)": {
        "architectures": ["Glm4vMoeForConditionalGeneration"],
        "model_type": "glm4v_moe",
        "text_config": language("glm4v_moe_text", 4096, 10944, 46, 96, 8, 151552, **GLM),
        "vision_config": {
            "depth": 24,
            "hidden_size": 1536,
            "intermediate_size": 10944,
            "out_hidden_size": 4096,
            "patch_size": 14,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
        },
    },
    "InternVL3.5 (8B)": internvl(
        language("qwen3", 4096, 12288, 36, 32, 8, 151936, head_dim=128), intern(1024, 4096, 24)
    ),
    "InternVL3.5 (30B, A3B)": internvl(
        language("qwen3_moe", 2048, 6144, 48, 32, 4, 151936, **MOE), intern(1024, 4096, 24)
    ),
    "InternVL3.5 (38B)": internvl(
        language("qwen3", 5120, 25600, 64, 64, 8, 151936, head_dim=128), intern(3200, 12800, 45)
    ),
    "MiniCPM-V 4.5 (9B)": {
        "architectures": ["MiniCPMV"],
        "version": 4.5,
        **language("minicpmv", 4096, 12288, 36, 32, 8, 151748, head_dim=128, max_position_embeddings=40960),
        "query_num": 64,
        "vision_config": siglip(),
    },
    "MiniCPM-V 2.6 (8B)": {
        "architectures": ["MiniCPMV"],
        "version": 2.6,
        **language("minicpmv", 3584, 18944, 28, 28, 4, 151666, max_position_embeddings=32768),
        "query_num": 64,
        "vision_config": siglip(),
    },
    "LongVILA (7B)": {
        "architectures": ["LlavaLlamaModel"],
        "model_type": "llava_llama",
        "llm_cfg": language("qwen2", 3584, 18944, 28, 28, 4, 151651),
        "vision_tower_cfg": siglip(448),
    },
    "Phi-4-MM (6B)": {
        "architectures": ["Phi4MMForCausalLM"],
        **language(
            "phi4mm", 3072, 8192, 32, 24, 8, 200064, sliding_window=262144, max_position_embeddings=131072
        ),
        "vision_lora": {"dp": 0.0, "lora_alpha": 512, "r": 256},
        "speech_lora": {"r": 320},
    },
}


@pytest.mark.parametrize("model", TABLE_4)
def test_table_4_follows_from_the_checkpoints(model: str) -> None:
    """Also from no more than what a run's card keeps of them."""
    known = architecture(model)
    for config in (TABLE_4[model], numbers(TABLE_4[model])):
        made = from_config(config, name=model)
        for part in ("language", "vision", "connector", "family", "context"):
            assert getattr(made, part) == getattr(known, part), part
        assert coefficients(made) == coefficients(model)


def test_what_a_card_keeps_is_small() -> None:
    kept = numbers(TABLE_4["Qwen3-Omni (30B, A3B)"])
    assert kept.keys() == {"architectures", "model_type", "thinker_config"}
    assert kept["thinker_config"].keys() == {"text_config", "vision_config"}
    assert "rms_norm_eps" not in kept["thinker_config"]["text_config"]


def test_a_model_of_text_alone() -> None:
    """SmolLM2-135M has 134.5 million weights, and its body costs two FLOPs a token for each outside the embedding."""
    made = from_config(SMOLLM2, name="SmolLM2-135M")
    b, a, f_voc = coefficients(made)
    assert b == 2 * 30 * (2 * 576**2 + 2 * 576 * 192 + 3 * 576 * 1536)
    assert (a, f_voc) == (4 * 30 * 576, 2 * 576 * 49152)
    assert b + f_voc == pytest.approx(2 * 134.5e6, rel=0.002)
    assert price(made, prompt_tokens=9).prefill == 9 * b + 45 * a
    with pytest.raises(EccdataError, match="a model of text alone"):
        price(made, frames=2, frame_size=(448, 448))


def test_mixtures() -> None:
    base = {"num_experts_per_tok": 2}
    mixtral = from_config(
        language("mixtral", 4096, 14336, 32, 32, 8, 32000, num_local_experts=8, sliding_window=None, **base),
        name="Mixtral-8x7B",
    )
    # about 12.9 billion active weights, 0.26 billion of which are the embedding and the output projection
    assert sum(coefficients(mixtral)[::2]) == pytest.approx(2 * 12.75e9, rel=0.005)
    shared = from_config(
        language(
            "qwen2_moe", 2048, 5632, 24, 16, 16, 151936,
            num_experts=60, moe_intermediate_size=1408, shared_expert_intermediate_size=5632,
            decoder_sparse_step=1, num_experts_per_tok=4,
        ),
        name="Qwen1.5-MoE-A2.7B",
    )  # fmt: skip
    assert shared.language.experts is not None
    assert shared.language.experts.shared_ffn == 5632
    glm = from_config(language("glm4_moe", 4096, 10944, 46, 96, 8, 151552, **GLM), name="GLM-4.5-Air")
    assert coefficients(glm) == coefficients("GLM-4.5V")


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({}, ["model_type: missing", "hidden_size: missing", "vocab_size: missing"]),
        ({k: v for k, v in SMOLLM2.items() if k != "num_key_value_heads"}, ["num_key_value_heads: missing"]),
        (SMOLLM2 | {"vocab_size": "many"}, ["vocab_size: has to be a whole number above 0, and is 'many'"]),
        (
            SMOLLM2 | {"num_hidden_layers": 0},
            ["num_hidden_layers: has to be a whole number above 0, and is 0"],
        ),
        (SMOLLM2 | {"model_type": "mamba2"}, ["model_type: 'mamba2' has no formula; known are"]),
        (SMOLLM2 | {"hidden_size": 577}, ["head_dim: missing, and the width is no multiple of the heads"]),
        (SMOLLM2 | {"sliding_window": 4096}, ["sliding_window: attention in windows has no formula"]),
        (
            SMOLLM2 | {"layer_types": ["full_attention", "linear_attention"]},
            ["layer_types: linear_attention has no formula"],
        ),
        (
            SMOLLM2 | {"architectures": ["NewVLForConditionalGeneration"], "vision_config": {"depth": 3}},
            ["architectures: NewVLForConditionalGeneration sees"],
        ),
        (
            {k: v for k, v in TABLE_4["Qwen3-VL (8B)"].items() if k != "vision_config"},
            ["vision_config: missing"],
        ),
        (
            TABLE_4["Qwen3-VL (8B)"] | {"vision_config": {"depth": 27}},
            ["vision_config.hidden_size: missing", "vision_config.deepstack_visual_indexes: missing"],
        ),
        (
            TABLE_4["GLM-4.5V (104B, A12B)"] | {"vision_config": {"spatial_merge_size": 3}},
            ["vision_config.spatial_merge_size: 3 has no formula", "vision_config.out_hidden_size: missing"],
        ),
        (
            SMOLLM2 | {"model_type": "qwen3_moe", "decoder_sparse_step": 2, "mlp_only_layers": [1]},
            [
                "decoder_sparse_step: 2 has no formula",
                "mlp_only_layers: [1] has no formula",
                "num_experts: missing",
                "moe_intermediate_size: missing",
            ],
        ),
        (
            SMOLLM2 | {"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 3},
            ["more experts are active than there are"],
        ),
    ],
)
def test_what_is_missing_or_has_no_formula_is_told(config: Config, told: list[str]) -> None:
    with pytest.raises(EccdataError) as caught:
        from_config(config, name="new")
    for each in told:
        assert f"  - {each}" in str(caught.value) or f": {each}" in str(caught.value)
    assert "new" in str(caught.value).splitlines()[0]
