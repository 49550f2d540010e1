"""The pipeline against two scripted servers, which find and answer by what they are sent alone."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import av
import numpy as np
import polars as pl
import pytest
from PIL import Image

import eccdata
from eccdata import catalog
from eccdata.dataset import open_dataset
from eccdata.errors import EccdataError
from eccdata.media import Media, Recipe
from eccdata.requests import Decoding, Request, Response, Search, Status
from eccdata.rows import iterate
from eccdata.run import Run
from eccdata.settings import make
from eccdata.systems import System
from eccdata.systems.retrieval import Retrieval
from eccdata.systems.retrieval.composing import SENTENCE
from eccdata.systems.sglang import SGLang
from eccdata.video.preparing import MediaLibrary
from eccdata.video.sampling import sampler
from support.clips import clip, number
from support.scripted_retrieval import ANSWERER, EMBEDDER, Answerer, Embedder, letters, pages, video_bytes
from support.scripted_server import Call, Handler, Reply, completion, serve

LENGTH = 33
"""Of which the last window stands nearer to the one before: at 0, 4, 8, 12, 16 and 17."""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    settings = {"lengths": (LENGTH,), "streams": 1, "queries": 8}
    eccdata.build("eccbench", out=folder / "r", configs=["video-sequential"], settings=settings)
    return folder / "r"


class Study:
    """Two servers and a folder for runs and their index."""

    def __init__(self, release: Path, folder: Path) -> None:
        self.release, self.folder = release, folder
        self.answerer, self.embedder = Answerer(), Embedder()

    def run(
        self,
        name: str = "run",
        *,
        options: dict[str, Any] | None = None,
        concurrency: int = 16,
        **system_options: Any,
    ) -> Run:
        with serve(self.embedder) as embedder_url, serve(self.answerer) as base_url:
            return eccdata.evaluate(
                self.release,
                system="retrieval",
                system_options={
                    "base_url": base_url,
                    "embedder_url": embedder_url,
                    "index": str(self.folder / "index"),
                    "backoff_s": 0.001,
                    "backoff_limit_s": 0.002,
                    **system_options,
                },
                options={"frame_multiple": 2, **(options or {})},
                out=self.folder / name,
                concurrency=concurrency,
            )

    def rows(self, name: str = "run") -> list[dict[str, Any]]:
        return pl.read_parquet(self.folder / name / "responses" / "*.parquet").to_dicts()


@pytest.fixture(scope="module")
def done(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study with a run that is done."""
    study = Study(release, tmp_path_factory.mktemp("done"))
    study.embedder.delay_s = 0.02  # so that questions of a stream come while its windows are embedded
    run = study.run(options={"arm": "b"})
    assert run.complete, str(run)
    return study


def test_each_window_is_embedded_once_though_all_questions_of_a_stream_come_at_once(done: Study) -> None:
    rows = done.rows()
    assert len(rows) == 16
    assert set(done.embedder.embedded.values()) == {1}
    candidates = {row["media"][1]["sha256"] for row in rows}
    # of two streams; a regular one may show the same in two windows
    assert 6 < done.embedder.frames.count(16) <= 12
    assert done.embedder.clips == done.embedder.frames.count(16) + len(candidates)


def test_the_results_say_what_was_found_and_sent(done: Study) -> None:
    rows = done.rows()
    for row in rows:
        main, option = row["media"]
        (found,) = row["retrieved"]
        assert (row["answerer"], row["embedder"]) == (ANSWERER, EMBEDDER)
        assert row["model"] == f"retrieval({ANSWERER}, {EMBEDDER})"
        assert (row["windows"], row["composed_frames"], found["frames"]) == (6, 16, 16)
        assert found["first_frame"] in (0, 4, 8, 12, 16, 17)
        assert main["indices"] == list(range(found["first_frame"], found["first_frame"] + 16))
        assert (main["name"], main["decoder"], main["sampler"]) == ("main", "none", "eccbench")
        assert row["query_frames"] == len(set(option["indices"]))
        assert row["frames_sent"] == 16 + len(option["indices"])
        assert row["vision_tokens_expected"] == row["vision_tokens_reported"] == 98 * row["frames_sent"]
        assert (row["hit"] is None) == (row["answer"] == "no")
        # who sees the candidate says yes, and nobody else
        assert row["prediction"] == ("yes" if row["hit"] else "no")
    hits = [row["hit"] for row in rows if row["answer"] == "yes"]
    assert sum(hits) > len(hits) / 2


