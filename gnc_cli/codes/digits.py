"""Fifty digits of a code: Newton's method on its contacts, or on the conditions of its optimum.

Contacts and unit lengths determine most codes up to rotation. If they leave some freedom, the
first-order equations of the optimum determine it (see `contact_equations`).

The derivative is inverted once in float64, with its rank revealed, and residuals are computed in
FLINT's real balls; each step then gains some ten digits (simplified Newton, or iterative
refinement). If it does not converge, it ends with a reason.

For a number of many digits, an integer polynomial is proposed of which it seems to be a root. Among
all polynomials of degree n and height h, about (2 h + 1)^(n + 1), one comes as near to zero as
10^-(n + 1) log10(2 h + 1) by chance. The digits beyond that are the evidence; a proposal needs many
of them, and is still no proof (see `contact_equations`). A relation between the powers is a short
vector of a lattice (A. K. Lenstra, H. W. Lenstra and L. Lovasz, Factoring polynomials with rational
coefficients, 1982), which FLINT reduces.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.linalg import eigh

from gnc_cli.codes.contact_equations import (
    ContactEquations,
    ContactState,
    OptimumEquations,
    exact,
    floats,
    scaled,
    unscaled,
)
from gnc_cli.codes.exact_cosine import decimal_text
from gnc_cli.geometry.sphere import as_points, normalise
from gnc_cli.runtime.deadline import Deadline

_MAX_UNKNOWNS = 4000
"""Largest number of unknowns whose derivative is decomposed: two minutes on one core."""
_MAX_MOVE = 1e-5
"""Largest change of a coordinate; a larger one leads to another code."""
_GUARD_DIGITS = 15
"""Number of decimal digits carried beyond the requested ones."""
_CONTACT_GUESSES = 3
"""Number of lists of contacts that are tried."""
_ROUNDING = 2e-15
"""Largest difference of cosines that count as equal: rounding of float64."""
_MIN_CONTACT_GAP = 1e-13
"""Smallest distance of the other cosines from those of the contacts: fifty times their
rounding."""
_MAX_STEPS = 60
"""Largest number of Newton steps; each gains some ten digits."""
_MAX_REUSED_LOG10 = -10.0
"""Decimal logarithm of the largest correction after which the derivative is reused."""
_MAX_DEGREE = 12
"""Largest degree of a minimal polynomial."""
_MIN_EVIDENCE = 12.0
"""Smallest number of digits, beyond those that chance explains, with which a polynomial is
proposed."""
_SINGULAR = 1e-8
"""Largest eigenvalue of a symmetric derivative that counts as zero, relative to the largest."""
_SINGULAR_SQUARE = 1e-11
"""The same limit for squares of singular values: 3e-6 of the largest singular value, as squares
lose half of the digits."""

_Inverse = Callable[[np.ndarray], np.ndarray]
"""Solution of the linearised equations for a right side, in the sense of least squares."""


class Obstacle(Enum):
    """Reason why a code was not polished to many digits."""

    NOT_STATIONARY = "not_stationary"
    NOT_CONVERGED = "not_converged"
    LEFT_NEIGHBOURHOOD = "left_neighbourhood"
    CLOSER_PAIR = "closer_pair"
    TOO_LARGE = "too_large"
    OUT_OF_TIME = "out_of_time"

    @property
    def advice(self) -> str:
        """Sentence that states the problem and a remedy."""
        return _ADVICE[self]


_ADVICE = {
    Obstacle.NOT_STATIONARY: "the contacts do not hold the code in place; solve it further first",
    Obstacle.NOT_CONVERGED: "no code near this one has exactly these contacts",
    Obstacle.LEFT_NEIGHBOURHOOD: "the equations lead away from this code; polish it further first",
    Obstacle.CLOSER_PAIR: "another pair of points comes as near as the contacts",
    Obstacle.TOO_LARGE: f"more than {_MAX_UNKNOWNS} unknowns",
    Obstacle.OUT_OF_TIME: "the time limit came first",
}


class DigitsError(Exception):
    """Failure to compute digits: an obstacle, and a clause with its values."""

    def __init__(self, obstacle: Obstacle, detail: str) -> None:
        super().__init__(detail)
        self.obstacle, self.detail = obstacle, detail


@dataclass(frozen=True, eq=False)
class Digits:
    """A code to many digits."""

    cosine: str
    """Largest cosine, rounded to nearest in its last decimal."""
    decimals: int
    """Number of digits after the point."""
    method: str
    """Equations that determine the code: `contacts` or `first-order conditions`."""
    contacts: np.ndarray
    """Pairs of rows at this cosine, shape (m, 2)."""
    moved: float
    """Largest change of a coordinate."""
    points: np.ndarray = field(repr=False)
    """Rows as FLINT's reals, shape (K, d); rattlers are unchanged."""

    def coordinates(self) -> list[list[str]]:
        """Return decimal texts, one row per point, rounded to nearest; rattlers are unchanged."""
        return [[_text(value, self.decimals) for value in row] for row in self.points]


