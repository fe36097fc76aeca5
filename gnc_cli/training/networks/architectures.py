"""CNN, ResNet-18, ResNet-50, ResNeXt-50 (32x4d) and DenseNet-121, under torchvision's names.

Images (N, channels, S, S) go in, features (N, feature_dim) come out. Sources: He et al., "Deep
Residual Learning for Image Recognition", 2015, https://arxiv.org/abs/1512.03385; Xie et al.,
"Aggregated Residual Transformations for Deep Neural Networks", 2016,
https://arxiv.org/abs/1611.05431; Huang et al., "Densely Connected Convolutional Networks", 2016,
https://arxiv.org/abs/1608.06993 (the variant BC: bottlenecks, transitions that halve).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_MIN_LARGE_SIZE = 96
"""Smallest side in pixels of images that the stem halves twice, as ImageNet's networks do."""


@dataclass(frozen=True)
class EncoderShape:
    """The settings of a built-in network, and the layers that depend on them."""

    channels: int
    """Number of channels of the images."""
    feature_dim: int
    """Number of outputs of the last linear layer."""
    image_size: int
    """Side of the images, in pixels."""
    width: float
    """Factor by which the published numbers of channels are multiplied."""

    def scaled_width(self, channels: int) -> int:
        """Return `width` times `channels`, rounded to a multiple of 8, at least 8."""
        return max(8, 8 * round(channels * self.width / 8))

    def convolution(
        self, inputs: int, outputs: int, kernel: int, *, stride: int = 1, groups: int = 1
    ) -> nn.Conv2d:
        """Return a padded convolution without bias, which the next normalisation would cancel."""
        return nn.Conv2d(
            inputs, outputs, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False
        )

    def first_convolution(self, outputs: int) -> nn.Conv2d:
        """Return 3 x 3 with stride 1 for small images, 7 x 7 with stride 2 for large ones."""
        if self.image_size < _MIN_LARGE_SIZE:
            return self.convolution(self.channels, outputs, 3)
        return self.convolution(self.channels, outputs, 7, stride=2)

    def first_pooling(self) -> nn.Module:
        """Return no pooling for small images, 3 x 3 maxima with stride 2 for large ones."""
        return (
            nn.Identity()
            if self.image_size < _MIN_LARGE_SIZE
            else nn.MaxPool2d(3, stride=2, padding=1)
        )


@torch.no_grad()
def _initialise(module: nn.Module, mode: Literal["fan_in", "fan_out"]) -> None:
    """Initialise every convolution with He's normal weights; other layers keep PyTorch's.

    "fan_out" keeps the variance of gradients (ResNet), "fan_in" that of activations. Source: He et
    al., "Delving Deep into Rectifiers", 2015, https://arxiv.org/abs/1502.01852
    """
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode=mode, nonlinearity="relu")


class CNN(nn.Sequential):
    """Five convolutions with norm and ReLU, three 2 x 2 maxima, global mean, linear layer `fc`.

    The network of the default run, with 0.4 million parameters: it learns small images in minutes
    on a laptop's processor. The first layers, whose maps are large, cost the most there, so they
    have few channels. Two layers have maps of a quarter of the image's side, with which glyphs are
    learnt better than with one.
    """

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        inputs = 0
        for number, channels in enumerate((16, 32, 64, 128, 256), 1):
            outputs = shape.scaled_width(channels)
            if number == 1:
                self.conv1 = shape.first_convolution(outputs)
            else:
                self.add_module(f"conv{number}", shape.convolution(inputs, outputs, 3))
            self.add_module(f"bn{number}", nn.BatchNorm2d(outputs))
            if number == 1:
                self.maxpool = shape.first_pooling()
            if number in (1, 2, 4):
                self.add_module(f"halved{number}", nn.MaxPool2d(2))
            # ReLU commutes with the maxima, and after them has a quarter of the work.
            self.add_module(f"relu{number}", nn.ReLU(inplace=True))
            inputs = outputs
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.fc = nn.Linear(inputs, shape.feature_dim)
        _initialise(self, "fan_out")


def _shortcut(shape: EncoderShape, inputs: int, outputs: int, stride: int) -> nn.Module | None:
    if stride == 1 and inputs == outputs:
        return None
    convolution = shape.convolution(inputs, outputs, 1, stride=stride)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))


