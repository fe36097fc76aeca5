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
from typing import Any, cast

import torch
from torch import Tensor, nn

from gnc_cli.collapse.model import in_eval_mode
from gnc_cli.errors import DataError, UsageError
from gnc_cli.parameters import spelled
from gnc_cli.training.data.image_set import first_of
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

_POOLED = ("cnn", "densenet121")
"""These halve the stem's maps three times without padding."""
_FEWEST = 8

_PREFIX = re.compile(r"(?:(?:module|_orig_mod|model|encoder|backbone|encoder_q)\.)*")
"""Of data parallelism, compilation, trainers, and MoCo's query network."""
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
    feature_dim: int | None,
    width: float = 1.0,
    seed: int = 0,
) -> nn.Module:
    """Network from images (N, channels, S, S) float32 to raw features (N, feature_dim).

    `model` is one of `ENCODERS` or `package.module:factory`. Without a `feature_dim` the last
    linear layer is left out; the network's own `feature_dim` says how many features come out.
    First values come from `seed` alone; PyTorch's global random numbers stay where they are.
    """
    with torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed, which would seed the accelerators too.
        torch.default_generator.manual_seed(seed)
        if ":" in model:
            if width != 1.0:
                raise UsageError(
                    f"{spelled('model', model)} has its own width; leave {spelled('width')} out"
                )
            return _build_own(model, channels, image_size, feature_dim)
        if model not in _BUILDERS:
            raise UsageError(
                f"{spelled('model', model)}: choose from {', '.join(ENCODERS)}, or write "
                f"package.module:factory for your own; {_SIGNATURE}"
            )
        if model in _POOLED and image_size < _FEWEST:
            raise UsageError(
                f"{spelled('model', model)} needs images of {_FEWEST} pixels or more, these have "
                f"{image_size}; choose {spelled('model', 'resnet18')}"
            )
        return _BUILDERS[model](EncoderShape(channels, feature_dim, image_size, width))


def _build_own(model: str, channels: int, image_size: int, feature_dim: int | None) -> nn.Module:
    """Call `factory(channels=..., image_size=..., feature_dim=...)` and try what it makes.

    The module is looked for in the current directory too. One forward pass of two black images in
    eval mode shows whether features (2, feature_dim) come out; where `feature_dim` is None, any
    number of features will do. The attribute `feature_dim` is set to it.
    """
    module_name, _, name = model.partition(":")
    option = spelled("model", model)
    path = sys.path[:]
    sys.path.append(os.getcwd())  # last; a `gnc` script starts without it
    try:
        how = "write package.module:factory, installed or in the current directory"
        with _explained(f"{option}: importing {module_name or 'nothing'} stops with", how):
            module = importlib.import_module(module_name)
        factory = getattr(module, name, None)
        if not callable(factory):
            raise UsageError(f"{option}: {module_name} has no function {name or '(no name)'}")
        with _explained(f"{option}: the factory stops with", _SIGNATURE):
            encoder = factory(channels=channels, image_size=image_size, feature_dim=feature_dim)
        if not isinstance(encoder, nn.Module):
            raise UsageError(
                f"{option} gives {type(encoder).__name__}, not an nn.Module; {_SIGNATURE}"
            )
        images = torch.zeros(2, channels, image_size, image_size)
        with (
            _explained(f"{option}: on images {tuple(images.shape)} the network stops with"),
            in_eval_mode(encoder),
            torch.no_grad(),
        ):
            features = encoder(images)
    finally:
        sys.path[:] = path
    kind = type(features).__name__
    if isinstance(features, Tensor):
        kind = f"{tuple(features.shape)} {features.dtype}"
        if features.is_floating_point() and features.ndim == 2 and len(features) == 2:
            if feature_dim in (None, features.shape[1]):
                cast(Any, encoder).feature_dim = features.shape[1]
                return encoder
    wanted = f"(2, {feature_dim or 'd'})"
    raise UsageError(f"{option}: two images give {kind}, not a tensor of floats {wanted}")


@contextmanager
def _explained(what: str, advice: str = "") -> Iterator[None]:
    """Whatever somebody's own code raises inside, as a UsageError of one line."""
    try:
        yield
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise UsageError("; ".join(filter(None, (f"{what} {reason}", advice)))) from error


@torch.no_grad()
def load_backbone(encoder: nn.Module, tensors: Mapping[str, Tensor]) -> list[str]:
    """Copy a checkpoint with torchvision's names into `encoder`; name what keeps its own values.

    The names may lie below a prefix; what lies elsewhere, such as MoCo's key network and queue, is
    not ours. A stem (first convolution) and a last linear layer of another shape, or that the
    checkpoint does not have, are left as they are. `num_batches_tracked` is optional. Everything
    else must be there with its shape, and nothing may be left over; else nothing is changed.
    """
    own = encoder.state_dict()
    stored = _under_prefix(own, tensors)
    for name in _STEMS & own.keys() & stored.keys():
        theirs, ours = stored[name], own[name]
        if ours.ndim == theirs.ndim == 4 and ours.shape[1] != theirs.shape[1]:
            raise DataError(
                f"the checkpoint's {name} takes images of {theirs.shape[1]} channels, these have "
                f"{ours.shape[1]}; use images of {theirs.shape[1]} channels"
            )
    left_out = _left_out(own, stored)
    needed = [name for name in own if name not in left_out]
    missing = [name for name in needed if name not in stored and not _is_counter(name)]
    if missing:
        raise _of_another_network(f"the checkpoint has no {first_of(missing, _NAMED)}")
    extra = [n for n in stored if not (n in own or _is_counter(n) or _LAST.match(n))]
    if extra:
        raise _of_another_network(f"this network has no place for {first_of(extra, _NAMED)}")
    copied = [name for name in needed if name in stored]
    for name in copied:
        if stored[name].shape != own[name].shape:
            raise _of_another_network(
                f"{name} is {tuple(stored[name].shape)} in the checkpoint and "
                f"{tuple(own[name].shape)} in this network"
            )
    for name in copied:
        own[name].copy_(stored[name])
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
            f"no name in the checkpoint ({first_of(list(tensors), _NAMED)}) is one of this "
            f"network's ({first_of(list(own), _NAMED)})"
        )
    return below


def _left_out(own: Mapping[str, Tensor], stored: Mapping[str, Tensor]) -> set[str]:
    """Stem and last layer where they do not fit; a layer's weight and bias stay together."""

    def fits(name: str) -> bool:
        return name in stored and stored[name].shape == own[name].shape

    replaceable = {name for name in own if name in _STEMS or _LAST.match(name)}
    layers = {name.rpartition(".")[0] for name in replaceable if not fits(name)}
    return {name for name in replaceable if name.rpartition(".")[0] in layers}


def _is_counter(name: str) -> bool:
    return name.rpartition(".")[2] == "num_batches_tracked"


def _of_another_network(what: str) -> DataError:
    options = f"{spelled('model')} and {spelled('width')}"
    return DataError(f"{what}; choose the {options} that the checkpoint was trained with")
