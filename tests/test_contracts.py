"""What every registered builder, evaluator, system and query keeps to, whoever wrote it."""

from __future__ import annotations

import base64
import dataclasses
import json
import shutil
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pytest

import eccdata
from eccdata import catalog
from eccdata.errors import EccdataError
from eccdata.evaluator import Evaluator, Row
from eccdata.requests import Request, Response, Status
from eccdata.rows import iterate
from eccdata.settings import make
from eccdata.systems import System
from support.footage import small_copies
from support.study import write_study

# Small enough to build in a second or so; a new configuration adds its own.
SMALL: dict[tuple[str, str], dict[str, Any]] = {
    ("eccbench", "text"): {"lengths": (8, 32), "streams": 3, "queries": 4},
    ("eccbench", "easyhuman-text"): {"lengths": (64,), "streams": 2, "queries": 4},
    ("eccbench", "tokens"): {"sequences": 200, "queries": 4, "test_lengths": (64,), "test_streams": 2},
    ("eccbench", "video-sequential"): {"lengths": (8, 32), "streams": 2, "queries": 4},
    ("eccbench", "video-spatial"): {"lengths": (8, 32), "streams": 2, "queries": 4},
    ("eccbench", "easyhuman-video"): {"lengths": (64,), "streams": 2, "queries": 4},
    ("eccbench", "natural"): {"lengths": (8, 16), "clips_per_length": (20, 10)},
}
# What a system needs to be made; every other option has a default. A served or a trained model is tested elsewhere.
OPTIONS: dict[str, dict[str, Any]] = {
    "window": {"bits": 256},
    "lempel-ziv": {"bits": 256},
    "bloom": {"bits": 256},
}
SERVED = {"sglang", "retrieval", "backbone"}

CONFIGS = [(benchmark, config) for benchmark in catalog.benchmarks() for config in catalog.configs(benchmark)]
PROTOCOLS = [(b, protocol) for b in catalog.benchmarks() for protocol in catalog.protocols(b)]
MEMORIES = [name for name in catalog.systems() if name not in SERVED]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A user's own copies of all sources that some configuration reads."""
    return small_copies(tmp_path_factory.mktemp("copies"))


def data_dirs(benchmark: str, config: str, copies: dict[str, Path]) -> dict[str, Path]:
    """Those that a configuration reads."""
    return {name: copies[name] for name in catalog.builder(benchmark, config).sources}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, copies: dict[str, Path]) -> dict[tuple[str, str], Path]:
    """A small release of each configuration."""
    missing = [key for key in CONFIGS if key not in SMALL]
    assert not missing, f"Say in SMALL what makes these configurations small: {missing}"
    folder = tmp_path_factory.mktemp("releases")
    releases = {}
    for benchmark, config in CONFIGS:
        out = folder / benchmark / config
        out.parent.mkdir(exist_ok=True)
        eccdata.build(
            benchmark,
            out=out,
            configs=[config],
            settings=SMALL[benchmark, config],
            data_dirs=data_dirs(benchmark, config, copies),
        )
        releases[benchmark, config] = out
    return releases


@pytest.mark.parametrize(("benchmark", "config"), CONFIGS)
def test_builder_documents_itself(benchmark: str, config: str) -> None:
    cls = catalog.builder(benchmark, config)
    assert (cls.benchmark, cls.configuration) == (benchmark, config)
    assert cls.__doc__
    undocumented = [
        f.name
        for f in dataclasses.fields(cls.BUILDER_CONFIG_CLASS)
        if f.name not in {g.name for g in dataclasses.fields(datasets.BuilderConfig)}
        and not any(f"{f.name}: " in (base.__doc__ or "") for base in cls.BUILDER_CONFIG_CLASS.__mro__)
    ]
    assert undocumented == []


@pytest.mark.parametrize(("benchmark", "config"), CONFIGS)
def test_release_is_the_same_however_it_is_built_and_loads_plainly(
    benchmark: str,
    config: str,
    small: dict[tuple[str, str], Path],
    copies: dict[str, Path],
    tmp_path: Path,
) -> None:
    first = small[benchmark, config]
    second = tmp_path / "again"
    own = data_dirs(benchmark, config, copies)
    settings = SMALL[benchmark, config]
    eccdata.build(benchmark, out=second, configs=[config], settings=settings, data_dirs=own, num_proc=2)
    assert (first / "SHA256SUMS").read_bytes() == (second / "SHA256SUMS").read_bytes()
    verification = eccdata.verify(first, data_dirs=own)
    assert verification.ok, str(verification)
    loaded = datasets.load_dataset(str(first), config, cache_dir=str(tmp_path / "cache"))
    features = catalog.builder(benchmark, config).features()
    for split, rows in loaded.items():
        assert rows.features == features, split
        assert rows.num_rows > 0


