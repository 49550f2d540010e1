from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eccdata.counts import Scores
from eccdata.errors import EccdataError
from eccdata.evaluation import evaluate
from eccdata.evaluator import Evaluator, Row
from eccdata.requests import Decoding, Json, Request, Response, Status
from eccdata.run import Run
from eccdata.systems.sglang import SGLang
from support.questions import questions
from support.scripted_server import Call, Reply, answer_to, completion, models, serve


@dataclass(frozen=True)
class Echo(Evaluator):
    """A toy protocol: says the candidate, and asks whether the reply repeats it."""

    temperature: float = 0.0
    by_name: bool = True

    benchmark: ClassVar[str] = "toys"
    protocol: ClassVar[str] = "echo"
    version: ClassVar[int] = 1
    carried: ClassVar[Mapping[str, pa.DataType]] = {"length": pa.int32(), "structure": pa.string()}
    schema: ClassVar[pa.Schema] = pa.schema({"correct": pa.bool_(), "abstention": pa.string()})

    def needs(self) -> tuple[str, ...]:
        return ("candidate",)

    def request(self, question: Row) -> Request:
        content = f"Say {question['candidate']}"
        if self.by_name:
            content += f" for {question['question_id']}"
        decoding = Decoding(temperature=self.temperature)
        return Request(
            question["question_id"], "toys.echo/1", ({"role": "user", "content": content},), decoding
        )

    def columns(self, question: Row, response: Response) -> dict[str, Any]:
        if not response.status.answered:
            return {"correct": None, "abstention": None}
        return {
            "correct": str(question["candidate"]) in response.text,
            "abstention": None if response.text else "format",
        }


Behaviour = Callable[[Request, int], Response | BaseException]


@dataclass(frozen=True)
class Toy:
    """A toy system: behaves as told, and counts what it was asked."""

    behave: Behaviour
    version: int = 1
    wait_s: float = 0.0
    calls: list[Request] = field(default_factory=list, init=False)

    @property
    def label(self) -> str:
        return "toy"

    async def open(self) -> None:
        pass

    def fingerprint(self) -> Mapping[str, Json]:
        return {"version": self.version}

    def facts(self) -> Mapping[str, Json]:
        return {"weight_g": 3}

    async def respond(self, request: Request) -> Response:
        self.calls.append(request)
        number = len(self.calls)
        if self.wait_s:
            await asyncio.sleep(self.wait_s)
        outcome = self.behave(request, number)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def close(self) -> None:
        pass


def right(request: Request, number: int) -> Response:
    content = request.messages[0]["content"]
    return Response(Status.OK, text=content.removeprefix("Say "), prompt_tokens=5, completion_tokens=2)


def failing(*numbers: int, status: Status = Status.TIMEOUT) -> Behaviour:
    def behave(request: Request, number: int) -> Response:
        if number in numbers:
            return Response(status, attempts=3, error="no luck")
        return right(request, number)

    return behave


@pytest.fixture
def dataset() -> datasets.Dataset:
    return questions(48)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


def run(dataset: datasets.Dataset, system: Any, out: Path, **options: Any) -> Run:
    options.setdefault("protocol", Echo())
    return evaluate(dataset, system=system, out=out, config="text", split="test", **options)


def rows_of(out: Path) -> list[dict[str, Any]]:
    (path,) = (out / "responses").glob("*.parquet")
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def card_of(out: Path) -> dict[str, Any]:
    card: dict[str, Any] = json.loads((out / "card.json").read_text())
    return card


def test_asks_every_question_once_and_writes_a_row_for_each(dataset: datasets.Dataset, out: Path) -> None:
    system = Toy(right)
    result = run(dataset, system, out)
    assert result.complete
    assert (result.questions, result.replied, result.failed, result.unasked) == (48, 48, {}, 0)
    rows = rows_of(out)
    assert [row["question_id"] for row in rows] == dataset["question_id"][:]
    assert Counter(request.question_id for request in system.calls) == Counter(dataset["question_id"][:])
    first = rows[0]
    assert first["run_id"] == result.run_id
    assert len(result.run_id) == 12
    assert (first["benchmark"], first["protocol"], first["system"], first["model"]) == (
        "toys",
        "echo",
        "Toy",
        "toy",
    )
    assert (first["config"], first["split"], first["status"]) == ("text", "test", "ok")
    assert (first["length"], first["structure"], first["correct"]) == (32, None, True)
    assert (first["prompt_tokens"], first["completion_tokens"], first["attempts"]) == (5, 2, 1)
    assert first["asked_at"].tzname() == "UTC"
    assert len(first["request_key"]) == len(first["server"]) == 64


