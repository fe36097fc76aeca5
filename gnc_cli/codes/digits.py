"""Fifty digits of a code: Newton's method on its contacts, or on the conditions of its optimum.

Contacts and unit lengths decide most codes up to rotation. Where they leave some freedom, the
first-order equations of the optimum decide instead (see `contact_equations`).

The derivative is inverted once in float64, with its rank revealed, and residuals are computed in
FLINT's real balls; each step then gains some ten digits (simplified Newton, or iterative
refinement). Ends with a reason where it does not converge.

Of a number of many digits, an integer polynomial is proposed that it seems to be a root of. Among
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

_LARGEST = 4000
"""Unknowns whose derivative is worth decomposing: two minutes on one core."""
_REACH = 1e-5
"""A coordinate may move this far from where it began."""
_GUARD = 15
"""Decimal digits carried beyond those asked for."""
_GUESSES = 3
"""Lists of contacts that are tried."""
_ROUNDING = 2e-15
"""Cosines nearer than this are equal."""
_APART = 1e-13
"""Other pairs must stay below the contacts by this much."""
_STEPS = 60
"""Newton steps, at most."""
_STALE = -10.0
"""After a correction above 1e-10 the derivative is formed anew."""
_MOST_DEGREE = 12
"""Minimal polynomials are looked for up to this degree."""
_EVIDENCE = 12.0
"""A polynomial is proposed if this many digits remain beyond those that chance explains."""
_SINGULAR = 1e-8
"""Eigenvalues of a symmetric derivative below this, relative to the largest, count as zero."""
_SINGULAR_SQUARE = 1e-11
"""The same for squares of singular values, whose rounding is coarser."""

_Inverse = Callable[[np.ndarray], np.ndarray]
"""Solves the linearised equations for a right side, in the sense of least squares."""


class Obstacle(Enum):
    """Why a code was not polished to many digits."""

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
    Obstacle.NOT_STATIONARY: "the contacts do not hold the code in place; solve it further first",
    Obstacle.NOT_CONVERGED: "no code near this one has exactly these contacts",
    Obstacle.LEFT_NEIGHBOURHOOD: "the equations lead away from this code; polish it further first",
    Obstacle.CLOSER_PAIR: "another pair of points comes as near as the contacts",
    Obstacle.TOO_LARGE: f"more than {_LARGEST} unknowns",
    Obstacle.OUT_OF_TIME: "the time limit came first",
}


class Refused(Exception):
    """No digits, and why: an obstacle, and one clause with the figures."""

    def __init__(self, obstacle: Obstacle, detail: str) -> None:
        super().__init__(detail)
        self.obstacle, self.detail = obstacle, detail


@dataclass(frozen=True, eq=False)
class Digits:
    """A code to many digits."""

    cosine: str
    """The largest cosine, rounded to nearest in its last decimal."""
    decimals: int
    how: str
    """What decided: `contacts` or `first-order conditions`."""
    contacts: np.ndarray
    """Pairs of rows at this cosine, shape (m, 2)."""
    moved: float
    """Largest change of a coordinate."""
    points: np.ndarray = field(repr=False)
    """Rows as FLINT's reals, shape (K, d); rattlers as they were."""

    def coordinates(self) -> list[list[str]]:
        """Decimal texts, one row per point, rounded to nearest; rattlers stay where they were."""
        return [[_text(value, self.decimals) for value in row] for row in self.points]


