"""The steps of training: an epoch can be stopped after any of them, and goes on from there."""

import copy
import inspect
import math
import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from gnc_cli.errors import DataError, UnavailableError
from gnc_cli.parameters import spelled
from gnc_cli.runtime.distributed import Processes
from gnc_cli.runtime.threads import exclusive_generator
from gnc_cli.training.networks.batches import Batch, Batches, seed_at
from gnc_cli.training.networks.classifier import EncoderWithHead, autocast, flops_per_image
from gnc_cli.training.settings import Recipe

_CHECK_EVERY = 10
"""Steps on a GPU between two checks of the loss, for which the host waits."""


def make_optimizer(model: EncoderWithHead, recipe: Recipe) -> torch.optim.Optimizer:
    """SGD, AdamW or Adam over the parameters that need gradients, in at most two groups.

    - Weights of a head on the sphere never decay: their lengths mean nothing, and shrinking them
      would only raise their learning rate. A head of free lengths (appendix B.1) decays.
    - SGD lets everything else decay, as the paper does; AdamW and Adam leave out biases and the
      scales and shifts of normalisation layers, that is every vector.
    """
    head = {id(p) for p in model.head.parameters()} if model.head.sphere else set()

    def decays(parameter: nn.Parameter) -> bool:
        return id(parameter) not in head and (recipe.optimizer == "sgd" or parameter.ndim > 1)

    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if decays(p)], "weight_decay": recipe.weight_decay},
        {"params": [p for p in trained if not decays(p)], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=recipe.lr)
    if recipe.optimizer == "adam":
        return torch.optim.Adam(groups, lr=recipe.lr)
    momentum = recipe.momentum
    return torch.optim.SGD(groups, lr=recipe.lr, momentum=momentum, nesterov=momentum > 0)


class NonFiniteLoss(DataError):
    """The loss, or a parameter, is no longer a finite number; the network is lost."""


@dataclass(frozen=True)
class EpochTotals:
    """An epoch's training, of all processes together."""

    epoch: int
    """Epochs done, from 1."""
    step: int
    """Steps done, all epochs together."""
    loss: float
    """Mean over the samples, as they were trained on."""
    accuracy: float
    """Share of right answers among them: in train mode, on augmented images."""
    lr: float
    """Of the last step."""
    seconds: float
    images_per_second: float


@dataclass(frozen=True)
class TrainingState:
    """All that the rest of a run depends on."""

    model: dict[str, Tensor]
    optimizer: dict[str, Any]
    scaler: dict[str, Any]
    epoch: int
    """Epochs done."""
    step: int
    """Steps done of the epoch that has begun."""
    steps: int
    """Steps of an epoch."""
    seed: int


