"""What a head with many classes takes, before it is built: bytes needed against bytes free."""

import contextlib
import os
from pathlib import Path

import torch

from gnc_cli.errors import UnavailableError, UsageError

__all__ = ["check_head_fits", "free_bytes", "head_bytes"]

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

    Counted are the rows; where they are learned their gradient and the optimiser's state; the
    rows as the step uses them (unit rows, or the copy that class means keep for the backward
    pass); and the larger of what the loss makes, two (batch, K) arrays, and of what the backward
    pass through the head makes: one of them and the gradient of the unit rows.

    Args:
        d: dimension of the features.
        K: number of classes.
        batch: samples of a step, on this device.
        head: `learned` (on the sphere), `decay`, `cmf` or `fixed`.
        optimizer: `sgd` (momentum), `adam` or `adamw`.

    Raises:
        UsageError: an unknown head or optimiser.

    Example:
        >>> head_bytes(512, 10**6, 256, head="learned", optimizer="sgd") // 10**9
        11
        >>> head_bytes(512, 10**6, 256, head="fixed", optimizer="sgd") // 10**9
        4
    """
    if optimizer not in _STATE:
        raise UsageError(f"optimizer {optimizer!r} is unknown; choose {', '.join(_STATE)}")
    rows, scores = K * d, batch * K
    learned = 2 + _STATE[optimizer]  # rows, gradient, state
    match head:
        case "learned":
            floats = (learned + 1) * rows + scores + max(scores, rows)
        case "decay":
            floats = learned * rows + 2 * scores
        case "cmf":
            floats = 2 * rows + 2 * scores
        case "fixed":
            floats = rows + 2 * scores
        case _:
            raise UsageError(f"head {head!r} is unknown; choose learned, decay, cmf or fixed")
    return _FLOAT32 * floats


def free_bytes(device: torch.device | str) -> int | None:
    """Memory that can still be had on `device`; None where this system does not tell.

    On CUDA what the driver has and what torch holds unused; on a CPU what the system calls
    available, or less where a container's limit is nearer.
    """
    device = torch.device(device)
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    if device.type != "cpu":
        return None
    found = [_available(), *(_left(*group) for group in _CGROUPS)]
    return min((value for value in found if value is not None), default=None)


def check_head_fits(
    d: int, K: int, batch: int, *, head: str, optimizer: str, device: torch.device | str
) -> None:
    """Refuse a head that cannot fit beside what is already on the device, or be measured.

    Measuring wants weights, unit weights and class means in float64 in the host's memory, wherever
    the head is trained. That memory is shared by the processes of the machine, which all look at
    it before any of them takes some. Arguments as for `head_bytes`; nothing is checked where the
    free memory is unknown.

    Raises:
        UnavailableError: more bytes are needed than free, with what to change.
        UsageError: an unknown head or optimiser.
    """
    device = torch.device(device)
    trained = head_bytes(d, K, batch, head=head, optimizer=optimizer)
    measured = _MEASURED * _FLOAT64 * K * d
    cheaper = {"cmf": ", or --head fixed", "fixed": ""}.get(head, ", or --head cmf|fixed")
    said = f"at batch size {batch} with {optimizer}", f"--batch-size or --feature-dim{cheaper}"
    if device.type != "cpu":
        _hold(d, K, head, trained, free_bytes(device), str(device), *said)
        trained, said = 0, ("to be measured", "--feature-dim")
    free = free_bytes("cpu")
    if free is not None:
        free //= _processes_here()
    _hold(d, K, head, trained + measured, free, "cpu", *said)


def _hold(
    d: int, K: int, head: str, needed: int, free: int | None, where: str, when: str, smaller: str
) -> None:
    if free is not None and needed > free:
        raise UnavailableError(
            f"a {head} head of K={K} classes in d={d} needs {_gigabytes(needed)} {when}, but "
            f"{_gigabytes(free)} are free for it on {where}; take a smaller {smaller}"
        )


def _processes_here() -> int:
    """How many processes torchrun started on this machine."""
    count = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, int(count)) if count.isdigit() else 1


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.3g} GB"


def _available() -> int | None:
    """The system's own estimate (Linux), else all of its memory, where it tells."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _left(folder: str, limit: str, used: str) -> int | None:
    """What a container may still take; its file cache can be dropped, so that it counts as free."""
    root = Path(folder)
    with contextlib.suppress(OSError, ValueError):  # "max" where there is no limit
        left = int((root / limit).read_text()) - int((root / used).read_text())
        lines = map(str.split, (root / "memory.stat").read_text().splitlines())
        return left + sum(int(n) for key, n in lines if key in ("active_file", "inactive_file"))
    return None