def touching_pairs(W: np.ndarray) -> list[np.ndarray]:
    """The contacts of a polished code, separated from other pairs by a gap in the list of cosines.

    Pairs are ranked by how far their cosine lies below the largest. From one pair to the next this
    distance grows by some factor; where the factor is largest the contacts are likely to end.
    Up to three guesses, the largest factor first: index pairs i < j, shape (m, 2), sorted.
    """
    i, j = np.triu_indices(len(W), 1)
    cosines = (W @ W.T)[i, j]
    order = np.argsort(-cosines, kind="stable")
    below = np.maximum(cosines[order[0]] - cosines[order], _ROUNDING)
    last = int(np.searchsorted(below, _REACH))
    growth = np.append(below, 4.0)[1 : last + 1] / below[:last]
    ends = np.argsort(-growth, kind="stable")[:_GUESSES]
    guesses = (np.sort(order[: end + 1]) for end in ends.tolist())
    return [np.stack([i[guess], j[guess]], axis=1) for guess in guesses]


def many_digits(
    W: np.ndarray, decimals: int = 50, *, deadline: Deadline | None = None
) -> Digits | Refused:
    """The code near W whose contacts are exact, to some decimals; or why there is none.

    Rows without contacts (rattlers) do not move.

    Args:
        W: rows of a polished code, shape (K, d). Where they span fewer dimensions, the result is
            turned into the first of d coordinates.
        decimals: digits after the point, of the cosine and of coordinates.
        deadline: polled at each step.

    Raises:
        DataError: W is not a matrix of at least two finite nonzero rows.

    Example:
        >>> found = many_digits(np.array([[1.0, 0.0], [-0.5, 0.8660254], [-0.5, -0.8660254]]), 20)
        >>> isinstance(found, Digits) and found.cosine
        '-0.50000000000000000000'
    """
    from flint import ctx

    W = normalise(as_points(W))
    d, W = W.shape[1], _within_span(W)
    if len(W) > _LARGEST:
        return Refused(Obstacle.TOO_LARGE, f"{len(W)} rows")
    refusals = []
    for pairs in touching_pairs(W):
        with ctx.workprec(math.ceil((decimals + _GUARD) * math.log2(10.0)) + 32):
            try:
                code = with_contacts(W, pairs, decimals, deadline or Deadline())
            except Refused as refused:
                refusals.append(refused)
                continue
        wide = np.concatenate([code.points, exact(np.zeros((len(W), d - W.shape[1])))], axis=1)
        return replace(code, points=wide)
    return refusals[0]


def with_contacts(W: np.ndarray, pairs: np.ndarray, decimals: int, deadline: Deadline) -> Digits:
    """As `many_digits`, for one list of contacts, shape (m, 2); raises what that returns."""
    d, rows = W.shape[1], np.unique(pairs)
    if len(rows) * d + 1 > _LARGEST:
        raise Refused(Obstacle.TOO_LARGE, f"{len(rows)} rows in {d} dimensions")
    X, inner = W[rows], np.searchsorted(rows, pairs)
    equations = ContactEquations(inner)
    inverse, freedom = _contact_inverse(equations, X)
    t = np.einsum("md,md->m", X[inner[:, 0]], X[inner[:, 1]]).mean()
    none = np.empty(0, dtype=object)
    start = ContactState(exact(X), exact(np.array([t])), none, none)
    close = decimals + _GUARD - 5
    if freedom <= _rotations(X):
        how = "contacts"
        state = _newton(
            equations,
            start,
            lambda state: _contact_inverse(equations, floats(state.x))[0],
            inverse,
            close,
            deadline,
        )
    else:
        how = "first-order conditions"
        state = _optimum(OptimumEquations(inner), start, X, close, deadline)
    x = exact(W)
    x[rows] = state.x
    return _checked(W, pairs, decimals, how, x, state.t[0])


