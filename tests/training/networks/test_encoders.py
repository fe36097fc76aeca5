"""Every network by name, anyone's own, and checkpoints of others that find their places."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gnc_cli.errors import DataError, UsageError
from gnc_cli.training.networks.encoders import ENCODERS, build_encoder, load_backbone


@pytest.mark.parametrize("model", ENCODERS)
@pytest.mark.parametrize(("channels", "size"), [(1, 17), (3, 96)])
def test_features_have_the_shape_asked_for(model: str, channels: int, size: int) -> None:
    encoder = build_encoder(model, channels=channels, image_size=size, feature_dim=5, width=0.25)
    assert encoder.eval()(torch.zeros(2, channels, size, size)).shape == (2, 5)


@pytest.mark.parametrize("model", ENCODERS)
def test_gradients_reach_every_parameter(model: str) -> None:
    encoder = build_encoder(model, image_size=16, feature_dim=4, width=0.125)
    images = torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(3))
    encoder(images).square().sum().backward()
    for name, p in encoder.named_parameters():
        assert p.grad is not None and p.grad.any() and p.grad.isfinite().all(), name


@pytest.mark.parametrize("model", ["cnn", "resnet18", "densenet121"])
def test_one_seed_one_network_and_the_global_stream_is_untouched(model: str) -> None:
    before = torch.random.get_rng_state()
    first, other = (build_encoder(model, width=0.125, feature_dim=4, seed=s) for s in (7, 8))
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.rand(3)
    again = build_encoder(model, width=0.125, feature_dim=4, seed=7).state_dict()
    assert all(torch.equal(tensor, again[name]) for name, tensor in first.state_dict().items())
    for name, parameter in first.named_parameters():
        if parameter.ndim == 4:
            assert not torch.equal(parameter, other.get_parameter(name)), name


MODULE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, channels, feature_dim):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels, momentum=1.0)
        self.frozen = nn.BatchNorm1d(channels).eval()
        self.last = nn.Linear(channels, feature_dim)

    def forward(self, images):
        return self.last(self.frozen(self.norm(images + 1).mean((2, 3))))

def good(channels, image_size, feature_dim):
    return Net(channels, feature_dim or 6)

def wide(channels, image_size, feature_dim):
    return Net(channels, feature_dim + 1)

def strict(*, channels, image_size):
    return Net(channels, 2)

def flat(channels, image_size, feature_dim):
    return nn.Linear(7, feature_dim)

def maps(channels, image_size, feature_dim):
    return nn.Conv2d(channels, feature_dim, 1)

def pair(channels, image_size, feature_dim):
    return nn.MaxPool2d(3, return_indices=True)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package in the current directory, as a user has it."""
    (tmp_path / "own_networks").mkdir()
    (tmp_path / "own_networks" / "nets.py").write_text(MODULE)
    (tmp_path / "own_networks" / "broken.py").write_text("import no_such_library\n")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.startswith("own_networks")]:
        monkeypatch.delitem(sys.modules, name)
    return "own_networks.nets"