def touching_pairs(W: np.ndarray) -> list[np.ndarray]:
    """Guess the contacts of a polished code (K, d) by a gap in the list of cosines.

    Pairs are ranked by the distance of their cosine from the largest. From one pair to the next
    this distance grows by some factor; the contacts are likely to end at the largest factor. There
    are up to three guesses, the largest factor first: index pairs i < j, shape (m, 2), sorted.
    """
    i, j = np.triu_indices(len(W), 1)
    cosines = (W @ W.T)[i, j]
    order = np.argsort(-cosines, kind="stable")
    gaps = np.maximum(cosines[order[0]] - cosines[order], _ROUNDING)
    limit = int(np.searchsorted(gaps, _MAX_MOVE))
    growth = np.append(gaps, 4.0)[1 : limit + 1] / gaps[:limit]
    ends = np.argsort(-growth, kind="stable")[:_CONTACT_GUESSES]
    guesses = (np.sort(order[: end + 1]) for end in ends.tolist())
    return [np.stack([i[guess], j[guess]], axis=1) for guess in guesses]


def many_digits(
    W: np.ndarray, decimals: int = 50, *, deadline: Deadline | None = None
) -> Digits | DigitsError:
    """Compute the code near W whose contacts are exact, to some decimals.

    Rows without contacts (rattlers) do not move.

    Args:
        W: rows of a polished code, shape (K, d). If they span fewer dimensions, the result is
            rotated into the first of d coordinates.
        decimals: digits after the point, of the cosine and of coordinates.
        deadline: polled at each step.

    Returns:
        The digits; or the error that says why there are none.

    Raises:
        DataError: W is not a matrix of at least two finite nonzero rows.

    Example:
        >>> digits = many_digits(np.array([[1.0, 0.0], [-0.5, 0.8660254], [-0.5, -0.8660254]]), 20)
        >>> isinstance(digits, Digits) and digits.cosine
        '-0.50000000000000000000'
    """
    from flint import ctx

    W = normalise(as_points(W))
    d, W = W.shape[1], _within_span(W)
    if len(W) > _MAX_UNKNOWNS:
        return DigitsError(Obstacle.TOO_LARGE, f"{len(W)} rows")
    refusals = []
    for pairs in touching_pairs(W):
        with ctx.workprec(math.ceil((decimals + _GUARD_DIGITS) * math.log2(10.0)) + 32):
            try:
                code = with_contacts(W, pairs, decimals, deadline or Deadline())
            except DigitsError as error:
                refusals.append(error)
                continue
        padded = np.concatenate([code.points, exact(np.zeros((len(W), d - W.shape[1])))], axis=1)
        return replace(code, points=padded)
    return refusals[0]


def with_contacts(W: np.ndarray, pairs: np.ndarray, decimals: int, deadline: Deadline) -> Digits:
    """Compute the digits of unit rows W (K, d) with a list of contacts, shape (m, 2).

    Raises:
        DigitsError: there is no such code near W, it is too large, or the deadline came first.
    """
    d, rows = W.shape[1], np.unique(pairs)
    if len(rows) * d + 1 > _MAX_UNKNOWNS:
        raise DigitsError(Obstacle.TOO_LARGE, f"{len(rows)} rows in {d} dimensions")
    X, inner = W[rows], np.searchsorted(rows, pairs)
    equations = ContactEquations(inner)
    inverse, freedom = _contact_inverse(equations, X)
    t = np.einsum("md,md->m", X[inner[:, 0]], X[inner[:, 1]]).mean()
    empty = np.empty(0, dtype=object)
    start = ContactState(exact(X), exact(np.array([t])), empty, empty)
    close = decimals + _GUARD_DIGITS - 5
    if freedom <= _rotations(X):
        method = "contacts"
        state = _newton(
            equations,
            start,
            lambda state: _contact_inverse(equations, floats(state.x))[0],
            inverse,
            close,
            deadline,
        )
    else:
        method = "first-order conditions"
        state = _optimum(OptimumEquations(inner), start, X, close, deadline)
    x = exact(W)
    x[rows] = state.x
    return _check(W, pairs, decimals, method, x, state.t[0])


