"""Every network by name, and anyone's own: shapes, gradients, seeds, layouts, what is refused."""

import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from gnc_cli.errors import UsageError
from gnc_cli.training.networks.encoders import ENCODERS, build_encoder
from gnc_cli.training.networks.layers import NORMS


@pytest.mark.parametrize("model", ENCODERS)
@pytest.mark.parametrize(
    ("stem", "channels", "size"), [("small", 1, 17), ("small", 3, 8), ("imagenet", 3, 45)]
)
def test_features_have_the_shape_asked_for(model: str, stem: str, channels: int, size: int) -> None:
    for feature_dim in (5, None):
        encoder = build_encoder(
            model, channels=channels, image_size=size, feature_dim=feature_dim, stem=stem,
            width=0.25,
        )  # fmt: skip
        with torch.no_grad():
            features = encoder.eval()(torch.zeros(2, channels, size, size))
        assert features.shape == (2, feature_dim or encoder.feature_dim)
    pooled = {"cnn": 64, "resnet18": 128, "densenet121": 256}
    assert features.shape[1] == pooled.get(model, 512)


@pytest.mark.parametrize("model", ENCODERS)
@pytest.mark.parametrize("norm", NORMS)
def test_gradients_reach_every_parameter(model: str, norm: str) -> None:
    encoder = build_encoder(model, image_size=16, feature_dim=4, width=0.125, norm=norm)
    generator = torch.Generator().manual_seed(3)
    images = torch.randn(4, 3, 16, 16, generator=generator)
    encoder(images).square().sum().backward()
    without = [name for name, p in encoder.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []
    assert all(p.grad is not None and p.grad.isfinite().all() for p in encoder.parameters())
    kinds = {"batch": nn.BatchNorm2d, "group": nn.GroupNorm, "none": ()}
    found = [layer for layer in encoder.modules() if "Norm" in type(layer).__name__]
    assert all(isinstance(layer, kinds[norm]) for layer in found) and bool(found) == (
        norm != "none"
    )


def test_the_small_network_learns_shifted_patterns() -> None:
    generator = torch.Generator().manual_seed(0)
    patterns = torch.randn(6, 1, 16, 16, generator=generator)
    labels = torch.arange(6).repeat_interleave(9)
    shifts = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    images = torch.cat([p.roll(s, (1, 2)) for p in patterns for s in shifts])[:, None]
    encoder = build_encoder("cnn", channels=1, image_size=16, feature_dim=6, width=0.5)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
    for _ in range(40):
        loss = F.cross_entropy(F.normalize(encoder(images), dim=1) / 0.1, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right = encoder.eval()(images.roll(1, 2)).argmax(1) == labels
    assert right.float().mean() > 0.8


@pytest.mark.parametrize("model", ["cnn", "resnet18", "densenet121"])
def test_one_seed_one_network_and_the_global_stream_is_untouched(model: str) -> None:
    before = torch.random.get_rng_state()
    first, again, other = (
        build_encoder(model, width=0.125, feature_dim=4, seed=seed) for seed in (7, 7, 8)
    )
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.rand(3)
    later = build_encoder(model, width=0.125, feature_dim=4, seed=7)
    states = [encoder.state_dict() for encoder in (again, later)]
    for name, tensor in first.state_dict().items():
        assert all(torch.equal(tensor, state[name]) for state in states)
    different = [
        not torch.equal(parameter, other.get_parameter(name))
        for name, parameter in first.named_parameters()
        if parameter.ndim == 4
    ]
    assert different and all(different)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": "resnet19"}, "resnet19: choose from cnn, resnet18"),
        ({"model": "cnn", "image_size": 7}, "small stem needs images of 8 pixels"),
        (
            {"model": "densenet121", "stem": "imagenet", "image_size": 28},
            "imagenet stem needs images of 29 pixels or more, these have 28",
        ),
    ],
)
def test_what_cannot_be_built_is_refused_in_one_line(
    wrong: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        build_encoder(**{"model": "resnet18", "feature_dim": 4, **wrong})  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("stem", "size"), [("small", 8), ("imagenet", 29)])
