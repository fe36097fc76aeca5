"""DenseNet-121, under torchvision's parameter names.

Source: Huang et al., "Densely Connected Convolutional Networks", 2016,
https://arxiv.org/abs/1608.06993 (the variant BC: bottlenecks, transitions that halve).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

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


class _DenseLayer(nn.Module):
    """Appends `growth` channels to its input: (N, inputs, H, W) -> (N, inputs + growth, H, W).

    Handing on all channels together costs one copy a layer; its input is needed for the gradient
    of `norm1` anyway. ReLU is not in place: without normalisation it would change that input.
    """

    def __init__(self, inputs: int, growth: int, norm: str) -> None:
        super().__init__()
        self.norm1 = normalisation(norm, inputs)
        self.conv1 = convolution(norm, inputs, 4 * growth, 1)
        self.norm2 = normalisation(norm, 4 * growth)
        self.conv2 = convolution(norm, 4 * growth, growth, 3)

    def forward(self, x: Tensor) -> Tensor:
        new = self.conv1(F.relu(self.norm1(x)))
        new = self.conv2(F.relu(self.norm2(new)))
        return torch.cat((x, new), 1)


class _Transition(nn.Module):
    """Halves the channels and the image.

    A 1 x 1 convolution and a mean over pixels may change places: pooled first, as here, it has a
    quarter of the work.
    """

    def __init__(self, inputs: int, norm: str) -> None:
        super().__init__()
        self.norm = normalisation(norm, inputs)
        self.conv = convolution(norm, inputs, inputs // 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(F.avg_pool2d(F.relu(self.norm(x)), 2))


class DenseNet(nn.Module):
    """Four dense blocks with transitions between them, global mean, linear layer `classifier`.

    Args:
        growth: channels that each dense layer adds.
        depths: dense layers in each block.
        shape: images, features, stem, width and norm.

    Images (N, channels, S, S) go in, features (N, feature_dim) come out.
    """

    feature_dim: int

    def __init__(self, growth: int, depths: tuple[int, ...], shape: EncoderShape) -> None:
        super().__init__()
        channels = 2 * growth
        self.features = nn.Sequential()
        self.features.add_module("conv0", first_convolution(shape, channels))
        self.features.add_module("norm0", normalisation(shape.norm, channels))
        self.features.add_module("relu0", nn.ReLU(inplace=True))
        self.features.add_module("pool0", first_pooling(shape))
        for number, depth in enumerate(depths, 1):
            block = nn.Sequential()
            for position in range(1, depth + 1):
                layer = _DenseLayer(channels, growth, shape.norm)
                block.add_module(f"denselayer{position}", layer)
                channels += growth
            self.features.add_module(f"denseblock{number}", block)
            if number < len(depths):
                self.features.add_module(f"transition{number}", _Transition(channels, shape.norm))
                channels //= 2
        self.features.add_module("norm5", normalisation(shape.norm, channels))
        self.classifier, self.feature_dim = last_layer(shape, channels)
        initialise(self, "fan_in")
        if isinstance(self.classifier, nn.Linear):
            nn.init.zeros_(self.classifier.bias)

    def forward(self, images: Tensor) -> Tensor:
        x = F.relu(self.features(images))
        return self.classifier(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


def densenet121(shape: EncoderShape) -> DenseNet:
    """121 layers; 7,056,356 parameters with 100 outputs and the ImageNet stem.

    The transitions halve an image three times: it needs 8 pixels with the small stem, 29 with
    ImageNet's.
    """
    return DenseNet(scaled(32, shape.width), (6, 12, 24, 16), shape)
