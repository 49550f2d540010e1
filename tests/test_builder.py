from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import datasets
import pyarrow as pa
import pytest

from eccdata.builder import Builder, BuilderConfig, Cell
from eccdata.errors import EccdataError


@dataclass
class SquaresConfig(BuilderConfig):
    """Settings of `squares`.

    Attributes:
        sizes: How many numbers each cell has.

    """

    sizes: tuple[int, ...] = (3, 2, 4)

    def problems(self) -> list[str]:
        return super().problems() + [f"sizes={size}: must be at least 1" for size in self.sizes if size < 1]


class Squares(Builder):
    """Numbers and their squares, a cell a size, the last one for validation."""

    benchmark = "arithmetic"
    configuration = "squares"
    VERSION = datasets.Version("2.1.0")
    BUILDER_CONFIG_CLASS = SquaresConfig
    config: SquaresConfig

    @classmethod
    def features(cls) -> datasets.Features:
        return datasets.Features({"cell": datasets.Value("int32"), "square": datasets.Value("int64")})

    def cells(self) -> list[Cell]:
        last = len(self.config.sizes) - 1
        return [
            Cell("validation" if index == last else "train", {"cell": index}, 0, size)
            for index, size in enumerate(self.config.sizes)
        ]

    def table(self, cell: Cell) -> pa.Table:
        numbers = range(cell.start, cell.stop)
        return pa.table(
            {
                "cell": [cell.key["cell"]] * len(numbers),
                "square": [n * n + self.config.seed for n in numbers],
            },
            schema=self.features().arrow_schema,
        )


def make(tmp_path: Path, **settings: object) -> Builder:
    return Squares.create(cache_dir=str(tmp_path), **settings)


def test_rows_are_those_of_the_cells_in_their_order(tmp_path: Path) -> None:
    for num_proc in (1, 2):
        builder = make(tmp_path / str(num_proc))
        builder.download_and_prepare(num_proc=num_proc)
        found = builder.as_dataset()
        assert found["train"]["square"][:] == [0, 1, 4, 0, 1]
        assert found["train"]["cell"][:] == [0, 0, 0, 1, 1]
        assert found["validation"]["square"][:] == [0, 1, 4, 9]
        assert found["train"].features == Squares.features()
        assert str(found["train"].info.version) == "2.1.0"
    streaming = make(tmp_path).as_streaming_dataset(split="train")
    assert [row["square"] for row in streaming] == [0, 1, 4, 0, 1]


def test_settings_are_values_or_text(tmp_path: Path) -> None:
    assert make(tmp_path).settings == {"seed": 0, "sizes": (3, 2, 4)}
    assert make(tmp_path, sizes="5,6", seed="7").settings == {"seed": 7, "sizes": (5, 6)}
    assert make(tmp_path, sizes=[5, 6]).settings == {"seed": 0, "sizes": (5, 6)}


def test_other_settings_are_prepared_elsewhere(tmp_path: Path) -> None:
    squares = []
    for seed in (0, 1, 0):
        builder = make(tmp_path, seed=seed)
        builder.download_and_prepare()
        squares.append(builder.as_dataset(split="train")["square"][:])
    assert squares == [[0, 1, 4, 0, 1], [1, 2, 5, 1, 2], [0, 1, 4, 0, 1]]


def test_everything_wrong_with_the_settings_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(EccdataError) as error:
        make(tmp_path, sizes=(0, 3, -1), seed=-5, size=3)
    assert str(error.value).splitlines() == [
        "These settings do not fit SquaresConfig:",
        "  - size: no such setting (did you mean sizes?)",
        "  - seed=-5: must be 0 or more",
        "  - sizes=0: must be at least 1",
        "  - sizes=-1: must be at least 1",
        "It can set: seed, sizes.",
    ]
    with pytest.raises(EccdataError, match=r"(?s)sizes=a,b.*valid integer.*seed=-1"):
        make(tmp_path, sizes="a,b", seed=-1)


@pytest.mark.parametrize("name", ["name", "version", "data_dir", "description"])
def test_what_datasets_keeps_in_a_config_is_no_setting(tmp_path: Path, name: str) -> None:
    with pytest.raises(EccdataError, match=f"{name}: no such setting"):
        make(tmp_path, **{name: "x"})


def test_what_a_killed_build_left_does_not_get_in(tmp_path: Path) -> None:
    builder = make(tmp_path)
    working = Path(f"{builder.cache_dir}.incomplete")
    (working / "folder").mkdir(parents=True)
    for left in ("arithmetic-squares-train-00000-of-00007.arrow", "folder/shard.arrow"):
        (working / left).write_bytes(b"half a shard")
    builder.download_and_prepare()
    assert builder.as_dataset(split="train")["square"][:] == [0, 1, 4, 0, 1]
    assert not working.exists()
    assert sorted(path.name for path in Path(builder.cache_dir).iterdir()) == [
        "arithmetic-squares-train.arrow",
        "arithmetic-squares-validation.arrow",
        "dataset_info.json",
    ]
