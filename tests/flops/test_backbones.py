"""Prices of the backbones against Table 12."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eccdata.backbones.settings import ARCHITECTURES, slug
from eccdata.errors import EccdataError
from eccdata.flops.backbones import backbone_flops, backbone_price, backbone_prices

# MFLOPs at (D, L) = (64, 2048), (64, 4096), (128, 2048), (128, 4096)
TABLE_12 = {
    "Compressive Transformer": ("1817.09", "3711.26", "6188.52", "12550.06"),
    "DeltaFormer": ("4033.22", "14508.49", "8475.58", "29835.08"),
    "DeltaNet": ("856.06", "1711.69", "2121.26", "4241.48"),
    "GLA": ("837.17", "1673.94", "2077.19", "4153.37"),
    "Gated DeltaNet": ("1101.54", "2202.55", "4229.92", "8457.78"),
    "Mamba-2": ("926.87", "1853.29", "3669.71", "7337.63"),
    "Memory Mosaic": ("3071.73", "9363.97", "9064.12", "24567.84"),
    "MoM": ("1063.78", "2127.03", "3852.25", "7702.62"),
    "RWKV-7": ("1074.27", "2148.01", "3357.08", "6712.52"),
    "RetNet": ("1070.07", "2139.62", "2945.84", "5890.24"),
    "GRU": ("302.14", "604.13", "1208.55", "2416.51"),
    "TTT-MLP": ("936.21", "1872.06", "2986.54", "5971.84"),
    "Transformer (RoPE)": ("1915.11", "7051.30", "4434.49", "15310.85"),
    "Transformer (conv)": ("1918.26", "7057.59", "4440.79", "15323.44"),
}
CELLS = [(64, 2048), (64, 4096), (128, 2048), (128, 4096)]


@pytest.mark.parametrize("name", TABLE_12)
def test_every_cell_of_table_12(name: str) -> None:
    found = tuple(f"{backbone_flops(name, width=D, length=L) / 1e6:.2f}" for D, L in CELLS)
    assert found == TABLE_12[name]


def test_the_table_is_all_architectures_at_the_papers_sizes() -> None:
    prices = backbone_prices()
    assert [*dict.fromkeys(price.model for price in prices)] == [*TABLE_12] == [*ARCHITECTURES]
    assert {(price.width, price.length) for price in prices} == {*CELLS}
    assert len(prices) == 56
    assert all(f"{p.flops / 1e6:.2f}" == TABLE_12[p.model][CELLS.index((p.width, p.length))] for p in prices)


sizes = st.fixed_dictionaries({"width": st.sampled_from([16, 32, 64, 128]), "length": st.integers(0, 3000)})


@given(st.sampled_from([*TABLE_12]), sizes)
def test_streams_and_questions_both_cost_and_add_up(name: str, size: dict[str, int]) -> None:
    price = backbone_price(name, **size)
    assert price.flops_read > 0
    assert (price.flops_write > 0) == (size["length"] > 0)
    assert price.flops == price.flops_write + price.flops_read == backbone_flops(name, **size)
    longer = backbone_price(name, width=size["width"], length=size["length"] + 1)
    # what a question costs, writing one more token costs too; only the Compressive Transformer then tidies up
    assert longer.flops_write >= price.flops
    if name != "Compressive Transformer" or (size["length"] + 1) % 128:
        assert longer.flops_write == price.flops


@pytest.mark.parametrize("name", TABLE_12)
def test_a_recurrent_memory_reads_at_the_same_price_however_long_the_stream(name: str) -> None:
    short, long = (backbone_price(name, width=64, length=length).flops_read for length in (2048, 4096))
    grows = name in ("DeltaFormer", "Memory Mosaic", "Transformer (RoPE)", "Transformer (conv)")
    assert (long > short) == grows


def test_slugs_name_the_same() -> None:
    for name in TABLE_12:
        assert backbone_price(slug(name), width=64, length=9) == backbone_price(name, width=64, length=9)


@pytest.mark.parametrize(
    ("name", "width", "length", "told"),
    [
        ("LSTM", 64, 1, "no architecture called 'LSTM'"),
        ("retnett", 64, 1, "Did you mean 'retnet'"),
        ("GRU", 72, 1, "cannot be 72 wide"),
        ("GRU", 0, 1, "cannot be 0 wide"),
        ("GRU", 64, -1, "length=-1"),
    ],
)
def test_what_cannot_be_is_told(name: str, width: int, length: int, told: str) -> None:
    with pytest.raises(EccdataError, match=told):
        backbone_price(name, width=width, length=length)