@pytest.mark.parametrize("model", ["cnn", "densenet121"])
def test_the_smallest_images_that_are_allowed_go_through(model: str, stem: str, size: int) -> None:
    encoder = build_encoder(model, image_size=size, stem=stem, width=0.125, feature_dim=3)
    assert encoder.eval()(torch.zeros(1, 3, size, size)).shape == (1, 3)
    with pytest.raises(RuntimeError):
        encoder(torch.zeros(1, 3, size - 1, size - 1))


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

def function(channels, image_size, feature_dim):
    return lambda images: images

def strict(*, channels, image_size):
    return Net(channels, 2)

def flat(channels, image_size, feature_dim):
    return nn.Linear(7, feature_dim)

def maps(channels, image_size, feature_dim):
    return nn.Conv2d(channels, feature_dim, 1)

class Pair(nn.Module):
    def forward(self, images):
        return images, images

def pair(channels, image_size, feature_dim):
    return Pair()

constant = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package in the current directory, as a user has it."""
    (tmp_path / "own_networks").mkdir()
    (tmp_path / "own_networks" / "__init__.py").write_text("")
    (tmp_path / "own_networks" / "nets.py").write_text(MODULE)
    (tmp_path / "own_networks" / "broken.py").write_text("import no_such_library\n")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.startswith("own_networks")]:
        monkeypatch.delitem(sys.modules, name)
    return "own_networks.nets"


@pytest.mark.parametrize("feature_dim", [4, None])
def test_a_factory_in_the_current_directory(own: str, feature_dim: int | None) -> None:
    path, state = sys.path[:], torch.random.get_rng_state()
    encoder = build_encoder(f"{own}:good", channels=3, image_size=9, feature_dim=feature_dim)
    assert sys.path == path and torch.equal(torch.random.get_rng_state(), state)
    assert encoder.feature_dim == (feature_dim or 6)
    # The trial pass leaves running statistics and modes as the factory made them.
    assert encoder.training and not encoder.get_submodule("frozen").training
    assert (encoder.get_buffer("norm.running_mean") == 0).all()
    again = build_encoder(f"{own}:good", channels=3, image_size=9, feature_dim=feature_dim)
    assert torch.equal(encoder.get_parameter("last.weight"), again.get_parameter("last.weight"))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("no_such.module:make", "importing no_such.module stops with ModuleNotFoundError"),
        ("own_networks.broken:make", "ModuleNotFoundError: No module named 'no_such_library'"),
        (":make", "importing nothing stops"),
        ("own_networks.nets:", r"has no function \(no name\)"),
        ("own_networks.nets:missing", "own_networks.nets has no function missing"),
        ("own_networks.nets:constant", "own_networks.nets has no function constant"),
        ("own_networks.nets:function", "gives function, not an nn.Module"),
        ("own_networks.nets:strict", "the factory stops with TypeError"),
        ("own_networks.nets:flat", r"on images \(2, 1, 9, 9\)"),
        ("own_networks.nets:wide", r"features \(2, 5\), not \(2, 4\)"),
        ("own_networks.nets:maps", r"features \(2, 4, 9, 9\), not \(2, 4\)"),
        ("own_networks.nets:pair", "gives tuple, not a tensor"),
    ],
)
def test_what_does_not_work_is_said_in_one_line(own: str, model: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        build_encoder(model, channels=1, image_size=9, feature_dim=4)
    assert "\n" not in str(raised.value) and model in str(raised.value)


def test_settings_of_the_built_in_networks_are_not_ignored(own: str) -> None:
    with pytest.raises(UsageError, match="leave --stem, --width and --norm out"):
        build_encoder(f"{own}:good", feature_dim=4, width=0.5)
