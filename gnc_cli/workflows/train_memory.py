"""Memory that is not enough for a run, whoever says so, as one error."""

import torch

from gnc_cli.errors import GncError, UnavailableError

__all__ = ["lacking_memory"]


def lacking_memory(error: Exception) -> UnavailableError | None:
    """What to say of an allocation that failed; None for any other error.

    Older versions of torch have no class for it but that of CUDA, and none have one for the CPU.

    Example:
        >>> print(lacking_memory(MemoryError()))
        the memory of the machine is not enough; try a smaller --batch-size, --width or --image-size
        >>> lacking_memory(RuntimeError("shapes differ")) is None
        True
    """
    said = str(error)
    if isinstance(error, GncError):
        return None
    advice = "is not enough; try a smaller --batch-size, --width or --image-size"
    if isinstance(error, torch.cuda.OutOfMemoryError) or "CUDA error: out of memory" in said:
        return UnavailableError(f"the memory of the GPU {advice}, or --precision bf16")
    words = ("DefaultCPUAllocator", "not enough memory")  # on Linux, elsewhere
    if isinstance(error, MemoryError) or any(word in said for word in words):
        return UnavailableError(f"the memory of the machine {advice}")
    return None
