"""Losses of scores, one value per sample: cross-entropy, HardMax, and the two with a margin.

`scores` are a head's, before the temperature: cosines on the sphere. All arithmetic is in float32
(float64 if the scores are), under any autocast.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from gnc_cli.errors import UsageError
from gnc_cli.training.networks.heads import full_precision, widen
from gnc_cli.training.settings import Loss

__all__ = ["LossFunction", "ScoreLoss", "make_loss"]

LossFunction = Callable[[Tensor, Tensor], Tensor]
"""Function of scores (N, K) and labels (N,) to losses (N,)."""

_MARGINS = {
    "cosface": (2.0, "a difference of cosines in [0, 2], such as 0.35"),
    "arcface": (math.pi, "an angle in radians in [0, pi], such as 0.5"),
}


@dataclass(frozen=True)
class ScoreLoss:
    """A loss (N,), float32, of scores (N, K) and labels (N,), int64; made by `make_loss`."""

    name: str
    """`ce`, `hardmax`, `cosface` or `arcface`."""
    tau: float
    """Temperature; HardMax has none and ignores it."""
    margin: float | None
    """Margin of `cosface` (a cosine) or `arcface` (radians); None for the others."""

    def __call__(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Return the loss (N,) of each sample from scores (N, K) and labels (N,)."""
        with full_precision(scores):
            scores = widen(scores)
            if self.name == "hardmax":
                return _hardmax(scores, labels)
            s_y = scores.detach().gather(1, labels[:, None])[:, 0]
            slope: Tensor | float = 1.0
            if self.margin is not None and self.name == "cosface":
                s_y = s_y - self.margin
            elif self.margin is not None:
                s_y, slope = _add_angle(s_y, self.margin)
            return cast(Tensor, _SoftmaxLoss.apply(scores, labels, self.tau, s_y, slope))  # type: ignore[no-untyped-call]


def make_loss(name: str, *, tau: float, margin: float | None = None) -> ScoreLoss:
    """Make a loss per sample of scores `s` (N, K), with the score `s_y` of the sample's class y.

    - `ce`: `-log softmax(s / tau)[y]` (paper, eq. 1).
    - `hardmax`: `max over j != y of s_j - s_y` (paper, eq. 5). The paper minimises the maximum of
      this over all samples. Trainers take the mean over a batch, which gives every sample a
      gradient. It is the limit of `tau * ce` as tau -> 0, if positive.
    - `cosface`: `ce` with `s_y - margin` in place of `s_y` (Wang et al., arXiv 1801.09414).
    - `arcface`: `ce` with `cos(angle + margin)` in place of `s_y` (Deng et al., arXiv 1801.07698).
      If `angle + margin` exceeds pi, where the cosine would rise again, `s_y` is replaced by
      `s_y - max(margin sin(margin), 1 - cos(margin))`. The first value is that of its authors'
      code. The second is larger for margins above 2.33, for which the first would jump up. So the
      loss never falls as the angle grows. The derivative in the cosine, infinite at angles 0 and
      pi, is bounded: the sine in it is at least the square root of the dtype's epsilon.

    Args:
        name: `ce`, `hardmax`, `cosface` or `arcface`.
        tau: temperature of the head, positive.
        margin: in [0, 2] for `cosface`, in [0, pi] radians for `arcface`, None for the others. Two
            opposite classes allow the largest margins.

    Raises:
        UsageError: an unknown name, tau not positive, or a margin missing, out of range, or passed
            to a loss that has none.

    Example:
        >>> cosines = torch.tensor([[0.9, 0.1, -0.5]])
        >>> loss = make_loss("cosface", tau=0.1, margin=0.5)
        >>> loss(cosines, torch.tensor([0]))
        tensor([0.0487])
    """
    if name not in [*Loss]:
        raise UsageError(f"loss {name!r} is unknown; choose {', '.join(Loss)}")
    if not (math.isfinite(tau) and tau > 0.0):
        raise UsageError(f"temperature tau={tau} must be a positive number, such as 0.1")
    if name not in _MARGINS:
        if margin is not None:
            raise UsageError(f"loss {name} takes no margin; leave out {margin}, or take cosface")
        return ScoreLoss(name, float(tau), None)
    max_margin, expected = _MARGINS[name]
    if margin is None or not 0.0 <= margin <= max_margin:
        raise UsageError(f"margin {margin} of loss {name}: it needs {expected}")
    return ScoreLoss(name, float(tau), float(margin))


def _hardmax(scores: Tensor, labels: Tensor) -> Tensor:
    """Return `s_j - s_y` for the largest wrong score; two entries per row get a gradient."""
    top = scores.detach().topk(2, dim=1).indices
    worst = torch.where(top[:, 0] == labels, top[:, 1], top[:, 0])
    pair = scores.gather(1, torch.stack([worst, labels], dim=1))
    return pair[:, 0] - pair[:, 1]


def _add_angle(cosine: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """Return cos(angle + margin) of cosines (N,), continued for angles beyond pi, and its slope."""
    c = cosine.clamp(-1.0, 1.0)
    sine = ((1.0 - c) * (1.0 + c)).sqrt()
    shifted = c * math.cos(margin) - sine * math.sin(margin)
    min_sine = math.sqrt(torch.finfo(c.dtype).eps)
    slope = math.cos(margin) + math.sin(margin) * c / sine.clamp_min(min_sine)
    slope = slope.clamp_min(0.0)  # the bounded sine would change its sign for margins close to pi
    exceeds_pi = c <= -math.cos(margin)  # angle >= pi - margin
    continued = c - max(margin * math.sin(margin), 1.0 - math.cos(margin))
    return torch.where(exceeds_pi, continued, shifted), torch.where(exceeds_pi, 1.0, slope)


class _SoftmaxLoss(torch.autograd.Function):
    """`log(exp(s_y / tau) + sum of exp(s_j / tau) over wrong j) - s_y / tau` for each sample.

    `s_y` (N,) are functions of the labels' scores with derivative `slope`. The loss is
    `softplus(x)` with `x = log-sum-exp of the wrong scores / tau - s_y / tau`, so that tiny losses
    and their gradients keep all their digits, which `log_softmax` rounds to zero. One (N, K) array
    is made and kept for the backward pass, which makes one more. First derivatives only, with
    respect to `scores` alone.
    """

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, labels: Tensor, tau: float, s_y: Tensor, slope: Tensor | float
    ) -> Tensor:
        labels = labels[:, None]
        wrong = (scores / tau).scatter_(1, labels, -torch.inf)  # (N, K), worked on in place
        largest = wrong.amax(dim=1, keepdim=True)
        total = wrong.sub_(largest).exp_().sum(dim=1)  # at least 1; the entry of the label is 0
        x = total.log() + largest[:, 0] - s_y / tau
        derivative = torch.sigmoid(x) / tau
        ctx.save_for_backward(wrong, labels, derivative / total, -derivative * slope)
        return F.softplus(x, threshold=40.0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        wrong, labels, wrong_grad, class_grad = ctx.saved_tensors
        gradient = wrong * (grad * wrong_grad)[:, None]
        return gradient.scatter_(1, labels, (grad * class_grad)[:, None]), None, None, None, None
