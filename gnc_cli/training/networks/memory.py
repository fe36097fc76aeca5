"""The memory of a head with many classes, predicted before it is built; and failed allocations."""

import contextlib
import os
from pathlib import Path

import torch

from gnc_cli.errors import GncError, UnavailableError
from gnc_cli.parameters import spelled

_FLOAT32, _FLOAT64 = 4, 8
_MEASURED = 3
"""Float64 arrays of the rows' size that measuring makes."""
_STATE = {"sgd": 1, "adam": 2, "adamw": 2}
"""Arrays of the parameters' size that each optimiser keeps (sgd: with momentum)."""

_CGROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)
"""Where a container's limit and use stand, in version 2 and 1, beside `memory.stat`."""


def head_bytes(d: int, K: int, batch: int, *, head: str, optimizer: str) -> int:
    """Bytes at the peak of a training step, for the head and its loss in float32.

    `batch` counts the samples per step on this device; `head` is `learned` (on the sphere),
    `decay`, `cmf` or `fixed`. Counted are the rows; where they are learned their gradient and the
    optimiser's state; the rows as the step uses them (unit rows, or the copy that class means keep
    for the backward pass); and the larger of what the loss makes, two (batch, K) arrays, and of
    what the backward pass through the head makes: one of them and the gradient of the unit rows.
    """
    rows, scores = K * d, batch * K
    learned = 2 + _STATE[optimizer]  # rows, gradient, state
    floats = {
        "learned": (learned + 1) * rows + scores + max(scores, rows),
        "decay": learned * rows + 2 * scores,
        "cmf": 2 * rows + 2 * scores,
        "fixed": rows + 2 * scores,
    }
    return _FLOAT32 * floats[head]


def check_head_fits(
    d: int, K: int, batch: int, *, head: str, optimizer: str, device: torch.device | str
) -> None:
    """Refuse a head that cannot fit beside what is already on the device, or be measured.

    Measuring wants weights, unit weights and class means in float64 in the host's memory, wherever
    the head is trained. That memory is shared by the processes of the machine, which all look at
    it before any of them takes some. Nothing is checked where the free memory is unknown.
    """

    def refuse_beyond(free: int | None, needed: int, where: str, when: str, smaller: str) -> None:
        if free is not None and needed > free:
            raise UnavailableError(
                f"a {head} head of K={K} classes in d={d} needs {needed / 1e9:.3g} GB {when}, but "
                f"{free / 1e9:.3g} GB are free for it on {where}; take a smaller {smaller}"
            )

    device = torch.device(device)
    step = head_bytes(d, K, batch, head=head, optimizer=optimizer)
    dimension, kind = spelled("feature_dim"), {"cmf": "fixed", "fixed": ""}.get(head, "cmf|fixed")
    cheaper = f", or {spelled('head', kind)}" if kind else ""
    advice = (
        f"at batch size {batch} with {optimizer}",
        f"{spelled('batch_size')} or {dimension}{cheaper}",
    )
    on_host = _MEASURED * _FLOAT64 * K * d
    if device.type == "cpu":
        on_host += step
    else:
        refuse_beyond(free_bytes(device), step, str(device), *advice)
        advice = "to be measured", dimension
    free = free_bytes("cpu")
    if free is not None:
        free //= int(os.environ.get("LOCAL_WORLD_SIZE") or 1)  # torchrun's processes, here
    refuse_beyond(free, on_host, "cpu", *advice)


def free_bytes(device: torch.device | str) -> int | None:
    """Memory that can still be had on `device`; None where this system does not say.

    On CUDA what the driver has and what torch holds unused; on a CPU what the system calls
    available, or less where a container's limit is nearer.
    """
    device = torch.device(device)
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    if device.type != "cpu":
        return None
    found = [_host_available(), *(_container_available(*group) for group in _CGROUPS)]
    return min((value for value in found if value is not None), default=None)


def _host_available() -> int | None:
    """The system's own estimate (Linux), else all of its memory, where it says."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _container_available(folder: str, limit: str, used: str) -> int | None:
    """What a container may still take; its file cache can be dropped, so that it counts as free."""
    root = Path(folder)
    with contextlib.suppress(OSError, ValueError):  # "max" where there is no limit
        left = int((root / limit).read_text()) - int((root / used).read_text())
        lines = map(str.split, (root / "memory.stat").read_text().splitlines())
        return left + sum(int(n) for key, n in lines if key in ("active_file", "inactive_file"))
    return None


def lacking_memory(error: BaseException) -> UnavailableError | None:
    """The error of an allocation that failed; None for any other error.

    Older versions of torch have no class for it but that of CUDA, and none have one for the CPU.
    """
    text = str(error)
    if isinstance(error, GncError):
        return None
    smaller = f"{spelled('batch_size')}, {spelled('width')} or {spelled('image_size')}"
    advice = f"is not enough; try a smaller {smaller}"
    if isinstance(error, torch.cuda.OutOfMemoryError) or "CUDA error: out of memory" in text:
        precision = spelled("precision", "bf16")
        return UnavailableError(f"the memory of the GPU {advice}, or {precision}")
    words = ("DefaultCPUAllocator", "not enough memory")  # on Linux, elsewhere
    if isinstance(error, MemoryError) or any(word in text for word in words):
        return UnavailableError(f"the memory of the machine {advice}")
    return None
