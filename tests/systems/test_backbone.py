from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import eccdata
from eccdata.backbones import BackboneConfig, MemoryBackbone, right_aligned
from eccdata.errors import EccdataError
from eccdata.flops.backbones import backbone_flops
from eccdata.requests import Payoff, Request, Response, Status, SymbolQuery
from eccdata.systems.backbone import Backbone
from eccdata.training.folders import BEST, CARD, SELECTION, run_folder
from support.token_rows import token_release

OPTIONS = {"{0}": "yes", "{1}": "no", "{2}": "abstain"}


def saved(folder: Path, name: str = "retnet", seed: int = 0) -> Path:
    torch.manual_seed(seed)
    model = MemoryBackbone(BackboneConfig(architecture=name, width=32, layers=3))
    # a beginner's logits hardly differ: make it decided, so that arms and answers can
    torch.nn.init.normal_(model.head.weight, std=1.0)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("backbone") / "retnet")


def queries(
    streams: int = 3, each: int = 8, length: int | list[int] = 70, seed: int = 0
) -> list[SymbolQuery]:
    rng = np.random.default_rng(seed)
    lengths = [length] * streams if isinstance(length, int) else length
    found = []
    for symbols in lengths:
        stream = rng.integers(16, size=symbols).astype(np.uint8)
        found += [
            SymbolQuery(stream, rng.integers(16, size=rng.integers(3, 7)).astype(np.uint8), 16)
            for _ in range(each)
        ]
    return found


def request(query: SymbolQuery | None, **fields: Any) -> Request:
    return Request("q", "eccbench.membership/1", (), symbols=query, **{"options": OPTIONS, **fields})


def asked(system: Backbone, requests: list[Request], at_once: int | None = None) -> list[Response]:
    async def run() -> list[Response]:
        await system.open()
        found: list[Response] = []
        step = at_once or len(requests)
        for start in range(0, len(requests), step):
            found += await asyncio.gather(*map(system.respond, requests[start : start + step]))
        await system.close()
        return found

    return asyncio.run(run())


def direct(checkpoint: Path, some: list[SymbolQuery]) -> list[float]:
    model = MemoryBackbone.from_pretrained(checkpoint).eval()
    found = []
    with torch.no_grad():
        for query in some:
            stream = torch.from_numpy(query.stream.astype(np.int64))[None]
            candidate = right_aligned([query.candidate.tolist()], model.config)[None]
            found.append(float(model(stream, candidate).logits[0, 0].double().softmax(-1)[1]))
    return found


def test_its_confidence_is_the_models_softmax(checkpoint: Path) -> None:
    some = queries()
    expected = direct(checkpoint, some)
    responses = asked(Backbone(str(checkpoint), device="cpu"), [request(query) for query in some])
    assert max(expected) - min(expected) > 0.2, "a model that says the same of everything shows nothing"
    for response, yes in zip(responses, expected, strict=True):
        assert response.status is Status.OK
        assert response.probability is not None
        assert response.probability == pytest.approx(yes, abs=1e-5)
        assert response.option_probabilities == {"yes": response.probability, "no": 1 - response.probability}
        assert response.text == ("{0}" if response.probability >= 0.5 else "{1}")


@pytest.mark.parametrize("options", [{"batch": 1}, {"piece": 7}, {"batch": 2, "piece": 33}])
def test_how_much_is_computed_at_once_changes_nothing(checkpoint: Path, options: dict[str, int]) -> None:
    some = queries(length=[70, 70, 70, 31, 90])
    requests = [request(query) for query in some]
    whole = asked(Backbone(str(checkpoint), device="cpu"), requests)
    parts = asked(Backbone(str(checkpoint), device="cpu", **options), requests, at_once=5)
    for one, other in zip(whole, parts, strict=True):
        assert one.probability == pytest.approx(other.probability, abs=1e-5)


