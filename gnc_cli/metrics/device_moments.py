"""Class moments accumulated where the tensors are: the sums of `ClassMoments` on a GPU.

The method is that of `class_moments.py`, in torch: each batch is summed about its own class means
in float64 and joined to what went before by the pairwise rule.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.metrics.class_moments import ClassMoments

if TYPE_CHECKING:
    import torch


class DeviceMoments:
    """Counts, means and scatter of K classes on a torch device that has float64.

    Memory on the device: one (K, d) array and one (d, d), in float64. The same batches in the same
    order give the same sums. Batches from other devices are brought there.

    Example:
        >>> import torch
        >>> moments = DeviceMoments(d=2, K=3, device="cpu")
        >>> moments.update(torch.tensor([[1.0, 0.0], [3.0, 0.0]]), torch.tensor([0, 0]))
        >>> moments.to_host().means[0]
        array([2., 0.])
    """

    def __init__(self, d: int, K: int, device: "torch.device | str") -> None:
        import torch

        self.d, self.K, self.device = d, K, torch.device(device)
        # Not inference tensors, wherever we are called: those could not be added to later.
        with torch.inference_mode(False):
            options: Any = {"dtype": torch.float64, "device": self.device}
            self._counts = torch.zeros(K, **options)
            self._means = torch.zeros(K, d, **options)
            self._squares = torch.zeros(K, **options)
            self._scatter = torch.zeros(d, d, **options)

    def update(
        self, features: "torch.Tensor", labels: "torch.Tensor | np.ndarray", *, unit: bool = False
    ) -> None:
        """Take in rows (n, d) with labels (n,), scaled to norm 1 first where `unit`.

        Gradients are not followed; rows of label -1 are left out. Raises DataError where shapes
        disagree, a label is out of range, or a row that counts is not finite or, with `unit`, zero.
        """
        import torch

        if features.ndim != 2 or features.shape != (len(labels), self.d) or labels.ndim != 1:
            raise DataError(
                f"features have shape {tuple(features.shape)}, labels {tuple(labels.shape)}; "
                f"expected (n, {self.d}), (n,)"
            )
        here = self.device.type
        with torch.inference_mode(False), torch.no_grad(), torch.autocast(here, enabled=False):
            rows = features.detach().to(self.device, torch.float64)
            where = torch.as_tensor(labels).detach().to(self.device, torch.int64)
            kept = where >= 0
            largest = rows.abs().amax(dim=1)
            if not len(where) or not self._any_row(where, largest, kept, unit):
                return
            rows, where = rows[kept], where[kept]
            if unit:
                rows = rows / largest[kept, None]
                rows = rows / rows.norm(dim=1, keepdim=True)
            self._join(rows, where)

    def _any_row(self, where: Any, largest: Any, kept: Any, unit: bool) -> bool:
        """Check a batch with one transfer from the device; whether any row of it counts."""
        import torch

        wrong = ~torch.isfinite(largest) | (largest == 0.0 if unit else torch.zeros_like(kept))
        answers = torch.stack([where.min(), where.max(), kept.sum(), (wrong & kept).sum()])
        lowest, highest, count, bad = answers.tolist()
        if lowest < -1 or highest >= self.K:
            label = lowest if lowest < -1 else highest
            raise DataError(f"label {label} is out of range; expected 0 to {self.K - 1}, or -1")
        if bad:
            row = int((wrong & kept).nonzero()[0])
            what = "zero and has no direction" if largest[row] == 0.0 else "NaN or infinite"
            raise DataError(f"features: row {row} is {what} ({bad} such row(s) in the batch)")
        return bool(count)

    def _join(self, rows: Any, where: Any) -> None:
        import torch

        classes, place, number = torch.unique(where, return_inverse=True, return_counts=True)
        number = number.double()
        # With accumulate, index_put_ adds in a fixed order on every device; index_add_ does not.
        sums = rows.new_zeros(len(classes), self.d).index_put_((place,), rows, accumulate=True)
        means = sums / number[:, None]
        within = rows - means[place]
        squares = number.new_zeros(len(classes))
        squares.index_put_((place,), (within * within).sum(dim=1), accumulate=True)

        # A class without rows so far has count and mean 0: it takes the batch's own mean.
        before = self._counts[classes]
        total = before + number
        apart = means - self._means[classes]
        weight = before * number / total
        self._means[classes] += apart * (number / total)[:, None]
        self._squares[classes] += squares + weight * (apart * apart).sum(dim=1)
        self._counts[classes] = total
        terms = torch.cat([within, apart * weight.sqrt()[:, None]])
        self._scatter += terms.T @ terms

    def to_host(self) -> ClassMoments:
        """The moments so far, as NumPy's; the device keeps its own."""
        moments = ClassMoments(self.d, self.K)
        moments.counts[:] = np.rint(self._counts.cpu().numpy())
        moments.shifts[:] = self._means.cpu().numpy()
        moments.squares[:] = self._squares.cpu().numpy()
        moments.scatter[:] = self._scatter.cpu().numpy()
        return moments