def _optimum(
    equations: OptimumEquations, start: ContactState, X: np.ndarray, close: int, deadline: Deadline
) -> ContactState:
    """Solve the first-order equations from estimated multipliers; these must not be negative."""
    unknowns = X.size + 1 + len(equations.i) + len(X)
    if unknowns > _MAX_UNKNOWNS:
        raise DigitsError(Obstacle.TOO_LARGE, f"{unknowns} unknowns with the multipliers")
    contact_multipliers, length_multipliers, gradient = equations.multipliers(X)
    if gradient > 1e-5:
        raise DigitsError(Obstacle.NOT_STATIONARY, f"a gradient of {gradient:.1e} remains")

    def inverse(state: ContactState) -> _Inverse:
        multipliers = floats(state.contact_multipliers), floats(state.length_multipliers)
        return _symmetric_inverse(equations.hessian(floats(state.x), *multipliers))[0]

    start = replace(
        start,
        contact_multipliers=exact(contact_multipliers),
        length_multipliers=exact(length_multipliers),
    )
    optimum = _newton(equations, start, inverse, inverse(start), close, deadline)
    smallest = float(floats(optimum.contact_multipliers).min())
    if smallest < -1e-9:
        raise DigitsError(Obstacle.NOT_STATIONARY, f"a contact has multiplier {smallest:.1e}")
    return optimum


def _newton(
    equations: ContactEquations,
    state: ContactState,
    refresh: Callable[[ContactState], _Inverse],
    inverse: _Inverse,
    close: int,
    deadline: Deadline,
) -> ContactState:
    """Take simplified Newton steps until a correction falls below `10**-close`.

    Sizes are decimal logarithms: they may be far below 1e-308.
    """
    last = np.inf
    for _ in range(_MAX_STEPS):
        if deadline.expired:
            raise DigitsError(Obstacle.OUT_OF_TIME, "before the last correction")
        residual, exponent = scaled(equations.residual(state))
        step = -inverse(residual)
        size = _log10(step, exponent)
        if size > last - 0.3:
            break
        if size > math.log10(_MAX_MOVE):
            raise DigitsError(Obstacle.LEFT_NEIGHBOURHOOD, f"a step of 1e{size:.1f}")
        state = state.moved(unscaled(step, exponent))
        if size <= -close:
            return state
        if size > _MAX_REUSED_LOG10:
            inverse = refresh(state)
        last = size
    raise DigitsError(Obstacle.NOT_CONVERGED, f"corrections stay at 1e{last:.1f}")


def _log10(x: np.ndarray, exponent: int) -> float:
    """Return log10 of the largest `|x| * 2**exponent`; minus infinity for zeros."""
    largest = float(np.abs(x).max(initial=0.0))
    return math.log10(largest) + exponent * math.log10(2.0) if largest > 0.0 else -math.inf


def _contact_inverse(equations: ContactEquations, x: np.ndarray) -> tuple[_Inverse, int]:
    """Return the pseudo-inverse of the contact equations' derivative, and the kernel's size."""
    J = equations.jacobian(x)
    wide = J.shape[0] < J.shape[1]
    inverse, rank = _symmetric_inverse((J @ J.T if wide else J.T @ J).toarray(), _SINGULAR_SQUARE)
    solve = (lambda b: J.T @ inverse(b)) if wide else (lambda b: inverse(J.T @ b))
    return solve, J.shape[1] - rank


def _symmetric_inverse(matrix: np.ndarray, cut: float = _SINGULAR) -> tuple[_Inverse, int]:
    """Return the pseudo-inverse of a symmetric matrix, and its rank."""
    values, vectors = eigh(matrix, check_finite=False, overwrite_a=True, driver="evd")
    live = np.abs(values) > cut * np.abs(values).max()
    values, vectors = values[live], vectors[:, live]
    return lambda b: np.asarray(vectors @ ((vectors.T @ b) / values)), len(values)


