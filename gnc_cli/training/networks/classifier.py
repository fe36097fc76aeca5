"""A network that classifies: an encoder, a head on its features, and the loss it is trained on."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from gnc_cli.errors import UsageError
from gnc_cli.training.networks.heads import Head
from gnc_cli.training.networks.losses import Loss
from gnc_cli.training.networks.precision import widened


class Classifier(nn.Module):
    """Images and labels in, losses and right answers out: one module to wrap, save and train.

    The encoder runs under the caller's autocast; head and loss in float32.

    Args:
        encoder: images to raw features (N, d).
        head: of the same d.
        loss: of the head's scores, made with the head's tau (`losses.make_loss`).

    Raises:
        UsageError: encoder and head disagree about d, or the loss adds a margin to scores that
            are no cosines.

    Example:
        >>> from gnc_cli.training.networks.heads import SphereHead
        >>> from gnc_cli.training.networks.losses import make_loss
        >>> model = Classifier(nn.Linear(8, 3), SphereHead(3, 5), make_loss("ce", tau=0.1))
        >>> losses, right = model(torch.ones(4, 8), torch.tensor([0, 1, 2, 3]))
        >>> losses.shape, right.dtype
        (torch.Size([4]), torch.bool)
    """

    def __init__(self, encoder: nn.Module, head: Head, loss: Loss) -> None:
        d = getattr(encoder, "feature_dim", head.d)
        if d != head.d:
            raise UsageError(f"the encoder gives features of d={d}, the head takes d={head.d}")
        margin = getattr(loss, "margin", None)
        if margin is not None and not head.sphere:
            raise UsageError(
                f"margin {margin} is for cosines; take a head on the sphere, or the loss ce"
            )
        super().__init__()
        self.encoder, self.head, self.loss = encoder, head, loss

    def features(self, images: Tensor) -> Tensor:
        """Raw features, (N, d) float32."""
        return widened(self.encoder(images))

    def forward(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Losses (N,) float32 and which answers are right (N,) bool, of labels (N,) int64.

        In training mode the head absorbs the batch first (`ClassMeanHead`).
        """
        features = self.features(images)
        if self.training:
            self.head.absorb(features, labels)
        scores = self.head.scores(features)
        right = scores.detach().max(dim=1).indices == labels  # half the time of argmax on a CPU
        return self.loss(scores, labels), right


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


def count_parameters(module: nn.Module) -> int:
    """Numbers in its parameters, frozen ones too; running statistics are buffers and no part.

    Example:
        >>> count_parameters(nn.Linear(512, 100))
        51300
    """
    return sum(parameter.numel() for parameter in module.parameters())


def flops_per_call(encoder: nn.Module, shape: tuple[int, ...], batch_size: int) -> float:
    """Floating-point operations of a typical call of the network's layers, forward, for a batch.

    All operations over the number of layers that compute, also those that only move data: a step
    of training waits for each of them in turn.

    Args:
        encoder: on the CPU.
        shape: of one image, (C, S, S).
        batch_size: images per step.

    Example:
        >>> flops_per_call(nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), (1, 8, 8), 100)
        64000.0
    """
    layers = sum(1 for module in encoder.modules() if not any(module.children()))
    counter = FlopCounterMode(display=False)
    with in_eval_mode(encoder), torch.no_grad(), counter:
        encoder(torch.zeros(1, *shape))
    return counter.get_total_flops() * batch_size / max(1, layers)


def trains_on_one(encoder: nn.Module, shape: tuple[int, ...]) -> bool:
    """Whether a single image, (C, S, S), can be trained on, tried on a copy on the CPU.

    It cannot where a batch norm has maps of one pixel: it would see one value of each channel.

    Example:
        >>> layers = [nn.Conv2d(1, 4, 3, stride=2), nn.BatchNorm2d(4)]
        >>> [trains_on_one(nn.Sequential(*layers), (1, S, S)) for S in (3, 5)]
        [False, True]
    """
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            copy.deepcopy(encoder).cpu().train()(torch.zeros(1, *shape))
    except ValueError as error:
        if "more than 1 value per channel" not in str(error):
            raise
        return False
    return True
