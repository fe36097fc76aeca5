"""Networks in eval mode for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

__all__ = ["in_eval_mode"]


@contextmanager
def in_eval_mode(network: nn.Module) -> Iterator[None]:
    """All modules in eval mode inside; then each is as it was, whatever happened.

    Example:
        >>> frozen = nn.Sequential(nn.BatchNorm1d(2).eval(), nn.Dropout())
        >>> with in_eval_mode(frozen):
        ...     [module.training for module in frozen.modules()]
        [False, False, False]
        >>> [module.training for module in frozen.modules()]
        [True, False, True]
    """
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
