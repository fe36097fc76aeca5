"""Newton's method to any number of digits: residuals in big integers, corrections in float64.

The derivative is inverted once in float64, with its rank revealed; each step then gains some ten
digits (simplified Newton, or iterative refinement). Ends with a reason where it does not converge.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.linalg import eigh

from gnc_cli.codes.contact_equations import ContactEquations, ContactState
from gnc_cli.codes.fixed_point import FixedPoint
from gnc_cli.numerics.deadline import Deadline

__all__ = [
    "LARGEST",
    "REACH",
    "DigitNewton",
    "Inverse",
    "Obstacle",
    "Refused",
    "contact_inverse",
    "symmetric_inverse",
]

LARGEST = 4000
"""Unknowns whose derivative is worth decomposing: two minutes on one core."""
REACH = 1e-5
"""A coordinate may move this far from where it began."""
Inverse = Callable[[np.ndarray], np.ndarray]
"""Solves the linearised equations for a right side, in the sense of least squares."""

_STEPS = 60
_REACH_LOG = math.log10(REACH)
_STALE = -10.0
"""After a correction above 1e-10 the derivative is formed anew."""
_SINGULAR = 1e-8
"""Eigenvalues of a symmetric derivative below this, relative to the largest, count as zero."""
_SINGULAR_SQUARE = 1e-11
"""The same for squares of singular values, whose rounding is coarser."""


class Obstacle(Enum):
    """Why a code was not polished to many digits."""

    NO_CONTACTS = "no_contacts"
    NOT_STATIONARY = "not_stationary"
    NOT_CONVERGED = "not_converged"
    LEFT_NEIGHBOURHOOD = "left_neighbourhood"
    CLOSER_PAIR = "closer_pair"
    TOO_LARGE = "too_large"
    OUT_OF_TIME = "out_of_time"

    @property
    def advice(self) -> str:
        """One sentence: what is wrong and what may help."""
        return _ADVICE[self]


_ADVICE = {
    Obstacle.NO_CONTACTS: "no pairs touch",
    Obstacle.NOT_STATIONARY: "the contacts do not hold the code in place; solve it further first",
    Obstacle.NOT_CONVERGED: "no code near this one has exactly these contacts",
    Obstacle.LEFT_NEIGHBOURHOOD: "the equations lead away from this code; polish it further first",
    Obstacle.CLOSER_PAIR: "another pair of points comes as near as the contacts",
    Obstacle.TOO_LARGE: f"more than {LARGEST} unknowns",
    Obstacle.OUT_OF_TIME: "the time limit came first",
}


@dataclass(frozen=True)
class Refused:
    """No digits, and why."""

    obstacle: Obstacle
    detail: str
    """One clause with the figures."""


class DigitNewton:
    """Simplified Newton steps until a correction falls below `10**-close`.

    Sizes are kept as decimal logarithms: they may be far below 1e-308.
    """

    def __init__(self, number: FixedPoint, close: int, deadline: Deadline) -> None:
        self.number, self.close, self.deadline = number, close, deadline
        self.residual = 0.0
        """log10 of the largest residual at the end."""

    def run(
        self,
        equations: ContactEquations,
        state: ContactState,
        refresh: Callable[[np.ndarray, ContactState], Inverse],
        inverse: Inverse,
    ) -> ContactState | Refused:
        """Solve the equations.

        Args:
            equations: a system; its order of unknowns is that of `ContactState.moved`.
            state: where to begin.
            refresh: makes the inverse anew at float rows and the state they come from.
            inverse: at the start.
        """
        number, last = self.number, np.inf
        for _ in range(_STEPS):
            if self.deadline.expired:
                return Refused(Obstacle.OUT_OF_TIME, "before the last correction")
            scaled, exponent = number.scaled(equations.residual(state, number))
            step = -inverse(scaled)
            size = _log10(step, exponent)
            if size > last - 0.3:
                break
            if size > _REACH_LOG:
                return Refused(Obstacle.LEFT_NEIGHBOURHOOD, f"a step of 1e{size:.1f}")
            state = state.moved(number.unscaled(step, exponent))
            if size <= -self.close:
                self.residual = _log10(*number.scaled(equations.residual(state, number)))
                return state
            if size > _STALE:
                inverse = refresh(number.floats(state.x), state)
            last = size
        return Refused(Obstacle.NOT_CONVERGED, f"corrections stay at 1e{last:.1f}")


def _log10(x: np.ndarray, exponent: int) -> float:
    """log10 of the largest `|x| * 2**exponent`; minus infinity for zeros."""
    largest = float(np.abs(x).max(initial=0.0))
    return math.log10(largest) + exponent * math.log10(2.0) if largest > 0.0 else -math.inf


def contact_inverse(equations: ContactEquations, x: np.ndarray) -> tuple[Inverse, int]:
    """The pseudo-inverse of the contact equations' derivative, and the dimension of its kernel."""
    J = equations.jacobian(x)
    wide = J.shape[0] < J.shape[1]
    normal = (J @ J.T if wide else J.T @ J).toarray()
    values, vectors = eigh(normal, check_finite=False, driver="evd")
    live = values > _SINGULAR_SQUARE * values[-1]
    values, vectors = values[live], vectors[:, live]

    def solve(b: np.ndarray) -> np.ndarray:
        right = b if wide else J.T @ b
        found = vectors @ ((vectors.T @ right) / values)
        return np.asarray(J.T @ found if wide else found)

    return solve, J.shape[1] - int(live.sum())


def symmetric_inverse(matrix: np.ndarray) -> Inverse:
    """The pseudo-inverse of a symmetric matrix."""
    values, vectors = eigh(matrix, check_finite=False, overwrite_a=True, driver="evd")
    live = np.abs(values) > _SINGULAR * np.abs(values).max()
    values, vectors = values[live], vectors[:, live]
    return lambda b: np.asarray(vectors @ ((vectors.T @ b) / values))
