"""`GNCMetrics` as a `torchmetrics.Metric`: its state are the sums of `gnc_cli.GNCMetrics`, into
which each batch is added in place.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnc_cli.collapse.batches import Accumulated, raw_weights
from gnc_cli.collapse.gnc_metrics import GNCMetrics as Accumulator
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.integrations import FIGURES, figures, missing_package
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.rows import to_numpy

try:
    from torchmetrics import Metric
except ImportError as error:
    raise missing_package("torchmetrics") from error

__all__ = ["GNCMetrics"]

_BY_MEANS = ("ncc_accuracy", "ncc_leave_one_out", "ncc_agreement", "nc4")
"""Figures that need the class means before the samples."""
_FIGURES = tuple(name for name in FIGURES if name not in _BY_MEANS)


class GNCMetrics(Metric):
    """GNC1 to GNC3, NC1 to NC3 and accuracy of batches, as a metric of torchmetrics.

    Merging, `sync`, `reset`, `MetricCollection`, pickling and `persistent(True)` are torchmetrics'
    own. `gnc_cli.GNCMetrics` is the same accumulator without torchmetrics; it also has a second
    pass (`judge`) and gives whole records. `forward` computes GNC2 of each batch: prefer `update`
    for many classes.

    Args:
        d: dimension of the features.
        K: number of classes; labels run from 0 to K - 1.
        normalize: metrics of unit rows, as in the paper; False takes rows as they are.
        reference: what GNC2 is held against; by default the best that is known for (d, K).
        more: arguments of `torchmetrics.Metric`, such as `sync_on_compute`.

    Raises:
        UsageError: d or K below 2.

    Example:
        >>> metric = GNCMetrics(d=2, K=2)
        >>> features, labels = torch.tensor([[2.0, 0.0], [0.0, 3.0]]), torch.tensor([0, 1])
        >>> metric.update(features, labels, weights=torch.eye(2))
        >>> round(metric.compute()["gnc2.lower"].item(), 12)
        1.414213562373
    """

    is_differentiable = False
    higher_is_better = None
    full_state_update = False

    moments: Tensor
    answers: Tensor
    weights: Tensor

    def __init__(
        self, d: int, K: int, *, normalize: bool = True, reference: float | None = None, **more: Any
    ) -> None:
        super().__init__(**more)
        checked = Accumulator(d, K, normalize=normalize, reference=reference)
        self.d, self.K, self.normalize = checked.d, checked.K, checked.normalize
        self.spaces = checked.spaces
        self.reference = reference
        self.result: MeasureResult | None = None
        """The whole record of the last `compute`."""
        size = ClassMoments.size(self.d, self.K)
        none = torch.zeros(len(self.spaces) * size, dtype=torch.float64)
        merged = partial(_merged, d=self.d, K=self.K, spaces=self.spaces)
        self.add_state("moments", none, dist_reduce_fx=merged)
        answers = torch.zeros(2, self.K, dtype=torch.int64)
        self.add_state("answers", answers, dist_reduce_fx="sum")
        # NaN until some are given: a classifier may be zero.
        weights = torch.full((self.K, self.d), torch.nan, dtype=torch.float64)
        self.add_state("weights", weights, dist_reduce_fx=_last)

    def update(self, features: Any, labels: Any, logits: Any = None, weights: Any = None) -> None:
        """Take in a batch.

        Args:
            features: raw, shape (n, d).
            labels: integers, shape (n,); samples of label -1 or -100 are left out.
            logits: shape (n, K), for the accuracy.
            weights: the classifier as it is now, shape (K, d), for GNC2 and GNC3; the last one
                given counts. Without any the class means stand in for GNC2.

        Raises:
            DataError: as `gnc_cli.GNCMetrics.update`; or the weights are not finite, or not of this
                shape.
        """
        raw = None if weights is None else raw_weights(weights, self.K, self.d)
        # On the CPU the memory of the state itself, else a copy.
        sums = to_numpy(self.moments).astype(np.float64, copy=False)
        state = Accumulated(_views(sums, self.d, self.K, self.spaces), *to_numpy(self.answers))
        state.update(features, labels, logits)
        self.moments = torch.from_numpy(sums).to(self.moments.device)
        answers = torch.from_numpy(np.stack([state.right, state.answered]))
        self.answers = answers.to(self.answers.device)
        if raw is not None:
            self.weights = torch.tensor(raw).to(self.weights)

    def compute(self) -> dict[str, Tensor]:
        """Return the figures so far, float64, by the keys of `gnc measure`: `gnc1`, `gnc1_centred`,
        `gnc2.lower`, ..., `nc1`, `nc2_etf_error`, `nc3`, `accuracy`; NaN where weights or logits
        are missing. Raises DataError without a batch.
        """
        whole = Accumulator(self.d, self.K, normalize=self.normalize, reference=self.reference)
        moments = _views(to_numpy(self.moments), self.d, self.K, self.spaces)
        whole.add(Accumulated(moments, *to_numpy(self.answers)))
        self.result = whole.compute(None if self.weights.isnan().any() else self.weights)
        numbers = figures(self.result, prefix="")
        values = {name: numbers.get(name, float("nan")) for name in _FIGURES}
        options: Any = {"dtype": torch.float64, "device": self.moments.device}
        return {name: torch.tensor(value, **options) for name, value in values.items()}


def _views(sums: np.ndarray, d: int, K: int, spaces: tuple[str, ...]) -> dict[str, ClassMoments]:
    """Return class moments by space whose numbers are those of a state."""
    rows = zip(spaces, np.split(sums, len(spaces)), strict=True)
    return {space: ClassMoments.over(row, d, K) for space, row in rows}


def _merged(states: Tensor, d: int, K: int, spaces: tuple[str, ...]) -> Tensor:
    """Return the moments of all processes, or of both metrics, together; states are (parts, size).

    The sums of a class are about its mean, so that they do not merely add up.
    """
    whole, *others = to_numpy(states).copy()
    moments = _views(whole, d, K, spaces)
    for other in others:
        for space, part in _views(other, d, K, spaces).items():
            moments[space].merge(part)
    return torch.from_numpy(whole).to(states.device)


def _last(states: Tensor) -> Tensor:
    """Return the last weights that were given, of (parts, K, d)."""
    known = states.flatten(1).isfinite().all(dim=1).nonzero()
    return states[known[-1, 0] if len(known) else 0]