def test_a_factory_in_the_current_directory(own: str) -> None:
    path, state = sys.path[:], torch.random.get_rng_state()
    encoder, again = (build_encoder(f"{own}:good", image_size=9, feature_dim=4) for _ in range(2))
    assert sys.path == path and torch.equal(torch.random.get_rng_state(), state)
    # The trial pass leaves running statistics and modes as the factory made them.
    assert encoder.training and not encoder.get_submodule("frozen").training
    assert (encoder.get_buffer("norm.running_mean") == 0).all()
    assert torch.equal(encoder.get_parameter("last.weight"), again.get_parameter("last.weight"))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("resnet19", "'resnet19': choose from cnn, resnet18"),
        ("no_such.module:make", "importing no_such.module stops with ModuleNotFoundError"),
        ("own_networks.broken:make", "ModuleNotFoundError: No module named 'no_such_library'"),
        (":make", "importing nothing stops"),
        ("own_networks.nets:missing", "the factory stops with AttributeError"),
        ("own_networks.nets:strict", "the factory stops with TypeError"),
        ("own_networks.nets:flat", r"on images \(2, 1, 9, 9\)"),
        ("own_networks.nets:wide", r"give .*2, 5.*, not .* \(2, 4\)"),
        ("own_networks.nets:maps", r"give .*2, 4, 9, 9.*, not .* \(2, 4\)"),
        ("own_networks.nets:pair", "give tuple, not a tensor"),
    ],
)
def test_what_does_not_work_is_said_in_one_line(own: str, model: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        build_encoder(model, channels=1, image_size=9, feature_dim=4)
    assert "\n" not in str(raised.value) and model in str(raised.value)


State = dict[str, Tensor]


def _resnet(feature_dim: int = 7) -> nn.Module:
    return build_encoder("resnet18", image_size=96, feature_dim=feature_dim, width=0.125)


def _checkpoint(model: str = "resnet18", width: float = 0.125) -> State:
    """What the ImageNet network of this width would leave: other values, 20 classes."""
    encoder = build_encoder(model, width=width, image_size=96, feature_dim=20, seed=5)
    state = encoder.state_dict()
    for name, tensor in state.items():
        if name.endswith("running_mean"):
            tensor += 0.25
    return state


def _holds(encoder: nn.Module, state: State, but: str = "nothing") -> bool:
    own = encoder.state_dict()
    return all(torch.equal(own[name], state[name]) for name in own if but not in name)


@pytest.mark.parametrize("model", ["cnn", "resnet18", "densenet121"])
def test_the_last_layer_and_a_stem_of_another_shape_are_left_out(model: str) -> None:
    state = _checkpoint(model)
    first, last = ("conv1", "fc") if model != "densenet121" else ("features.conv0", "classifier")
    small = build_encoder(model, width=0.125, feature_dim=7)
    kept = {name: t.clone() for name, t in small.state_dict().items() if name in state}
    left_out = load_backbone(small, state)
    assert left_out == [f"{first}.weight", f"{last}.weight", f"{last}.bias"]
    assert _holds(small, state | {name: kept[name] for name in left_out})


@pytest.mark.parametrize("prefix", ["state_dict.model.", "module.backbone.", "module.encoder_q."])
def test_prefixes_are_stripped_and_what_lies_elsewhere_is_not_ours(prefix: str) -> None:
    state = _checkpoint()
    found = {prefix + name: tensor for name, tensor in state.items()}
    found |= {"head.weight": torch.zeros(4, 20), "step": torch.zeros(1)}
    if "encoder_q" in prefix:
        # MoCo: a key network with other values, a queue, and two layers where ours has one.
        found |= {f"module.encoder_k.{name}": tensor + 1 for name, tensor in state.items()}
        found |= {"module.queue": torch.zeros(3, 5), "module.queue_ptr": torch.zeros(1)}
        for entry in ("weight", "bias"):
            found[f"{prefix}fc.0.{entry}"] = found.pop(f"{prefix}fc.{entry}")
            found[f"{prefix}fc.2.{entry}"] = torch.zeros(4)
    encoder = _resnet()
    assert load_backbone(encoder, found) == ["fc.weight", "fc.bias"]
    assert _holds(encoder, state, but="fc.")


def test_counters_are_optional_half_precision_is_converted_and_old_names_have_dots() -> None:
    def old(name: str) -> str:
        for part in ("norm1", "norm2", "conv1", "conv2"):
            if "denselayer" in name:
                name = name.replace(f".{part}.", f".{part[:-1]}.{part[-1]}.")
        return name

    state = _checkpoint("densenet121")
    found = {old(name): tensor.half() for name, tensor in state.items() if "num_b" not in name}
    assert "features.denseblock1.denselayer1.norm.1.running_mean" in found
    encoder = build_encoder("densenet121", width=0.125, image_size=96, feature_dim=7)
    assert load_backbone(encoder, found) == ["classifier.weight", "classifier.bias"]
    assert _holds(encoder, {n: t.half().to(t.dtype) for n, t in state.items()}, but="classifier")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda state: {n: t for n, t in state.items() if not n.startswith("layer2.1")},
            r"Missing key.* \"layer2\.1\.conv1\.weight\"",
        ),
        (  # a ResNet-34 has all that a ResNet-18 has, in the same shapes, and more
            lambda state: state | {"layer1.2.conv1.weight": state["layer1.1.conv1.weight"]},
            r"Unexpected key.* \"layer1\.2\.conv1\.weight\"",
        ),
        (lambda _: _checkpoint(width=0.25), "size mismatch for "),
        (lambda _: {"a.b": torch.zeros(1)}, r"no name in the checkpoint \(a\.b\)"),
        (lambda _: {}, "no name in the checkpoint"),
    ],
)
def test_another_network_is_refused(change: Callable[[State], State], message: str) -> None:
    encoder = _resnet()
    with pytest.raises(DataError, match=message) as raised:
        load_backbone(encoder, change(_checkpoint()))
    assert "\n" not in str(raised.value)
