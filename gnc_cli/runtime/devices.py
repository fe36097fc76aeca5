"""Where the arrays live: the user's `--device` as a torch device, checked to be there.

torch is imported on use, never before: commands that need no tensor start without it.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from gnc_cli.errors import UnavailableError
from gnc_cli.runtime.calls import loaded

if TYPE_CHECKING:
    import torch

_DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
"""Files that the drivers of NVIDIA (Linux, Windows Subsystem for Linux) and AMD put there."""


def resolve_device(name: str = "auto") -> "torch.device":
    """The torch device called `auto`, `cpu`, `cuda` or `cuda:N`.

    `auto` is the first CUDA device where there is one, else the CPU.

    Raises:
        UnavailableError: no such device here; the message names those there are.

    Example:
        >>> resolve_device("cpu")
        device(type='cpu')
    """
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "cpu" or (name == "auto" and count == 0):
        return torch.device("cpu")
    index = int(name.partition(":")[2] or 0)
    if index >= count:
        there = ", ".join(["cpu", *(f"cuda:{i}" for i in range(count))])
        why = "" if torch.version.cuda or count else " (this torch was built without CUDA)"
        raise UnavailableError(f"--device {name} is not available{why}; here: {there}")
    return torch.device("cuda", index)


def accelerator(name: str, *, worthwhile: bool = True) -> "torch.device | None":
    """The GPU to use for work that NumPy does otherwise; None for the CPU.

    torch is imported only where a GPU is asked for by name, or `auto` and likely to be there.

    Args:
        name: `auto`, `cpu`, `cuda` or `cuda:N`.
        worthwhile: the work is large enough for `auto` to move it to a GPU.

    Raises:
        UnavailableError: as `resolve_device`.

    Example:
        >>> accelerator("cpu") is None
        True
    """
    if name == "cpu" or (name == "auto" and not (worthwhile and _likely())):
        return None
    device = resolve_device(name)
    return None if device.type == "cpu" else device


def _likely() -> bool:
    torch = loaded("torch")
    if torch is not None:
        return bool(torch.cuda.is_available())
    return any(Path(driver).exists() for driver in _DRIVERS)
