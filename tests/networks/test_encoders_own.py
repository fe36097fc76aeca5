"""Anyone's own network, from a module of one's own."""

import sys
from pathlib import Path

import pytest
import torch

from gnc_cli.errors import UsageError
from gnc_cli.networks.encoders import build_encoder

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
