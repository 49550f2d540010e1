"""A stranger's benchmark: a small builder with two splits, registered as another package would."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest

from eccdata import catalog
from eccdata.builder import Builder, BuilderConfig, Cell
from eccdata.streams.seeding import generator

ANSWERS = datasets.ClassLabel(names=["yes", "no"])


@dataclass
class ToyConfig(BuilderConfig):
    lengths: tuple[int, ...] = (8, 16)
    rows: int = 6


class Toy(Builder):
    """Does a stream of digits hold the candidate digit? A row a question, one cell a length."""

    benchmark = "toybench"
    configuration = "digits"
    VERSION = datasets.Version("1.2.3")
    BUILDER_CONFIG_CLASS = ToyConfig
    cells_per_shard = 2

    config: ToyConfig

    @classmethod
    def features(cls) -> datasets.Features:
        return datasets.Features(
            {
                "question_id": datasets.Value("string"),
                "length": datasets.Value("int32"),
                "stream": datasets.List(datasets.Value("uint8")),
                "candidate": datasets.Value("uint8"),
                "answer": ANSWERS,
                "rate": datasets.Value("float64"),
                "kind": datasets.Value("string"),
                "notes": datasets.List(
                    {"position": datasets.Value("int32"), "symbols": datasets.List(datasets.Value("uint8"))}
                ),
            }
        )

    def cells(self) -> list[Cell]:
        return [Cell("train", {"length": 4}, 0, self.config.rows)] + [
            Cell("test", {"length": length}, 0, self.config.rows) for length in self.config.lengths
        ]

    def table(self, cell: Cell) -> pa.Table:
        rows = []
        for index in range(cell.start, cell.stop):
            random = generator(self.config.seed, "toy", cell.split, cell.key["length"], index)
            stream = random.integers(0, 10, int(cell.key["length"]), dtype=np.uint8)
            candidate = int(random.integers(0, 10))
            found = bool((stream == candidate).any())
            rows.append(
                {
                    "question_id": f"{cell.split}-L{cell.key['length']:04d}-q{index:02d}",
                    "length": len(stream),
                    "stream": stream.tolist(),
                    "candidate": candidate,
                    "answer": 0 if found else 1,
                    "rate": float(len(set(stream.tolist()))) / len(stream),
                    "kind": None if found else "absent",
                    "notes": [{"position": 0, "symbols": stream[:2].tolist()}] * (index % 3),
                }
            )
        return pa.Table.from_pylist(rows, schema=self.features().arrow_schema)

    def check(self, table: pa.Table) -> list[str]:
        return [
            f"{row['question_id']}: the answer does not follow from the stream"
            for row in table.to_pylist()
            if (row["candidate"] in row["stream"]) != (row["answer"] == 0)
        ]

    def findings(self, read: Callable[[str], Iterator[pa.Table]]) -> str:
        yes = sum(table.column("answer").to_pylist().count(0) for table in read("test"))
        return f"{yes} questions are answered yes."


class ToyList(Toy):
    """The same rows under another name, for releases of two configurations."""

    configuration = "list"
    cells_per_shard = 64


class ToySecret(Toy):
    """May not be redistributed."""

    configuration = "secret"


DESCRIPTION = textwrap.dedent(
    """
    title: Toybench
    summary: Digits in streams.
    purpose: To test releases.
    url: https://example.org/toybench
    published: 2026-01-02
    creators: [Nobody]
    license: {name: Creative Commons Attribution 4.0, spdx: CC-BY-4.0,
              url: "https://creativecommons.org/licenses/by/4.0/", text: licence.txt}
    citation: "@misc{toy, title = {Toy}}"
    keywords: [toy]
    provenance: {derived_from: ["https://example.org/source"], generated_by: A generator.}
    rai:
      data_limitations: [Small.]
      data_biases: [None known.]
      personal_sensitive_information: [None.]
      data_use_cases: [Tests.]
      data_social_impact: None.
      has_synthetic_data: true
    columns: {question_id: Its name., stream: Digits., notes.position: An index.}
    configs:
      digits: {summary: Digits., made: Drawn., redistribution: allowed}
      list: {summary: Digits again., made: Drawn., redistribution: allowed}
      secret: {summary: Not to be shown., made: Drawn., redistribution: forbidden}
    """
)

BUILDERS = {"digits": Toy, "list": ToyList, "secret": ToySecret}


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, *configs: str) -> None:
    """Register `toybench` as an installed package would; `folder` takes its Croissant description."""
    package = folder / "toybench_croissant"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "toybench.yaml").write_text(DESCRIPTION)
    (package / "licence.txt").write_text("Do as you like.\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, package.name, raising=False)  # another test's
    theirs = {
        "builders": {
            f"toybench.{config}": EntryPoint(
                f"toybench.{config}", f"support.toy:{BUILDERS[config].__name__}", "eccdata.builders"
            )
            for config in configs or ("digits", "list")
        },
        "croissant": {"toybench": EntryPoint("toybench", "toybench_croissant", "eccdata.croissant")},
    }
    installed = catalog.entries
    monkeypatch.setattr(catalog, "entries", lambda group: installed(group) | theirs.get(group, {}))
