"""A network to train: an encoder, a head and its loss in one module; its size and its cost."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from gnc_cli.collapse.measure_model import in_eval_mode
from gnc_cli.training.networks.heads import Head, widen
from gnc_cli.training.networks.losses import LossFunction


class EncoderWithHead(nn.Module):
    """One module to wrap, save and train, from images and labels to losses and right answers.

    The encoder, from images to raw features (N, d), runs under the caller's autocast. The head, and
    the loss of its scores, run in float32.
    """

    def __init__(self, encoder: nn.Module, head: Head, loss: LossFunction) -> None:
        super().__init__()
        self.encoder, self.head, self.loss = encoder, head, loss

    def features(self, images: Tensor) -> Tensor:
        """Return the raw features (N, d) of images (N, C, S, S), float32."""
        return widen(self.encoder(images))

    def forward(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses (N,), float32, and whether each answer is right (N,), bool.

        In training mode the head absorbs the batch first (`ClassMeanHead`).

        Args:
            images: (N, C, S, S).
            labels: int64 (N,).
        """
        features = self.features(images)
        if self.training:
            self.head.absorb(features, labels)
        scores = self.head.scores(features)
        right = scores.detach().max(dim=1).indices == labels  # half the time of argmax on a CPU
        return self.loss(scores, labels), right


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Return a context whose matrix products and convolutions are in float32, bf16 or fp16."""
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    return nullcontext() if half is None else torch.autocast(device.type, dtype=half)


def count_parameters(module: nn.Module) -> int:
    """Return the number of parameters, frozen ones too, without running statistics (buffers)."""
    return sum(parameter.numel() for parameter in module.parameters())


def flops_per_image(encoder: nn.Module, shape: tuple[int, ...]) -> float:
    """Return the floating-point operations of a forward pass of one image (C, S, S), on the CPU.

    Example:
        >>> flops_per_image(nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), (1, 8, 8))
        1280
    """
    counter = FlopCounterMode(display=False)
    with in_eval_mode(encoder), torch.no_grad(), counter:
        encoder(torch.zeros(1, *shape))
    return counter.get_total_flops()
