"""How a network is trained: steps, learning rates and precision, as plain numbers."""

import math
from dataclasses import dataclass

from gnc_cli.errors import UsageError

__all__ = ["OPTIMIZERS", "PRECISIONS", "SCHEDULES", "Recipe"]

OPTIMIZERS = ("sgd", "adamw", "adam")
SCHEDULES = ("cosine", "step", "constant")
PRECISIONS = ("float32", "bf16", "fp16")


@dataclass(frozen=True)
class Recipe:
    """A recipe; the paper's is SGD at 0.1 with a cosine schedule over 200 epochs (section 3).

    Raises:
        UsageError: a value that nothing can be trained with.

    Example:
        >>> recipe = Recipe(epochs=10, batch_size=128, lr=0.1, schedule="step", milestones=(5,))
        >>> [round(recipe.factor(step, 4), 3) for step in (0, 19, 20)]
        [1.0, 1.0, 0.1]
    """

    epochs: int
    batch_size: int
    """Of all processes together."""
    optimizer: str = "sgd"
    """`sgd` (with momentum), `adamw` or `adam`."""
    lr: float = 0.1
    """Largest learning rate; the schedule multiplies it."""
    momentum: float = 0.9
    """Of `sgd`."""
    nesterov: bool = True
    """Of `sgd`; means nothing without momentum."""
    weight_decay: float = 5e-4
    schedule: str = "cosine"
    """`cosine` to 0, `step` (times `gamma` at each milestone) or `constant`."""
    milestones: tuple[int, ...] = ()
    """Of `step`: epochs done at which the learning rate falls."""
    gamma: float = 0.1
    warmup: float = 0.0
    """Epochs, also a part of one, over which the learning rate rises linearly."""
    precision: str = "float32"
    """Of the encoder: `float32`, `bf16` or `fp16`; head and loss are always float32."""
    clip: float | None = None
    """Largest norm of the whole gradient."""
    channels_last: bool = False
    compile: bool = False
    """Compile the encoder with torch.compile."""

    def __post_init__(self) -> None:
        _one_of("--optimizer", self.optimizer, OPTIMIZERS)
        _one_of("--schedule", self.schedule, SCHEDULES)
        _one_of("--precision", self.precision, PRECISIONS)
        _hold("--epochs", self.epochs, self.epochs >= 1, "at least 1")
        _hold("--batch-size", self.batch_size, self.batch_size >= 1, "at least 1")
        _hold("--lr", self.lr, self.lr > 0, "a number above 0")
        _hold("--momentum", self.momentum, 0 <= self.momentum < 1, "a number from 0 to below 1")
        _hold("--weight-decay", self.weight_decay, self.weight_decay >= 0, "at least 0")
        _hold("--gamma", self.gamma, 0 < self.gamma <= 1, "a number above 0, at most 1")
        _hold("--warmup", self.warmup, self.warmup >= 0, "at least 0 epochs")
        _hold("--clip", self.clip, self.clip is None or self.clip > 0, "a number above 0")
        rising = all(a < b for a, b in zip((0, *self.milestones), self.milestones, strict=False))
        _hold("--milestones", list(self.milestones), rising, "rising epochs from 1")
        if self.schedule == "step" and not self.milestones:
            raise UsageError("--schedule step needs --milestones, such as 100,150")

    def factor(self, step: int, steps_per_epoch: int) -> float:
        """What the learning rate is multiplied by at `step`, from 0, all epochs counted.

        Linear from `1 / w` to 1 over the `w = warmup * steps_per_epoch` first steps, times the
        schedule; the cosine runs from the end of the warm-up to the end of the last epoch. It is a
        function of the position alone, so that a resumed run needs no schedule state.

        Example:
            >>> recipe = Recipe(epochs=3, batch_size=8, warmup=1)
            >>> [round(recipe.factor(step, 2), 3) for step in range(6)]
            [0.5, 1.0, 1.0, 0.854, 0.5, 0.146]
        """
        warm = self.warmup * steps_per_epoch
        rise = min(1.0, (step + 1) / warm) if warm else 1.0
        if self.schedule == "constant":
            return rise
        if self.schedule == "step":
            epoch = step // steps_per_epoch
            return rise * self.gamma ** sum(epoch >= milestone for milestone in self.milestones)
        after = self.epochs * steps_per_epoch - warm
        done = min(1.0, max(0.0, step - warm) / after) if after > 0 else 0.0
        return rise * 0.5 * (1.0 + math.cos(math.pi * done))


def _one_of(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(f"{option} {value!r} is unknown; choose {', '.join(known)}")


def _hold(option: str, value: object, holds: bool, wanted: str) -> None:
    if not holds or (isinstance(value, float) and not math.isfinite(value)):
        raise UsageError(f"{option} {value}: give {wanted}")
