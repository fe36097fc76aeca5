"""The memory of a head with many classes, predicted before it is built."""

import math

import torch

from gnc_cli.parameters import spelled
from gnc_cli.runtime import predictions
from gnc_cli.runtime.distributed import on_this_machine
from gnc_cli.runtime.predictions import Prediction

_FLOAT32, _FLOAT64 = 4, 8
_MEASURED = 3
"""Float64 arrays of the rows' size that measuring makes."""
OPTIMIZER_STATE = {"sgd": 1, "adam": 2, "adamw": 2}
"""Arrays of the parameters' size that each optimiser keeps (sgd: with momentum)."""


def head_bytes(d: int, K: int, batch: int, *, head: str, optimizer: str) -> int:
    """Bytes at the peak of a training step, for the head and its loss in float32.

    `batch` counts the samples per step on this device; `head` is `learned` (on the sphere),
    `decay`, `cmf` or `fixed`. Counted are the rows; where they are learned their gradient and the
    optimiser's state; the rows as the step uses them (unit rows, or the copy that class means keep
    for the backward pass); and the larger of what the loss makes, two (batch, K) arrays, and of
    what the backward pass through the head makes: one of them and the gradient of the unit rows.
    """
    rows, scores = K * d, batch * K
    learned = 2 + OPTIMIZER_STATE[optimizer]  # rows, gradient, state
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

    Raises:
        UnavailableError: it does not fit.
    """
    device = torch.device(device)
    step = head_bytes(d, K, batch, head=head, optimizer=optimizer)
    dimension, kind = spelled("feature_dim"), {"cmf": "fixed", "fixed": ""}.get(head, "cmf|fixed")
    cheaper = f", or {spelled('head', kind)}" if kind else ""
    what = f"a {head} head of K={K} classes in d={d}"
    smaller = f"take a smaller {spelled('batch_size')} or {dimension}{cheaper}"
    trained = f"{what} at batch size {batch} with {optimizer}"
    on_host = _MEASURED * _FLOAT64 * K * d
    if device.type == "cpu":
        on_host += step
        what = trained
    else:
        Prediction(step).require(trained, smaller, free=free_bytes(device), where=str(device))
        smaller = f"take a smaller {dimension}"
    # A share for each of torchrun's processes here.
    free = free_bytes("cpu") / (on_this_machine("LOCAL_WORLD_SIZE") or 1)
    Prediction(on_host).require(what, smaller, free=free, where="cpu")


def free_bytes(device: torch.device | str) -> float:
    """Memory that can still be had on `device`; infinite where this system does not say.

    On CUDA what the driver has and what torch holds unused.
    """
    device = torch.device(device)
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    return predictions.free_memory() if device.type == "cpu" else math.inf