def test_a_finished_run_asks_nothing_and_writes_the_same_bytes(dataset: datasets.Dataset, out: Path) -> None:
    run(dataset, Toy(right), out)
    (path,) = (out / "responses").glob("*.parquet")
    before = path.read_bytes()
    again = Toy(right)
    result = run(dataset, again, out, concurrency=3)
    assert result.complete
    assert again.calls == []
    assert path.read_bytes() == before


def test_only_failures_are_asked_again(dataset: datasets.Dataset, out: Path) -> None:
    first = run(dataset, Toy(failing(3, 20)), out, concurrency=4)
    assert not first.complete
    assert (first.replied, first.failed) == (46, {"timeout": 2})
    failed = [row for row in rows_of(out) if row["status"] == "timeout"]
    assert [(row["correct"], row["reply"], row["error"], row["attempts"]) for row in failed] == [
        (None, None, "no luck", 3)
    ] * 2
    assert card_of(out)["outcome"]["failed"] == 2
    system = Toy(right)
    second = run(dataset, system, out)
    assert second.complete
    assert {request.question_id for request in system.calls} == {row["question_id"] for row in failed}
    assert [session["outcome"] for session in card_of(out)["sessions"]] == ["failures", "done"]


def test_what_fails_for_good_is_shown_and_not_advised_to_be_asked_again(
    dataset: datasets.Dataset, out: Path
) -> None:
    def refuse(request: Request, number: int) -> Response:
        return Response(Status.INVALID_REQUEST, error=f"no such field, said of {request.question_id}")

    said = str(run(dataset, Toy(refuse), out))
    assert "Failed: 48 invalid_request." in said
    assert f"no such field, said of {dataset[0]['question_id']}" in said, "the first in the questions' order"
    assert "again to ask" not in said


def test_scores_are_counted_along_and_the_same_when_made_from_the_store(
    dataset: datasets.Dataset, out: Path
) -> None:
    def mixed(request: Request, number: int) -> Response:
        # by question and not by number, which depends on who comes first
        kind = dataset["question_id"].index(request.question_id) % 4
        if kind == 0:
            return Response(Status.TIMEOUT, error="late")
        return replace(
            right(request, number), text={1: "", 2: "wrong"}.get(kind, right(request, number).text)
        )

    for _ in range(2):
        result = run(dataset, Toy(mixed), out)
        assert result.scores == Scores(scored=36, answered=24, correct=12)
        assert card_of(out)["outcome"]["scores"] == {
            "scored": 36,
            "answered": 24,
            "correct": 12,
            "accuracy": 12 / 36,
            "coverage": 24 / 36,
            "accuracy_on_answered": 0.5,
        }
    assert run(dataset, Toy(right), out, force=True, limit=12).scores == Scores(12, 12, 12)


@pytest.mark.parametrize("stated", [float("nan"), float("inf"), -0.5, 1.5])
def test_what_cannot_be_a_probability_is_none(dataset: datasets.Dataset, out: Path, stated: float) -> None:
    def unsure(request: Request, number: int) -> Response:
        likely = {"yes": stated, "no": 0.25}
        return replace(right(request, number), probability=stated, option_probabilities=likely)

    run(dataset, Toy(unsure), out, limit=3)
    found = pq.read_table(out / "responses", columns=["probability", "option_yes", "option_no"]).to_pylist()
    assert found == [{"probability": None, "option_yes": None, "option_no": 0.25}] * 3


