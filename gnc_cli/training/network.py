"""The network of a run with its batches, and the tensors from which it starts."""

import logging
import os

import numpy as np
import torch
from torch import nn

from gnc_cli.errors import DataError, UnavailableError, UsageError
from gnc_cli.figures import duration
from gnc_cli.io.catalogue import check_entry, translated
from gnc_cli.io.formats import reader_for
from gnc_cli.io.inputs import open_input
from gnc_cli.parameters import spelled
from gnc_cli.plain import read_plain
from gnc_cli.runtime.distributed import Processes, on_this_machine, started_by_torchrun
from gnc_cli.runtime.memory import check_memory
from gnc_cli.runtime.threads import available_cores, resolve_device, threads_for
from gnc_cli.training.data.image_set import ImageData
from gnc_cli.training.head import HeadPlan, build_head
from gnc_cli.training.networks.batches import Augmentation, Batches, channel_statistics
from gnc_cli.training.networks.classifier import EncoderWithHead, count_parameters
from gnc_cli.training.networks.encoders import build_encoder, load_backbone
from gnc_cli.training.networks.losses import make_loss
from gnc_cli.training.networks.training import Training
from gnc_cli.training.run_folder import read_state
from gnc_cli.training.settings import Precision, Settings

_CORE_FLOPS = 1e10
"""Floating-point operations per second of one core, roughly: products of large matrices."""
_MIN_ANNOUNCED_SECONDS = 600.0
"""Shortest training without a time limit that is announced, in seconds."""
_log = logging.getLogger(__name__)


