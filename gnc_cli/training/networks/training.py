"""The steps of training: an epoch can be stopped after any of them, and continued from there."""

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
from gnc_cli.training.networks.batches import Batch, Batches, position_seed
from gnc_cli.training.networks.classifier import EncoderWithHead, autocast, flops_per_image
from gnc_cli.training.settings import Recipe

_GPU_CHECK_STEPS = 10
"""Number of steps on a GPU between two checks of the loss, which make the host wait."""


def make_optimizer(model: EncoderWithHead, recipe: Recipe) -> torch.optim.Optimizer:
    """Make SGD, AdamW or Adam for the parameters that need gradients, in at most two groups.

    - Weights of a head on the sphere have no weight decay: their lengths have no effect, and
      shrinking them would only raise their learning rate. A head of free lengths (appendix B.1)
      has.
    - With SGD all others have weight decay, as in the paper. With AdamW and Adam vectors have none:
      biases, and the scales and shifts of normalisation layers.
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
    return torch.optim.SGD(
        groups, lr=recipe.lr, momentum=recipe.momentum, nesterov=recipe.momentum > 0
    )


class NonFiniteLossError(DataError):
    """The loss, or a parameter, is not a finite number: the network cannot be trained further."""


@dataclass(frozen=True)
class EpochTotals:
    """Totals of an epoch over all processes."""

    epoch: int
    """Number of epochs done, from 1."""
    step: int
    """Number of steps done in all epochs."""
    loss: float
    """Mean over the samples during training."""
    accuracy: float
    """Share of right answers during training: in train mode, on augmented images."""
    lr: float
    """Learning rate of the last step."""
    seconds: float
    images_per_second: float


@dataclass(frozen=True)
class TrainingState:
    """Everything on which the rest of a run depends."""

    model: dict[str, Tensor]
    optimizer: dict[str, Any]
    scaler: dict[str, Any]
    epoch: int
    """Number of epochs done."""
    step: int
    """Number of steps done in the current epoch."""
    steps: int
    """Number of steps per epoch."""
    seed: int


class Training:
    """The epochs of a recipe on one network.

    The state can be saved and loaded between two steps. On a CPU with the same number of threads
    the network is then bit for bit the same as without a stop. The totals of an epoch that was
    loaded halfway are those of its later steps. Every random choice, dropout too, depends on the
    seed of the batches and on the position. The number of processes may change. All of them make
    the same calls.

    The model is moved to the device, and its batch norms use the GPUs of all processes together.
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
        """Floating-point operations of a forward pass of one image."""
        self.epoch = 0
        """Number of epochs done."""
        self.step = 0
        """Number of steps done in the current epoch."""
        self._optimizer = make_optimizer(model, recipe)
        self._trained = [p for p in model.parameters() if p.requires_grad]
        # Small gradients in fp16 would underflow without it.
        self._scaler = torch.amp.GradScaler("cuda", enabled=recipe.precision == "fp16")
        self._wrapped: nn.Module = _wrap_distributed(model, processes, device)
        self._begin()

    def _begin(self) -> None:
        """Reset the totals."""
        self._sums = torch.zeros(3, dtype=torch.float64, device=self.device)
        """Sums of losses, right answers and samples in the current epoch, of this process."""
        self._seconds = 0.0

    def steps(self) -> Generator[float, None, None]:
        """Train the rest of the current epoch; yield the mean loss of this process after each step.

        On a GPU the loss comes after the first step, every 10th from there, and the last. Close the
        iterator to stop. In any case `settle` must be called next.

        Raises:
            NonFiniteLossError: raised in all processes, before a broken network can be saved.
        """
        self._wrapped.train()
        gpus = [self.device] if self.device.type == "cuda" else []
        start = time.perf_counter()
        with closing(self.batches.epoch(self.epoch, self.step)) as batches:
            for batch in batches:
                with exclusive_generator(gpus):
                    self._take_step(batch)
                self.step += 1
                is_due = self.device.type == "cpu" or self.step % _GPU_CHECK_STEPS == 1
                if not is_due and self.step < self.batches.steps:
                    continue
                loss, _, count = self._sums.tolist()
                if any_process(not math.isfinite(loss), self.processes):
                    raise self._failure()
                self._seconds += time.perf_counter() - start
                yield loss / count
                start = time.perf_counter()

    def settle(self) -> EpochTotals | None:
        """Prepare the network for measurement and saving; return the totals at the end of an epoch.

        Raises:
            NonFiniteLossError: a weight is not finite.
        """
        average_running_statistics(self.model, self.processes)
        if not self._is_finite():
            raise self._failure()
        if self.step < self.batches.steps:
            return None
        loss, right, count = sum_over_processes(self._sums, self.processes).tolist()
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
        """Return `TrainingState` as tensors and plain data, for one process to save.

        The tensors are not copies: save them before the next step.
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
        """Continue from a state, in every process.

        Raises:
            DataError: it is the state of another network or run, or is not finite.
        """
        for name, expected in (("steps", self.batches.steps), ("seed", self.batches.seed)):
            if getattr(state, name) != expected:
                raise DataError(
                    f"the checkpoint is of a run with {name} {getattr(state, name)}, this one has "
                    f"{expected}; continue with the same data, batch size and seed"
                )
        if state.epoch < 0 or not 0 <= state.step < state.steps:
            raise DataError(
                f"the checkpoint has an impossible step, {state.step} of epoch {state.epoch}; "
                f"start again with {spelled('force')}"
            )
        groups = self._optimizer.param_groups
        recipe = [{k: v for k, v in group.items() if k != "params"} for group in groups]
        try:
            self.model.load_state_dict(state.model)
            # An optimiser keeps the tensors passed to it, and changes them.
            self._optimizer.load_state_dict(copy.deepcopy(state.optimizer))
            if self._scaler.is_enabled() and state.scaler:
                self._scaler.load_state_dict(state.scaler)
        except (RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise DataError(f"the checkpoint is of another network or recipe: {reason}") from error
        for group, settings in zip(self._optimizer.param_groups, recipe, strict=True):
            group.update(settings)  # those of the run, not of the checkpoint
        if not self._is_finite():
            raise DataError(
                "the checkpoint has a weight that is not a finite number; start again with "
                f"{spelled('force')}"
            )
        self.epoch, self.step = state.epoch, state.step
        self._begin()

    def _take_step(self, batch: Batch) -> None:
        """Take one step, and add its loss, right answers and samples to the sums."""
        self._seed_dropout()
        for group in self._optimizer.param_groups:
            group["lr"] = self._lr(self.step)
        self._optimizer.zero_grad(set_to_none=True)
        with autocast(self.recipe.precision, self.device):
            losses, right = self._wrapped(batch.images, batch.labels)
        self._scaler.scale(losses.mean() * batch.weight).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self._sums[0] += losses.detach().sum(dtype=torch.float64)
        self._sums[1] += right.sum()
        self._sums[2] += len(losses)

    def _is_finite(self) -> bool:
        """Return whether parameters and running statistics are finite, the same in all processes.

        Other buffers may be infinite on purpose, such as the mask of an attention.
        """
        statistics = [s for module in self.model.modules() for s in running_statistics(module)]
        finite = [tensor.isfinite().all() for tensor in (*self._trained, *statistics)]
        return all(torch.stack(finite).tolist())

    def _seed_dropout(self) -> None:
        """Set the seed of torch's generator, from which dropout draws, by the step's position."""
        seed = position_seed(self.batches.seed, self.epoch, self.step, self.processes.rank)
        if self.device.type == "cuda":
            with torch.cuda.device(self.device):  # else torch's current GPU would be seeded
                torch.cuda.manual_seed(seed)
        else:
            torch.default_generator.manual_seed(seed)

    def _lr(self, step: int) -> float:
        steps = self.batches.steps
        return self.recipe.lr * self.recipe.factor(self.epoch * steps + step, steps)

    def _failure(self) -> NonFiniteLossError:
        """Return the error for a value that is not finite after a step, on a GPU after several."""
        return NonFiniteLossError(
            f"epoch {self.epoch + 1}, step {self.step} of {self.batches.steps}: the loss or a "
            f"weight is not a finite number: the learning rate {self._lr(self.step - 1):.3g} is "
            f"likely too large at tau {self.model.head.tau:g}, or for fp16; try a smaller "
            f"{spelled('lr')} or longer {spelled('warmup')}"
        )


def _wrap_distributed(
    model: EncoderWithHead, processes: Processes, device: torch.device
) -> nn.Module:
    """Return `model` with gradients averaged over the processes, and itself for one process.

    Buffers are not sent: class means are the same in all processes, and running statistics of batch
    norms are averaged before they are used (`average_running_statistics`). The user's own encoder
    may have layers that it does not use, for whose gradients no process waits.
    """
    if processes.size == 1:
        return model
    on_gpu = device.type == "cuda"
    wrap = nn.parallel.DistributedDataParallel
    newer = "forward_sync_buffers" in inspect.signature(wrap).parameters
    options: dict[str, Any] = {"forward_sync_buffers" if newer else "broadcast_buffers": False}
    built_in = type(model.encoder).__module__.startswith("gnc_cli.")
    return wrap(
        model,
        device_ids=[device] if on_gpu else None,
        process_group=None if on_gpu else processes.group,
        gradient_as_bucket_view=True,
        find_unused_parameters=not built_in,
        **options,
    )


def running_statistics(module: nn.Module) -> list[Tensor]:
    """Return the running mean and variance of a batch norm, (channels,); none of other modules."""
    if not isinstance(module, nn.modules.batchnorm._BatchNorm):
        return []
    return [b for b in (module.running_mean, module.running_var) if b is not None]


def average_running_statistics(model: nn.Module, processes: Processes) -> None:
    """Average the running statistics of batch norms over the processes; all of them call it.

    Running statistics are linear in those of the batches, so that averaging more often has no
    effect.
    """
    if processes.size == 1:
        return
    for module in model.modules():
        if not isinstance(module, nn.SyncBatchNorm):
            for buffer in running_statistics(module):
                buffer.copy_(sum_over_processes(buffer, processes) / processes.size)


def sum_over_processes(tensor: Tensor, processes: Processes) -> Tensor:
    """Return the sum of the tensors of all processes, on the CPU; all of them call it."""
    total = tensor.detach().to("cpu", copy=True)
    if processes.size > 1:
        dist.all_reduce(total, group=processes.group)
    return total


def any_process(flag: bool, processes: Processes) -> bool:
    """Return whether the flag is set in any process; all of them call it."""
    return bool(sum_over_processes(torch.tensor(flag, dtype=torch.int32), processes))
