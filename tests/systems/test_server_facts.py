from __future__ import annotations

import json
from typing import Any

import pytest

from eccdata.systems.server_facts import decisive, differences, told

# The shape of SGLang 0.5.23's /server_info, with a secret wherever one can stand.
SECRET = "sk-very-secret"
INFO: dict[str, Any] = {
    "model_path": "org/model",
    "tokenizer_path": "org/model",
    "served_model_name": "tiny",
    "dtype": "float32",
    "quantization": None,
    "attention_backend": "torch_native",
    "mm_attention_backend": "sdpa",
    "sampling_backend": "pytorch",
    "context_length": 2048,
    "random_seed": 1,
    "mm_process_config": {"video": {"fps": 1, "max_frames": 4}},
    "chat_template": None,
    "kv_cache_dtype": "auto",
    "max_total_tokens": 16384,
    "reasoning_parser": "qwen3",
    "speculative_token_map": "a-map",
    "version": "0.5.23",
    "api_key": SECRET,
    "admin_api_key": SECRET,
    "ssl_keyfile_password": SECRET,
    "watermark_key": SECRET,
    "watermark_key_b": SECRET,
    "model_loader_extra_config": json.dumps({"aws_secret_access_key": SECRET, "threads": 4}),
    "launch_command": f"python -m sglang.launch_server --api-key {SECRET} --port 30000",
    "host": "node17.cluster",
    "port": 30000,
    "nccl_port": 28311,
    "dist_init_addr": "node17:5000",
    "encoder_urls": ["http://node18:1"],
    "log_level": "info",
    "enable_metrics": True,
    "mem_fraction_static": 0.83,
    "max_total_num_tokens": 16384,
    "max_req_input_len": 2042,
    "max_running_requests": 64,
    "startup_time": 21.7,
    "status": "ready",
    "watchdog_timeout": 300,
    "internal_states": [{"last_gen_throughput": 312.5, "memory_usage": {"weight": 0.1}}],
    "kv_events": None,
    "download_dir": "/home/someone/models",
}


def test_no_secret_is_told() -> None:
    for view in (told(INFO), decisive(INFO)):
        assert SECRET not in json.dumps(view)
        assert "node1" not in json.dumps(view)


@pytest.mark.parametrize(
    "name",
    [
        "model_path",
        "tokenizer_path",
        "dtype",
        "attention_backend",
        "mm_attention_backend",
        "sampling_backend",
        "context_length",
        "random_seed",
        "mm_process_config",
        "kv_cache_dtype",
        "max_total_tokens",
        "reasoning_parser",
        "speculative_token_map",
        "version",
    ],
)
def test_what_could_change_an_answer_counts(name: str) -> None:
    assert decisive(INFO) != decisive({**INFO, name: "another"})


@pytest.mark.parametrize("name", ["quantization", "chat_template", "a_field_of_a_later_version"])
def test_what_is_set_that_was_not_counts(name: str) -> None:
    assert decisive(INFO) != decisive({**INFO, name: "set"})


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "admin_api_key",
        "launch_command",
        "host",
        "port",
        "nccl_port",
        "dist_init_addr",
        "log_level",
        "enable_metrics",
        "mem_fraction_static",
        "max_total_num_tokens",
        "max_req_input_len",
        "max_running_requests",
        "startup_time",
        "status",
        "watchdog_timeout",
        "internal_states",
        "download_dir",
        "served_model_name",
    ],
)
def test_what_could_not_does_not(name: str) -> None:
    assert decisive(INFO) == decisive({**INFO, name: "another"})


def test_what_is_told_holds_what_helps_to_understand_a_run() -> None:
    assert told(INFO)["max_total_num_tokens"] == 16384
    assert told(INFO)["model_loader_extra_config"] == {"threads": 4}


@pytest.mark.parametrize(
    "info",
    [
        {"accessToken": SECRET},
        {"x-api-key": SECRET},
        {"args": ["--model", "m", "--api-key", SECRET, "--port", "1"]},
        {"args": [f"--api-key={SECRET}"]},
        {"headers": ["-H", f"Authorization: Bearer {SECRET}"]},
        {"pairs": [["api_key", SECRET], ["n", 1]]},
        {"env": [{"name": "HF_TOKEN", "value": SECRET}]},
        {"cmdline": f"serve --api-key {SECRET} --x"},
        {"banner": f"Bearer {SECRET}"},
        {"options": json.dumps(["--api-key", SECRET])},
        {"options": json.dumps([{"nested": json.dumps({"apiKey": SECRET})}])},
        {"peers": f"http://me:{SECRET}@a/x,http://me:{SECRET}@b/y"},
    ],
)
def test_secrets_in_every_place(info: dict[str, Any]) -> None:
    assert SECRET not in json.dumps(told(info))
    assert SECRET not in json.dumps(decisive(info))


def test_what_is_no_secret_stays() -> None:
    info = {
        "args": ["--model", "m", "--chunk", "8"],
        "env": [{"name": "THREADS", "value": "4"}],
        "list": "[not json",
        "stops": ["token", "key", "end"],
    }
    assert told(info) == info


def test_differences_are_named() -> None:
    old = {"a": 1, "b": {"c": 1, "d": 2}, "e": None}
    assert differences(old, {"a": 1, "b": {"c": 2, "d": 2}, "f": "x"}) == ["b.c: 1 → 2", "f: (not set) → x"]
    assert differences(old, old) == []
