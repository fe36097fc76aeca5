"""ResNet-18, ResNet-50 and ResNeXt-50 (32x4d), under torchvision's parameter names.

Sources: He et al., "Deep Residual Learning for Image Recognition", 2015,
https://arxiv.org/abs/1512.03385; Xie et al., "Aggregated Residual Transformations for Deep Neural
Networks", 2016, https://arxiv.org/abs/1611.05431. As in torchvision, the stride of a bottleneck
sits in its 3 x 3 convolution.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

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


def _shortcut(norm: str, inputs: int, outputs: int, stride: int) -> nn.Module | None:
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(
        convolution(norm, inputs, outputs, 1, stride=stride), normalisation(norm, outputs)
    )


class _BasicBlock(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut."""

    def __init__(self, inputs: int, planes: int, stride: int, norm: str) -> None:
        super().__init__()
        self.conv1 = convolution(norm, inputs, planes, 3, stride=stride)
        self.bn1 = normalisation(norm, planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = convolution(norm, planes, planes, 3)
        self.bn2 = normalisation(norm, planes)
        self.downsample = _shortcut(norm, inputs, planes, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += shortcut
        return self.relu(out)


class _Bottleneck(nn.Module):
    """1 x 1, 3 x 3 (in groups) and 1 x 1 convolutions beside a shortcut; four times the planes.

    Args:
        widening: channels of the 3 x 3 convolution over the planes.
    """

    def __init__(
        self, inputs: int, planes: int, stride: int, *, widening: int, groups: int, norm: str
    ) -> None:
        super().__init__()
        inner, outputs = widening * planes, 4 * planes
        self.conv1 = convolution(norm, inputs, inner, 1)
        self.bn1 = normalisation(norm, inner)
        self.conv2 = convolution(norm, inner, inner, 3, stride=stride, groups=groups)
        self.bn2 = normalisation(norm, inner)
        self.conv3 = convolution(norm, inner, outputs, 1)
        self.bn3 = normalisation(norm, outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = _shortcut(norm, inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += shortcut
        return self.relu(out)


def _first_planes(shape: EncoderShape) -> int:
    """Channels behind the first convolution: 64 where the width is 1."""
    return scaled(64, shape.width)


class ResNet(nn.Module):
    """Four stages of residual blocks, global mean, linear layer `fc`.

    Args:
        block: makes a block from its input channels, the planes of its stage and its stride.
        expansion: output channels of a block over the planes of its stage.
        depths: blocks in each of the four stages; each stage has twice the planes of the last.
        shape: images, features, stem, width and norm.

    Images (N, channels, S, S) go in, features (N, feature_dim) come out.
    """

    feature_dim: int

    def __init__(
        self,
        block: Callable[[int, int, int], nn.Module],
        expansion: int,
        depths: tuple[int, int, int, int],
        shape: EncoderShape,
    ) -> None:
        super().__init__()
        channels = _first_planes(shape)
        self.conv1 = first_convolution(shape, channels)
        self.bn1 = normalisation(shape.norm, channels)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = first_pooling(shape)
        stages = []
        for stage, depth in enumerate(depths):
            planes = _first_planes(shape) * 2**stage
            blocks = []
            for position in range(depth):
                blocks.append(block(channels, planes, 2 if stage > 0 and position == 0 else 1))
                channels = expansion * planes
            stages.append(nn.Sequential(*blocks))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc, self.feature_dim = last_layer(shape, channels)
        initialise(self, "fan_out")

    def forward(self, images: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(images))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18(shape: EncoderShape) -> ResNet:
    """18 layers; 11,227,812 parameters with 100 outputs and the ImageNet stem."""
    return ResNet(partial(_BasicBlock, norm=shape.norm), 1, (2, 2, 2, 2), shape)


def resnet50(shape: EncoderShape) -> ResNet:
    """50 layers: bottlenecks that are as wide inside as their stage has planes."""
    block = partial(_Bottleneck, widening=1, groups=1, norm=shape.norm)
    return ResNet(block, 4, (3, 4, 6, 3), shape)


def resnext50(shape: EncoderShape) -> ResNet:
    """ResNeXt-50 32x4d; 23,184,804 parameters with 100 outputs and the ImageNet stem.

    The width scales the number of groups: each has four channels in the first stage, always.
    """
    groups = _first_planes(shape) // 2
    block = partial(_Bottleneck, widening=2, groups=groups, norm=shape.norm)
    return ResNet(block, 4, (3, 4, 6, 3), shape)