class Training:
    """The epochs of a recipe on one network.

    The state can be taken out and put back between two steps. On a CPU the network then goes on bit
    for bit as if it had never stopped, with the same number of threads; the totals of an epoch that
    was put back inside are those of its later steps. Every random choice depends on the seed of the
    batches and on the position; dropout too. The number of processes may change; they all make the
    same calls.

    The model is moved to the device, its batch norms joined over the GPUs of all processes.
    """

    def __init__(
        self,
        model: EncoderWithHead,
        batches: Batches,
        recipe: Recipe,
        *,
        processes: Processes,
        device: torch.device,
    ) -> None:
        if recipe.precision == "fp16" and device.type != "cuda":
            raise UnavailableError(
                f"{spelled('precision', 'fp16')} needs a GPU, and the device is {device}; choose "
                "bf16 or float32"
            )
        shape = batches.images.shape[1:]
        flops = flops_per_image(model.encoder, shape)
        if processes.size > 1 and device.type == "cuda":
            model.encoder = nn.SyncBatchNorm.convert_sync_batchnorm(model.encoder)
        model.to(device)
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.model, self.batches, self.recipe = model, batches, recipe
        self.processes, self.device = processes, device
        self.flops = flops
        """Operations of a forward pass of one image."""
        self.epoch = 0
        """Epochs done."""
        self.step = 0
        """Steps done of the epoch that has begun."""
        self._optimizer = make_optimizer(model, recipe)
        self._trained = [p for p in model.parameters() if p.requires_grad]
        # So that small gradients of fp16 survive.
        self._scaler = torch.amp.GradScaler("cuda", enabled=recipe.precision == "fp16")
        self._shared: nn.Module = _distributed(model, processes, device)
        self._begin()

    def _begin(self) -> None:
        """Count from here on."""
        self._sums = torch.zeros(3, dtype=torch.float64, device=self.device)
        """Of this process in the epoch that has begun: losses, right answers, samples."""
        self._seconds = 0.0

    def steps(self) -> Generator[float, None, None]:
        """Train the rest of the epoch that has begun; after each step this process's mean loss.

        On a GPU the loss comes after the first step, every 10th from there, and the last. Close the
        iterator to stop; `settle` must follow, in any case.

        Raises:
            NonFiniteLoss: in all processes alike, before anything broken can be saved.
        """
        self._shared.train()
        gpus = [self.device] if self.device.type == "cuda" else []
        began = time.perf_counter()
        with closing(self.batches.epoch(self.epoch, self.step)) as batches:
            for batch in batches:
                with exclusive_generator(gpus):
                    self._descend(batch)
                self.step += 1
                due = self.device.type == "cpu" or self.step % _CHECK_EVERY == 1
                if not due and self.step < self.batches.steps:
                    continue
                loss, _, count = self._sums.tolist()
                if any_of(not math.isfinite(loss), self.processes):
                    raise self._failure()
                self._seconds += time.perf_counter() - began
                yield loss / count
                began = time.perf_counter()

    def settle(self) -> EpochTotals | None:
        """Make the network ready to be measured and saved; what an epoch came to that has ended.

        Raises:
            NonFiniteLoss: a weight is no longer finite.
        """
        average_running_statistics(self.model, self.processes)
        if not self._finite():
            raise self._failure()
        if self.step < self.batches.steps:
            return None
        loss, right, count = sum_of(self._sums, self.processes).tolist()
        lr, seconds = self._lr(self.step - 1), self._seconds
        self.epoch, self.step = self.epoch + 1, 0
        self._begin()
        return EpochTotals(
            epoch=self.epoch,
            step=self.epoch * self.batches.steps,
            loss=loss / count,
            accuracy=right / count,
            lr=lr,
            seconds=seconds,
            images_per_second=count / seconds,
        )

    def state(self) -> dict[str, Any]:
        """All that the rest of the run depends on: tensors and plain data, for one process to save.

        The tensors are those in use; save them before the next step.
        """
        return {
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "scaler": self._scaler.state_dict(),
            "epoch": self.epoch,
            "step": self.step,
            "steps": self.batches.steps,
            "seed": self.batches.seed,
        }

    def load_state(self, state: TrainingState) -> None:
        """Go on from `state`, in every process; refused where it is of another network or run."""
        for name, ours in (("steps", self.batches.steps), ("seed", self.batches.seed)):
            if getattr(state, name) != ours:
                raise DataError(
                    f"the checkpoint is of a run with {name} {getattr(state, name)}, this one has "
                    f"{ours}; go on with the same data, batch size and seed"
                )
        if state.epoch < 0 or not 0 <= state.step < state.steps:
            raise DataError(
                f"the checkpoint has an impossible step, {state.step} of epoch {state.epoch}; "
                f"start anew with {spelled('force')}"
            )
        groups = self._optimizer.param_groups
        recipe = [{k: v for k, v in group.items() if k != "params"} for group in groups]
        try:
            self.model.load_state_dict(state.model)
            # An optimiser keeps the tensors that it is given, and moves them.
            self._optimizer.load_state_dict(copy.deepcopy(state.optimizer))
            if self._scaler.is_enabled() and state.scaler:
                self._scaler.load_state_dict(state.scaler)
        except (RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
            first = " ".join(str(error).split())[:200]
            raise DataError(f"the checkpoint is of another network or recipe: {first}") from error
        for group, settings in zip(self._optimizer.param_groups, recipe, strict=True):
            group.update(settings)  # the settings of the run say it, not the checkpoint
        if not self._finite():
            raise DataError(
                "the checkpoint has a weight that is not a finite number; start anew with "
                f"{spelled('force')}"
            )
        self.epoch, self.step = state.epoch, state.step
        self._begin()

    def _descend(self, batch: Batch) -> None:
        """One step; its loss, right answers and samples are added to the sums."""
        self._seed_dropout()
        for group in self._optimizer.param_groups:
            group["lr"] = self._lr(self.step)
        self._optimizer.zero_grad(set_to_none=True)
        with autocast(self.recipe.precision, self.device):
            losses, right = self._shared(batch.images, batch.labels)
        self._scaler.scale(losses.mean() * batch.weight).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self._sums[0] += losses.detach().sum(dtype=torch.float64)
        self._sums[1] += right.sum()
        self._sums[2] += len(losses)

    def _finite(self) -> bool:
        """Whether what training moves is finite, running statistics too; the same everywhere.

        Other buffers may be infinite on purpose, such as the mask of an attention.
        """
        statistics = [s for module in self.model.modules() for s in running_statistics(module)]
        finite = [tensor.isfinite().all() for tensor in (*self._trained, *statistics)]
        return all(torch.stack(finite).tolist())

    def _seed_dropout(self) -> None:
        """What draws from torch's own generator, such as dropout, depends on the position too."""
        seed = seed_at(self.batches.seed, self.epoch, self.step, self.processes.rank)
        if self.device.type == "cuda":
            with torch.cuda.device(self.device):  # else torch's current GPU would be seeded
                torch.cuda.manual_seed(seed)
        else:
            torch.default_generator.manual_seed(seed)

    def _lr(self, step: int) -> float:
        steps = self.batches.steps
        return self.recipe.lr * self.recipe.factor(self.epoch * steps + step, steps)

    def _failure(self) -> NonFiniteLoss:
        """The error for a number that is not finite after a step, or after several on a GPU."""
        return NonFiniteLoss(
            f"epoch {self.epoch + 1}, step {self.step} of {self.batches.steps}: the loss or a "
            f"weight is not a finite number: the learning rate {self._lr(self.step - 1):.3g} is "
            f"likely too large at tau {self.model.head.tau:g}, or for fp16; try a smaller "
            f"{spelled('lr')} or longer {spelled('warmup')}"
        )


def _distributed(model: EncoderWithHead, processes: Processes, device: torch.device) -> nn.Module:
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