def test_the_answerer_gets_the_prompt_and_one_sentence_more(done: Study) -> None:
    content = done.answerer.asked[0]
    kinds = [part["type"] for part in content]
    assert kinds == ["text", "video_url", "text", "video_url", "text"]
    assert content[0]["text"].startswith("In the main video and option video, letters moved")
    assert "a wrong answer costs -4 points" in content[0]["text"]
    assert content[0]["text"].endswith("\n\nMain video:")
    assert content[-1]["text"] == SENTENCE
    assert SENTENCE.count(".") == 1


def test_costs_are_those_of_the_paper(done: Study) -> None:
    for row in done.rows():
        index, query, answer = row["flops_index"], row["flops_query"], row["flops_answer"]
        # of six windows of 448 x 448 pixels
        assert index / 6 == pytest.approx(29.2e12, rel=0.002)
        # 11 TF where the candidate has six frames, or five and one again (B.7)
        if row["query_frames"] > 4:
            assert f"{query / 1e12:.0f}" == "11"
        assert (row["flops_write"], row["flops_read"]) == (index, query + answer)
        assert 15e12 < answer < 25e12


def test_the_card_tells_both_servers_and_the_sentence(done: Study) -> None:
    card = json.loads((done.folder / "run" / "card.json").read_text())
    facts, (fingerprint,) = card["system"]["facts"], card["system"]["fingerprints"].values()
    assert facts["disclosure"] == fingerprint["retrieval"]["sentence"] == SENTENCE
    assert facts["embedder"]["model_info"]["is_generation"] is False
    assert fingerprint["answerer"]["model"] == ANSWERER
    assert fingerprint["embedder"]["model"] == EMBEDDER
    assert (fingerprint["retrieval"]["window"], fingerprint["retrieval"]["stride"]) == (16, 4)
    assert card["media"]["vision_tokens"] == {"right": 16}


def test_the_same_call_asks_neither_again(done: Study) -> None:
    rows, asked, embedded = done.rows(), len(done.answerer.asked), done.embedder.clips
    assert done.run(options={"arm": "b"}).asked == 0
    assert (len(done.answerer.asked), done.embedder.clips) == (asked, embedded)
    assert done.rows() == rows


@pytest.fixture(scope="module")
def requests(release: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Request, ...]:
    """The questions on the first of the streams, ready to be sent."""
    protocol = make(catalog.evaluator("eccbench", "membership-video"), {"frame_multiple": 2})
    rows = iterate(open_dataset(release, config=None, split=None, revision=None).dataset)
    asked = [protocol.request(row) for row in islice(rows, 8)]
    library = MediaLibrary(tmp_path_factory.mktemp("media"))
    asyncio.run(library.prepare(asked))
    return tuple(map(library.ready, asked))


def ask(servers: tuple[Handler, Handler], *requests: Request, folder: Path, **options: Any) -> list[Response]:
    """Put requests to retrieval at the same time, with no evaluation around; `servers` answer, and embed."""

    async def main(base_url: str, embedder_url: str) -> list[Response]:
        quick = {"backoff_s": 0.001, "backoff_limit_s": 0.002, "index": str(folder / "index")}
        system = Retrieval(base_url, embedder_url, **{**quick, **options})
        await system.open()
        try:
            return list(await asyncio.gather(*map(system.respond, requests)))
        finally:
            await system.close()

    answerer, embedder = servers
    with serve(embedder) as embedder_url, serve(answerer) as base_url:
        return asyncio.run(main(base_url, embedder_url))


def clips(embedder: Embedder) -> set[int]:
    """How often clips were embedded."""
    return {count for what, count in embedder.embedded.items() if what.startswith("data:")}


def test_other_prompts_embed_nothing_again(requests: tuple[Request, ...], tmp_path: Path) -> None:
    servers = Answerer(), Embedder()
    before = ask(servers, *requests, folder=tmp_path)
    embedded = servers[1].clips
    after = ask(servers, *requests, folder=tmp_path)
    assert servers[1].clips == embedded > 0
    assert [response.details for response in after] == [response.details for response in before]
    assert len(servers[0].asked) == 2 * len(requests)


def test_another_embedder_embeds_anew(requests: tuple[Request, ...], tmp_path: Path) -> None:
    servers = Answerer(), Embedder()
    ask(servers, *requests, folder=tmp_path)
    embedded = servers[1].clips
    servers[1].pages["/server_info"] = {"version": "0.5.24"}
    ask(servers, *requests, folder=tmp_path)
    assert servers[1].clips == 2 * embedded


