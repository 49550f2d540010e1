"""What a server says of itself, sorted: what could change an answer, what is worth telling, what is secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from eccdata.requests import Json
from eccdata.systems.masking import MASKED, is_secret, plain, without_secrets

# The launch command repeats all arguments, secrets among them, in one string.
_UNTOLD = re.compile(
    r"(?i)^(launch_command|sidecar_args|internal_states|kv_event.*|host|hostname|user|username|cwd)$"
    r"|(^|_)(hosts?|addr|address|ip|ips|ports?|urls?|endpoints?|sockets?|ipc_name|pids?|cert.*|ca_certs)($|_)"
)
"""Names of fields that say where a server runs, not what it does: not told either."""

# What neither the weights, the prompt, the kernels nor the sampling depend on. A field that is not known here
# counts as one that could change an answer: a needless refusal is said aloud, a mix-up would not be.
_OPERATIONAL = re.compile(
    r"(?i)^("
    r"startup_time|status|created|last_.*|uptime.*|"
    r"log_.*|.*_log_.*|.*_logging|show_time_cost|uvicorn_.*|crash_dump_folder|"
    r".*metric.*|.*_buckets|bucket_.*|.*trace.*|.*otlp.*|stat_loggers|gc_.*|decode_log_interval|"
    r".*watchdog.*|.*_timeout|.*_timeout_secs|timeout.*|.*_interval|sleep_on_idle|custom_sigquit_handler|numa_node|"
    r".*_worker_num|.*_num_workers|.*_worker_threads|use_ray|frontend|grpc_mode|smg_.*|sidecar|enable_http.*|http2_.*|"
    r"fastapi_root_path|skip_server_warmup|warmups|enable_ssl_refresh|file_storage_path|"
    r"mem_fraction_static|max_total_num_tokens|max_req_input_len|max_running_requests|max_queued_requests|"
    r"available_.*|.*_memory_usage|memory_.*|token_capacity|kvcache|"
    r"schedule_policy|.*priority.*|schedule_conservativeness|prefill_delayer.*|enable_prefill_delayer|"
    r"hicache_.*|enable_cache_report|served_model_name|"
    r"download_dir|weight_loader_.*|.*startup_weight_load.*|base_gpu_id|gpu_id_step|node_rank|"
    r"enable_request_time_stats.*|stream_interval|batch_notify_size|"
    r"media_url_max_file_size_mb|allowed_media_domains|.*_explicitly_set|radix_eviction_.*|"
    r"debug_.*|export_.*|model_checksum_.*"
    r")$"
)


def told(info: Json) -> Json:
    """A server's account of itself as the card may show it: without secrets and without where it runs."""
    if isinstance(info, Mapping):
        named = info.get("name", info.get("key"))
        hides = isinstance(named, str) and is_secret(named)
        return {
            str(name): MASKED if hides and name == "value" else told(value)
            for name, value in sorted(info.items())
            if not is_secret(str(name)) and not _UNTOLD.search(plain(str(name)))
        }
    if isinstance(info, list | tuple):
        return [
            MASKED if index and _announces(info[index - 1], len(info)) else told(value)
            for index, value in enumerate(info)
        ]
    if isinstance(info, str):
        parsed = _json(info)
        return without_secrets(info) if parsed is None else told(parsed)
    return info


def _announces(before: Json, of: int) -> bool:
    """Whether what follows in a list of so many entries is a secret: `--api-key` in a command, a name in a pair."""
    return isinstance(before, str) and is_secret(before) and (of == 2 or before.startswith("-"))


def decisive(info: Json) -> dict[str, Any]:
    """The fields of a server's account that could change an answer; those that are not set (null) count as absent."""
    if not isinstance(info, Mapping):
        return {}
    return {
        name: value
        for name, value in told(info).items()
        if value is not None and not _OPERATIONAL.match(name)
    }


def _json(text: str) -> Json:
    """The object or list that a text is; None where it is neither."""
    # Options such as --model-loader-extra-config hold JSON, and secrets may stand in it.
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return orjson.loads(text)
    except ValueError:
        return None


def differences(old: Mapping[str, Json], new: Mapping[str, Json], prefix: str = "") -> list[str]:
    """The fields in which two accounts differ, each as `name: old → new`."""
    found = []
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            found += differences(before, after, f"{prefix}{name}.")
        elif before != after:
            found.append(f"{prefix}{name}: {_brief(before)} → {_brief(after)}")
    return found


def _brief(value: Json) -> str:
    text = "(not set)" if value is None else str(value)
    return text if len(text) <= 80 else text[:79] + "…"
