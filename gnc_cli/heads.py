"""Classifiers and losses for anyone's trainer, in one import.

A head turns raw features (N, d) into logits (N, K). A loss takes a head's scores before the
temperature, which are cosines. The scale of face recognition is s = 1/tau.

Example:
    >>> import torch
    >>> from gnc_cli import solve
    >>> from gnc_cli.heads import FixedHead, cosface
    >>> head = FixedHead(solve(d=3, K=4).weights, tau=1 / 16)
    >>> features, labels = 5.0 * head.weights, torch.arange(4)
    >>> loss = cosface(margin=1.0, tau=head.tau)
    >>> loss(head.scores(features), labels).max() < 0.02
    tensor(True)
"""

from gnc_cli.training.networks.heads import ClassMeanHead, DecayHead, FixedHead, Head, SphereHead
from gnc_cli.training.networks.losses import ScoreLoss, make_loss

__all__ = [
    "ClassMeanHead",
    "DecayHead",
    "FixedHead",
    "Head",
    "ScoreLoss",
    "SphereHead",
    "arcface",
    "cosface",
    "make_loss",
]


def cosface(margin: float = 0.35, tau: float = 1 / 64) -> ScoreLoss:
    """Make the loss of CosFace: cross-entropy with `cos - margin` for the own class.

    Source: arXiv 1801.09414.

    Args:
        margin: in [0, 2]. Above the head's one-vs-rest distance no feature can satisfy it on every
            class; `gnc bounds --margin` says what d dimensions allow.
        tau: temperature, positive, the head's own: 1/s. By default that of the paper, s = 64.

    Returns:
        `loss(scores, labels)`: cosines (N, K) and labels (N,) int64 to losses (N,) float32.

    Raises:
        UsageError: margin or tau out of range.

    Example:
        >>> import torch
        >>> cosface(margin=0.5, tau=0.1)(torch.tensor([[0.9, 0.1, -0.5]]), torch.tensor([0]))
        tensor([0.0487])
    """
    return make_loss("cosface", tau=tau, margin=margin)


def arcface(margin: float = 0.5, tau: float = 1 / 64) -> ScoreLoss:
    """Make the loss of ArcFace: cross-entropy with `cos(angle + margin)` for the own class.

    Source: arXiv 1801.07698.

    Args:
        margin: radians, in [0, pi]. Above the minimal angle of the head's rows no feature with
            angle + margin <= pi can satisfy it; `gnc bounds --arcface-m` says what d dimensions
            allow.
        tau: temperature, positive, the head's own: 1/s. By default that of the paper, s = 64.

    Returns:
        `loss(scores, labels)`: cosines (N, K) and labels (N,) int64 to losses (N,) float32.

    Raises:
        UsageError: margin or tau out of range.

    Example:
        >>> import torch
        >>> arcface(margin=0.5, tau=0.1)(torch.tensor([[0.9, 0.1, -0.5]]), torch.tensor([0]))
        tensor([0.0081])
    """
    return make_loss("arcface", tau=tau, margin=margin)
