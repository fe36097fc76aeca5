"""One network in several processes: their devices, and what they must agree on."""

import inspect
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from gnc_cli.errors import UnavailableError, UsageError
from gnc_cli.parameters import spelled
from gnc_cli.runtime.devices import resolve_device
from gnc_cli.runtime.distributed import Processes, on_this_machine, started_by_torchrun
from gnc_cli.training.networks.classifier import Classifier


def start_processes(device: str) -> tuple[Processes, torch.device]:
    """The processes that torchrun started, and this one's device; alone without torchrun.

    `device` is `auto`, `cpu`, `cuda` or `cuda:N`. On GPUs each process takes the GPU of its number
    on the machine (`LOCAL_RANK`), tensors there travel over nccl, and all others over gloo. A GPU
    so chosen becomes torch's current one.
    """
    chosen = resolve_device(device)
    if chosen.type == "cpu":
        return Processes.current(), chosen
    if not started_by_torchrun():
        torch.cuda.set_device(chosen)
        return Processes.current(), chosen
    if ":" in device:
        raise UsageError(
            f"{spelled('device', device)} names one GPU for several processes; say "
            f"{spelled('device', 'cuda')}, and each process takes its own"
        )
    local, count = on_this_machine("LOCAL_RANK") or 0, torch.cuda.device_count()
    if local >= count:
        raise UnavailableError(
            f"process {local} of this machine has no GPU, there being {count}; start at most "
            f"--nproc-per-node {count}"
        )
    chosen = torch.device("cuda", local)
    torch.cuda.set_device(chosen)
    return Processes.current(chosen), chosen


def synchronise_batch_norm(model: Classifier, processes: Processes, device: torch.device) -> None:
    """Let batch norms of several GPUs take the statistics of the whole batch; nothing on CPUs."""
    if processes.size > 1 and device.type == "cuda":
        model.encoder = nn.SyncBatchNorm.convert_sync_batchnorm(model.encoder)


def distribute(model: Classifier, processes: Processes, device: torch.device) -> nn.Module:
    """`model` with gradients averaged over the processes; itself where there is one process.

    Buffers stay each process's own: class means come out the same everywhere, and what batch norms
    count apart is averaged where it is used (`average_running_statistics`). An encoder from
    elsewhere may have layers that it does not use: their gradients are not waited for.
    """
    if processes.size == 1:
        return model
    on_gpu = device.type == "cuda"
    wrap = nn.parallel.DistributedDataParallel
    newer = "forward_sync_buffers" in inspect.signature(wrap).parameters
    apart: dict[str, Any] = {"forward_sync_buffers" if newer else "broadcast_buffers": False}
    ours = type(model.encoder).__module__.startswith("gnc_cli.")
    return wrap(
        model,
        device_ids=[device] if on_gpu else None,
        process_group=None if on_gpu else processes.group,
        gradient_as_bucket_view=True,
        find_unused_parameters=not ours,
        **apart,
    )


def running_statistics(module: nn.Module) -> list[Tensor]:
    """Mean and variance that a batch norm keeps, (channels,) each; nothing of other modules."""
    if not isinstance(module, nn.modules.batchnorm._BatchNorm):
        return []
    return [b for b in (module.running_mean, module.running_var) if b is not None]


def average_running_statistics(model: nn.Module, processes: Processes) -> None:
    """Give all processes the mean of what their batch norms counted apart; all of them call it.

    Running statistics are linear in those of the batches, so taking the mean earlier changes
    nothing.
    """
    if processes.size == 1:
        return
    for module in model.modules():
        if not isinstance(module, nn.SyncBatchNorm):
            for buffer in running_statistics(module):
                buffer.copy_(sum_of(buffer, processes) / processes.size)


def sum_of(tensor: Tensor, processes: Processes) -> Tensor:
    """The sum of every process's tensor, on the CPU and the same in all; all of them call it."""
    total = tensor.detach().to("cpu", copy=True)
    if processes.size > 1:
        dist.all_reduce(total, group=processes.group)
    return total


def any_of(flag: bool, processes: Processes) -> bool:
    """Whether the flag is up in some process, the same in all; all of them call it."""
    return bool(sum_of(torch.tensor(flag, dtype=torch.int32), processes))
