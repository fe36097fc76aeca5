"""`--duplicates COS`: classes whose weights nearly coincide, and GNC2 without them."""

import numpy as np

from gnc_cli.metrics.duplicates import find_duplicates
from gnc_cli.metrics.gnc2 import gnc2
from gnc_cli.results import DuplicatePair, WithoutDuplicates
from gnc_cli.workflows.measure_parts import Effort
from gnc_cli.workflows.measure_weights import Weights

__all__ = ["measure_duplicates"]


def measure_duplicates(
    weights: Weights, labels: np.ndarray, names: list[str] | None, effort: Effort
) -> tuple[tuple[DuplicatePair, ...], WithoutDuplicates] | None:
    """The pairs above `effort.duplicates`, and GNC2 with one class kept of each group.

    Args:
        weights: unit rows; nothing is looked at where they are not.
        labels: of the rows, shape (m,).
        names: by label.

    Raises:
        TimeoutError: the deadline came before every pair was seen.
    """
    if effort.duplicates is None or not weights.unit:
        return None
    pairs, cosines, count, kept = find_duplicates(
        weights.rows, effort.duplicates, deadline=effort.deadline
    )
    named = [
        DuplicatePair(a, b, float(c), *(None if names is None else names[k] for k in (a, b)))
        for (a, b), c in zip(labels[pairs].tolist(), cosines, strict=True)
    ]
    rho = gnc2(weights.rows[kept], deadline=effort.deadline) if len(kept) > 1 else None
    return tuple(named), WithoutDuplicates(effort.duplicates, count, len(kept), rho)
