"""How much work a network is, so that threads are used where they help and not where they wait."""

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from gnc_cli.networks.modes import in_eval_mode

__all__ = ["flops_per_call"]


def flops_per_call(encoder: nn.Module, shape: tuple[int, ...], batch_size: int) -> float:
    """Floating-point operations of a typical call of the network's layers, forward, for a batch.

    All operations over the number of layers that compute, also those that only move data: a step
    of training waits for each of them in turn.

    Args:
        encoder: on the CPU.
        shape: of one image, (C, S, S).
        batch_size: images a step.

    Example:
        >>> flops_per_call(nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), (1, 8, 8), 100)
        64000.0
    """
    layers = sum(1 for module in encoder.modules() if not any(module.children()))
    counter = FlopCounterMode(display=False)
    with in_eval_mode(encoder), torch.no_grad(), counter:
        encoder(torch.zeros(1, *shape))
    return counter.get_total_flops() * batch_size / max(1, layers)
