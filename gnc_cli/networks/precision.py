"""Half precision where a recipe asks for it: automatic casts, and the scale that fp16 needs."""

from contextlib import AbstractContextManager, nullcontext

import torch

from gnc_cli.errors import UnavailableError

__all__ = ["autocast", "check_precision", "make_scaler"]

_HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def check_precision(precision: str, device: torch.device) -> None:
    """Refuse what the device cannot train with.

    Raises:
        UnavailableError: fp16 on a CPU, whose gradients no scaler keeps from vanishing there.
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