def test_a_run_can_be_extended(dataset: datasets.Dataset, out: Path) -> None:
    assert run(dataset, Toy(right), out, limit=10).questions == 10
    system = Toy(right)
    assert run(dataset, system, out, limit=30).questions == 30
    assert len(system.calls) == 20
    assert run(dataset, system, out, where="answer = 'yes'").questions == 24
    assert len(rows_of(out)) == 24
    assert {row["question_id"] for row in rows_of(out)} == {
        row["question_id"] for row in dataset if row["answer"] == 0
    }


@pytest.mark.parametrize("wait_s", [0.0, 0.001])
def test_greedy_questions_that_are_the_same_are_asked_once(out: Path, wait_s: float) -> None:
    one = questions(2)
    dataset = datasets.concatenate_datasets([one] * 5)
    dataset = dataset.remove_columns("question_id").add_column("question_id", [f"q{i}" for i in range(10)])
    system = Toy(failing(2), wait_s=wait_s)
    result = run(dataset, system, out, protocol=Echo(by_name=False), concurrency=2)
    assert len(system.calls) == 2
    assert (result.replied, result.failed) == (5, {"timeout": 5})
    assert len({row["request_key"] for row in rows_of(out)}) == 2


def test_sampled_questions_are_each_a_draw(out: Path) -> None:
    dataset = datasets.concatenate_datasets([questions(1)] * 5)
    dataset = dataset.remove_columns("question_id").add_column("question_id", [f"q{i}" for i in range(5)])
    system = Toy(right)
    run(dataset, system, out, protocol=Echo(temperature=0.7, by_name=False))
    assert len(system.calls) == 5


def test_keeps_to_the_concurrency(dataset: datasets.Dataset, out: Path) -> None:
    now, most = [0], [0]

    class Counting(Toy):
        async def respond(self, request: Request) -> Response:
            now[0] += 1
            most[0] = max(most[0], now[0])
            await asyncio.sleep(0.005)
            now[0] -= 1
            return right(request, 0)

    run(dataset, Counting(right), out, concurrency=7)
    assert most[0] == 7


def test_another_run_in_the_folder_is_refused(dataset: datasets.Dataset, out: Path) -> None:
    first = run(dataset, Toy(right), out)
    with pytest.raises(EccdataError, match="holds another run") as caught:
        run(dataset.select(range(20)), Toy(right), out, protocol=Echo(temperature=0.5))
    assert "options.temperature: 0.0 → 0.5" in str(caught.value)
    assert "dataset: " in str(caught.value)
    assert len(rows_of(out)) == 48
    second = run(dataset, Toy(right), out, protocol=Echo(temperature=0.5), force=True)
    assert second.run_id != first.run_id
    assert {row["run_id"] for row in rows_of(out)} == {second.run_id}


def test_a_folder_that_holds_something_else_is_left_alone(dataset: datasets.Dataset, out: Path) -> None:
    out.mkdir()
    (out / "thesis.tex").write_text("precious")
    for force in (False, True):
        with pytest.raises(EccdataError, match="holds something else"):
            run(dataset, Toy(right), out, force=force)
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]


def test_a_changed_server_is_refused_unless_accepted(dataset: datasets.Dataset, out: Path) -> None:
    first = run(dataset, Toy(right), out, limit=20)
    with pytest.raises(EccdataError, match="not the one") as caught:
        run(dataset, Toy(right, version=2), out)
    assert "version: 1 → 2" in str(caught.value)
    assert "--accept-server; in Python accept_changed_server=True" in str(caught.value)
    assert len(rows_of(out)) == 20
    system = Toy(right, version=2)
    result = run(dataset, system, out, accept_changed_server=True)
    assert result.run_id == first.run_id
    assert len(system.calls) == 28
    servers = [row["server"] for row in rows_of(out)]
    assert len(set(servers[:20])) == len(set(servers[20:])) == 1
    assert servers[0] != servers[-1]
    assert sorted(card_of(out)["outcome"]["servers"].values()) == [20, 28]
    # Both are accepted from now on, and neither is asked again.
    for version in (1, 2):
        system = Toy(right, version=version)
        assert run(dataset, system, out).complete
        assert system.calls == []