def test_an_embedder_that_fails_is_the_response_that_fails(
    requests: tuple[Request, ...], tmp_path: Path
) -> None:
    servers = Answerer(), Embedder(fail=lambda _: Reply({"message": "Could not decode video"}, status=400))
    for response in ask(servers, *requests, folder=tmp_path):
        assert response.status is Status.INVALID_REQUEST
        assert (response.error or "").startswith("the embedder: HTTP 400: Could not decode video")
        assert (response.details, response.attempts) == (None, 1)
    servers[1].fail = lambda _: Reply({"message": "busy"}, status=503)
    for response in ask(servers, *requests, folder=tmp_path, retries=1):
        assert (response.status, response.attempts) == (Status.SERVER_ERROR, 2)
    assert not servers[0].asked
    # a passing failure is none, and what was embedded is not embedded again
    servers[1].fail = lambda call: Reply({"message": "busy"}, status=503) if call % 3 == 0 else None
    assert {response.status for response in ask(servers, *requests, folder=tmp_path)} == {Status.OK}
    assert clips(servers[1]) == {1}


def test_the_answerers_failure_is_the_response_that_fails(
    requests: tuple[Request, ...], tmp_path: Path
) -> None:
    answerer = Answerer()

    def refusing(call: Call) -> Reply:
        chat = call.path == "/v1/chat/completions"
        return Reply({"message": "no"}, status=400) if chat else answerer(call)

    (response,) = ask((refusing, Embedder()), requests[0], folder=tmp_path)
    assert (response.status, response.error) == (Status.INVALID_REQUEST, "HTTP 400: no")
    assert response.details is None


def test_an_embedder_that_sees_other_frames_ends_it(requests: tuple[Request, ...], tmp_path: Path) -> None:
    servers = Answerer(), Embedder()
    # as if it sampled again, up to four frames of each clip
    servers[1].read = lambda url: letters(url)[:4]
    with pytest.raises(
        EccdataError, match="token audit of the embedder failed at a clip of 16 frames"
    ) as error:
        ask(servers, *requests, folder=tmp_path)
    assert "audit_embedder=false" in str(error.value)
    assert not servers[0].asked
    (response,) = ask(servers, requests[0], folder=tmp_path, audit_embedder=False)
    assert response.status is Status.OK


def test_few_clips_are_under_way_at_a_time(requests: tuple[Request, ...], tmp_path: Path) -> None:
    servers = Answerer(), Embedder(delay_s=0.01)
    began = time.monotonic()
    ask(servers, *requests, folder=tmp_path, embedder_concurrency=1)
    assert time.monotonic() - began >= 0.01 * servers[1].clips


# -- one question at a time ------------------------------------------------------------------------------------


class Seeing:
    """Embeds numbered frames as which numbers they show, sentences as the numbers in them; says what it is shown."""

    def __init__(self) -> None:
        self.shown: list[list[int]] = []
        self.asked: list[Any] = []

    @property
    def servers(self) -> tuple[Handler, Handler]:
        """Who answers, and who embeds."""
        return self.answerer, self.embedder

    def embedder(self, call: Call) -> Reply:
        there = pages("e", is_generation=False, architectures=["Unheard"])
        if call.path in there:
            return Reply(there[call.path])
        if call.path != "/v1/embeddings":
            return Reply({"detail": "Not Found"}, status=404)
        (item,) = call.json["input"]
        if "video" in item:
            named = frames(video_bytes(item["video"]))
        else:
            named = [int(word) for word in item["text"].split() if word.isdigit()]
        vector = np.bincount(named, minlength=256) + 1e-3
        return Reply({"data": [{"embedding": vector.tolist()}], "usage": {"prompt_tokens": 1000}})

    def answerer(self, call: Call) -> Reply:
        there = pages("a", is_generation=True, architectures=["Unheard"])
        if call.path in there:
            return Reply(there[call.path])
        if call.path != "/v1/chat/completions":
            return Reply({"detail": "Not Found"}, status=404)
        content = call.json["messages"][-1]["content"]
        self.asked.append(content)
        videos = [part["video_url"]["url"] for part in content if part["type"] == "video_url"]
        images = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
        self.shown += [frames(video_bytes(url)) for url in videos]
        if images:
            self.shown.append([number(picture(url)) for url in images])
        return Reply(completion("{0}"))


def frames(content: bytes) -> list[int]:
    with av.open(io.BytesIO(content), "r") as container:
        return [
            number(np.asarray(frame.to_ndarray(format="rgb24"), np.uint8))
            for frame in container.decode(video=0)
        ]


def picture(url: str) -> Any:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))))


def natural(source: bytes, sentence: str, *, layout: Any = "video", folder: Path) -> Request:
    recipe = Recipe(layout, sampler("eccbench"), "pyav")
    content = [{"type": "media", "media": "clip"}, {"type": "text", "text": f"Watch this.\n{sentence}"}]
    request = Request(
        "q",
        "eccbench.natural/1",
        ({"role": "user", "content": content},),
        Decoding(max_tokens=8),
        options={"{0}": "yes", "{1}": "no"},
        media=(Media("clip", source, recipe),),
        search=Search("clip", text=sentence),
    )
    library = MediaLibrary(folder)
    asyncio.run(library.prepare([request]))
    return library.ready(request)


