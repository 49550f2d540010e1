"""Two scripted servers that do what a retrieval pipeline wants of them, and do it right: no model, but no noise."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from eccdata.video import cutting
from support.scripted_server import Call, Reply, completion

ANSWERER, EMBEDDER = "Qwen3-Omni (30B, A3B)", "Qwen3-VL (8B)"
DIMENSIONS = 512
TEMPLATE_TOKENS = 26
"""What a chat template puts around an embedder's input."""


def video_bytes(url: str) -> bytes:
    """What a data: URL holds."""
    head, _, data = url.partition(",")
    assert head == "data:video/mp4;base64", head
    return base64.b64decode(data)


def letters(url: str) -> list[int]:
    """The pictures of a video of letters on belts."""
    found = cutting._belts(video_bytes(url))
    assert found is not None, "not a stream of letters on belts, or coded anew"
    return found


def vision_tokens(frames: int) -> int:
    """What Qwen3-VL makes of 448×448 frames."""
    return 196 * (frames // 2)


def pages(name: str, **info: Any) -> dict[str, Any]:
    """What a server says of itself."""
    told = {"architectures": ["Qwen3VLForConditionalGeneration"], "has_image_understanding": True, **info}
    return {
        "/v1/models": {"object": "list", "data": [{"id": name, "object": "model", "max_model_len": 32768}]},
        "/model_info": told,
        "/server_info": {
            "version": "0.5.23",
            "random_seed": int.from_bytes(hashlib.sha256(b"0").digest()[:3]),
        },
    }


class Embedder:
    """Embeds a clip of letters as the count of its pairs of neighbours, and a sentence by its digest.

    Attributes:
        embedded: How often each input was.
        busy, busiest: How many requests are, and were at most, under way.

    """

    def __init__(self, *, delay_s: float = 0.0, fail: Callable[[int], Reply | None] = lambda _: None) -> None:
        self.pages = pages(EMBEDDER, is_generation=False)
        self.embedded: Counter[str] = Counter()
        self.frames: list[int] = []
        self.calls = 0
        self.delay_s = delay_s
        self.fail = fail
        self.read = letters

    def __call__(self, call: Call) -> Reply:
        if call.path in self.pages:
            return Reply(self.pages[call.path])
        if call.path != "/v1/embeddings":
            return Reply({"detail": "Not Found"}, status=404)
        (item,) = call.json["input"]
        if "video" in item:
            self.calls += 1
            failed = self.fail(self.calls)
            if failed is not None:
                return failed
            shown = self.read(item["video"])
            self.frames.append(len(shown))
            vector = pairs(shown)
            tokens = vision_tokens(len(shown)) + TEMPLATE_TOKENS
        else:
            seed = int.from_bytes(hashlib.sha256(item["text"].encode()).digest()[:8])
            vector = np.random.default_rng(seed).normal(size=DIMENSIONS)
            tokens = len(item["text"].split()) + TEMPLATE_TOKENS
        self.embedded[item.get("video") or item["text"]] += 1
        return Reply(embeddings(vector, tokens, call.json.get("encoding_format")), delay_s=self.delay_s)

    @property
    def clips(self) -> int:
        """How many clips were embedded."""
        return sum(count for what, count in self.embedded.items() if what.startswith("data:"))


def pairs(shown: list[int]) -> np.ndarray:
    """Counts of neighbours, in a vector of fixed size."""
    vector = np.zeros(DIMENSIONS)
    for left, right in pairwise(shown):
        vector[(left * 48 + right) * 7 % DIMENSIONS] += 1
    return vector + 1e-3


def embeddings(vector: np.ndarray, tokens: int, encoding: str | None = None) -> dict[str, Any]:
    """A reply in the form that SGLang sends."""
    values: Any = vector.astype("<f4")
    told = base64.b64encode(values.tobytes()).decode() if encoding == "base64" else values.tolist()
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": 0, "embedding": told}],
        "model": "somewhere",
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0},
    }


class Answerer:
    """Looks at the two videos it is sent and answers by them alone: `{0}` where the second occurs in the first."""

    def __init__(self) -> None:
        self.pages = pages(ANSWERER, is_generation=True)
        self.asked: list[Any] = []

    def __call__(self, call: Call) -> Reply:
        if call.path in self.pages:
            return Reply(self.pages[call.path])
        if call.path != "/v1/chat/completions":
            return Reply({"detail": "Not Found"}, status=404)
        content = call.json["messages"][-1]["content"]
        self.asked.append(content)
        videos = [letters(part["video_url"]["url"]) for part in content if part["type"] == "video_url"]
        text = " ".join(part["text"] for part in content if part["type"] == "text")
        tokens = sum(vision_tokens(len(video)) for video in videos)
        main, option = (bytes(video) for video in videos)
        # an odd number is made even by showing the last frame again
        seen = option in main or (option[-1] == option[-2] and option[:-1] in main)
        reply = completion(
            f"Looking closely: {{{0 if seen else 1}}}", prompt_tokens=tokens + len(text.split())
        )
        reply["usage"]["prompt_tokens_details"] = {"video_tokens": tokens, "image_tokens": 0}
        return Reply(reply)