def test_a_server_that_is_gone_is_not_asked_for_every_question(dataset: datasets.Dataset, out: Path) -> None:
    def dying(request: Request, number: int) -> Response:
        if number <= 10:
            return right(request, number)
        return Response(Status.TRANSPORT_ERROR, error="connection refused")

    system = Toy(dying)
    result = run(dataset, system, out, concurrency=5)
    assert result.stopped is not None
    assert "5 requests in a row failed" in result.stopped
    assert "connection refused" in result.stopped
    assert len(system.calls) <= 20
    assert result.replied == 10
    assert result.unasked >= 28
    assert "connection refused" in str(result)
    assert len(rows_of(out)) == 48 - result.unasked
    assert card_of(out)["outcome"]["stopped"] == result.stopped
    assert run(dataset, Toy(right), out).complete


def test_what_makes_going_on_senseless_stops_the_run_and_keeps_everything(
    dataset: datasets.Dataset, out: Path
) -> None:
    def denied(request: Request, number: int) -> Response | BaseException:
        return right(request, number) if number <= 10 else EccdataError("The key is no longer taken.")

    result = run(dataset, Toy(denied), out, concurrency=4)
    assert result.stopped == "The key is no longer taken."
    assert result.replied == 10
    assert len(rows_of(out)) == 10
    assert run(dataset, Toy(right), out).complete


def test_a_bug_in_a_system_is_not_swallowed(dataset: datasets.Dataset, out: Path) -> None:
    def broken(request: Request, number: int) -> Response | BaseException:
        return right(request, number) if number <= 10 else ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        run(dataset, Toy(broken), out)
    assert len((system := Toy(right)).calls) == 0
    assert run(dataset, system, out).complete
    assert len(system.calls) == 38


def test_works_inside_a_running_loop(dataset: datasets.Dataset, out: Path) -> None:
    async def notebook() -> Run:
        return run(dataset, Toy(right, wait_s=0.001), out)

    assert asyncio.run(notebook()).complete


def test_progress_is_reported(dataset: datasets.Dataset, out: Path) -> None:
    seen: list[tuple[int, int | None, str]] = []
    run(dataset, Toy(failing(1)), out, progress=lambda *state: seen.append(state))
    assert (48, 48, "replied (1 failed)") in seen
    assert all(done <= 48 for done, _, _ in seen)


def test_protocols_and_systems_by_name(dataset: datasets.Dataset, out: Path) -> None:
    def handler(call: Call) -> Reply:
        return models(call) or Reply(completion(answer_to(call.prompt)))

    with serve(handler) as url:
        result = run(
            dataset,
            "sglang",
            out,
            protocol="membership",
            options={"arm": "a", "max_tokens": "64"},
            system_options={"base_url": url, "retries": "1"},
        )
    assert result.complete
    row = rows_of(out)[0]
    assert (row["arm"], row["token_limit"], row["system"], row["model"]) == ("a", 64, "sglang", "scripted")
    command = card_of(out)["command"]
    assert f"--arm a --max-tokens 64 --system sglang --base-url {url} --option retries=1" in command


def test_the_only_protocol_that_fits_need_not_be_named(dataset: datasets.Dataset, out: Path) -> None:
    result = run(dataset, "chance", out, protocol=None, options={"arm": "a"})
    assert result.complete
    assert "Asked by eccbench.membership, the only protocol that fits" in str(result)
    assert "--benchmark eccbench --protocol membership --arm a" in card_of(out)["command"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"protocol": None, "where": "length = 7"}, "nothing to ask"),
        ({"protocol": "membershp"}, "Did you mean 'membership'"),
        ({"system": "windw"}, "Did you mean 'window'"),
        ({"protocol": "membership", "benchmark": "eccbnch"}, "Did you mean 'eccbench'"),
        ({"protocol": "membership", "options": {"arm": "c"}}, "arm"),
        ({"system": "window", "system_options": {"bit": "8"}}, "did you mean bits"),
        (
            {"system": "sglang"},
            "- base_url, given by --base-url … (system_options={'base_url': …} in Python)",
        ),
        ({"where": "lenght = 8"}, "lenght"),
        ({"where": "length = 7"}, "nothing to ask"),
        ({"limit": 0}, "limit=0"),
        ({"system_options": {"x": "1"}}, "  - x"),
    ],
)
def test_mistakes_are_told_before_anything_is_made(
    dataset: datasets.Dataset, out: Path, options: dict[str, Any], said: str
) -> None:
    options = {"protocol": Echo(), "system": Toy(right), **options}
    with pytest.raises(EccdataError) as caught:
        evaluate(dataset, out=out, **options)
    assert said in str(caught.value)
    assert not out.exists()


