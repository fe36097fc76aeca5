"""Networks by name: images in, raw features out.

A new network is a function of an `EncoderShape` and an entry in `_BUILDERS`. Anyone's own comes in
as `package.module:factory` without an entry.
"""

import math
from collections.abc import Callable

import torch
from torch import nn

from gnc_cli.errors import UsageError
from gnc_cli.networks.backbones import load_backbone
from gnc_cli.networks.cnn import cnn
from gnc_cli.networks.densenet import densenet121
from gnc_cli.networks.encoder_shape import EncoderShape
from gnc_cli.networks.factories import build_own
from gnc_cli.networks.normalisation_layers import NORMS
from gnc_cli.networks.parameters import count_parameters
from gnc_cli.networks.resnet import resnet18, resnet50, resnext50
from gnc_cli.networks.stems import STEMS, choose_stem

__all__ = ["ENCODERS", "build_encoder", "count_parameters", "load_backbone"]

_BUILDERS: dict[str, Callable[[EncoderShape], nn.Module]] = {
    "cnn": cnn,
    "resnet18": resnet18,
    "resnet50": resnet50,
    "densenet121": densenet121,
    "resnext50": resnext50,
}

ENCODERS: tuple[str, ...] = tuple(_BUILDERS)
"""Names that `build_encoder` knows."""

_POOLED = ("cnn", "densenet121")
"""These halve the stem's maps three times without padding, so 8 pixels must arrive there."""
_FEWEST = {"small": 8, "imagenet": 29}


def build_encoder(
    model: str,
    *,
    channels: int = 3,
    image_size: int = 32,
    feature_dim: int | None,
    stem: str = "auto",
    width: float = 1.0,
    norm: str = "batch",
    seed: int = 0,
) -> nn.Module:
    """Network from images (N, channels, S, S) float32 to raw features (N, feature_dim).

    Its attribute `feature_dim` says how many features come out. First values come from `seed`
    alone; PyTorch's global random numbers stay where they are.

    Args:
        model: one of `ENCODERS`, or `package.module:factory`, called as
            `factory(channels=..., image_size=..., feature_dim=...)`.
        channels: of the images, 1 or 3 as a rule.
        image_size: S, in pixels.
        feature_dim: outputs of the last linear layer; None leaves it out: pooled features.
        stem: "small" (3 x 3, no pooling), "imagenet", or "auto": small under 96 pixels.
        width: factor of the published channels; the result is a multiple of 8.
        norm: "batch", "group" or "none".
        seed: of the first values.

    Raises:
        UsageError: no such model, stem or norm; images too small for the network; a factory that
            cannot be found or does not make what it should.

    Example:
        >>> encoder = build_encoder("resnet18", width=0.25, feature_dim=10)
        >>> encoder(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """
    _check(stem, width, norm, channels=channels, image_size=image_size, feature_dim=feature_dim)
    with torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed, which would seed the accelerators too.
        torch.default_generator.manual_seed(seed)
        if ":" in model:
            if (stem, width, norm) != ("auto", 1.0, "batch"):
                raise UsageError(
                    f"--model {model} has its own stem, width and norm; leave --stem, --width "
                    "and --norm out"
                )
            return build_own(
                model, channels=channels, image_size=image_size, feature_dim=feature_dim
            )
        if model not in _BUILDERS:
            raise UsageError(
                f"--model {model}: choose from {', '.join(ENCODERS)}, or write "
                "package.module:factory for your own"
            )
        stem = choose_stem(stem, image_size)
        if model in _POOLED and image_size < _FEWEST[stem]:
            raise UsageError(
                f"--model {model} with the {stem} stem needs images of {_FEWEST[stem]} pixels or "
                f"more, these have {image_size}; choose --model resnet18 or another --stem"
            )
        return _BUILDERS[model](EncoderShape(channels, feature_dim, stem, width, norm))


def _check(stem: str, width: float, norm: str, **counts: int | None) -> None:
    if stem not in STEMS:
        raise UsageError(f"--stem {stem}: choose from {', '.join(STEMS)}")
    if norm not in NORMS:
        raise UsageError(f"--norm {norm}: choose from {', '.join(NORMS)}")
    if not 0 < width < math.inf:
        raise UsageError(f"--width {width}: a positive factor is needed, such as 0.25")
    for name, count in counts.items():
        if count is not None and count < 1:
            raise UsageError(f"{name} is {count}; a network needs at least 1")
