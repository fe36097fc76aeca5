"""Networks by name: images in, raw features out.

A new network is a function of an `EncoderShape` and an entry in `_BUILDERS`. Anyone's own comes in
as `package.module:factory` without an entry.
"""

import importlib
import importlib.machinery
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from gnc_cli.errors import UsageError
from gnc_cli.training.networks.classifier import in_eval_mode
from gnc_cli.training.networks.cnn import cnn
from gnc_cli.training.networks.densenet import densenet121
from gnc_cli.training.networks.layers import EncoderShape, choose_stem
from gnc_cli.training.networks.resnet import resnet18, resnet50, resnext50

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
        UsageError: no such model; images too small for the network; a factory that cannot be
            found or does not make what it should.

    Example:
        >>> encoder = build_encoder("resnet18", width=0.25, feature_dim=10)
        >>> encoder(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """
    with torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed, which would seed the accelerators too.
        torch.default_generator.manual_seed(seed)
        if ":" in model:
            if (stem, width, norm) != ("auto", 1.0, "batch"):
                raise UsageError(
                    f"--model {model} has its own stem, width and norm; leave --stem, --width "
                    "and --norm out"
                )
            return _build_own(model, channels, image_size, feature_dim)
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


def _build_own(model: str, channels: int, image_size: int, feature_dim: int | None) -> nn.Module:
    """Call `factory(channels=..., image_size=..., feature_dim=...)` and try what it makes.

    The module is looked for in the current directory too. One forward pass of two black images in
    eval mode shows whether features (2, feature_dim) come out; where `feature_dim` is None, any
    number of features will do. The attribute `feature_dim` is set to it.
    """
    with _current_directory():
        factory = _find(model)
        try:
            encoder = factory(channels=channels, image_size=image_size, feature_dim=feature_dim)
        except Exception as error:
            raise UsageError(
                f"--model {model}: the factory stops with {_in_one_line(error)}"
            ) from error
        if not isinstance(encoder, nn.Module):
            raise UsageError(
                f"--model {model} gives {type(encoder).__name__}, not an nn.Module; "
                "return the network itself"
            )
        try:
            with in_eval_mode(encoder), torch.no_grad():
                features = encoder(torch.zeros(2, channels, image_size, image_size))
        except Exception as error:
            raise UsageError(
                f"--model {model}: the network stops with {_in_one_line(error)} on images "
                f"(2, {channels}, {image_size}, {image_size})"
            ) from error
    if not isinstance(features, Tensor) or not features.is_floating_point():
        what = features.dtype if isinstance(features, Tensor) else type(features).__name__
        raise UsageError(f"--model {model}: the network gives {what}, not a tensor of floats")
    shape = tuple(features.shape)
    if len(shape) != 2 or shape != (2, shape[1] if feature_dim is None else feature_dim):
        wanted = "d" if feature_dim is None else feature_dim
        raise UsageError(f"--model {model}: two images give features {shape}, not (2, {wanted})")
    cast(Any, encoder).feature_dim = shape[1]
    return encoder


def _find(model: str) -> Callable[..., Any]:
    module_name, _, name = model.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise UsageError(
            f"--model {model}: importing {module_name or 'nothing'} stops with "
            f"{_in_one_line(error)}; write package.module:factory, installed or in the current "
            "directory"
        ) from error
    factory = getattr(module, name, None)
    if not callable(factory):
        raise UsageError(f"--model {model}: {module_name} has no function {name or '(no name)'}")
    return factory


@contextmanager
def _current_directory() -> Iterator[None]:
    """The current directory on the import path, last: a `gnc` script starts without it."""
    before = sys.path[:]
    sys.path.append(os.getcwd())
    try:
        yield
    finally:
        sys.path[:] = before


def _in_one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@contextmanager
def no_imports_from(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Within the block, importing a module that lies in `folder` is an ImportError.

    A run folder may have come from somebody else: what lies there is data, never code.
    """
    guard = _RefusedFolder(os.path.realpath(folder))
    sys.meta_path.insert(0, guard)
    try:
        yield
    finally:
        sys.meta_path.remove(guard)


class _RefusedFolder(importlib.machinery.PathFinder):
    """Finds nothing itself; stops at what Python would find in the folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def find_spec(  # type: ignore[override]
        self, fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> None:
        spec = super().find_spec(fullname, path, target)
        places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
        for place in filter(None, places):
            around = os.path.realpath(os.path.dirname(place))
            if os.path.commonpath([around, self.folder]) == self.folder:
                raise ImportError(f"{place} lies in the run folder, which holds no code")
