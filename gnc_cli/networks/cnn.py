"""A network of five convolutions that learns small images in minutes on a laptop's processor."""

from collections import OrderedDict

import torch
from torch import Tensor, nn

from gnc_cli.networks.encoder_shape import EncoderShape
from gnc_cli.networks.normalisation_layers import convolution, normalisation
from gnc_cli.networks.parameters import initialise, scaled
from gnc_cli.networks.stems import first_convolution, first_pooling, last_layer

__all__ = ["CNN", "cnn"]

_CHANNELS = (16, 32, 64, 128, 256)
"""Few where maps are large: on a processor the first layers cost the most."""
_HALVED_AFTER = (1, 2, 4)
"""Two layers see maps of a quarter of the image's side: after 1, 2 and 3 accuracy was worse."""


class CNN(nn.Module):
    """Five convolutions with norm and ReLU, three 2 x 2 maxima, global mean, linear layer `fc`.

    Args:
        widths: channels of the five layers.
        shape: images, features, stem and norm.

    Images (N, channels, S, S) go in, features (N, feature_dim) come out.
    """

    feature_dim: int

    def __init__(self, widths: tuple[int, ...], shape: EncoderShape) -> None:
        super().__init__()
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for number, width in enumerate(widths, 1):
            if number == 1:
                layers["conv1"] = first_convolution(shape, width)
            else:
                layers[f"conv{number}"] = convolution(shape.norm, widths[number - 2], width, 3)
            layers[f"bn{number}"] = normalisation(shape.norm, width)
            layers[f"relu{number}"] = nn.ReLU(inplace=True)
            if number == 1:
                layers["maxpool"] = first_pooling(shape)
            if number in _HALVED_AFTER:
                layers[f"halved{number}"] = nn.MaxPool2d(2)
        self.layers = nn.Sequential(layers)
        self.fc, self.feature_dim = last_layer(shape, widths[-1])
        initialise(self, "fan_out")

    def forward(self, images: Tensor) -> Tensor:
        return self.fc(torch.flatten(self.layers(images).mean((2, 3)), 1))


def cnn(shape: EncoderShape) -> CNN:
    """The small network of the default run: 0.4 million parameters."""
    return CNN(tuple(scaled(channels, shape.width) for channels in _CHANNELS), shape)
