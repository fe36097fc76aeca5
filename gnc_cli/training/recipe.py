"""How a network is trained: epochs, batches, optimizer and schedule of the learning rate."""

import math
from dataclasses import dataclass

from gnc_cli.training.presets import Optimizer, Precision, Schedule


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a network is trained; the paper's is SGD at 0.1, cosine, 200 epochs (section 3)."""

    epochs: int
    batch_size: int
    """Of all processes together."""
    optimizer: Optimizer = Optimizer.sgd
    """`sgd` (with Nesterov momentum), `adamw` or `adam`."""
    lr: float = 0.1
    """Largest learning rate; the schedule multiplies it."""
    momentum: float = 0.9
    """Of `sgd`."""
    weight_decay: float = 5e-4
    schedule: Schedule = Schedule.cosine
    """`cosine` to 0, `step` (a tenth at each milestone) or `constant`."""
    milestones: tuple[int, ...] = ()
    """Of `step`: epochs done at which the learning rate falls."""
    warmup: float = 0.0
    """Epochs, also a part of one, over which the learning rate rises linearly."""
    precision: Precision = Precision.float32
    """Of the encoder: `float32`, `bf16`, `fp16`, or `auto` in settings; head and loss are always
    float32."""

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
