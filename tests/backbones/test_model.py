"""The model around a backbone: configs, candidates, saving and loading, long streams in every precision."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from huggingface_hub import CommitOperationAdd, ModelCard
from torch import Tensor
from torch.nn import functional
from torch.utils._pytree import tree_leaves
from transformers import AutoConfig, AutoModel, Mamba2Config
from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer
from transformers.utils import hub

import eccdata.backbones
from eccdata.backbones import BackboneConfig, MemoryBackbone, right_aligned
from eccdata.backbones.mixers.mamba2 import Mamba2
from eccdata.backbones.settings import ARCHITECTURES, settings, slug
from eccdata.errors import EccdataError

each = pytest.mark.parametrize("name", ARCHITECTURES)


def made(name: str, *, width: int = 16, layers: int = 1) -> MemoryBackbone:
    torch.manual_seed(0)
    return MemoryBackbone(BackboneConfig(architecture=name, width=width, layers=layers))


def asked(length: int, batch: int = 2) -> tuple[Tensor, Tensor]:
    drawn = torch.Generator().manual_seed(length)
    streams = torch.randint(0, 16, (batch, length), generator=drawn)
    return streams, torch.randint(0, 17, (batch, 5, 6), generator=drawn)


def test_settings_are_those_of_table_11() -> None:
    at_64, at_128 = ({name: settings(name, width) for name in ARCHITECTURES} for width in (64, 128))
    changed = {name for name in ARCHITECTURES if at_64[name] != at_128[name]}
    assert changed == {"TTT-MLP"}
    assert [at["TTT-MLP"]["mini_batch"] for at in (at_64, at_128)] == [256, 128]
    for width, size in ((64, 128), (128, 256)):
        mamba = MemoryBackbone(BackboneConfig(architecture="Mamba-2", width=width)).backbone.parts[0].mixer
        assert (mamba.state_width, mamba.inner) == (size, 2 * width)
        mosaic = (
            MemoryBackbone(BackboneConfig(architecture="Memory Mosaic", width=width)).backbone.parts[1].mixer
        )
        assert mosaic.memory_keys.shape[::2] == (6, size)
    gla = MemoryBackbone(BackboneConfig(architecture="GLA", width=128)).backbone.parts[0].mixer
    assert (gla.heads, gla.start(torch.empty(1, 0, 128)).memory.shape[2:]) == (8, (8, 16))
    assert settings("Compressive Transformer", 64) == {
        "ffn": 4, "block": 128, "compression_1": 8, "compression_2": 4, "slots_1": 32, "slots_2": 32
    }  # fmt: skip


@each
@pytest.mark.usefixtures("without_gradients")
def test_saves_and_loads_without_a_network(name: str, tmp_path: Path) -> None:
    model = made(name)
    streams, candidates = asked(30)
    model.save_pretrained(tmp_path)
    again = MemoryBackbone.from_pretrained(tmp_path, local_files_only=True)
    told = [{k: v for k, v in m.config.to_dict().items() if k != "_name_or_path"} for m in (model, again)]
    assert told[0] == told[1]
    assert again.config.architecture == name
    for key, value in model.state_dict().items():
        assert torch.equal(value, again.state_dict()[key])
    assert torch.equal(again(streams, candidates).logits, model(streams, candidates).logits)


def test_transformers_finds_the_model_by_its_type(tmp_path: Path) -> None:
    made("GRU").save_pretrained(tmp_path)
    assert isinstance(AutoConfig.from_pretrained(tmp_path), BackboneConfig)
    assert isinstance(AutoModel.from_pretrained(tmp_path), MemoryBackbone)


def test_pushes_what_loads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a Hub that keeps what it is sent."""

    class Hub:
        def create_repo(self, repo_id: str, **_: object) -> SimpleNamespace:
            return SimpleNamespace(repo_id=repo_id)

        def create_commit(self, operations: list[CommitOperationAdd], **_: object) -> None:
            for operation in operations:
                with operation.as_file() as content:
                    (tmp_path / operation.path_in_repo).write_bytes(content.read())

    monkeypatch.setattr(hub, "hf_api", Hub)
    monkeypatch.setattr(hub, "create_and_tag_model_card", lambda *_, **__: ModelCard("# A memory"))
    model = made("GRU")
    model.push_to_hub("somebody/memory")
    assert {path.name for path in tmp_path.iterdir()} == {"README.md", "config.json", "model.safetensors"}
    again = MemoryBackbone.from_pretrained(tmp_path)
    assert all(torch.equal(value, again.state_dict()[key]) for key, value in model.state_dict().items())


def test_a_checkpoint_without_all_weights_is_not_loaded(tmp_path: Path) -> None:
    model = made("GRU")
    weights = model.state_dict()
    del weights["head.bias"]
    model.save_pretrained(tmp_path, state_dict=weights)
    with pytest.raises(EccdataError, match=r"(?s)no whole checkpoint of a GRU.*head\.bias"):
        MemoryBackbone.from_pretrained(tmp_path)


def test_own_settings_are_kept(tmp_path: Path) -> None:
    config = BackboneConfig(architecture="ttt-mlp", width=32, layers=2, settings={"mini_batch": 16})
    assert (config.architecture, config.hidden_size) == ("TTT-MLP", 32)
    config.save_pretrained(tmp_path)
    assert BackboneConfig.from_pretrained(tmp_path).settings == {"ffn": 1, "window": 16, "mini_batch": 16}