def _rotations(X: np.ndarray) -> int:
    """Return the dimension of the orbit of X under rotations: d (d-1) / 2 less the stabiliser."""
    d, rank = X.shape[1], int(np.linalg.matrix_rank(X, tol=1e-6))
    idle = d - rank
    return int(d * (d - 1) // 2 - idle * (idle - 1) // 2)


def _within_span(W: np.ndarray) -> np.ndarray:
    """Rotate rows (K, d) into the first coordinates if they span fewer; else return W itself."""
    _, sizes, axes = np.linalg.svd(W, full_matrices=False)
    rank = int((sizes > 1e-6 * sizes[0]).sum())
    return W if rank == W.shape[1] else normalise(W @ axes[:rank].T)


def _check(
    W: np.ndarray, pairs: np.ndarray, decimals: int, method: str, x: np.ndarray, t: Any
) -> Digits:
    """Return the digits, unless a coordinate moved too far or another pair became a contact."""
    points = floats(x)
    moved = float(np.abs(points - W).max())
    if moved > _MAX_MOVE:
        raise DigitsError(Obstacle.LEFT_NEIGHBOURHOOD, f"a coordinate moved by {moved:.1e}")
    gram = points @ points.T
    np.fill_diagonal(gram, -2.0)
    gram[pairs[:, 0], pairs[:, 1]] = gram[pairs[:, 1], pairs[:, 0]] = -2.0
    excess = float(gram.max()) - float(t)
    if excess > -_MIN_CONTACT_GAP:
        i, j = np.unravel_index(int(gram.argmax()), gram.shape)
        raise DigitsError(Obstacle.CLOSER_PAIR, f"rows {i} and {j}, by {excess:.1e}")
    return Digits(_text(t, decimals), decimals, method, pairs, moved, x)


def _text(value: Any, decimals: int) -> str:
    """Format a real of FLINT with `decimals` decimals, rounded to nearest."""
    ratio = value.fmpq()
    return decimal_text(round(Fraction(int(ratio.p), int(ratio.q)) * 10**decimals), decimals)


@dataclass(frozen=True)
class MinimalPolynomial:
    """Proposed minimal polynomial of a number."""

    coefficients: tuple[int, ...]
    """Integers without a common factor, of falling powers; the first is positive."""
    evidence: float
    """Number of decimal digits with which the number fits, beyond those that chance explains."""

    def __str__(self) -> str:
        """Format the polynomial in x.

        >>> str(MinimalPolynomial((3, -9, -3, 1), 40.0)), str(MinimalPolynomial((1, 0), 40.0))
        ('3x^3 - 9x^2 - 3x + 1', 'x')
        """
        from flint import fmpz_poly

        text = str(fmpz_poly(list(self.coefficients[::-1]))).replace("*", "")
        return re.sub(r"\b1x", "x", text.replace("+ (-", "- ").replace(")", ""))


def minimal_polynomial(number: str) -> MinimalPolynomial | None:
    """Find the polynomial of lowest degree that fits a decimal number far better than chance.

    Args:
        number: decimal text, correct to half a unit of its last digit.

    Returns:
        The polynomial; None if there is not enough evidence for any.

    Example:
        >>> str(minimal_polynomial("1.41421356237309504880168872420969807857"))
        'x^2 - 2'
        >>> minimal_polynomial("3.14159265358979323846264338327950288420") is None
        True
    """
    from flint import fmpz_mat

    x, places = Fraction(number), len(number.partition(".")[2])
    for degree in range(1, _MAX_DEGREE + 1):
        # If coefficients of -1, 0 and 1 leave too little evidence, all do.
        if (degree + 1) * math.log10(3.0) > places - _MIN_EVIDENCE:
            break
        powers = [round(x**k * 10**places) for k in range(degree + 1)]
        units = [[int(i == k) for i in range(degree + 1)] for k in range(degree + 1)]
        lattice = fmpz_mat([[*unit, power] for unit, power in zip(units, powers, strict=True)])
        relation = [int(c) for c in lattice.lll().tolist()[0][:-1]]
        proposal = _assess(relation[::-1], x, places)
        if proposal is not None and proposal.evidence >= _MIN_EVIDENCE:
            return proposal
    return None


def _assess(relation: list[int], x: Fraction, places: int) -> MinimalPolynomial | None:
    """Return the polynomial of a relation with its evidence; None if x is not a root."""
    while relation and relation[0] == 0:
        relation = relation[1:]
    if len(relation) < 2:
        return None
    common = math.gcd(*relation) * (1 if relation[0] > 0 else -1)
    coefficients = tuple(c // common for c in relation)
    value = slope = Fraction(0)
    for c in coefficients:  # Horner, with the derivative
        slope = slope * x + value
        value = value * x + c
    # Uncertainty of the value from the last digit of x; no agreement beyond it counts.
    blur = abs(slope) / 10**places
    if abs(value) > blur:
        return None
    nearness = math.log10(blur.denominator) - math.log10(blur.numerator) if blur else float(places)
    chance = len(coefficients) * math.log10(2 * max(map(abs, coefficients)) + 1)
    return MinimalPolynomial(coefficients, nearness - chance)
