"""Encoders, from images to features: built-in networks, the user's own, and pretrained weights.

A new network is a function of an `EncoderShape` and an entry in `_BUILDERS`. The user's own is
`package.module:factory`, without an entry.
"""

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn

from gnc_cli.collapse.measure_model import in_eval_mode
from gnc_cli.errors import DataError, UsageError
from gnc_cli.parameters import spelled
from gnc_cli.parsing import abridge
from gnc_cli.runtime.threads import exclusive_generator
from gnc_cli.training.networks.architectures import (
    CNN,
    DenseNet121,
    EncoderShape,
    resnet18,
    resnet50,
    resnext50,
)

_BUILDERS: dict[str, Callable[[EncoderShape], nn.Module]] = {
    "cnn": CNN,
    "resnet18": resnet18,
    "resnet50": resnet50,
    "densenet121": DenseNet121,
    "resnext50": resnext50,
}
ENCODERS: tuple[str, ...] = tuple(_BUILDERS)
"""Names of the built-in networks."""

_PREFIX = re.compile(
    r"(?:(?:state_dict|model_state_dict|module|_orig_mod|model|encoder|backbone|encoder_q)\.)*"
)
"""Prefixes of checkpoints, data parallelism, compilation, trainers, and MoCo's query network."""
_STEM_NAMES = {"conv1.weight", "conv1.bias", "features.conv0.weight", "features.conv0.bias"}
_LAST_LAYER = re.compile(r"(?:fc|classifier)\.")
_OLD_DENSENET = re.compile(r"(\.denselayer\d+\.(?:norm|conv))\.([12]\.)")
"""Names of published DenseNet weights: `norm.1.weight`, now `norm1.weight` in torchvision."""
_SIGNATURE = (
    "it is called as factory(channels=, image_size=, feature_dim=) and gives an nn.Module from "
    "images to features (N, feature_dim)"
)
_MAX_LISTED_NAMES = 3
"""Number of tensor names that an error lists: one line."""


def build_encoder(
    model: str,
    *,
    channels: int = 3,
    image_size: int = 32,
    feature_dim: int,
    width: float = 1.0,
    seed: int = 0,
) -> nn.Module:
    """Build a network from images (N, channels, S, S), float32, to raw features (N, feature_dim).

    The initial weights depend on `seed` alone, and PyTorch's global generator is not changed.

    Args:
        model: one of `ENCODERS`, or `package.module:factory`.
        channels: number of channels of the images.
        image_size: side S of the images in pixels.
        feature_dim: number of features.
        width: factor of the published number of channels; a factory does not get it.
        seed: seed of the initial weights.

    Raises:
        UsageError: the model is unknown or needs larger images, or the factory fails.
    """
    with exclusive_generator():
        # Not torch.manual_seed, which would seed the accelerators too.
        torch.default_generator.manual_seed(seed)
        if ":" in model:
            return _build_custom(model, channels, image_size, feature_dim)
        if model not in _BUILDERS:
            raise UsageError(
                f"{spelled('model', model)}: choose from {', '.join(ENCODERS)}, or write "
                f"package.module:factory for your own; {_SIGNATURE}"
            )
        if model in ("cnn", "densenet121") and image_size < 8:  # they halve images three times
            raise UsageError(
                f"{spelled('model', model)} needs images of 8 pixels or more, these have "
                f"{image_size}; choose {spelled('model', 'resnet18')}"
            )
        return _BUILDERS[model](EncoderShape(channels, feature_dim, image_size, width))


