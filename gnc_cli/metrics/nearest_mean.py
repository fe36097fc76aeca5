"""Nearest class mean (NCC, appendix B.4 of arXiv 2310.05351), also with the sample left out.

The nearest mean m_k of a sample h has the largest `<h, m_k> - |m_k|**2 / 2`. Without the sample
itself the mean of its own n samples lies `n / (n - 1)` times as far from it, in the same direction.
"""

from dataclasses import dataclass

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.metrics.scored_block import ScoredBlock, decide, second_look
from gnc_cli.numerics.screened import Scores, row_norms, screen

__all__ = ["NearestMean", "NearestNames"]


@dataclass(frozen=True, eq=False)
class NearestNames:
    """Nearest class means of one block of B samples."""

    names: np.ndarray
    """Class of the nearest mean, shape (B,)."""
    loo_right: np.ndarray | None
    """Whether its own is the nearest without the sample, bool, shape (B,)."""
    loo_counted: np.ndarray | None
    """Whether its class has a mean without it, bool, shape (B,)."""
    again: np.ndarray
    """Decided in float64, bool, shape (B,)."""


class NearestMean:
    """Says which class mean is nearest.

    Args:
        means: shape (K, d), float64; those of absent classes are not looked at.
        present: shape (K,), bool; None for all.
        own_counts: samples behind each mean, shape (K,), where the means are the samples' own;
            None for means of other data.
        unit: the means are of unit rows; else of raw ones.

    Raises:
        DataError: no class is present, or a mean of one that is present is not finite.
    """

    def __init__(
        self,
        means: np.ndarray,
        present: np.ndarray | None,
        own_counts: np.ndarray | None,
        unit: bool,
    ) -> None:
        K = len(means)
        self.classes = np.arange(K) if present is None else np.flatnonzero(present)
        if not self.classes.size:
            raise DataError("no class has a mean: there is no nearest one")
        kept = means if len(self.classes) == K else means[self.classes]
        norms = row_norms(kept)
        if not np.isfinite(norms).all():
            k = self.classes[np.flatnonzero(~np.isfinite(norms))[0]]
            raise DataError(f"class means hold NaN or infinity, first that of class {k}")
        self.columns = np.full(K, -1)
        self.columns[self.classes] = np.arange(len(self.classes))
        self.own_counts, self.unit = own_counts, unit
        exponent = int(np.frexp(norms.max())[1])
        scale = np.full(len(kept), np.ldexp(1.0, exponent))
        self.scores = Scores(kept, scale, -0.5 * (norms / scale) ** 2, exponent)
        self.small = self.scores.small()

    def names(self, block: ScoredBlock) -> NearestNames:
        """Nearest means of the samples of a block."""
        own = self.columns[block.labels]
        raised, error = block.raised(self.scores, self.unit)
        block.small[:, -1] = raised
        (leaders,) = screen(block.small, self.small, own)
        chosen, again = decide(block, self.scores, self.unit, leaders, error, own)
        if self.own_counts is None:
            return NearestNames(self.classes[chosen], None, None, again)

        n = self.own_counts[block.labels]
        counted = (n > 1) & (own >= 0)
        stretch = np.where(counted, n / np.maximum(n - 1, 1), 1.0) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            # Scores are `whole - (squared distance) / (2 raised)`, alike for all columns.
            whole = 0.5 / raised
            moved = whole - stretch * (whole - leaders.own)
            ahead = moved - leaders.top
            strayed = (stretch + 1.0) * error + 1e-15 * stretch * whole
        right = ahead > 0.0
        doubtful = counted & ~(np.abs(ahead) > strayed)
        look = np.flatnonzero(doubtful)
        if look.size:
            _, _, at = second_look(block, self.scores, self.unit, leaders, error, own, look)
            mine = stretch[look] * self._squares(block, look, own[look])
            other = self._squares(block, look, at)
            right[look] = (mine < other) | ((mine == other) & (own[look] < at))
        return NearestNames(self.classes[chosen], right & counted, counted, again | doubtful)

    def _squares(self, block: ScoredBlock, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Squared distances of some samples to one mean each, all scaled alike sample by sample."""
        rows, raised = block.exact_rows(which, self.scores, self.unit)
        rows -= raised[:, None] * self.scores.columns(columns)
        return np.einsum("md,md->m", rows, rows)
