"""`GNCMetrics` as a `torchmetrics.Metric`, whose state are the sums of `gnc_cli.GNCMetrics`."""

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

_SECOND_PASS_KEYS = ("ncc_accuracy", "ncc_leave_one_out", "ncc_agreement", "nc4")
"""Keys of values that require the class means before the samples, in a second pass."""
_KEYS = tuple(name for name in FIGURES if name not in _SECOND_PASS_KEYS)


class GNCMetrics(Metric):
    """GNC1 to GNC3, NC1 to NC3 and accuracy of batches, as a metric of torchmetrics.

    Merging, `sync`, `reset`, `MetricCollection`, pickling and `persistent(True)` are those of
    torchmetrics. `gnc_cli.GNCMetrics` is the same accumulator without torchmetrics, with a second
    pass (`judge`), and returns whole records. `forward` computes GNC2 of each batch: prefer
    `update` for many classes.

    Args:
        d: dimension of the features.
        K: number of classes; labels run from 0 to K - 1.
        normalize: True for metrics of unit rows, as in the paper; False for rows as they are.
        reference: value with which GNC2 is compared, by default the best known for (d, K).
        options: arguments of `torchmetrics.Metric`, such as `sync_on_compute`.

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
        self,
        d: int,
        K: int,
        *,
        normalize: bool = True,
        reference: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        checked = Accumulator(d, K, normalize=normalize, reference=reference)
        self.d, self.K, self.normalize = checked.d, checked.K, checked.normalize
        self.spaces = checked.spaces
        self.reference = reference
        self.result: MeasureResult | None = None
        """Whole record of the last `compute`."""
        size = ClassMoments.size(self.d, self.K)
        moments = torch.zeros(len(self.spaces) * size, dtype=torch.float64)
        merge = partial(_merge, d=self.d, K=self.K, spaces=self.spaces)
        self.add_state("moments", moments, dist_reduce_fx=merge)
        answers = torch.zeros(2, self.K, dtype=torch.int64)
        self.add_state("answers", answers, dist_reduce_fx="sum")
        # NaN for weights that were not passed yet, as a classifier may be zero.
        weights = torch.full((self.K, self.d), torch.nan, dtype=torch.float64)
        self.add_state("weights", weights, dist_reduce_fx=_last_finite)

    def update(self, features: Any, labels: Any, logits: Any = None, weights: Any = None) -> None:
        """Add a batch.

        Args:
            features: raw features (n, d).
            labels: integers (n,); samples of label -1 or -100 are left out.
            logits: (n, K), for the accuracy.
            weights: the present classifier (K, d), for GNC2 and GNC3; the last one counts. Without
                any, GNC2 is that of the class means.

        Raises:
            DataError: as for `gnc_cli.GNCMetrics.update`, or the weights are not finite, or of
                another shape.
        """
        raw = None if weights is None else raw_weights(weights, self.K, self.d)
        # On the CPU the memory of the state itself, to which the batch is added; else a copy.
        sums = to_numpy(self.moments).astype(np.float64, copy=False)
        state = Accumulated(_views(sums, self.d, self.K, self.spaces), *to_numpy(self.answers))
        state.update(features, labels, logits)
        self.moments = torch.from_numpy(sums).to(self.moments.device)
        answers = torch.from_numpy(np.stack([state.right, state.answered]))
        self.answers = answers.to(self.answers.device)
        if raw is not None:
            self.weights = torch.tensor(raw).to(self.weights)

    def compute(self) -> dict[str, Tensor]:
        """Return the values of all batches, float64, by the keys of `gnc measure`.

        These are `gnc1`, `gnc1_centred`, `gnc2.lower`, ..., `nc1`, `nc2_etf_error`, `nc3`,
        `accuracy`. They are NaN if weights or logits are missing.

        Raises:
            DataError: there is no batch.
        """
        total = Accumulator(self.d, self.K, normalize=self.normalize, reference=self.reference)
        moments = _views(to_numpy(self.moments), self.d, self.K, self.spaces)
        total.add(Accumulated(moments, *to_numpy(self.answers)))
        self.result = total.compute(None if self.weights.isnan().any() else self.weights)
        numbers = figures(self.result, prefix="")
        values = {name: numbers.get(name, float("nan")) for name in _KEYS}
        options: Any = {"dtype": torch.float64, "device": self.moments.device}
        return {name: torch.tensor(value, **options) for name, value in values.items()}


def _views(sums: np.ndarray, d: int, K: int, spaces: tuple[str, ...]) -> dict[str, ClassMoments]:
    """Return class moments by space that share the memory of a state (size,)."""
    rows = zip(spaces, np.split(sums, len(spaces)), strict=True)
    return {space: ClassMoments.from_buffer(row, d, K) for space, row in rows}


def _merge(states: Tensor, d: int, K: int, spaces: tuple[str, ...]) -> Tensor:
    """Merge the moments (parts, size) of all processes, or of two metrics.

    The sums of a class are centred at its mean, so that merging is more than an addition.
    """
    total, *others = to_numpy(states).copy()
    moments = _views(total, d, K, spaces)
    for other in others:
        for space, part in _views(other, d, K, spaces).items():
            moments[space].merge(part)
    return torch.from_numpy(total).to(states.device)


def _last_finite(states: Tensor) -> Tensor:
    """Return the last weights (K, d) without NaN of (parts, K, d)."""
    rows = states.flatten(1).isfinite().all(dim=1).nonzero()
    return states[rows[-1, 0] if len(rows) else 0]
