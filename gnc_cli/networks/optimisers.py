"""The optimiser of a recipe, and which parameters it lets decay."""

from typing import TYPE_CHECKING

import torch
from torch import nn

from gnc_cli.errors import UsageError

if TYPE_CHECKING:
    from gnc_cli.networks.classifier import Classifier
    from gnc_cli.networks.recipe import Recipe

__all__ = ["make_optimizer"]


def make_optimizer(model: "Classifier", recipe: "Recipe") -> torch.optim.Optimizer:
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