def test_missing_columns_are_named(dataset: datasets.Dataset, out: Path) -> None:
    with pytest.raises(EccdataError, match="lacks the columns\n  - candidate"):
        run(dataset.remove_columns("candidate"), Toy(right), out)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ends_promptly_on_a_signal_and_goes_on_later(tmp_path: Path, number: signal.Signals) -> None:
    asked: list[str] = []

    def handler(call: Call) -> Reply:
        known = models(call)
        if known is None:
            asked.append(call.prompt)
        return known or Reply(completion(answer_to(call.prompt)), delay_s=0.05 if len(asked) < 100 else 30.0)

    script = (
        "import sys; from pathlib import Path; from test_evaluation import *\n"
        "evaluate(questions(400), protocol=Echo(), system=SGLang(sys.argv[1]), out=Path(sys.argv[2]), concurrency=8)"
    )
    out = tmp_path / "run"
    with serve(handler) as url:
        command = [sys.executable, "-c", script, url, str(out)]
        process = subprocess.Popen(command, cwd=Path(__file__).parent, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while len(asked) < 107 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        began = time.monotonic()
        os.kill(process.pid, number)
        _, said = process.communicate(timeout=30)
        assert time.monotonic() - began < 10
    assert process.returncode == (-number if number == signal.SIGINT else 128 + number)
    if number == signal.SIGINT:
        assert "KeyboardInterrupt: Interrupted: the replies to 99 of 400 questions are kept" in said
    assert len(rows_of(out)) == 99
    card = card_of(out)
    assert card["sessions"][0]["outcome"] == "interrupted"
    assert card["outcome"]["unasked"] == 301


def test_an_interrupted_command_says_in_one_line_what_is_kept_and_draws_no_bars_into_a_log(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    def handler(call: Call) -> Reply:
        known = models(call)
        if known is None:
            asked.append(call.prompt)
        return known or Reply(completion(answer_to(call.prompt)), delay_s=0.0 if len(asked) <= 5 else 30.0)

    (tmp_path / "release").mkdir()
    questions(40).to_parquet(tmp_path / "release" / "test.parquet")
    with serve(handler) as url:
        command = [sys.executable, "-m", "eccdata", "evaluate", "release", "-s", "sglang", "--base-url", url]
        process = subprocess.Popen(
            [*command, "--concurrency", "1", "--out", "run"],
            cwd=tmp_path,
            env={**os.environ, "HF_HOME": str(tmp_path / "hub")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 60
        while len(asked) < 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        shown, said = process.communicate(timeout=30)
    assert (process.returncode, shown) == (130, "")
    kept = "Interrupted: the replies to 5 of 40 questions are kept in run. "
    assert said == kept + "Run the same command again to ask the rest.\n"


def test_releases_are_opened_from_their_folder(tmp_path: Path) -> None:
    release = tmp_path / "release"
    (release / "data").mkdir(parents=True)
    questions(32).to_parquet(release / "data" / "test-00000-of-00001.parquet")
    questions(16, length=8).to_parquet(release / "data" / "small-00000-of-00001.parquet")
    (release / "README.md").write_text(
        "---\nconfigs:\n"
        "- config_name: text\n  data_files:\n  - {split: test, path: data/test-*.parquet}\n"
        "- config_name: small\n  data_files:\n  - {split: train, path: data/small-*.parquet}\n---\n"
    )

    def open_and_run(**options: Any) -> Run:
        return evaluate(release, protocol=Echo(), system=Toy(right), out=tmp_path / "run", **options)

    with pytest.raises(EccdataError, match=r"Say which configuration of .*\n  - small\n  - text"):
        open_and_run()
    with pytest.raises(EccdataError, match=r"no configuration of .* called 'txt'.* Did you mean 'text'"):
        open_and_run(config="txt")
    with pytest.raises(EccdataError, match=r"no split of .* called 'dev'"):
        open_and_run(config="text", split="dev")
    (release / "build.json").write_text('{"benchmark": "eccbench"}')
    with pytest.raises(EccdataError, match="is a release of eccbench, not of capmem"):
        evaluate(
            release,
            protocol="membership",
            system=Toy(right),
            out=tmp_path / "r",
            config="text",
            benchmark="capmem",
        )
    (release / "build.json").unlink()
    result = open_and_run(config="text")
    assert result.questions == 32
    data = card_of(tmp_path / "run")["dataset"]
    assert (data["config"], data["split"], data["rows"]) == ("text", "test", 32)
    # The same rows from elsewhere are the same run.
    again = Toy(right)
    assert run(questions(32), again, tmp_path / "run").run_id == result.run_id
    assert again.calls == []
    # Other rows in the same files are another run, however much the folder looks the same.
    questions(32, seed=1).to_parquet(release / "data" / "test-00000-of-00001.parquet")
    with pytest.raises(EccdataError, match="holds another run"):
        open_and_run(config="text")
    with pytest.raises(EccdataError, match=r"There is no folder ./gone"):
        evaluate("./gone", protocol=Echo(), system=Toy(right), out=tmp_path / "r")


def test_rows_that_hold_several_questions(dataset: datasets.Dataset, out: Path) -> None:
    class Twice(Echo):
        def questions(self, row: Row) -> Iterator[Row]:
            for index in range(2):
                yield {
                    **row,
                    "question_id": f"{row['question_id']}-{index}",
                    "candidate": [index, row["question_id"]],
                }

    result = run(dataset, Toy(right), out, protocol=Twice(), limit=31)
    assert (result.questions, result.replied) == (31, 31)
    assert [row["question_id"][-1] for row in rows_of(out)] == [*"01" * 15, "0"]


def test_a_question_that_takes_long_does_not_hold_up_the_others(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eccdata.results.ROWS_PER_GROUP", 4)
    dataset = questions(160)
    first = dataset[0]["question_id"]

    class Slow(Toy):
        async def respond(self, request: Request) -> Response:
            # The first question waits until the rest is done: 40 groups of rows come in before its own.
            while request.question_id == first and len(self.calls) < 159:
                await asyncio.sleep(0.001)
            return await super().respond(request)

    assert run(dataset, Slow(right), out, concurrency=4).complete
    slow = rows_of(out)
    assert [row["question_id"] for row in slow] == dataset["question_id"][:]
    (path,) = (out / "responses").iterdir()
    before = path.read_bytes()
    assert run(dataset, Slow(right), out).asked == 0
    assert path.read_bytes() == before


def test_a_store_in_use_is_not_discarded(dataset: datasets.Dataset, out: Path) -> None:
    from eccdata.store import Store

    run(dataset, Toy(right), out)
    with Store.open(out / "store.sqlite3"), pytest.raises(EccdataError, match="in use"):
        run(dataset, Toy(right), out, force=True)
    assert run(dataset, Toy(right), out).asked == 0


def test_a_damaged_store_is_told_and_can_be_discarded(dataset: datasets.Dataset, out: Path) -> None:
    run(dataset, Toy(right), out)
    (out / "store.sqlite3").write_bytes(b"garbage" * 1000)
    with pytest.raises(EccdataError, match="not a store"):
        run(dataset, Toy(right), out)
    assert run(dataset, Toy(right), out, force=True).complete


def test_no_secret_is_anywhere_in_the_folder(
    dataset: datasets.Dataset, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    info = {"version": "1", "api_key": "sk-very-secret", "launch_command": "--api-key sk-very-secret"}

    def handler(call: Call) -> Reply:
        if call.path == "/server_info":
            return Reply(info)
        if call.path == "/v1/chat/completions" and "1" in call.prompt:
            return Reply({"error": "bad key sk-very-secret"}, status=400)
        return models(call) or Reply(completion("{0}"))

    with serve(handler) as url:
        result = run(dataset, SGLang(url), out)
        assert result.failed
    for path in out.rglob("*"):
        if path.is_file():
            assert b"sk-very-secret" not in path.read_bytes(), path
    shutil.rmtree(out)