class _BasicBlock(nn.Module):
    """Two 3 x 3 convolutions, and a shortcut past them."""

    def __init__(self, shape: EncoderShape, inputs: int, planes: int, stride: int) -> None:
        super().__init__()
        self.conv1 = shape.convolution(inputs, planes, 3, stride=stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = shape.convolution(planes, planes, 3)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = _shortcut(shape, inputs, planes, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += shortcut
        return cast(Tensor, self.relu(out))


class _Bottleneck(nn.Module):
    """1 x 1, 3 x 3 (in groups) and 1 x 1 convolutions, and a shortcut; four times the planes.

    `widening` is the number of channels of the 3 x 3 convolution divided by the planes. As in
    torchvision, this convolution has the stride.
    """

    def __init__(
        self,
        shape: EncoderShape,
        inputs: int,
        planes: int,
        stride: int,
        *,
        widening: int = 1,
        groups: int = 1,
    ) -> None:
        super().__init__()
        inner, outputs = widening * planes, 4 * planes
        self.conv1 = shape.convolution(inputs, inner, 1)
        self.bn1 = nn.BatchNorm2d(inner)
        self.conv2 = shape.convolution(inner, inner, 3, stride=stride, groups=groups)
        self.bn2 = nn.BatchNorm2d(inner)
        self.conv3 = shape.convolution(inner, outputs, 1)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = _shortcut(shape, inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += shortcut
        return cast(Tensor, self.relu(out))


class ResNet(nn.Module):
    """A stem, four stages of residual blocks, global mean, linear layer `fc`.

    `block(shape, inputs, planes, stride)` has `expansion` times the planes as outputs. `depths` are
    the numbers of blocks per stage. A stage has twice the planes of the one before.
    """

    def __init__(
        self,
        shape: EncoderShape,
        block: Callable[..., nn.Module],
        expansion: int,
        depths: tuple[int, ...],
    ) -> None:
        super().__init__()
        channels = first = shape.scaled_width(64)
        self.conv1 = shape.first_convolution(channels)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = shape.first_pooling()
        stages = []
        for stage, depth in enumerate(depths):
            planes, blocks = first * 2**stage, nn.Sequential()
            for index in range(depth):
                stride = 2 if stage > 0 and index == 0 else 1
                blocks.append(block(shape, channels, planes, stride))
                channels = expansion * planes
            stages.append(blocks)
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, shape.feature_dim)
        _initialise(self, "fan_out")

    def forward(self, images: Tensor) -> Tensor:
        """Return the features (N, feature_dim) of images (N, channels, S, S)."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(images))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return cast(Tensor, self.fc(torch.flatten(self.avgpool(x), 1)))


def resnet18(shape: EncoderShape) -> ResNet:
    """Build ResNet-18: 11,227,812 parameters with 100 outputs and the ImageNet stem."""
    return ResNet(shape, _BasicBlock, 1, (2, 2, 2, 2))


def resnet50(shape: EncoderShape) -> ResNet:
    """Build ResNet-50, whose bottlenecks are as wide inside as their stage has planes."""
    return ResNet(shape, _Bottleneck, 4, (3, 4, 6, 3))


def resnext50(shape: EncoderShape) -> ResNet:
    """Build ResNeXt-50 32x4d: 23,184,804 parameters with 100 outputs and the ImageNet stem.

    The width scales the number of groups. Each always has four channels in the first stage.
    """
    block = partial(_Bottleneck, widening=2, groups=shape.scaled_width(64) // 2)
    return ResNet(shape, block, 4, (3, 4, 6, 3))


class _DenseLayer(nn.Module):
    """A layer that appends channels: (N, inputs, H, W) -> (N, inputs + growth, H, W).

    Returning all channels together costs one copy per layer, but the gradient of `norm1` needs its
    input anyway.
    """

    def __init__(self, shape: EncoderShape, inputs: int, growth: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = shape.convolution(inputs, 4 * growth, 1)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = shape.convolution(4 * growth, growth, 3)

    def forward(self, x: Tensor) -> Tensor:
        new = self.conv1(F.relu(self.norm1(x)))
        new = self.conv2(F.relu(self.norm2(new)))
        return torch.cat((x, new), 1)


class _Transition(nn.Module):
    """A layer that halves the channels and the image's side.

    A 1 x 1 convolution commutes with a mean over pixels, and after it has a quarter of the work.
    """

    def __init__(self, shape: EncoderShape, inputs: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(inputs)
        self.conv = shape.convolution(inputs, inputs // 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.conv(F.avg_pool2d(F.relu(self.norm(x)), 2)))


class DenseNet121(nn.Module):
    """Four dense blocks, transitions between them, global mean, linear layer `classifier`.

    7,056,356 parameters with 100 outputs and the ImageNet stem. The transitions halve an image
    three times.
    """

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        growth, depths = shape.scaled_width(32), (6, 12, 24, 16)
        channels = 2 * growth
        self.features = nn.Sequential()
        self.features.conv0 = shape.first_convolution(channels)
        self.features.norm0 = nn.BatchNorm2d(channels)
        self.features.relu0 = nn.ReLU(inplace=True)
        self.features.pool0 = shape.first_pooling()
        for number, depth in enumerate(depths, 1):
            block = nn.Sequential()
            for index in range(1, depth + 1):
                block.add_module(f"denselayer{index}", _DenseLayer(shape, channels, growth))
                channels += growth
            self.features.add_module(f"denseblock{number}", block)
            if number < len(depths):
                self.features.add_module(f"transition{number}", _Transition(shape, channels))
                channels //= 2
        self.features.norm5 = nn.BatchNorm2d(channels)
        self.classifier = nn.Linear(channels, shape.feature_dim)
        _initialise(self, "fan_in")
        nn.init.zeros_(self.classifier.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Return the features (N, feature_dim) of images (N, channels, S, S)."""
        x = F.relu(self.features(images))
        return cast(Tensor, self.classifier(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1)))
