"""How a network is trained: optimiser, learning rates and precision, as plain numbers."""

import math
from dataclasses import dataclass

import torch
from torch import nn

from gnc_cli.errors import UsageError
from gnc_cli.training.networks.classifier import Classifier

OPTIMIZERS = ("sgd", "adamw", "adam")
SCHEDULES = ("cosine", "step", "constant")
PRECISIONS = ("float32", "bf16", "fp16")


@dataclass(frozen=True)
class Recipe:
    """A recipe; the paper's is SGD at 0.1 with a cosine schedule over 200 epochs (section 3).

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


def make_optimizer(model: Classifier, recipe: Recipe) -> torch.optim.Optimizer:
    """SGD, AdamW or Adam over the parameters that need gradients, in at most two groups.

    - Weights of a head on the sphere never decay: their lengths mean nothing, and shrinking them
      would only raise their learning rate. A head of free lengths (appendix B.1) decays.
    - SGD lets everything else decay, as the paper does; AdamW and Adam leave out biases and the
      scales and shifts of normalisation layers, that is every vector.

    Raises:
        UsageError: nothing is left to train.
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
    return torch.optim.SGD(
        groups,
        lr=recipe.lr,
        momentum=recipe.momentum,
        nesterov=recipe.nesterov and recipe.momentum > 0,
    )
