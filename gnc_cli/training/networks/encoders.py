"""Networks by name or of somebody's own, and weights that others trained: images in, features out.

A new network is a function of an `EncoderShape` and an entry in `_BUILDERS`; anyone's own comes in
as `package.module:factory` without an entry.
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
"""Names that `build_encoder` knows."""

_PREFIX = re.compile(
    r"(?:(?:state_dict|model_state_dict|module|_orig_mod|model|encoder|backbone|encoder_q)\.)*"
)
"""Of checkpoints, data parallelism, compilation, trainers, and MoCo's query network."""
_STEMS = {"conv1.weight", "conv1.bias", "features.conv0.weight", "features.conv0.bias"}
_LAST = re.compile(r"(?:fc|classifier)\.")
_OLD_DENSENET = re.compile(r"(\.denselayer\d+\.(?:norm|conv))\.([12]\.)")
"""The published DenseNet weights say `norm.1.weight` where torchvision now says `norm1.weight`."""
_SIGNATURE = (
    "it is called as factory(channels=, image_size=, feature_dim=) and gives an nn.Module from "
    "images to features (N, feature_dim)"
)
_NAMED = 3
"""Names that an error quotes."""


def build_encoder(
    model: str,
    *,
    channels: int = 3,
    image_size: int = 32,
    feature_dim: int,
    width: float = 1.0,
    seed: int = 0,
) -> nn.Module:
    """Network from images (N, channels, S, S) float32 to raw features (N, feature_dim).

    `model` is one of `ENCODERS` or `package.module:factory`. First
    values come from `seed` alone; PyTorch's global random numbers stay where they are.
    """
    with exclusive_generator():
        # Not torch.manual_seed, which would seed the accelerators too.
        torch.default_generator.manual_seed(seed)
        if ":" in model:
            return _build_own(model, channels, image_size, feature_dim)
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


def _build_own(model: str, channels: int, image_size: int, feature_dim: int) -> nn.Module:
    """Call `factory(channels=..., image_size=..., feature_dim=...)` and try what it makes.

    The module is looked for in the current directory too. One forward pass of two black images in
    eval mode shows whether features (2, feature_dim) come out.
    """
    module_name, _, name = model.partition(":")
    option = spelled("model", model)
    path = sys.path[:]
    sys.path.append(os.getcwd())  # last; a `gnc` script starts without it
    try:
        how = "write package.module:factory, installed or in the current directory"
        with _explained(f"{option}: importing {module_name or 'nothing'} stops with", how):
            module = importlib.import_module(module_name)
        with _explained(f"{option}: the factory stops with", _SIGNATURE):
            factory = getattr(module, name)
            encoder = factory(channels=channels, image_size=image_size, feature_dim=feature_dim)
        images = torch.zeros(2, channels, image_size, image_size)
        with (
            _explained(f"{option}: on images {tuple(images.shape)} the network stops with"),
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
def _explained(what: str, advice: str = "") -> Iterator[None]:
    """Whatever somebody's own code raises inside, as a UsageError of one line."""
    try:
        yield
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise UsageError("; ".join(filter(None, (f"{what} {reason}", advice)))) from error


def load_backbone(encoder: nn.Module, tensors: Mapping[str, Tensor]) -> list[str]:
    """Copy a checkpoint with torchvision's names into `encoder`; name what keeps its own values.

    The names may lie below a prefix; what lies elsewhere, such as MoCo's key network and queue, is
    not ours. A stem (first convolution) and a last linear layer of another shape, or that the
    checkpoint does not have, are left as they are. `num_batches_tracked` is optional. Everything
    else must be there with its shape, and nothing may be left over.
    """
    own = encoder.state_dict()
    stored = _under_prefix(own, tensors)
    left_out = _left_out(own, stored)
    usual = {n: t for n, t in own.items() if n in left_out or n.endswith("num_batches_tracked")}
    kept = {n: t for n, t in stored.items() if n in own or not _LAST.match(n)}
    try:
        encoder.load_state_dict(usual | {n: t for n, t in kept.items() if n not in left_out})
    except RuntimeError as error:
        reason = " ".join(str(error).split()[:30])
        raise _of_another_network(f"the checkpoint does not fit: {reason}") from error
    return [name for name in own if name in left_out]


def _under_prefix(own: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The part of a checkpoint below the prefix that has most of the network's names."""
    parts: dict[str, dict[str, Tensor]] = {}
    for full, tensor in tensors.items():
        # A network of one's own may have a module that is called as one of the prefixes.
        match = None if full in own else _PREFIX.match(full)
        prefix = match.group() if match else ""
        name = _OLD_DENSENET.sub(r"\1\2", full[len(prefix) :])
        parts.setdefault(prefix, {})[name] = tensor
    below = max(parts.values(), key=lambda part: len(part.keys() & own.keys()), default={})
    if not below.keys() & own.keys():
        raise _of_another_network(
            f"no name in the checkpoint ({abridge(list(tensors), _NAMED)}) is one of this "
            f"network's ({abridge(list(own), _NAMED)})"
        )
    return below


def _left_out(own: Mapping[str, Tensor], stored: Mapping[str, Tensor]) -> set[str]:
    """Stem and last layer where they do not fit; a layer's weight and bias stay together."""

    def fits(name: str) -> bool:
        return name in stored and stored[name].shape == own[name].shape

    replaceable = {name for name in own if name in _STEMS or _LAST.match(name)}
    layers = {name.rpartition(".")[0] for name in replaceable if not fits(name)}
    return {name for name in replaceable if name.rpartition(".")[0] in layers}


def _of_another_network(what: str) -> DataError:
    options = f"{spelled('model')} and {spelled('width')}"
    return DataError(f"{what}; choose the {options} that the checkpoint was trained with")