@each
@pytest.mark.usefixtures("without_gradients")
def test_written_in_pieces_and_read_twice(name: str) -> None:
    model = made(name).double()
    streams, candidates = asked(50)
    logits = model(streams, candidates).logits
    state = model.write(streams[:, :20], piece=7)
    state = model.write(streams[:, 20:], state, piece=11)
    for _ in range(2):
        torch.testing.assert_close(model.read(candidates, state), logits, rtol=1e-9, atol=1e-9)
    # one candidate's answer is its own, whatever else is asked
    torch.testing.assert_close(model.read(candidates[:, 2:3], state), logits[:, 2:3], rtol=1e-9, atol=1e-9)
    assert logits.shape == (2, 5, 2)
    # an empty memory can be asked too
    assert model.read(candidates, model.start(2)).isfinite().all()


@each
def test_takes_a_gradient_step_against_its_loss(name: str) -> None:
    model = made(name)
    streams, candidates = asked(40)
    labels = torch.tensor([[0, 1, 0, 1, -100], [1, 0, 1, 0, 1]])
    output = model(streams, candidates, labels=labels)
    counted = labels >= 0
    expected = functional.cross_entropy(output.logits[counted], labels[counted])
    torch.testing.assert_close(output.loss, expected)
    output.loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= 1e-2 * parameter.grad / (1e-8 + parameter.grad.norm())
    assert model(streams, candidates, labels=labels).loss < output.loss


@each
@pytest.mark.usefixtures("without_gradients")
def test_4096_symbols_in_single_and_half_precision(name: str) -> None:
    model = made(name)
    streams, candidates = asked(4096, batch=1)
    exact = made(name).double()
    exact.load_state_dict(model.state_dict())
    expected = exact.read(candidates, exact.write(streams, piece=1024))
    single = model.read(candidates, model.write(streams, piece=1024))
    assert (single - expected).abs().max() < 1e-4
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model.read(candidates, model.write(streams, piece=1024))
    assert (mixed - expected).abs().max() < 0.1
    half = made(name).bfloat16()
    half.load_state_dict(model.state_dict())
    state = half.write(streams[:, :600])
    assert (
        half.read(candidates, state) - exact.read(candidates, exact.write(streams[:, :600]))
    ).abs().max() < 0.1
    assert all(leaf.isfinite().all() for leaf in tree_leaves(state) if isinstance(leaf, Tensor))


def test_mamba_2_is_that_of_transformers() -> None:
    torch.manual_seed(0)
    ours = Mamba2(32, conv=4, expand=2, expand_state=2, ssm_head_width=64)
    config = Mamba2Config(
        hidden_size=32,
        num_heads=1,
        head_dim=64,
        state_size=64,
        n_groups=1,
        use_conv_bias=False,
        chunk_size=32,
    )
    theirs = Mamba2Mixer(config, layer_idx=0)
    theirs.load_state_dict(
        {
            "in_proj.weight": ours.project.weight,
            "conv1d.weight": ours.conv.weight.T[:, None],
            "A_log": ours.log_rate,
            "dt_bias": ours.step_bias,
            "D": ours.skip,
            "norm.weight": ours.norm.weight,
            "out_proj.weight": ours.out.weight,
        }
    )
    x = torch.randn(2, 150, 32)
    torch.testing.assert_close(ours(x)[0], theirs(x), rtol=1e-4, atol=1e-5)


def test_candidates_are_aligned_to_the_right() -> None:
    config = BackboneConfig()
    assert right_aligned([[1, 2, 3], [4, 5, 6, 7, 8, 9]], config).tolist() == [
        [16, 16, 16, 1, 2, 3],
        [4, 5, 6, 7, 8, 9],
    ]
    assert right_aligned([], config).shape == (0, 6)
    with pytest.raises(
        EccdataError, match=r"(?s)cannot read.*candidate 1: \[\].*candidate 2: .*1 to 6 symbols"
    ) as told:
        right_aligned([[1], [], [1] * 7, [16]], config)
    assert "candidate 3: [16]" in str(told.value)
    assert "candidate 0" not in str(told.value)


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ({"architecture": "transformer"}, "no architecture called 'transformer'.*transformer-rope"),
        ({"width": 40}, "cannot be 40 wide"),
        ({"layers": 0, "alphabet_size": 0}, "(?s)layers=0.*alphabet_size=0"),
        (
            {"architecture": "GLA", "settings": {"conv": 4, "key": 1}},
            "(?s)conv: is no setting.*key: .*key_width",
        ),
    ],
)
def test_what_cannot_be_built_is_told(shape: dict[str, object], told: str) -> None:
    with pytest.raises(EccdataError, match=told):
        BackboneConfig(**shape)


def test_slots_that_do_not_fit_are_told() -> None:
    config = BackboneConfig(architecture="compressive-transformer", settings={"block": 100})
    with pytest.raises(EccdataError, match="blocks of 100 into 32 slots of 8"):
        MemoryBackbone(config)


def test_slugs_are_unlike() -> None:
    assert len({slug(name) for name in ARCHITECTURES}) == 14


def test_without_torch_names_and_prices_are_there_and_models_say_what_to_install() -> None:
    code = """
import sys
sys.modules["torch"] = sys.modules["transformers"] = None
import eccdata.backbones
from eccdata.errors import EccdataError
from eccdata.flops.backbones import backbone_flops
print(backbone_flops("gru", width=64, length=2048))
try:
    eccdata.backbones.MemoryBackbone
except EccdataError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    price, told = ran.stdout.split("\n", 1)
    assert price == "302137344"
    assert "pip install 'eccdata[models]'" in told


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Backbone'"):
        _ = eccdata.backbones.Backbone
