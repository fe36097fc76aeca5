"""Is there a better Softmax Code close to a given code? Disturb it, climb, certify.

For codes too large to be searched for. Weights and features are disturbed separately and climb the
smoothed HardMax objective together; an end above the start would be news, an end below it says
only that nothing better was met nearby.
"""

from dataclasses import dataclass

import numpy as np

from gnc_cli.numerics.blocked_hardmax import hardmax_loss
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.gram import closest_pair, row_maxima
from gnc_cli.numerics.one_vs_rest import minimum_one_vs_rest
from gnc_cli.numerics.refine import refine
from gnc_cli.numerics.riemannian import Annealing, anneal
from gnc_cli.numerics.sphere import normalise
from gnc_cli.results import Bracket

__all__ = ["Climb", "climb_nearby"]

_STEPS = (60, 600)
"""Annealed steps: at least, and at most."""
_OPERATIONS = 3e10
"""K^2 d times steps that decide between them."""
_SHARPNESS = (30.0, 1e4)
"""First and last sharpness of the annealed steps, over 1 - t."""
_REFINED = 0.25
"""Steps of each stage of the refinement, over the annealed ones."""
_CERTIFYING = 0.2
"""Share of the time kept for the certificate."""


@dataclass(frozen=True)
class Climb:
    """Where a disturbed code ended."""

    disturbance: float
    """How far each row was moved, on average, over the smallest chord."""
    rho: Bracket
    """Certified one-vs-rest distance of the end."""
    max_cosine: float
    """Of the end."""
    weights: np.ndarray
    """Shape (K, d)."""
    features: np.ndarray
    steps: int


def climb_nearby(
    W: np.ndarray, disturbance: float, rng: np.random.Generator, deadline: Deadline
) -> Climb:
    """Disturb a code and climb.

    Args:
        W: unit rows, shape (K, d).
        disturbance: average length by which weights and features are moved, over the smallest
            chord.
        rng: decides the direction.
        deadline: polled at each step; the bracket is valid whenever it strikes. A step costs
            K^2 d: 0.2 s at K = 4600, d = 23.
    """
    spacing = closest_pair(W)[2]
    size = disturbance * spacing / np.sqrt(W.shape[1])
    whole = np.concatenate([W, W])
    whole = normalise(whole + size * rng.standard_normal(whole.shape))
    scale = spacing**2 / 2.0
    climbing = deadline
    if deadline.seconds is not None:
        climbing = deadline.reserving(_CERTIFYING * deadline.seconds)
    first, last = (s / scale for s in _SHARPNESS)
    count = int(np.clip(_OPERATIONS / (float(len(W)) ** 2 * W.shape[1]), *_STEPS))
    plan = Annealing(np.array([first]), last, 4.0 / np.sqrt(2.0 * scale), count)
    # The smoothed value itself is estimate enough: there is one descent.
    end = anneal(hardmax_loss, hardmax_loss, whole[None], plan, deadline=climbing)
    points, steps = end.points[0], end.steps
    if not climbing.expired:
        refined = refine(
            points, hardmax_loss, scale=scale, steps=int(_REFINED * count), deadline=climbing
        )
        points, steps = refined.points, steps + refined.steps
    weights, features = points[: len(W)], points[len(W) :]
    rho, _, _ = minimum_one_vs_rest(weights, directions=features, deadline=deadline)
    largest = float(row_maxima(weights)[0].max())
    return Climb(disturbance, rho, largest, weights, features, steps)