def _optimum(
    equations: OptimumEquations, start: ContactState, X: np.ndarray, close: int, deadline: Deadline
) -> ContactState:
    """Solve the first-order equations from estimated multipliers; these must not be negative."""
    unknowns = X.size + 1 + len(equations.i) + len(X)
    if unknowns > _LARGEST:
        raise Refused(Obstacle.TOO_LARGE, f"{unknowns} unknowns with the multipliers")
    contact_multipliers, length_multipliers, gradient = equations.multipliers(X)
    if gradient > 1e-5:
        raise Refused(Obstacle.NOT_STATIONARY, f"a force of {gradient:.1e} is left")

    def inverse(state: ContactState) -> _Inverse:
        multipliers = floats(state.contact_multipliers), floats(state.length_multipliers)
        return _symmetric_inverse(equations.hessian(floats(state.x), *multipliers))[0]

    start = replace(
        start,
        contact_multipliers=exact(contact_multipliers),
        length_multipliers=exact(length_multipliers),
    )
    optimum = _newton(equations, start, inverse, inverse(start), close, deadline)
    least = float(floats(optimum.contact_multipliers).min())
    if least < -1e-9:
        raise Refused(Obstacle.NOT_STATIONARY, f"a contact has multiplier {least:.1e}")
    return optimum


def _newton(
    equations: ContactEquations,
    state: ContactState,
    refresh: Callable[[ContactState], _Inverse],
    inverse: _Inverse,
    close: int,
    deadline: Deadline,
) -> ContactState:
    """Simplified Newton steps until a correction falls below `10**-close`.

    Sizes are kept as decimal logarithms: they may be far below 1e-308.
    """
    last = np.inf
    for _ in range(_STEPS):
        if deadline.expired:
            raise Refused(Obstacle.OUT_OF_TIME, "before the last correction")
        residual, exponent = scaled(equations.residual(state))
        step = -inverse(residual)
        size = _log10(step, exponent)
        if size > last - 0.3:
            break
        if size > math.log10(_REACH):
            raise Refused(Obstacle.LEFT_NEIGHBOURHOOD, f"a step of 1e{size:.1f}")
        state = state.moved(unscaled(step, exponent))
        if size <= -close:
            return state
        if size > _STALE:
            inverse = refresh(state)
        last = size
    raise Refused(Obstacle.NOT_CONVERGED, f"corrections stay at 1e{last:.1f}")


def _log10(x: np.ndarray, exponent: int) -> float:
    """log10 of the largest `|x| * 2**exponent`; minus infinity for zeros."""
    largest = float(np.abs(x).max(initial=0.0))
    return math.log10(largest) + exponent * math.log10(2.0) if largest > 0.0 else -math.inf


def _contact_inverse(equations: ContactEquations, x: np.ndarray) -> tuple[_Inverse, int]:
    """The pseudo-inverse of the contact equations' derivative, and the dimension of its kernel."""
    J = equations.jacobian(x)
    wide = J.shape[0] < J.shape[1]
    inverse, rank = _symmetric_inverse((J @ J.T if wide else J.T @ J).toarray(), _SINGULAR_SQUARE)
    solve = (lambda b: J.T @ inverse(b)) if wide else (lambda b: inverse(J.T @ b))
    return solve, J.shape[1] - rank


def _symmetric_inverse(matrix: np.ndarray, cut: float = _SINGULAR) -> tuple[_Inverse, int]:
    """The pseudo-inverse of a symmetric matrix, and its rank."""
    values, vectors = eigh(matrix, check_finite=False, overwrite_a=True, driver="evd")
    live = np.abs(values) > cut * np.abs(values).max()
    values, vectors = values[live], vectors[:, live]
    return lambda b: np.asarray(vectors @ ((vectors.T @ b) / values)), len(values)


def _rotations(X: np.ndarray) -> int:
    """Dimension of the orbit of X under rotations: d (d-1) / 2, less those that fix its span."""
    d, rank = X.shape[1], int(np.linalg.matrix_rank(X, tol=1e-6))
    idle = d - rank
    return d * (d - 1) // 2 - idle * (idle - 1) // 2


def _within_span(W: np.ndarray) -> np.ndarray:
    """The code turned into the first coordinates where its rows span fewer; else W itself."""
    _, sizes, axes = np.linalg.svd(W, full_matrices=False)
    rank = int((sizes > 1e-6 * sizes[0]).sum())
    return W if rank == W.shape[1] else normalise(W @ axes[:rank].T)


