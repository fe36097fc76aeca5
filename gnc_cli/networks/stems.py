"""The first layers of a network and its last: what depends on the images and on the features."""

from torch import nn

from gnc_cli.networks.encoder_shape import EncoderShape
from gnc_cli.networks.normalisation_layers import convolution

__all__ = ["STEMS", "choose_stem", "first_convolution", "first_pooling", "last_layer"]

STEMS: tuple[str, ...] = ("auto", "small", "imagenet")

_LARGE = 96
"""Pixels from which a network halves an image twice before it looks closely."""


def choose_stem(stem: str, image_size: int) -> str:
    """The stem itself for "small" and "imagenet"; "auto" is small under 96 pixels.

    Example:
        >>> choose_stem("auto", 64), choose_stem("auto", 224), choose_stem("small", 224)
        ('small', 'imagenet', 'small')
    """
    if stem == "auto":
        return "small" if image_size < _LARGE else "imagenet"
    return stem


def first_convolution(shape: EncoderShape, outputs: int) -> nn.Conv2d:
    """3 x 3 with stride 1 for small images, 7 x 7 with stride 2 for large ones."""
    if shape.stem == "small":
        return convolution(shape.norm, shape.channels, outputs, 3)
    return convolution(shape.norm, shape.channels, outputs, 7, stride=2)


def first_pooling(shape: EncoderShape) -> nn.Module:
    """No pooling for small images, 3 x 3 maxima with stride 2 for large ones."""
    return nn.Identity() if shape.stem == "small" else nn.MaxPool2d(3, stride=2, padding=1)


def last_layer(shape: EncoderShape, channels: int) -> tuple[nn.Module, int]:
    """Linear layer behind the pooled `channels`, or none, and the dimension of what comes out."""
    if shape.feature_dim is None:
        return nn.Identity(), channels
    return nn.Linear(channels, shape.feature_dim), shape.feature_dim