@pytest.mark.parametrize(("benchmark", "protocol"), PROTOCOLS)
def test_evaluator_is_a_pair_of_pure_functions(
    benchmark: str, protocol: str, small: dict[tuple[str, str], Path]
) -> None:
    cls = catalog.evaluator(benchmark, protocol)
    evaluator = make(cls, {})
    assert (cls.benchmark, cls.protocol) == (benchmark, protocol)
    assert cls.__doc__
    assert not set(evaluator.schema.names) & set(evaluator.carried)
    asked = 0
    for (of, config), release in small.items():
        if of != benchmark or not set(evaluator.needs()) <= set(catalog.builder(of, config).features()):
            continue
        for row in islice(rows_of(release, config), 5):
            try:
                questions = list(evaluator.questions(row))
            except EccdataError:
                break  # it has the columns, and is another protocol's to ask
            for question in questions:
                request = evaluator.request(question)
                assert same(request, evaluator.request(through_json(question)))
                assert request.question_id == question["question_id"]
                check_columns(evaluator, question)
                asked += 1
    assert asked, "No configuration of its benchmark can be asked under this protocol."


def check_columns(evaluator: Evaluator, question: Row) -> None:
    """Every kind of response gives exactly the schema; a failure gives no verdict."""
    for status in Status:
        columns = evaluator.columns(question, Response(status, text="{0}" if status.answered else ""))
        pa.Table.from_pylist([columns], schema=evaluator.schema)
        assert list(columns) == evaluator.schema.names or set(columns) == set(evaluator.schema.names)
        if "correct" in columns:
            assert (columns["correct"] is None) == (not status.answered)


def rows_of(release: Path, config: str) -> Iterator[Row]:
    loaded = datasets.load_dataset(str(release), config, cache_dir=str(release.parent / "cache"))
    yield from iterate(loaded[next(iter(loaded))])


def through_json(question: Row) -> Row:
    """A question as it comes back from JSON; videos, which are bytes, go as base 64."""
    text = json.dumps(question, default=lambda data: {"base64": base64.b64encode(data).decode()})
    return json.loads(  # type: ignore[no-any-return]
        text, object_hook=lambda d: base64.b64decode(d["base64"]) if "base64" in d else d
    )


def same(one: Request, other: Request) -> bool:
    """Whether two requests ask the same."""
    parts = ("question_id", "protocol", "messages", "decoding", "options", "payoff")
    return all(getattr(one, part) == getattr(other, part) for part in parts)


@pytest.mark.parametrize("name", MEMORIES)
def test_system_says_what_it_is(name: str) -> None:
    system = make(catalog.system(name), OPTIONS.get(name, {}))
    assert isinstance(system, System)
    assert type(system).__doc__
    assert name in system.label
    json.dumps([system.fingerprint(), system.facts()])


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two memories, and made-up ones of a model that sees and has a price: something for every table."""
    folder = tmp_path_factory.mktemp("study")
    write_study(folder / "results")
    for config, lengths in (("text", (8, 512, 1024)), ("easyhuman-text", (256, 1024))):
        release = folder / config
        settings = {"lengths": lengths, "streams": 4}
        eccdata.build("eccbench", out=release, configs=[config], settings=settings)
        for arm, (system, options) in product(("none", "a", "b"), (("window", {"bits": 512}), ("exact", {}))):
            eccdata.evaluate(
                release,
                protocol="membership",
                options={"arm": arm},
                system=system,
                system_options=options,
                out=folder / "results" / f"{system}-{config}-{arm}",
            )
    return folder / "results"


def test_every_query_makes_its_table(results: Path, tmp_path: Path) -> None:
    made = eccdata.tables([results], out=tmp_path / "tables")
    names = {(b, name) for b in catalog.benchmarks() for name in catalog.queries(b)}
    assert {(table.benchmark, table.name) for table in made} == names
    for table in made:
        assert table.made, f"{table.name}: {table.missing}"
        assert table.header.title


def test_tables_are_the_same_wherever_the_results_lie(results: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(results, tmp_path / "elsewhere")
    for here, there in zip(eccdata.tables([results]), eccdata.tables([moved]), strict=True):
        assert here.rows == there.rows
