"""ResNets against the published tables and a plain functional network."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gnc_cli.training.networks.classifier import count_parameters
from gnc_cli.training.networks.encoders import build_encoder
from tests.training.networks import published
from tests.training.networks.published import norm, starts_spread_by, with_random_norms


@pytest.mark.parametrize(
    ("model", "count"),
    [("resnet18", 11_227_812), ("resnet50", 23_712_932), ("resnext50", 23_184_804)],
)
def test_names_shapes_and_parameter_counts_are_the_published_ones(model: str, count: int) -> None:
    encoder = build_encoder(model, stem="imagenet", feature_dim=100)
    state = encoder.state_dict()
    assert {name: tuple(tensor.shape) for name, tensor in state.items()} == published.resnet(
        model, 100
    )
    assert count_parameters(encoder) == count


def _plain(state: dict[str, Tensor], x: Tensor, *, small: bool, groups: int) -> Tensor:
    """The network as a walk over its names, eval mode."""
    x = F.conv2d(x, state["conv1.weight"], stride=1 if small else 2, padding=1 if small else 3)
    x = F.relu(norm(state, "bn1", x))
    x = x if small else F.max_pool2d(x, 3, 2, 1)
    blocks = sorted({tuple(name.split(".")[:2]) for name in state if name.startswith("layer")})
    for layer, block in blocks:
        name = f"{layer}.{block}"
        convs = 3 if f"{name}.conv3.weight" in state else 2
        stride = 2 if layer != "layer1" and block == "0" else 1
        shortcut = x
        if f"{name}.downsample.0.weight" in state:
            shortcut = F.conv2d(x, state[f"{name}.downsample.0.weight"], stride=stride)
            shortcut = norm(state, f"{name}.downsample.1", shortcut)
        for number in range(1, convs + 1):
            weight = state[f"{name}.conv{number}.weight"]
            at = convs - 1 if convs == 3 else 1  # where torchvision has the stride
            x = F.conv2d(
                x,
                weight,
                stride=stride if number == at else 1,
                padding=weight.shape[-1] // 2,
                groups=groups if weight.shape[-1] == 3 else 1,
            )
            x = norm(state, f"{name}.bn{number}", x)
            x = F.relu(x if number < convs else x + shortcut)
    return x.mean((2, 3)) @ state["fc.weight"].T + state["fc.bias"]


@pytest.mark.parametrize(
    ("model", "stem", "groups"),
    [("resnet18", "small", 1), ("resnet50", "imagenet", 1), ("resnext50", "small", 8)],
)
def test_features_are_those_of_the_plain_network(model: str, stem: str, groups: int) -> None:
    encoder = build_encoder(model, stem=stem, width=0.25, feature_dim=5)
    generator = torch.Generator().manual_seed(1)
    encoder = with_random_norms(encoder, generator)
    images = torch.randn(2, 3, 19, 19, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        expected = _plain(encoder.state_dict(), images, small=stem == "small", groups=groups)
        torch.testing.assert_close(encoder(images), expected)


def test_first_values_keep_the_variance_of_gradients() -> None:
    encoder = build_encoder("resnet18", width=0.5, feature_dim=7)
    starts_spread_by(encoder, "fan_out")


@pytest.mark.parametrize("width", [0.125, 0.3, 0.6])
def test_groups_of_any_width_begin_with_four_channels(width: float) -> None:
    encoder = build_encoder("resnext50", width=width, feature_dim=7)
    first = encoder.get_submodule("layer1.0.conv2")
    last = encoder.get_submodule("layer4.2.conv2")
    assert isinstance(first, nn.Conv2d) and isinstance(last, nn.Conv2d)
    assert first.in_channels == 4 * first.groups
    assert last.groups == first.groups and last.in_channels == 8 * first.in_channels