def _build_custom(model: str, channels: int, image_size: int, feature_dim: int) -> nn.Module:
    """Call `factory(channels=..., image_size=..., feature_dim=...)` and test its network.

    The module may also be in the current directory. The test is a forward pass of two black images
    in eval mode, which must return features (2, feature_dim).
    """
    module_name, _, name = model.partition(":")
    option = spelled("model", model)
    path = sys.path[:]
    sys.path.append(os.getcwd())  # last; a `gnc` script starts without it
    try:
        advice = "write package.module:factory, installed or in the current directory"
        with _errors_explained(
            f"{option}: importing {module_name or 'nothing'} stops with", advice
        ):
            module = importlib.import_module(module_name)
        with _errors_explained(f"{option}: the factory stops with", _SIGNATURE):
            factory = getattr(module, name)
            encoder = factory(channels=channels, image_size=image_size, feature_dim=feature_dim)
        images = torch.zeros(2, channels, image_size, image_size)
        with (
            _errors_explained(f"{option}: on images {tuple(images.shape)} the network stops with"),
            in_eval_mode(encoder),
            torch.no_grad(),
        ):
            features = encoder(images)
    finally:
        sys.path[:] = path
    if not isinstance(features, Tensor) or features.shape != (2, feature_dim):
        shape = getattr(features, "shape", type(features).__name__)
        raise UsageError(f"{option}: two images give {shape}, not a tensor (2, {feature_dim})")
    return cast(nn.Module, encoder)


@contextmanager
def _errors_explained(problem: str, advice: str = "") -> Iterator[None]:
    """Turn any exception of the user's code into a UsageError of one line."""
    try:
        yield
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise UsageError("; ".join(filter(None, (f"{problem} {reason}", advice)))) from error


def load_backbone(encoder: nn.Module, tensors: Mapping[str, Tensor]) -> list[str]:
    """Copy a checkpoint with torchvision's names into `encoder`.

    The names may have a prefix. Names with another prefix, such as those of MoCo's key network and
    queue, are ignored. A stem (first convolution) and a last linear layer that the checkpoint lacks
    or has with another shape are not changed. `num_batches_tracked` is optional. All other tensors
    must be there with their shapes, and there must be no further ones.

    Returns:
        The names of the tensors that are not changed.

    Raises:
        DataError: the checkpoint is that of another network.
    """
    expected = encoder.state_dict()
    stored = _under_prefix(expected, tensors)
    unfitting = _unfitting(expected, stored)
    unchanged = {
        n: t for n, t in expected.items() if n in unfitting or n.endswith("num_batches_tracked")
    }
    checkpoint = {n: t for n, t in stored.items() if n in expected or not _LAST_LAYER.match(n)}
    try:
        encoder.load_state_dict(
            unchanged | {n: t for n, t in checkpoint.items() if n not in unfitting}
        )
    except RuntimeError as error:
        reason = " ".join(str(error).split()[:30])
        raise _network_mismatch(f"the checkpoint does not fit: {reason}") from error
    return [name for name in expected if name in unfitting]


def _under_prefix(
    expected: Mapping[str, Tensor], tensors: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Return the part of a checkpoint with the prefix that has most of the network's names."""
    parts: dict[str, dict[str, Tensor]] = {}
    for full_name, tensor in tensors.items():
        # A network of the user's may have a module with the name of a prefix.
        match = None if full_name in expected else _PREFIX.match(full_name)
        prefix = match.group() if match else ""
        name = _OLD_DENSENET.sub(r"\1\2", full_name[len(prefix) :])
        parts.setdefault(prefix, {})[name] = tensor
    part = max(parts.values(), key=lambda part: len(part.keys() & expected.keys()), default={})
    if not part.keys() & expected.keys():
        raise _network_mismatch(
            f"no name in the checkpoint ({abridge(list(tensors), _MAX_LISTED_NAMES)}) is one of "
            f"this network's ({abridge(list(expected), _MAX_LISTED_NAMES)})"
        )
    return part


def _unfitting(expected: Mapping[str, Tensor], stored: Mapping[str, Tensor]) -> set[str]:
    """Return the names of stem and last layer that do not fit, weight and bias together."""

    def fits(name: str) -> bool:
        return name in stored and stored[name].shape == expected[name].shape

    replaceable = {name for name in expected if name in _STEM_NAMES or _LAST_LAYER.match(name)}
    layers = {name.rpartition(".")[0] for name in replaceable if not fits(name)}
    return {name for name in replaceable if name.rpartition(".")[0] in layers}


def _network_mismatch(problem: str) -> DataError:
    options = f"{spelled('model')} and {spelled('width')}"
    return DataError(f"{problem}; choose the {options} that the checkpoint was trained with")