def build_training(
    settings: Settings,
    plan: HeadPlan,
    data: ImageData,
    processes: Processes,
    device: torch.device,
) -> Training:
    """Build encoder, head and loss with the batches of training images.

    Raises:
        UnavailableError: the network does not fit into memory.
    """
    shape = data.train.images.shape
    check_fits(settings, plan, shape, -(-settings.batch_size // processes.size), device)
    encoder = _encoder(settings, plan.d, shape)
    head = build_head(settings, plan)
    moves, paper = settings.augment or (), Augmentation()
    batches = Batches(
        data.train.images,
        data.train.labels,
        batch_size=settings.batch_size,
        seed=settings.seed,
        normalisation=channel_statistics(data.train.images),
        augmentation=Augmentation(
            padding=paper.padding if "crop" in moves else 0,
            flip="flip" in moves,
            degrees=paper.degrees if "rotate" in moves else 0.0,
        ),
        device=device,
        processes=processes,
    )
    loss = make_loss(settings.loss, tau=head.tau, margin=plan.margin)
    return Training(
        EncoderWithHead(encoder, head, loss), batches, settings, processes=processes, device=device
    )


def check_fits(
    settings: Settings,
    plan: HeadPlan,
    images: tuple[int, ...],
    batch: int,
    device: torch.device | str,
) -> None:
    """Refuse a network or head too large for the memory of a step or a measurement.

    Learned parameters take four times their size in float32 (gradient and two moments), and a
    learned head two more for its unit rows and their gradient. Scores of the batch are there three
    times. A measurement takes weights, unit weights and class means in float64 on the host, whose
    memory the processes of the machine share.

    Args:
        settings: settings of the run.
        plan: plan of the head.
        images: shape (N, C, S, S) of the images.
        batch: number of images per step on this device.
        device: device of the network.

    Raises:
        UnavailableError: it does not fit.
    """
    device, rows = torch.device(device), plan.K * plan.d
    parameters = 0
    if ":" not in settings.model:
        with torch.device("meta"):
            parameters = count_parameters(_encoder(settings, plan.d, images))
    head = (6 if settings.head_kind == "learned" else 2) * rows + 3 * batch * plan.K
    step, host = 4 * (4 * parameters + head), 3 * 8 * rows
    subject = (
        f"{spelled('model', settings.model)} with a {settings.head_kind} head of K={plan.K} "
        f"classes in d={plan.d} at batch size {batch}"
    )
    options = [spelled(name) for name in ("batch_size", "width", "feature_dim")]
    hint = f"take a smaller {', '.join(options[:-1])} or {options[-1]}, or another head"
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
        check_memory(step, subject, hint, free=free, place=str(device))
    else:
        host += step
    check_memory(host * (on_this_machine("LOCAL_WORLD_SIZE") or 1), subject, hint)


def _encoder(settings: Settings, d: int, images: tuple[int, ...]) -> nn.Module:
    return build_encoder(
        settings.model,
        channels=images[1],
        image_size=images[-1],
        feature_dim=d,
        width=settings.width,
        seed=settings.seed,
    )


def announce_time(settings: Settings, training: Training) -> None:
    """Log how long the epochs take, if it is long: a step is three times the forward pass."""
    images = training.batches.N * (settings.epochs - training.epoch)
    seconds = 3.0 * training.flops * images / (_CORE_FLOPS * available_cores())
    if training.device.type == "cpu" and seconds > _MIN_ANNOUNCED_SECONDS:
        _log.warning(
            "%s for %s takes about %s",
            spelled("model", settings.model),
            spelled("epochs", settings.epochs),
            duration(seconds),
        )


def choose_threads(training: Training, requested: int | None) -> int:
    """Return the number of processor threads: as requested, else few if layers are small."""
    if training.device.type != "cpu":
        return requested or available_cores()
    layers = [m for m in training.model.encoder.modules() if not any(m.children())]
    batch = -(-training.recipe.batch_size // training.processes.size)
    return threads_for(training.flops * batch / max(1, len(layers)), requested)


def choose_precision(device: torch.device, precision: Precision) -> Precision:
    """Return the precision: for `auto` bf16 on GPUs that do not just emulate it, else float32."""
    if precision != "auto":
        return precision
    if device.type != "cuda":
        return Precision.float32
    with torch.cuda.device(device):  # torch answers for the current one
        return (
            Precision.bf16
            if torch.cuda.is_bf16_supported(including_emulation=False)
            else Precision.float32
        )


def load_start(encoder: nn.Module, settings: Settings) -> str | None:
    """Load the encoder of the checkpoint in the settings, if any, and return a line about it.

    The head keeps its initial weights, and so does a last layer of another dimension.

    Raises:
        DataError: the checkpoint is not readable, or that of another network.
    """
    start = settings.backbone_weights or settings.init_from
    if start is None:
        return None
    if settings.backbone_weights is None:
        origin, tensors = "encoder of", _stored_encoder(start)
    else:
        origin, tensors = "from", read_tensors(start)
    unchanged = ", ".join(load_backbone(encoder, tensors)) or "nothing"
    return f"{origin} {os.path.basename(start.rstrip('/'))}; left out: {unchanged}"


def _stored_encoder(path: str) -> dict[str, torch.Tensor]:
    """Read the encoder of an earlier run, or of its checkpoint."""
    if os.path.isdir(path):
        best = os.path.join(path, "best.pt")
        path = best if os.path.isfile(best) else os.path.join(path, "last.pt")
    state = read_state(path)
    try:
        stored = read_plain(dict[str, torch.Tensor], state["training"]["model"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{spelled('init_from', path)} is not a checkpoint of gnc train; those of others go to "
            f"{spelled('backbone_weights')}"
        ) from error
    prefix = "encoder."
    return {k.removeprefix(prefix): v for k, v in stored.items() if k.startswith(prefix)}


def read_tensors(path: str | os.PathLike[str]) -> dict[str, torch.Tensor]:
    """Read the named tensors of any checkpoint to the CPU: .pt, .pth, .ckpt or .safetensors.

    Tensors that are not real numbers are left out. bfloat16 and 8-bit floats become float32. Only
    tensors and plain data are unpickled.

    Raises:
        DataError: the file is not such a checkpoint, or a tensor cannot be read.
    """
    name = os.fspath(path)
    with open_input(name) as file, reader_for(name, file)(file, name) as catalogue:
        numeric = {key: entry for key, entry in catalogue.entries.items() if entry.real}
        tensors = {}
        for key in numeric:
            check_entry(numeric[key], catalogue.location(key))
            with translated(name, f"a tensor {key!r} of shape {numeric[key].shape}"):
                array = np.array(numeric[key].load())
            is_exact = array.dtype.kind in "iu" or numeric[key].dtype in ("float16", "float64")
            tensors[key] = torch.from_numpy(array if is_exact else array.astype(np.float32))
    return tensors


def start_processes(device: str) -> tuple[Processes, torch.device]:
    """Connect the processes that torchrun started, if it did, and choose this one's device.

    On GPUs each process takes the GPU of its number on the machine (`LOCAL_RANK`), which becomes
    torch's current one. Tensors there are sent by nccl, and all others by gloo.

    Args:
        device: `auto`, `cpu`, `cuda` or `cuda:N`.

    Raises:
        UsageError: one GPU is named for several processes.
        UnavailableError: there is no such GPU, or the processes cannot connect.
    """
    torch_device = resolve_device(device)
    if torch_device.type == "cpu":
        return Processes.current(), torch_device
    if not started_by_torchrun():
        torch.cuda.set_device(torch_device)
        return Processes.current(), torch_device
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
    torch_device = torch.device("cuda", local)
    torch.cuda.set_device(torch_device)
    return Processes.current(torch_device), torch_device