def second_clip(count: int) -> bytes:
    return clip(
        range(0, 1000 * count, 1000), options={"x264-params": "bframes=0:keyint=4:scenecut=0"}, rate=1
    )


@pytest.mark.parametrize("layout", ["video", "frames"])
def test_a_sentence_finds_its_window_of_a_natural_clip(layout: str, tmp_path: Path) -> None:
    seeing = Seeing()
    request = natural(second_clip(30), "Is it 21 or 22 or 28 ?", layout=layout, folder=tmp_path / "media")
    (response,) = ask(seeing.servers, request, folder=tmp_path)
    assert response.status is Status.OK
    # frames 14 to 29 are the only window with 28
    assert seeing.shown == [list(range(14, 30))]
    told = response.details or {}
    assert (told["windows"], told["composed_frames"], told["hit"], told["query_frames"]) == (
        5,
        16,
        None,
        None,
    )
    assert told["query_tokens"] == 1000
    assert {told[name] for name in told if name.startswith("flops")} == {None}
    assert seeing.asked[0][-1]["text"] == f"Watch this.\nIs it 21 or 22 or 28 ?\n{SENTENCE}"
    sent = response.sent
    assert sent is not None
    assert sent.media[0].ready.manifest.indices.tolist() == list(range(14, 30))
    assert sent.media[0].ready.manifest.times_s.tolist() == list(map(float, range(14, 30)))


def test_of_a_long_video_three_windows_are_merged(tmp_path: Path) -> None:
    seeing = Seeing()
    request = natural(second_clip(40), "Is it 3 3 or 33 ?", folder=tmp_path / "media")
    (response,) = ask(seeing.servers, request, folder=tmp_path, long_frames=40)
    found = [window["first_frame"] for window in (response.details or {})["retrieved"]]
    # 3 twice is nearer than 33; of windows equally near the earlier
    assert found == [0, 20, 24]
    assert seeing.shown == [[*range(16), *range(20, 40)]]


def test_questions_that_name_nothing_to_search_are_refused(tmp_path: Path) -> None:
    request = Request("q", "eccbench.membership/1", ({"role": "user", "content": "Is it?"},))
    with pytest.raises(EccdataError, match=r"questions of eccbench\.membership/1 do not say"):
        ask(Seeing().servers, request, folder=tmp_path)


def test_a_server_started_to_embed_is_not_asked_to_answer(tmp_path: Path) -> None:
    seeing = Seeing()
    with (
        serve(seeing.embedder) as url,
        pytest.raises(EccdataError, match=r"was started to embed.*and a model is wanted that answers"),
    ):
        asyncio.run(SGLang(url).open())


# -- options ---------------------------------------------------------------------------------------------------


def test_is_a_system() -> None:
    system = Retrieval("http://127.0.0.1:1", "http://127.0.0.1:2", model="a", embedder_model="b")
    assert isinstance(system, System)
    assert system.label == "retrieval(a, b)"


def test_every_option_that_cannot_be_is_named() -> None:
    with pytest.raises(EccdataError) as error:
        Retrieval(
            "http://127.0.0.1:1", "nowhere?key=secret", window=4, stride=8, top_k=0, embedder_concurrency=0
        )
    said = str(error.value)
    for what in (
        "embedder_url=nowhere",
        "embedder_url has a query",
        "top_k=0",
        "stride=8: 4 (window)",
        "embedder_c",
    ):
        assert what in said
    assert "secret" not in said
    with pytest.raises(EccdataError, match="base_url=nowhere"):
        Retrieval("nowhere", "http://127.0.0.1:2")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "EMBEDDER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_each_server_gets_its_own_key(
    requests: tuple[Request, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for-the-answerer")
    monkeypatch.setenv("EMBEDDER_API_KEY", "for-the-embedder")
    keys: tuple[Counter[str], Counter[str]] = Counter(), Counter()

    def noting(handler: Handler, found: Counter[str]) -> Handler:
        def handle(call: Call) -> Reply:
            found[call.headers.get("authorization", "")] += 1
            return handler(call)

        return handle

    servers = noting(Answerer(), keys[0]), noting(Embedder(), keys[1])
    (response,) = ask(servers, requests[0], folder=tmp_path)
    assert response.status is Status.OK
    assert [set(found) for found in keys] == [{"Bearer for-the-answerer"}, {"Bearer for-the-embedder"}]
