"""DenseNet-121 against the published table and a plain functional network."""

import torch
from torch import Tensor
from torch.nn import functional as F

from gnc_cli.training.networks.classifier import count_parameters
from gnc_cli.training.networks.encoders import build_encoder
from tests.training.networks import published
from tests.training.networks.published import norm, starts_spread_by, with_random_norms


def test_names_shapes_and_parameter_count_are_the_published_ones() -> None:
    encoder = build_encoder("densenet121", stem="imagenet", feature_dim=100)
    shapes = {name: tuple(tensor.shape) for name, tensor in encoder.state_dict().items()}
    assert shapes == published.densenet121(100)
    assert count_parameters(encoder) == 7_056_356


def _plain(state: dict[str, Tensor], x: Tensor) -> Tensor:
    """The network as the paper has it: all earlier maps into each layer, pooling after 1 x 1."""

    def active(name: str, x: Tensor) -> Tensor:
        return F.relu(norm(state, f"features.{name}", x))

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


def test_features_are_those_of_the_plain_network() -> None:
    encoder = build_encoder("densenet121", width=0.25, feature_dim=5)
    generator = torch.Generator().manual_seed(1)
    encoder = with_random_norms(encoder, generator)
    images = torch.randn(2, 3, 19, 19, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        expected = _plain(encoder.state_dict(), images)
        torch.testing.assert_close(encoder(images), expected)


def test_first_values_keep_the_variance_of_activations() -> None:
    encoder = build_encoder("densenet121", width=0.5, feature_dim=7)
    starts_spread_by(encoder, "fan_in")
    assert (encoder.get_parameter("classifier.bias") == 0).all()
