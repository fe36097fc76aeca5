"""Built-in networks against published counts, plain functional networks, He's start.

The plain networks walk over torchvision's names, as its checkpoints have them.
"""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gnc_cli.training.networks.classifier import count_parameters
from gnc_cli.training.networks.encoders import build_encoder


@pytest.mark.parametrize(
    ("model", "count"),
    [
        ("resnet18", 11_227_812),
        ("resnet50", 23_712_932),
        ("resnext50", 23_184_804),
        ("densenet121", 7_056_356),
    ],
)
def test_parameter_counts_are_the_published_ones(model: str, count: int) -> None:
    assert count_parameters(build_encoder(model, image_size=224, feature_dim=100)) == count


def _norm(state: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    """Batch norm in eval mode, its numbers those of `name` in a network's state."""
    keys = ("running_mean", "running_var", "weight", "bias")
    return F.batch_norm(x, *(state[f"{name}.{key}"] for key in keys))


def _plain_resnet(state: dict[str, Tensor], x: Tensor, *, small: bool, groups: int) -> Tensor:
    """The network as a walk over its names, eval mode."""
    x = F.conv2d(x, state["conv1.weight"], stride=1 if small else 2, padding=1 if small else 3)
    x = F.relu(_norm(state, "bn1", x))
    x = x if small else F.max_pool2d(x, 3, 2, 1)
    blocks = sorted({tuple(name.split(".")[:2]) for name in state if name.startswith("layer")})
    for layer, block in blocks:
        name = f"{layer}.{block}"
        convs = 3 if f"{name}.conv3.weight" in state else 2
        stride = 2 if layer != "layer1" and block == "0" else 1
        shortcut = x
        if f"{name}.downsample.0.weight" in state:
            shortcut = F.conv2d(x, state[f"{name}.downsample.0.weight"], stride=stride)
            shortcut = _norm(state, f"{name}.downsample.1", shortcut)
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
            x = _norm(state, f"{name}.bn{number}", x)
            x = F.relu(x if number < convs else x + shortcut)
    return x.mean((2, 3)) @ state["fc.weight"].T + state["fc.bias"]


def _plain_densenet(state: dict[str, Tensor], x: Tensor) -> Tensor:
    """The network as the paper has it: all earlier maps into each layer, pooling after 1 x 1."""

    def active(name: str, x: Tensor) -> Tensor:
        return F.relu(_norm(state, f"features.{name}", x))

    def conv(name: str, x: Tensor) -> Tensor:
        weight = state[f"features.{name}.weight"]
        return F.conv2d(x, weight, padding=weight.shape[-1] // 2)

    x = active("norm0", conv("conv0", x))
    for block, layers in enumerate([6, 12, 24, 16], 1):
        maps = [x]
        for layer in range(1, layers + 1):
            name = f"denseblock{block}.denselayer{layer}"
            new = conv(f"{name}.conv1", active(f"{name}.norm1", torch.cat(maps, 1)))
            maps.append(conv(f"{name}.conv2", active(f"{name}.norm2", new)))
        x = torch.cat(maps, 1)
        if block < 4:
            name = f"transition{block}"
            x = F.avg_pool2d(conv(f"{name}.conv", active(f"{name}.norm", x)), 2)
    x = active("norm5", x).mean((2, 3))
    return x @ state["classifier.weight"].T + state["classifier.bias"]


@pytest.mark.parametrize(
    ("model", "size", "groups"),
    [
        ("resnet18", 19, 1),
        ("resnet50", 96, 1),
        ("resnext50", 19, 8),
        ("densenet121", 19, 1),
    ],
)
def test_features_are_those_of_the_plain_network(model: str, size: int, groups: int) -> None:
    encoder = build_encoder(model, image_size=size, width=0.25, feature_dim=5).double().eval()
    generator = torch.Generator().manual_seed(1)
    for layer in encoder.modules():
        if isinstance(layer, nn.BatchNorm2d):  # as after some training
            for tensor in (layer.weight, layer.bias, layer.running_mean, layer.running_var):
                tensor.data.uniform_(0.5, 1.5, generator=generator)  # type: ignore[union-attr]
    images = torch.randn(2, 3, size, size, generator=generator, dtype=torch.float64)
    state = encoder.state_dict()
    if model == "densenet121":
        expected = _plain_densenet(state, images)
    else:
        expected = _plain_resnet(state, images, small=size < 96, groups=groups)
    torch.testing.assert_close(encoder(images).detach(), expected)
