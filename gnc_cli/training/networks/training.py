"""The training loop and its recipe: epochs that can be stopped after any step and go on exactly."""

import copy
import math
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gnc_cli.errors import DataError, UnavailableError, UsageError
from gnc_cli.parameters import spelled
from gnc_cli.runtime.distributed import Processes
from gnc_cli.training.networks.batches import Batch, Batches, seed_at
from gnc_cli.training.networks.classifier import Classifier, autocast, trains_on_one
from gnc_cli.training.networks.parallel import (
    any_of,
    average_running_statistics,
    distribute,
    running_statistics,
    sum_of,
    synchronise_batch_norm,
)

_CHECK_EVERY = 10
"""Steps on a GPU between two checks of the loss, for which the host waits."""


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; the paper's is SGD at 0.1, cosine, 200 epochs (section 3)."""

    epochs: int
    batch_size: int
    """Of all processes together."""
    optimizer: str = "sgd"
    """`sgd` (with Nesterov momentum), `adamw` or `adam`."""
    lr: float = 0.1
    """Largest learning rate; the schedule multiplies it."""
    momentum: float = 0.9
    """Of `sgd`."""
    weight_decay: float = 5e-4
    schedule: str = "cosine"
    """`cosine` to 0, `step` (a tenth at each milestone) or `constant`."""
    milestones: tuple[int, ...] = ()
    """Of `step`: epochs done at which the learning rate falls."""
    warmup: float = 0.0
    """Epochs, also a part of one, over which the learning rate rises linearly."""
    precision: str = "float32"
    """Of the encoder: `float32`, `bf16` or `fp16`; head and loss are always float32."""

    def factor(self, step: int, steps_per_epoch: int) -> float:
        """What the learning rate is multiplied by at `step`, from 0, all epochs counted.

        Linear from `1 / w` to 1 over the `w = warmup * steps_per_epoch` first steps, times the
        schedule; the cosine runs from the end of the warm-up to the end of the last epoch. It is a
        function of the position alone, so that a resumed run needs no schedule state.
        """
        warm = self.warmup * steps_per_epoch
        rise = min(1.0, (step + 1) / warm) if warm else 1.0
        if self.schedule == "constant":
            return rise
        if self.schedule == "step":
            epoch = step // steps_per_epoch
            return rise * 0.1 ** sum(epoch >= milestone for milestone in self.milestones)
        after = self.epochs * steps_per_epoch - warm
        done = min(1.0, max(0.0, step - warm) / after) if after > 0 else 0.0
        return rise * 0.5 * (1.0 + math.cos(math.pi * done))


def make_optimizer(model: Classifier, recipe: Recipe) -> torch.optim.Optimizer:
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
    if not trained:
        raise UsageError("nothing is left to train: every parameter is frozen or fixed")
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


_MOMENTS = {"step", "exp_avg", "exp_avg_sq"}
"""What Adam and AdamW keep for a parameter."""


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
    """Steps done of the epoch that has begun, of so many `steps`."""
    steps: int
    seed: int
    sums: Tensor
    """Of that epoch: losses, right answers, samples; float64 (3,)."""
    seconds: float


