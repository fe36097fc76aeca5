"""A linear classifier at work: the class it names, and the one-vs-rest margins of the samples.

Logits are those of raw samples, raw weights and the bias; margins `<w_y, h> - max_{j != y}
<w_j, h>` those of unit samples and unit weights. One product of unit rows serves both.
"""

from dataclasses import dataclass

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.metrics.scored_block import ScoredBlock, decide, second_look
from gnc_cli.numerics.screened import Scores, row_norms, screen

__all__ = ["Classifier", "ClassifierNames"]

_EVEN = 1e-6
"""Weights whose norms differ relatively by less are ranked by the unit product, with that error."""
_STRIP = 128
"""Samples that are worked on at a time, so that what belongs to them stays in the cache."""


@dataclass(frozen=True, eq=False)
class ClassifierNames:
    """What a classifier says of one block of B samples."""

    names: np.ndarray
    """Class of the largest logit, the first of ties, shape (B,)."""
    margins: np.ndarray
    """One-vs-rest, float64, shape (B,)."""
    again: np.ndarray
    """Decided in float64, bool, shape (B,)."""


class Classifier:
    """Weights and bias, made ready.

    Args:
        weights: shape (K, d), K >= 2, float64, raw. A zero row has no direction: its unit weight
            counts as zero.
        bias: shape (K,); None for none.

    Raises:
        DataError: the shapes disagree, fewer than two classes, or NaN or infinity.
    """

    def __init__(self, weights: np.ndarray, bias: np.ndarray | None) -> None:
        K = len(weights)
        if weights.ndim != 2 or K < 2 or (bias is not None and bias.shape != (K,)):
            other = "" if bias is None else f", the bias {bias.shape}"
            raise DataError(f"weights have shape {weights.shape}{other}; expected (K, d), K >= 2")
        norms = row_norms(weights)
        if not (np.isfinite(norms).all() and (bias is None or np.isfinite(bias).all())):
            raise DataError("weights or bias hold NaN or infinity")
        exponent = int(np.frexp(norms.max())[1])
        scale = np.full(K, np.ldexp(1.0, exponent))
        self.factors = (norms / scale).astype(np.float32)
        if bias is None or not bias.any():
            self.logits = Scores(weights, scale)
        else:
            size = int(np.frexp(np.abs(bias).max())[1])
            self.logits = Scores(weights, scale, np.ldexp(bias, -size), size - exponent)
        self.unit = Scores(weights, np.where(norms > 0.0, norms, 1.0))
        self.small = self.unit.small()
        self.even = self.logits.offsets is None and norms.max() - norms.min() < _EVEN * norms.max()

    def names(self, block: ScoredBlock) -> ClassifierNames:
        """Names and margins of the samples of a block."""
        own = block.labels
        raised, error = block.raised(self.logits, False)
        offsets = self.logits.offsets
        small_offsets = None if offsets is None else offsets.astype(np.float32)
        small_raised = raised.astype(np.float32)

        def to_logits(tile: np.ndarray, rows: slice, columns: slice) -> None:
            for s in range(0, len(tile), _STRIP):
                strip = tile[s : s + _STRIP]
                strip *= self.factors[columns]
                if small_offsets is not None:
                    strip += small_raised[rows][s : s + _STRIP, None] * small_offsets[columns]

        stages = (None,) if self.even else (None, to_logits)
        leaders = screen(block.small[:, :-1], self.small, own, stages)
        unit_error = self.unit.error(np.zeros(len(own)))
        logit_error = unit_error + _EVEN if self.even else error
        names, again = decide(block, self.logits, False, leaders[-1], logit_error, own)

        rival = leaders[0].at.copy()
        doubtful = ~(leaders[0].top.astype(np.float64) - leaders[0].second > 2.0 * unit_error)
        look = np.flatnonzero(doubtful)
        if look.size:
            rival[look] = second_look(block, self.unit, True, leaders[0], unit_error, own, look)[2]
        return ClassifierNames(names, self._margins(block.unit, own, rival), again | doubtful)

    def _margins(self, unit: np.ndarray, own: np.ndarray, rival: np.ndarray) -> np.ndarray:
        """Unit weights' float64 inner products with unit rows, own less rival."""
        W, norms = self.unit.V, self.unit.divisor
        margins = np.empty(len(unit))
        for s in range(0, len(unit), _STRIP):
            some = slice(s, s + _STRIP)
            y, j = own[some], rival[some]
            mine = np.einsum("bd,bd->b", W[y], unit[some]) / norms[y]
            margins[some] = mine - np.einsum("bd,bd->b", W[j], unit[some]) / norms[j]
        return margins