@pytest.mark.parametrize(("at_once", "written"), [(96, [3]), (8, [1, 1, 1]), (40, [2, 1])])
def test_one_pass_over_a_stream_serves_its_questions(
    checkpoint: Path, at_once: int, written: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where they come in several parts: the last streams stay written."""
    system = Backbone(str(checkpoint), device="cpu")
    passes: list[int] = []
    write = system._model.write

    def counted(symbols: torch.Tensor, **options: Any) -> Any:
        passes.append(symbols.shape[0])
        return write(symbols, **options)

    monkeypatch.setattr(system._model, "write", counted)
    asked(system, [request(query) for query in queries(streams=3, each=32)], at_once=at_once)
    assert passes == written


def test_it_abstains_where_the_payoff_makes_that_worth_it(checkpoint: Path) -> None:
    some = queries(streams=6)
    for payoff in (Payoff(3, -1), Payoff(1, -4)):
        responses = asked(
            Backbone(str(checkpoint), device="cpu"), [request(query, payoff=payoff) for query in some]
        )
        for response in responses:
            assert response.probability is not None
            sure = max(response.probability, 1 - response.probability) > payoff.threshold
            assert (response.text == "{2}") == (not sure)
        declined = sum(response.text == "{2}" for response in responses)
        assert declined == 0 if payoff.threshold < 0.5 else 0 < declined < len(responses)


def test_its_price_is_table_12s(tmp_path: Path) -> None:
    config = BackboneConfig(architecture="mamba-2", width=64)
    MemoryBackbone(config).save_pretrained(tmp_path)
    (response,) = asked(
        Backbone(str(tmp_path), device="cpu"), [request(query) for query in queries(1, 1, 2048)]
    )
    assert response.details is not None
    total = response.details["flops_write"] + response.details["flops_read"]
    assert total == backbone_flops("Mamba-2", width=64, length=2048)
    assert round(total / 1e6, 2) == 926.87


def test_label_and_fingerprint_say_what_it_is(checkpoint: Path, tmp_path: Path) -> None:
    system = Backbone(str(checkpoint), device="cpu")
    assert system.label == "RetNet, D=32"
    copy = saved(tmp_path / "copy")
    other = saved(tmp_path / "other", seed=1)
    assert Backbone(str(copy), device="cpu").fingerprint() == system.fingerprint()
    assert Backbone(str(other), device="cpu").fingerprint() != system.fingerprint()
    assert Backbone(str(copy), device="cpu", batch=2, piece=9).fingerprint() == system.fingerprint()
    facts = system.facts()
    assert facts["architecture"] == "RetNet"
    assert facts["training"] is None
    json.dumps(facts)


def test_a_training_folder_gives_the_selected_weights_and_what_its_card_says(tmp_path: Path) -> None:
    for number in (1, 2):
        folder = run_folder(tmp_path, number)
        saved(folder / BEST, seed=number)
        (folder / CARD).write_text(json.dumps({"identity": {"configuration": number}, "outcome": {}}))
    (tmp_path / SELECTION).write_text(json.dumps({"selected": 2}))
    chosen = Backbone(str(tmp_path), device="cpu")
    direct = Backbone(str(run_folder(tmp_path, 2)), device="cpu")
    assert chosen.fingerprint() == direct.fingerprint()
    assert chosen.fingerprint() != Backbone(str(run_folder(tmp_path, 1)), device="cpu").fingerprint()
    assert chosen.facts()["training"] == {"identity": {"configuration": 2}, "outcome": {}}


def test_what_it_cannot_read_is_a_failure_that_says_why(checkpoint: Path) -> None:
    (query,) = queries(1, 1)
    long = SymbolQuery(query.stream, np.zeros(7, np.uint8), 16)
    wide = SymbolQuery(query.stream, query.candidate, 17)
    foreign = SymbolQuery(np.array([3, 16], np.uint8), query.candidate % 4, 16)
    empty = SymbolQuery(np.empty(0, np.uint8), query.candidate, 16)
    cases = [
        (request(None), "reads symbols"),
        (request(query, options={"{0}": "yes"}), "no such markers"),
        (request(long), "candidates of 1 to 6 symbols, and this one has 7"),
        (request(wide), "trained on 16 symbols, and this stream has 17"),
        (request(foreign), "symbol 16 is not below"),
        (request(empty), "the stream is empty"),
    ]
    responses = asked(Backbone(str(checkpoint), device="cpu"), [case for case, _ in cases])
    for response, (_, why) in zip(responses, cases, strict=True):
        assert response.status is Status.INVALID_REQUEST
        assert response.error is not None
        assert why in response.error


def test_a_checkpoint_or_a_device_that_is_not_there_is_one_error(checkpoint: Path, tmp_path: Path) -> None:
    def refused(system: Backbone) -> str:
        with pytest.raises(EccdataError) as told:
            asyncio.run(system.open())
        return str(told.value)

    assert "There is no folder" in refused(Backbone(str(tmp_path / "nowhere")))
    assert "holds no weights of a backbone" in refused(Backbone(str(tmp_path)))
    assert "cannot load" in refused(Backbone(str(checkpoint), device="abacus"))
    broken = saved(tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"nothing")
    assert "cannot load" in refused(Backbone(str(broken), device="cpu"))
    partial = saved(tmp_path / "partial")
    weights = load_file(partial / "model.safetensors")
    save_file(
        {k: v for k, v in weights.items() if k != "head.bias"},
        partial / "model.safetensors",
        {"format": "pt"},
    )
    assert "head.bias" in refused(Backbone(str(partial), device="cpu"))
    with pytest.raises(EccdataError, match=r"batch=0[\s\S]*piece=0"):
        Backbone(str(checkpoint), batch=0, piece=0)


def test_running_out_of_memory_says_what_to_give_less_of(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = Backbone(str(checkpoint), device="cpu")

    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(system._model, "write", full)
    with pytest.raises(EccdataError, match="ran out of memory with batch=16 and piece=1024"):
        asked(system, [request(query) for query in queries(1, 2)])


def test_it_answers_a_release_and_a_second_call_asks_nothing(checkpoint: Path, tmp_path: Path) -> None:
    release = token_release(tmp_path / "release", sequences=20, test_streams=2)

    def run(out: str, **options: Any) -> Any:
        return eccdata.evaluate(
            release,
            config="tokens",
            system="backbone",
            system_options={"checkpoint": str(checkpoint), "device": "cpu"},
            out=tmp_path / out,
            **options,
        )

    first = run("run")
    assert first.complete
    assert (first.questions, first.asked) == (2 * 2 * 32, 128)
    assert run("run").asked == 0
    run("one-by-one", concurrency=1)
    query = "select probability, option_yes + option_no as both, flops, flops_write from responses order by question_id"
    together, alone = (eccdata.sql(query, [tmp_path / name], format="json") for name in ("run", "one-by-one"))
    for one, other in zip(json.loads(together), json.loads(alone), strict=True):
        assert one["probability"] == pytest.approx(other["probability"], abs=1e-5)
        assert one["both"] == pytest.approx(1)
        assert one["flops"] == backbone_flops("RetNet", width=32, length=64) > one["flops_write"]