class Training:
    """The epochs of a recipe on one network.

    The position and all state can be taken out and put back between two calls of `run_epoch`, also
    inside an epoch: on a CPU the run then goes on bit for bit as if it had never stopped, with the
    same number of threads. Every random choice depends on the seed of the batches and on the
    position; dropout too. The number of processes may change; they all make the same calls.

    The model is moved to the device, its batch norms joined over the GPUs of all processes.
    """

    def __init__(
        self,
        model: Classifier,
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
        joined = processes.size > 1 and device.type == "cuda"  # batch norms, over all processes
        shape = batches.images.shape[1:]
        if batches.smallest == 1 and not joined and not trains_on_one(model.encoder, shape):
            raise UsageError(
                f"{spelled('batch_size', recipe.batch_size)} gives a process a single image of "
                "some batch, and batch norm needs two; take larger batches or fewer processes"
            )
        synchronise_batch_norm(model, processes, device)
        model.to(device)
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.model, self.batches, self.recipe = model, batches, recipe
        self.epoch = 0
        """Epochs done."""
        self.step = 0
        """Steps done of the epoch that has begun."""
        self._processes, self._device = processes, device
        self._optimizer = make_optimizer(model, recipe)
        self._trained = [p for p in model.parameters() if p.requires_grad]
        # So that small gradients of fp16 survive.
        self._scaler = torch.amp.GradScaler("cuda", enabled=recipe.precision == "fp16")
        self._shared: nn.Module = distribute(model, processes, device)
        self._sums = torch.zeros(3, dtype=torch.float64)
        """Of the epoch that has begun and all processes: losses, right answers, samples."""
        self._seconds = 0.0

    def run_epoch(
        self,
        stop: Callable[[], bool] = lambda: False,
        on_step: Callable[[int, int, float], None] | None = None,
    ) -> EpochTotals | None:
        """Train to the end of the epoch that has begun; None where it was stopped inside.

        `stop` is called after each step; several processes stop together, a few steps after the
        first of them wants to. `on_step` is called with (steps done, steps per epoch, this
        process's mean loss so far) after each step, on a GPU after every 10th. NonFiniteLoss comes
        in all processes alike, before anything broken can be saved.
        """
        began = time.perf_counter()
        self._shared.train()
        # Earlier sums continue in one process, so that they add up in the same order as ever.
        sums = self._sums if self._processes.first else torch.zeros_like(self._sums)
        sums = sums.to(self._device, copy=True)
        already, checked = sums.clone(), self.step
        wanted = stopped = False
        gpus = [self._device] if self._device.type == "cuda" else []
        with (
            torch.random.fork_rng(devices=gpus),
            closing(self.batches.epoch(self.epoch, self.step)) as batches,
        ):
            for batch in batches:
                self._descend(batch, sums)
                self.step += 1
                wanted = wanted or stop()
                ends = self.step == self.batches.steps
                alone_wanted = wanted and self._processes.size == 1
                # On a GPU not always, but always after the first step.
                due = self._device.type == "cpu" or self.step % _CHECK_EVERY == 1
                if not (ends or alone_wanted or due):
                    continue
                loss, _, count = (sums - already).tolist()
                wanted, broken = any_of((wanted, not math.isfinite(loss)), self._processes)
                if broken:
                    raise self._failure(checked)
                checked = self.step
                if on_step is not None:
                    on_step(self.step, self.batches.steps, loss / count)
                stopped = wanted and not ends
                if stopped:
                    break
        average_running_statistics(self.model, self._processes)
        if not self._finite():
            raise self._failure(checked - 1)
        self._sums = sum_of(sums, self._processes)
        self._seconds += time.perf_counter() - began
        return None if stopped else self._finish()

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
            "sums": self._sums,
            "seconds": self._seconds,
        }

    def load_state(self, state: TrainingState) -> None:
        """Go on from `state`, in every process; refused where it is of another network or run."""
        for name, ours in (("steps", self.batches.steps), ("seed", self.batches.seed)):
            if getattr(state, name) != ours:
                raise DataError(
                    f"the checkpoint is of a run with {name} {getattr(state, name)}, this one has "
                    f"{ours}; go on with the same data, batch size and seed"
                )
        self._check_position(state)
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
        self._check_moments()
        self.epoch, self.step = state.epoch, state.step
        self._sums = state.sums.to("cpu", torch.float64, copy=True)
        self._seconds = state.seconds

    def _check_position(self, state: TrainingState) -> None:
        """Refuse a place in the run that no run can be at."""
        sums = state.sums
        sound = {
            "epoch": state.epoch >= 0,
            "step": 0 <= state.step < state.steps,
            "seconds": state.seconds >= 0.0,
            "sums": tuple(sums.shape) == (3,)
            and sums.dtype.is_floating_point
            and bool(sums.isfinite().all() and (sums >= 0.0).all()),
        }
        for name, good in sound.items():
            if not good:
                raise DataError(
                    f"the checkpoint has an impossible {name}, {getattr(state, name)}; start anew "
                    f"with {spelled('force')}"
                )

    def _check_moments(self) -> None:
        """Refuse numbers that no optimiser keeps for a parameter, or that are not finite."""
        expected = {"momentum_buffer"} if self.recipe.optimizer == "sgd" else _MOMENTS
        for parameter in self._trained:
            kept = self._optimizer.state.get(parameter, {})
            known = kept.keys() <= expected and (kept.keys() >= expected or not kept)
            for name, value in kept.items():
                shape = () if name == "step" else parameter.shape
                known = known and (
                    value is None
                    or (
                        isinstance(value, Tensor)
                        and value.dtype.is_floating_point
                        and value.shape == shape
                        and bool(value.isfinite().all())
                    )
                )
            if not known:
                raise DataError(
                    "the checkpoint has a state of the optimizer that does not fit its network; "
                    f"start anew with {spelled('force')}"
                )
        if not self._finite():
            raise DataError(
                "the checkpoint has a weight that is not a finite number; start anew with "
                f"{spelled('force')}"
            )

    def _descend(self, batch: Batch, sums: Tensor) -> None:
        """One step; its loss, right answers and samples are added to `sums`."""
        self._seed_dropout()
        for group in self._optimizer.param_groups:
            group["lr"] = self._lr(self.step)
        self._optimizer.zero_grad(set_to_none=True)
        with autocast(self.recipe.precision, self._device):
            losses, right = self._shared(batch.images, batch.labels)
        self._scaler.scale(losses.mean() * batch.weight).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        sums[0] += losses.detach().sum(dtype=torch.float64)
        sums[1] += right.sum()
        sums[2] += len(losses)

    def _finite(self) -> bool:
        """Whether what training moves is finite, running statistics too; the same everywhere.

        Other buffers may be infinite on purpose, such as the mask of an attention.
        """
        statistics = [s for module in self.model.modules() for s in running_statistics(module)]
        finite = [tensor.isfinite().all() for tensor in (*self._trained, *statistics)]
        return all(torch.stack(finite).tolist())

    def _seed_dropout(self) -> None:
        """What draws from torch's own generator, such as dropout, depends on the position too."""
        seed = seed_at(self.batches.seed, self.epoch, self.step, self._processes.rank)
        if self._device.type == "cuda":
            with torch.cuda.device(self._device):  # else torch's current GPU would be seeded
                torch.cuda.manual_seed(seed)
        else:
            torch.default_generator.manual_seed(seed)

    def _finish(self) -> EpochTotals:
        loss, right, count = self._sums.tolist()
        totals = EpochTotals(
            epoch=self.epoch + 1,
            step=(self.epoch + 1) * self.batches.steps,
            loss=loss / count,
            accuracy=right / count,
            lr=self._lr(self.step - 1),
            seconds=self._seconds,
            images_per_second=count / self._seconds,
        )
        self.epoch, self.step = self.epoch + 1, 0
        self._sums, self._seconds = torch.zeros_like(self._sums), 0.0
        return totals

    def _lr(self, step: int) -> float:
        steps = self.batches.steps
        return self.recipe.lr * self.recipe.factor(self.epoch * steps + step, steps)

    def _failure(self, checked: int) -> NonFiniteLoss:
        """The error for a number that was still finite after `checked` steps of this epoch."""
        first = checked + 1
        here = f"step {self.step}" if self.step == first else f"steps {first}-{self.step}"
        if self.epoch == 0 and self.step == 1:
            cause = "it is the first step, so look at the images and at the weights it began with"
        elif self.recipe.precision == "fp16":
            cause = f"fp16 overflows beyond 65504; try {spelled('precision', 'bf16')}"
        else:
            cause = (
                f"the learning rate {self._lr(self.step - 1):.3g} is likely too large at tau "
                f"{self.model.head.tau:g}; try a smaller {spelled('lr')} or longer "
                f"{spelled('warmup')}"
            )
        return NonFiniteLoss(
            f"epoch {self.epoch + 1}, {here} of {self.batches.steps}: the loss or a weight is not "
            f"a finite number: {cause}"
        )
