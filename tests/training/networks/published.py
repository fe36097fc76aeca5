"""Second witnesses of networks: torchvision's names and shapes, plain layers, He's start.

The names and shapes are written down from the architectures' own tables: table 1 of He et al. 2015,
of Xie et al. 2016 and of Huang et al. 2016. The names are those of torchvision's checkpoints.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Shapes = dict[str, tuple[int, ...]]


def _norms(name: str, channels: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    for entry in ("weight", "bias", "running_mean", "running_var"):
        yield f"{name}.{entry}", (channels,)
    yield f"{name}.num_batches_tracked", ()


def _linear(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def resnet(model: str, outputs: int) -> Shapes:
    """resnet18, resnet50 or resnext50 with the ImageNet stem for colour images."""
    blocks = [2, 2, 2, 2] if model == "resnet18" else [3, 4, 6, 3]
    shapes: Shapes = {"conv1.weight": (64, 3, 7, 7), **dict(_norms("bn1", 64))}
    inputs = 64
    for layer, width in enumerate([64, 128, 256, 512], 1):
        for block in range(blocks[layer - 1]):
            if model == "resnet18":
                convs = [(width, inputs, 3), (width, width, 3)]
            elif model == "resnet50":
                convs = [(width, inputs, 1), (width, width, 3), (4 * width, width, 1)]
            else:
                inner = 2 * width
                convs = [(inner, inputs, 1), (inner, inner // 32, 3), (4 * width, inner, 1)]
            name = f"layer{layer}.{block}"
            for number, (out, into, kernel) in enumerate(convs, 1):
                shapes[f"{name}.conv{number}.weight"] = (out, into, kernel, kernel)
                shapes.update(_norms(f"{name}.bn{number}", out))
            if inputs != out or (block == 0 and layer > 1):
                shapes[f"{name}.downsample.0.weight"] = (out, inputs, 1, 1)
                shapes.update(_norms(f"{name}.downsample.1", out))
            inputs = out
    return {**shapes, **_linear("fc", inputs, outputs)}


def densenet121(outputs: int) -> Shapes:
    """With the ImageNet stem for colour images."""
    shapes: Shapes = {"features.conv0.weight": (64, 3, 7, 7), **dict(_norms("features.norm0", 64))}
    # Channels that enter each block, by the paper's table: 64, then half of what left the last.
    for block, (inputs, layers) in enumerate([(64, 6), (128, 12), (256, 24), (512, 16)], 1):
        for layer in range(layers):
            name = f"features.denseblock{block}.denselayer{layer + 1}"
            channels = inputs + 32 * layer
            shapes.update(_norms(f"{name}.norm1", channels))
            shapes[f"{name}.conv1.weight"] = (128, channels, 1, 1)
            shapes.update(_norms(f"{name}.norm2", 128))
            shapes[f"{name}.conv2.weight"] = (32, 128, 3, 3)
        if block < 4:
            channels = inputs + 32 * layers
            shapes.update(_norms(f"features.transition{block}.norm", channels))
            shapes[f"features.transition{block}.conv.weight"] = (channels // 2, channels, 1, 1)
    last = _linear("classifier", 1024, outputs)
    return {**shapes, **dict(_norms("features.norm5", 1024)), **last}


def norm(state: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    """Batch norm in eval mode, its numbers those of `name` in a network's state."""
    keys = ("running_mean", "running_var", "weight", "bias")
    return F.batch_norm(x, *(state[f"{name}.{key}"] for key in keys))


def with_random_norms(encoder: nn.Module, generator: torch.Generator) -> nn.Module:
    """The network in eval mode and float64, its batch norms as after some training."""
    for layer in encoder.modules():
        if isinstance(layer, nn.BatchNorm2d):
            for tensor in (layer.weight, layer.bias, layer.running_mean, layer.running_var):
                assert tensor is not None
                tensor.data = torch.rand(tensor.shape, generator=generator) + 0.5
    return encoder.double().eval()


def starts_spread_by(encoder: nn.Module, mode: str) -> None:
    """Every convolution begins normal around 0 with variance 2 / fan, norms as the identity."""
    for name, layer in encoder.named_modules():
        if isinstance(layer, nn.Conv2d):
            channels = layer.in_channels if mode == "fan_in" else layer.out_channels
            fan = channels * layer.kernel_size[0] ** 2
            spread = layer.weight.std().item() * (fan / 2) ** 0.5
            assert abs(spread - 1) < 5 * layer.weight.numel() ** -0.5, name
        elif isinstance(layer, nn.BatchNorm2d):
            assert (layer.weight == 1).all() and (layer.bias == 0).all(), name
