"""A network of five convolutions that learns small images in minutes on a laptop's processor."""

from collections import OrderedDict

from torch import nn

from gnc_cli.training.networks.layers import (
    EncoderShape,
    convolution,
    first_convolution,
    first_pooling,
    initialise,
    last_layer,
    normalisation,
    scaled,
)

_CHANNELS = (16, 32, 64, 128, 256)
"""Few where maps are large: on a processor the first layers cost the most."""
_HALVED_AFTER = (1, 2, 4)
"""Two layers see maps of a quarter of the image's side: glyphs are learnt better than with one."""


class CNN(nn.Sequential):
    """Five convolutions with norm and ReLU, three 2 x 2 maxima, global mean, linear layer `fc`.

    Args:
        widths: channels of the five layers.
        shape: images, features, stem and norm.

    Images (N, channels, S, S) go in, features (N, feature_dim) come out.
    """

    feature_dim: int

    def __init__(self, widths: tuple[int, ...], shape: EncoderShape) -> None:
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for number, width in enumerate(widths, 1):
            if number == 1:
                layers["conv1"] = first_convolution(shape, width)
            else:
                layers[f"conv{number}"] = convolution(shape.norm, widths[number - 2], width, 3)
            layers[f"bn{number}"] = normalisation(shape.norm, width)
            if number == 1:
                layers["maxpool"] = first_pooling(shape)
            if number in _HALVED_AFTER:
                layers[f"halved{number}"] = nn.MaxPool2d(2)
            # Behind the maxima, with which it may change places, ReLU has a quarter of the work.
            layers[f"relu{number}"] = nn.ReLU(inplace=True)
        layers["avgpool"] = nn.AdaptiveAvgPool2d(1)
        layers["flatten"] = nn.Flatten()
        layers["fc"], feature_dim = last_layer(shape, widths[-1])
        super().__init__(layers)
        self.feature_dim = feature_dim
        initialise(self, "fan_out")


def cnn(shape: EncoderShape) -> CNN:
    """The small network of the default run: 0.4 million parameters."""
    return CNN(tuple(scaled(channels, shape.width) for channels in _CHANNELS), shape)
