"""Float precision: half in the encoder where a recipe asks for it, float32 in head and loss."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from gnc_cli.errors import UnavailableError

_HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def check_precision(precision: str, device: torch.device) -> None:
    """Refuse what the device cannot train with.

    Raises:
        UnavailableError: fp16 on a CPU, where no scaler keeps gradients from vanishing.
    """
    if precision == "fp16" and device.type != "cuda":
        raise UnavailableError(
            f"--precision fp16 needs a GPU, and the device is {device}; choose bf16 or float32"
        )


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Runs the matrix products and convolutions within it in `precision`."""
    half = _HALVES.get(precision)
    return torch.autocast(device.type, dtype=half) if half is not None else nullcontext()


def make_scaler(precision: str) -> torch.amp.GradScaler:
    """Scales the loss of fp16 so that small gradients survive; does nothing otherwise."""
    return torch.amp.GradScaler("cuda", enabled=precision == "fp16")


def full_precision(like: Tensor) -> torch.autocast:
    """A context in which autocast is off on the device of `like`."""
    return torch.autocast(like.device.type, enabled=False)


def widened(x: Tensor) -> Tensor:
    """`x` in float32, or as it is where it is float64; part of the graph."""
    return x if x.dtype == torch.float64 else x.float()
