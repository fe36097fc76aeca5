"""The network of a run on its batches, and the tensors that it starts from, its own or others'."""

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

_FLOPS = 1e10
"""Floating-point operations of one core in a second, roughly: products of large matrices."""
_LONG = 600.0
"""Seconds; training without a time limit that takes longer is announced."""
_log = logging.getLogger(__name__)


def build_training(
    settings: Settings,
    plan: HeadPlan,
    data: ImageData,
    processes: Processes,
    device: torch.device,
) -> Training:
    """Encoder, head and loss on the training images, `settings.augment` among the settings.

    Raises:
        UnavailableError: this machine cannot hold the network.
    """
    shape = data.train.images.shape
    check_fits(settings, plan, shape, -(-settings.batch_size // processes.size), device)
    encoder = _encoder(settings, plan.d, shape)
    head = build_head(settings, plan)
    moves, papers = settings.augment or (), Augmentation()
    batches = Batches(
        data.train.images,
        data.train.labels,
        batch_size=settings.batch_size,
        seed=settings.seed,
        normalisation=channel_statistics(data.train.images),
        augmentation=Augmentation(
            padding=papers.padding if "crop" in moves else 0,
            flip="flip" in moves,
            degrees=papers.degrees if "rotate" in moves else 0.0,
        ),
        device=device,
        rank=processes.rank,
        size=processes.size,
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
    """Refuse a network too wide, or a head of too many classes, for a step or a measurement.

    What is learned takes four times its size in float32 (gradient and two moments), and a learned
    head unit rows and their gradient; scores of the `batch` are there three times. Measuring wants
    weights, unit weights and class means in float64 on the host, whose memory the processes of the
    machine share.

    Args:
        images: shape (N, C, S, S).
        batch: images of a step on this device.

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
    what = (
        f"{spelled('model', settings.model)} with a {settings.head_kind} head of K={plan.K} "
        f"classes in d={plan.d} at batch size {batch}"
    )
    smaller = [spelled(name) for name in ("batch_size", "width", "feature_dim")]
    hint = f"take a smaller {', '.join(smaller[:-1])} or {smaller[-1]}, or another head"
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
        check_memory(step, what, hint, free=free, place=str(device))
    else:
        host += step
    check_memory(host * (on_this_machine("LOCAL_WORLD_SIZE") or 1), what, hint)


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
    """Say how long the epochs take, where it is long: three times the forward pass."""
    images = training.batches.N * (settings.epochs - training.epoch)
    seconds = 3.0 * training.flops * images / (_FLOPS * available_cores())
    if training.device.type == "cpu" and seconds > _LONG:
        _log.warning(
            "%s for %s takes about %s",
            spelled("model", settings.model),
            spelled("epochs", settings.epochs),
            duration(seconds),
        )


def threads_of(training: Training, requested: int | None) -> int:
    """Processor threads, as requested, else few where layers are small: they would wait."""
    if training.device.type != "cpu":
        return requested or available_cores()
    layers = [m for m in training.model.encoder.modules() if not any(m.children())]
    batch = -(-training.recipe.batch_size // training.processes.size)
    return threads_for(training.flops * batch / max(1, len(layers)), requested)


def precision_on(device: torch.device, precision: Precision) -> Precision:
    """`auto` is bf16 on GPUs that have it, not merely emulate it, else float32."""
    if precision != "auto":
        return precision
    if device.type != "cuda":
        return Precision.float32
    with torch.cuda.device(device):  # the question is about the current one
        return (
            Precision.bf16
            if torch.cuda.is_bf16_supported(including_emulation=False)
            else Precision.float32
        )


def load_start(encoder: nn.Module, settings: Settings) -> str | None:
    """Take over the encoder of a checkpoint, where one was asked for; a line that says so.

    The head starts fresh, and so does a last layer of another dimension.
    """
    start = settings.backbone_weights or settings.init_from
    if start is None:
        return None
    if settings.backbone_weights is None:
        origin, tensors = "encoder of", _stored_encoder(start)
    else:
        origin, tensors = "from", read_tensors(start)
    left_out = ", ".join(load_backbone(encoder, tensors)) or "nothing"
    return f"{origin} {os.path.basename(start.rstrip('/'))}; left out: {left_out}"


def _stored_encoder(path: str) -> dict[str, torch.Tensor]:
    """The encoder of an earlier run, or of its checkpoint."""
    if os.path.isdir(path):
        best = os.path.join(path, "best.pt")
        path = best if os.path.isfile(best) else os.path.join(path, "last.pt")
    state = read_state(path)
    try:
        stored = read_plain(dict[str, torch.Tensor], state["training"]["model"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{spelled('init_from', path)} is no checkpoint of gnc train; those of others go to "
            f"{spelled('backbone_weights')}"
        ) from error
    prefix = "encoder."
    return {k.removeprefix(prefix): v for k, v in stored.items() if k.startswith(prefix)}


def read_tensors(path: str | os.PathLike[str]) -> dict[str, torch.Tensor]:
    """The named tensors of anyone's checkpoint, on the CPU: .pt, .pth, .ckpt or .safetensors.

    Tensors of no real numbers are left out; bfloat16 and the 8-bit
    kinds come as float32. Nothing is unpickled but tensors and plain data.
    """
    name = os.fspath(path)
    with open_input(name) as file, reader_for(name, file)(file, name) as catalogue:
        real = {key: entry for key, entry in catalogue.entries.items() if entry.real}
        tensors = {}
        for key in real:
            check_entry(real[key], catalogue.where(key))
            with translated(name, f"a tensor {key!r} of shape {real[key].shape}"):
                array = np.array(real[key].load())
            whole = array.dtype.kind in "iu" or real[key].dtype in ("float16", "float64")
            tensors[key] = torch.from_numpy(array if whole else array.astype(np.float32))
    return tensors


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
