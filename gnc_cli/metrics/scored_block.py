"""A block of samples as the screen of scores wants it, and the verdict that comes out."""

from dataclasses import dataclass

import numpy as np

from gnc_cli.metrics.row_blocks import read_block
from gnc_cli.numerics.rows import Rows
from gnc_cli.numerics.screened import Leaders, Scores

__all__ = ["ScoredBlock", "decide", "second_look"]

_TOO_LARGE = 1e30
"""Offsets this much larger than a row's scores leave no digit of them in float32."""


@dataclass(frozen=True, eq=False)
class ScoredBlock:
    """Samples of one block that count, B of them."""

    kept: np.ndarray | slice
    """Which rows of the block these are."""
    labels: np.ndarray
    """All >= 0, shape (B,)."""
    raw: np.ndarray
    """As stored, float64, shape (B, d)."""
    norms: np.ndarray
    """Shape (B,)."""
    unit: np.ndarray
    """Float64, norm 1 (zero rows stay zero), shape (B, d)."""
    small: np.ndarray
    """The unit rows in float32 with a spare column for the factor of offsets, shape (B, d + 1)."""

    @classmethod
    def read(
        cls, rows: Rows, labels: np.ndarray, unit: bool, where: str, start: int, stop: int
    ) -> "ScoredBlock":
        """Rows from start to stop.

        Raises:
            DataError: a row that counts is not finite or, where `unit`, zero.
        """
        block = read_block(rows, labels, ("unit", "raw") if unit else ("raw",), where, start, stop)
        raw, norms = block.rows["raw"], block.norms
        if unit:
            directions = block.rows["unit"]
        else:
            directions = raw / np.where(norms > 0.0, norms, 1.0)[:, None]
        small = np.empty((len(raw), raw.shape[1] + 1), dtype=np.float32)
        small[:, :-1] = directions
        return cls(block.kept, block.labels, raw, norms, directions, small)

    def raised(self, scores: Scores, unit: bool) -> tuple[np.ndarray, np.ndarray]:
        """Factors of the offsets beside unit rows, float64, and the proved error of the screen.

        The error is infinite where float32 cannot hold the factor; the factor is then 0.
        """
        if scores.offsets is None:
            factor = np.zeros(len(self.raw))
        elif unit:
            factor = np.full(len(self.raw), np.ldexp(1.0, scores.rise))
        else:
            with np.errstate(divide="ignore", over="ignore"):
                factor = np.ldexp(1.0, scores.rise) / self.norms
        held = factor < _TOO_LARGE
        factor = np.where(held, factor, 0.0)
        return factor, np.where(held, scores.error(factor), np.inf)

    def exact_rows(
        self, which: np.ndarray, scores: Scores, unit: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Float64 rows of norm at most 1 and their factors of the offsets, for `Scores.exact`.

        Raw rows are scaled by powers of two, which rounds nothing.
        """
        if unit:
            return self.unit[which], np.full(len(which), np.ldexp(1.0, scores.rise))
        exponent = np.frexp(self.norms[which])[1]
        if scores.offsets is None:
            raised = np.zeros(len(which))
        else:
            exponent = np.maximum(exponent, scores.rise)
            raised = np.ldexp(1.0, scores.rise - exponent)
        return np.ldexp(self.raw[which], -exponent[:, None]), raised


def decide(
    block: ScoredBlock,
    scores: Scores,
    unit: bool,
    leaders: Leaders,
    error: np.ndarray,
    own: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The column of each row's largest score, the first of ties, as in float64.

    Args:
        block: B rows.
        scores: whose leaders these are.
        unit: of unit rows; else of raw ones.
        leaders: from the screen.
        error: of the screen, shape (B,).
        own: each row's own column, shape (B,); -1 for none.

    Returns:
        columns, shape (B,), and which rows were decided in float64, bool, shape (B,).
    """
    chosen = np.where(leaders.own > leaders.top, own, leaders.at)
    doubtful = ~(leaders.lead() > 2.0 * error)
    again = np.flatnonzero(doubtful)
    if again.size:
        mine, top, at = second_look(block, scores, unit, leaders, error, own, again)
        own_first = (mine > top) | ((mine == top) & (own[again] < at))
        chosen[again] = np.where(own_first, own[again], at)
    return chosen, doubtful


def second_look(
    block: ScoredBlock,
    scores: Scores,
    unit: bool,
    leaders: Leaders,
    error: np.ndarray,
    own: np.ndarray,
    again: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Float64 leaders of the rows `again`: as `Scores.exact` gives them."""
    rows, raised = block.exact_rows(again, scores, unit)
    floor = leaders.top[again] - 2.0 * error[again]
    return scores.exact(rows, raised, own[again], leaders.tile_tops[:, again], floor)
