from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from eccdata.errors import EccdataError
from eccdata.systems.embedding_server import Embedding
from eccdata.systems.retrieval.kept import KeptEmbeddings

EMBEDDER = "e" * 64


def embedding(seed: int, tokens: int | None = 7) -> Embedding:
    vector = np.random.default_rng(seed).normal(size=32)
    return Embedding((vector / np.linalg.norm(vector)).astype(np.float32), tokens)


def test_what_is_put_is_there_for_others(tmp_path: Path) -> None:
    ours, theirs = (KeptEmbeddings(tmp_path / "index", EMBEDDER) for _ in range(2))
    keys = [ours.key(f"clip {place}") for place in range(3)]
    assert ours.get(keys) == {}
    ours.put(keys[0], embedding(0))
    ours.put(keys[2], embedding(2, None))
    found = theirs.get([*keys, keys[0]])
    assert list(found) == [keys[0], keys[2]]
    assert found[keys[0]].vector.tobytes() == embedding(0).vector.tobytes()
    assert (found[keys[0]].prompt_tokens, found[keys[2]].prompt_tokens) == (7, None)
    assert not list(tmp_path.rglob("*.incomplete"))


def test_the_first_one_stays(tmp_path: Path) -> None:
    """Two processes that embed the same at a time both go on with the same numbers."""
    kept = KeptEmbeddings(tmp_path, EMBEDDER)
    key = kept.key("clip")
    assert kept.put(key, embedding(1)).vector.tobytes() == embedding(1).vector.tobytes()
    assert kept.put(key, embedding(2)).vector.tobytes() == embedding(1).vector.tobytes()


@pytest.mark.parametrize("damage", [b"", b"PAR1", None])
def test_a_file_that_cannot_be_read_is_made_anew(damage: bytes | None, tmp_path: Path) -> None:
    kept = KeptEmbeddings(tmp_path, EMBEDDER)
    key, other = kept.key("clip"), kept.key("other")
    kept.put(key, embedding(1))
    kept.put(other, embedding(2))
    (path,) = tmp_path.rglob(f"{key}.parquet")
    (of_other,) = tmp_path.rglob(f"{other}.parquet")
    # cut off, or with another's content
    path.write_bytes(of_other.read_bytes() if damage is None else damage)
    assert kept.get([key]) == {}
    kept.put(key, embedding(3))
    assert kept.get([key])[key].vector.tobytes() == embedding(3).vector.tobytes()


def test_a_number_that_a_disk_has_changed_is_not_taken(tmp_path: Path) -> None:
    kept = KeptEmbeddings(tmp_path, "ab" * 32)
    vector = np.array([0.6, 0.8], np.float32)
    kept.put(kept.key("x"), Embedding(vector, 5))
    (path,) = tmp_path.rglob("*.parquet")
    whole = path.read_bytes()
    assert whole.count(vector.tobytes()) >= 1
    path.write_bytes(whole.replace(vector.tobytes(), np.array([0.6, 0.7], np.float32).tobytes()))
    assert kept.get([kept.key("x")]) == {}


def test_another_embedder_has_others(tmp_path: Path) -> None:
    one, other = KeptEmbeddings(tmp_path, "a" * 64), KeptEmbeddings(tmp_path, "b" * 64)
    assert one.key("clip") != other.key("clip")
    one.put(one.key("clip"), embedding(1))
    assert other.get([other.key("clip")]) == {}


def test_the_folder_is_a_table(tmp_path: Path) -> None:
    for embedder in ("a" * 64, "b" * 64):
        kept = KeptEmbeddings(tmp_path, embedder)
        for place in range(3):
            kept.put(kept.key(str(place)), embedding(place))
    found = duckdb.sql(f"""
        SELECT count(*), count(DISTINCT embedder), min(len(embedding)), max(prompt_tokens)
        FROM read_parquet('{tmp_path}/**/*.parquet')
    """)
    assert found is not None
    (counted,) = found.fetchall()
    assert counted == (6, 2, 32, 7)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file")
    kept = KeptEmbeddings(tmp_path / "index", EMBEDDER)
    with pytest.raises(
        EccdataError, match=r"index.* cannot be written: Not a directory\. The option `index`"
    ):
        kept.put(kept.key("clip"), embedding(1))
