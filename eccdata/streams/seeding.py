"""Random generators keyed by what they are for."""

from __future__ import annotations

import hashlib
import operator

import numpy as np

from eccdata.errors import EccdataError


def generator(seed: int, *key: str | int) -> np.random.Generator:
    """Make the random generator of one purpose: the same on every machine, whatever was drawn before or elsewhere.

    `generator(7, "eccbench", "text", 512, "low", 3, "stream")` names a stream by its place in the benchmark, so
    that it is the same row whatever the number of shards or workers. Different keys give independent generators;
    parts are told apart by type and length, so `("ab", "c")` is not `("a", "bc")` and `1` is not `"1"`.

    Args:
        seed: The seed of the whole build, at least 0.
        key: What the generator is for, from the general to the particular.

    Raises:
        EccdataError: The seed is negative.
        TypeError: The seed or a part of the key is of another type.

    """
    seed = operator.index(seed)
    if seed < 0:
        raise EccdataError(f"seed is {seed}; it must be 0 or more.")
    words = np.frombuffer(_digest(key), dtype="<u4")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=words.tolist())))


def _digest(key: tuple[str | int, ...]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in key:
        if isinstance(part, str):
            tag, text = b"s", part.encode()
        else:
            tag, text = b"i", b"%d" % operator.index(part)
        digest.update(b"%s%d:%s" % (tag, len(text), text))
    return digest.digest()
