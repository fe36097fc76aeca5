"""What networks are compared with: norms with numbers of their own, the spread of He's start."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["norm", "starts_spread_by", "with_random_norms"]


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
