"""Anyone's own network, by the name `package.module:factory`."""

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
from gnc_cli.networks.modes import in_eval_mode

__all__ = ["build_own", "never_from"]


def build_own(model: str, *, channels: int, image_size: int, feature_dim: int | None) -> nn.Module:
    """Call `factory(channels=..., image_size=..., feature_dim=...)` and try what it makes.

    The module is looked for in the current directory too. One forward pass of two black images in
    eval mode shows whether features (2, feature_dim) come out; where `feature_dim` is None, any
    number of features will do. The attribute `feature_dim` is set to it.

    Raises:
        UsageError: module or name not found, no nn.Module, an error inside, or another shape.
    """
    with _current_directory():
        factory = _find(model)
        try:
            encoder = factory(channels=channels, image_size=image_size, feature_dim=feature_dim)
        except Exception as error:
            raise UsageError(f"--model {model}: the factory stops with {_line(error)}") from error
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
                f"--model {model}: the network stops with {_line(error)} on images "
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
            f"--model {model}: importing {module_name or 'nothing'} stops with {_line(error)}; "
            "write package.module:factory, installed or in the current directory"
        ) from error
    factory = getattr(module, name, None)
    if not callable(factory):
        raise UsageError(f"--model {model}: {module_name} has no function {name or '(no name)'}")
    return factory


@contextmanager
def never_from(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Within the block, importing a module that lies in `folder` is an ImportError.

    A run folder may have come from somebody else: what lies there is data, never code.
    """
    guard = _Outside(os.path.realpath(folder))
    sys.meta_path.insert(0, guard)
    try:
        yield
    finally:
        sys.meta_path.remove(guard)


class _Outside(importlib.machinery.PathFinder):
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


@contextmanager
def _current_directory() -> Iterator[None]:
    """The current directory on the import path, last: a `gnc` script starts without it."""
    before = sys.path[:]
    sys.path.append(os.getcwd())
    try:
        yield
    finally:
        sys.path[:] = before


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
