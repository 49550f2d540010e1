from __future__ import annotations

import pytest

from eccdata.backbones.settings import ARCHITECTURES, WIDTHS
from eccdata.errors import EccdataError
from eccdata.training.settings import CONFIGURATIONS, TrainingSettings, configurations, run_name


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_each_architecture_has_four_configurations_within_what_the_paper_prints(
    name: str, width: int
) -> None:
    declared = configurations(name, width)
    assert len(declared) == CONFIGURATIONS
    assert len({tuple(sorted(one.items())) for one in declared}) == CONFIGURATIONS
    made = [TrainingSettings(**one) for one in declared]
    assert all(12 <= one.batch_size <= 128 and 2e-4 <= one.learning_rate <= 7e-4 for one in made)
    assert all(
        (one.epochs, one.warmup, one.target_accuracy, one.layers) == (125, 0.01, 0.97, 3) for one in made
    )
    usual = [6e-4, 7e-4] if width == 64 else [2.5e-4]
    assert sum(one.learning_rate in usual for one in made) >= CONFIGURATIONS / 2


def test_smoke_has_four_too_and_few_epochs() -> None:
    made = [TrainingSettings(**one) for one in configurations("GRU", 32, smoke=True)]
    assert len(made) == CONFIGURATIONS
    assert all(one.epochs < 20 for one in made)


def test_other_widths_take_the_next_larger_ones() -> None:
    assert configurations("gru", 16) == configurations("gru", 64)
    assert configurations("gru", 96) == configurations("gru", 128) == configurations("gru", 256)


def test_names_of_folders_are_slugs() -> None:
    assert run_name("Transformer (RoPE)", 128) == "transformer-rope-d128"


def test_mistakes_are_told_at_once() -> None:
    with pytest.raises(EccdataError) as told:
        TrainingSettings(learning_rate=0, batch_size=0, epochs=-1, clip=0, seed=-1)
    for name in ("learning_rate=0", "batch_size=0", "epochs=-1", "clip=0", "seed=-1"):
        assert name in str(told.value)
    with pytest.raises(EccdataError, match="There is no architecture called 'lstm'"):
        configurations("lstm", 64)
    with pytest.raises(EccdataError, match="cannot be 40 wide"):
        configurations("gru", 40)
