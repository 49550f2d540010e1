from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eccdata.errors import EccdataError
from eccdata.requests import Response, Status
from eccdata.store import Store
from eccdata.store_file import FORMAT, StoreInUse


def key(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with begun(tmp_path / "store.sqlite3") as made:
        yield made


def begun(path: Path) -> Store:
    store = Store.open(path)
    store.accept_server({"model": "m"})
    store.begin_session()
    return store


ANSWER = Response(Status.OK, text="{0}", finish_reason="stop", completion_tokens=3, latency_s=0.25)
FAILURE = Response(Status.TIMEOUT, latency_s=9.0, attempts=8, error="no complete reply within 9 s")

responses = st.builds(
    Response,
    status=st.sampled_from([Status.OK, Status.TRUNCATED]),
    text=st.text(st.characters(exclude_categories=["Cs"])),
    reasoning=st.none() | st.text(st.characters(exclude_categories=["Cs"])),
    finish_reason=st.none() | st.sampled_from(["stop", "length"]),
    prompt_tokens=st.none() | st.integers(0, 2**31 - 1),
    completion_tokens=st.none() | st.integers(0, 2**31 - 1),
    reasoning_tokens=st.none() | st.integers(0, 2**31 - 1),
    cached_tokens=st.none() | st.integers(0, 2**31 - 1),
    token_limit=st.none() | st.integers(1, 2**31 - 1),
    probability=st.none() | st.floats(0, 1),
    latency_s=st.none() | st.floats(0, 1e6),
    attempts=st.integers(1, 100),
    error=st.none() | st.text(st.characters(exclude_categories=["Cs"])),
)


@settings(max_examples=50, deadline=None)
@given(st.lists(responses, min_size=1, max_size=5))
def test_gives_back_what_it_was_given(
    tmp_path_factory: pytest.TempPathFactory, given: list[Response]
) -> None:
    path = tmp_path_factory.mktemp("store") / "s"
    with begun(path) as store:
        for number, response in enumerate(given):
            store.add(key(number), f"q{number}", 1_000_000 + number, response)
    with Store.open(path) as store:
        for number, response in enumerate(given):
            stored = store.get(key(number))
            assert stored is not None
            assert stored.response == response
            assert stored.asked_at == 1_000_000 + number
        assert len(store) == len(given)


def test_a_failure_is_no_answer(store: Store) -> None:
    store.add(key(0), "q0", 1, FAILURE)
    assert store.answer(key(0)) is None
    assert store.failed(key(0))
    assert len(store) == 0
    stored = store.get(key(0))
    assert stored is not None
    assert stored.response == FAILURE
    store.add(key(0), "q0", 2, ANSWER)
    stored = store.get(key(0))
    assert stored is not None
    assert stored.response == ANSWER


def test_failures_of_earlier_sessions_do_not_keep_from_asking(tmp_path: Path) -> None:
    with begun(tmp_path / "s") as store:
        store.add(key(0), "q0", 1, FAILURE)
    with begun(tmp_path / "s") as store:
        assert not store.failed(key(0))


def test_of_two_answers_the_first_stays(store: Store) -> None:
    store.add(key(0), "q0", 1, ANSWER)
    store.add(key(0), "q0", 2, Response(Status.OK, text="{1}"))
    stored = store.get(key(0))
    assert stored is not None
    assert stored.response.text == "{0}"
    assert len(store) == 1


def test_iterates_by_key(store: Store) -> None:
    for number in range(100):
        store.add(key(number), f"q{number}", 1, ANSWER)
    keys = [stored.key for stored in store]
    assert keys == sorted(key(number) for number in range(100))


def test_responses_that_arrive_together_are_on_disk_within_milliseconds(tmp_path: Path) -> None:
    path = tmp_path / "s"

    async def add() -> int:
        with begun(path) as store:
            for number in range(50):
                store.add(key(number), f"q{number}", 1, ANSWER)
            await asyncio.sleep(0.02)
            return committed(path)

    assert asyncio.run(add()) == 50


def committed(path: Path) -> int:
    """What a reader finds who comes after a crash: the file and its log as they stand on disk."""
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.with_name("copy-wal").write_bytes(path.with_name(path.name + "-wal").read_bytes())
    with sqlite3.connect(copy) as db:
        return int(db.execute("select count(*) from responses").fetchone()[0])


def test_survives_kill_9(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from test_store import ANSWER, begun, key
        store = begun(Path(sys.argv[1]))
        for number in range(10**9):
            store.add(key(number), f"q{number}", 1, ANSWER)
            print(number, flush=True)
        """
    )
    path = tmp_path / "s"
    command = [sys.executable, "-c", script, str(path)]
    process = subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = 0
    for line in process.stdout:
        lines = int(line) + 1
        if lines == 500:
            break
    os.kill(process.pid, signal.SIGKILL)
    lines += len(process.stdout.read().splitlines()[:-1])
    process.wait()
    with Store.open(path) as store:
        assert all(store.answer(key(number)) for number in range(lines))
        (session,) = store.sessions()
        assert session["outcome"] == "killed"
        assert session["answers"] >= lines


def test_a_second_process_is_turned_away(tmp_path: Path) -> None:
    path = tmp_path / "s"
    script = "import sys, test_store, pathlib; test_store.begun(pathlib.Path(sys.argv[1]))"
    with begun(path) as store:
        store.add(key(0), "q0", 1, ANSWER)
        command = [sys.executable, "-c", script, str(path)]
        second = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
        assert "in use by another process" in second.stderr.splitlines()[-1]
        with pytest.raises(StoreInUse):
            Store.open(path)
        store.add(key(1), "q1", 1, ANSWER)
    with Store.open(path) as store:
        assert len(store) == 2


@pytest.mark.parametrize(
    "content", [b"not a database, however long it may be " * 100, b"SQLite format 3\x00" + b"\xff" * 4096]
)
def test_a_foreign_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.sqlite3"
    path.write_bytes(content)
    with pytest.raises(EccdataError, match=r"store.sqlite3 is (not a store|damaged)"):
        Store.open(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    with sqlite3.connect(path) as db:
        db.execute("create table t (x)")
    db.close()
    with pytest.raises(EccdataError, match="no store of eccdata's"):
        Store.open(path)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    Store.open(path).close()
    with sqlite3.connect(path) as db:
        db.execute("update meta set value = ? where name = 'format'", (str(FORMAT + 1),))
    db.close()
    with pytest.raises(EccdataError, match="written by a newer eccdata"):
        Store.open(path)


def test_a_damaged_page_is_told(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    with begun(path) as store:
        for number in range(2000):
            store.add(key(number), f"q{number}", 1, ANSWER)
    content = bytearray(path.read_bytes())
    content[4096 * 8 :] = b"\xff" * (len(content) - 4096 * 8)
    path.write_bytes(content)
    with pytest.raises(EccdataError, match="damaged"), Store.open(path) as store:
        list(store)


def test_merges(tmp_path: Path) -> None:
    with begun(tmp_path / "a") as a, begun(tmp_path / "b") as b:
        for number in range(30):
            a.add(key(number), f"q{number}", 1, ANSWER)
        for number in range(20, 50):
            b.add(key(number), f"q{number}", 2, Response(Status.OK, text="{1}"))
        b.add(key(99), "q99", 2, FAILURE)
    with begun(tmp_path / "a") as a:
        assert a.merge(tmp_path / "b") == 20
        assert len(a) == 50
        stored = a.get(key(25))
        assert stored is not None
        assert stored.response.text == "{0}"
        assert a.get(key(99)) is not None


def test_does_not_merge_another_run(tmp_path: Path) -> None:
    for name in "ab":
        with begun(tmp_path / name) as store:
            store.set_meta("identity", {"model": name})
    with Store.open(tmp_path / "a") as a, pytest.raises(EccdataError, match="another run"):
        a.merge(tmp_path / "b")


def test_memory_does_not_grow_with_the_number_of_responses(tmp_path: Path) -> None:
    with begun(tmp_path / "s") as store:
        sizes = []
        tracemalloc.start()
        for number in range(6000):
            store.add(key(number), f"q{number}", 1, ANSWER)
            if number in (1000, 5999):
                sizes.append(tracemalloc.get_traced_memory()[0])
        for _ in store:
            pass
        gc.collect()  # the rows of a query go with its cursor, when the collector comes round
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert max(sizes) - sizes[0] < 100_000


def test_keeps_what_the_options_got_and_what_the_system_tells(tmp_path: Path) -> None:
    told = replace(
        ANSWER, option_probabilities={"yes": 0.75, "no": 0.2}, details={"hit": True, "windows": [1, 4]}
    )
    with begun(tmp_path / "s") as store:
        store.add(key(1), "q1", 1, told)
        stored = store.get(key(1))
    assert stored is not None
    assert stored.response == told