def _checked(
    W: np.ndarray, pairs: np.ndarray, decimals: int, how: str, x: np.ndarray, t: Any
) -> Digits:
    """The result, unless the code has changed its nature on the way."""
    points = floats(x)
    moved = float(np.abs(points - W).max())
    if moved > _REACH:
        raise Refused(Obstacle.LEFT_NEIGHBOURHOOD, f"a coordinate moved by {moved:.1e}")
    gram = points @ points.T
    np.fill_diagonal(gram, -2.0)
    gram[pairs[:, 0], pairs[:, 1]] = gram[pairs[:, 1], pairs[:, 0]] = -2.0
    excess = float(gram.max()) - float(t)
    if excess > -_APART:
        i, j = np.unravel_index(int(gram.argmax()), gram.shape)
        raise Refused(Obstacle.CLOSER_PAIR, f"rows {i} and {j}, by {excess:.1e}")
    return Digits(_text(t, decimals), decimals, how, pairs, moved, x)


def _text(value: Any, decimals: int) -> str:
    """A real of FLINT with `decimals` decimals, rounded to nearest."""
    ratio = value.fmpq()
    return decimal_text(round(Fraction(int(ratio.p), int(ratio.q)) * 10**decimals), decimals)


@dataclass(frozen=True)
class MinimalPolynomial:
    """A proposal."""

    coefficients: tuple[int, ...]
    """Integers without a common factor, the highest power first and positive."""
    evidence: float
    """Decimal digits with which the number fits, beyond those that chance explains."""

    def __str__(self) -> str:
        """As it is written.

        >>> str(MinimalPolynomial((3, -9, -3, 1), 40.0)), str(MinimalPolynomial((1, 0), 40.0))
        ('3x^3 - 9x^2 - 3x + 1', 'x')
        """
        from flint import fmpz_poly

        text = str(fmpz_poly(list(self.coefficients[::-1]))).replace("*", "")
        return re.sub(r"\b1x", "x", text.replace("+ (-", "- ").replace(")", ""))


def minimal_polynomial(
    number: str,
) -> MinimalPolynomial | None:
    """The polynomial of lowest degree that fits a decimal number far better than chance, or None.

    Args:
        number: decimal text, right to half a unit of its last digit.

    Example:
        >>> str(minimal_polynomial("1.41421356237309504880168872420969807857"))
        'x^2 - 2'
        >>> minimal_polynomial("3.14159265358979323846264338327950288420") is None
        True
    """
    from flint import fmpz_mat

    x, places = Fraction(number), len(number.partition(".")[2])
    for degree in range(1, _MOST_DEGREE + 1):
        # Where not even coefficients of -1, 0 and 1 leave enough evidence, none do.
        if (degree + 1) * math.log10(3.0) > places - _EVIDENCE:
            break
        powers = [round(x**k * 10**places) for k in range(degree + 1)]
        units = [[int(i == k) for i in range(degree + 1)] for k in range(degree + 1)]
        lattice = fmpz_mat([[*unit, power] for unit, power in zip(units, powers, strict=True)])
        relation = [int(c) for c in lattice.lll().tolist()[0][:-1]]
        proposal = _judged(relation[::-1], x, places)
        if proposal is not None and proposal.evidence >= _EVIDENCE:
            return proposal
    return None


def _judged(relation: list[int], x: Fraction, places: int) -> MinimalPolynomial | None:
    """The relation with its evidence: how near zero it is beside what chance would give."""
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
    # What the last digit of x leaves open; no agreement beyond it counts.
    blur = abs(slope) / 10**places
    if abs(value) > blur:
        return None
    nearness = math.log10(blur.denominator) - math.log10(blur.numerator) if blur else float(places)
    chance = len(coefficients) * math.log10(2 * max(map(abs, coefficients)) + 1)
    return MinimalPolynomial(coefficients, nearness - chance)
