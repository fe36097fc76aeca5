"""Contact equations of a code: in many digits, and exactly, in a number field.

There are two systems for rows x_i whose pairs p = (i, j) touch at the common cosine t:

    contacts:   <x_i, x_j> = t,   |x_i|^2 = 1
    optimum:    the same, and  sum_j lambda_ij x_j = nu_i x_i,   sum lambda = 1

The first has unknowns (x, t), the second (x, t, lambda, nu): the first-order equations of the
Tammes problem, for codes that the contacts alone do not fix (a curved optimum).

Unknowns are arrays of FLINT's real balls of radius 0. Residuals are balls that contain the exact
value, at FLINT's current precision; derivatives are float64.

**In a number field.** Let t be a root of an irreducible integer polynomial p. Take the points with
contacts; rattlers do not move. Take rows x_b of them that are a basis of their span, their
Gram matrix g, and the coordinates c of these points, x_i = sum_b c_ib x_b. Suppose that all entries
of g and c are elements of Q(t), that g is symmetric and positive definite, and that the products
c_i g c_j are exactly t for each contact, and 1 for i = j. Then there are points with these
products: a code whose contacts all have the cosine t, exactly.

Elements are polynomials with rational coefficients modulo p, and so are the products that are
compared. Lattice reduction finds the elements from the digits of the polished code; the proof does
not depend on that. Their values are the polished entries to sixty decimals, as balls prove. So
the exact code lies so near the polished one that its other pairs stay below t, those of rattlers
included.

Nothing is proved for a code that its contacts leave free to move, or whose entries need a larger
field or more digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr

from gnc_cli.runtime.deadline import Deadline

DECIMALS = 300
"""Number of decimals of the polished code that a proof requires."""
_ELEMENT_DECIMALS = 60
"""Number of decimals to which an element agrees with an entry."""
_RANK_TOLERANCE = 1e-6
"""Largest singular value that counts as zero in the rank of unit rows."""
_MIN_EIGENVALUE = 1e-6
"""Smallest eigenvalue of g, in float64, that proves it positive definite."""
_MAX_COORDINATE = 1e3
"""Largest coordinate: up to it all products are the polished ones to fifty decimals."""


@dataclass
class ContactState:
    """Unknowns; the multipliers are empty if contacts alone decide."""

    x: np.ndarray
    """Rows, shape (P, d)."""
    t: np.ndarray
    """Common cosine, shape (1,)."""
    contact_multipliers: np.ndarray
    """Multipliers lambda of the contacts, shape (m,) or (0,)."""
    length_multipliers: np.ndarray
    """Multipliers nu of the unit lengths, shape (P,) or (0,)."""

    def moved(self, step: np.ndarray) -> "ContactState":
        """Add a flat step (n,) to all n unknowns, rounded to FLINT's precision."""
        parts = self.x.ravel(), self.t, self.contact_multipliers, self.length_multipliers
        ends = np.cumsum([len(part) for part in parts])[:-1]
        middles = np.frompyfunc(lambda v: v.mid(), 1, 1)
        x, t, contacts, lengths = (
            np.asarray(middles(part + change))
            for part, change in zip(parts, np.split(step, ends), strict=True)
        )
        return ContactState(x.reshape(self.x.shape), t, contacts, lengths)


class ContactEquations:
    """Equations `<x_i, x_j> = t` of each contact, then `(|x_i|^2 - 1) / 2 = 0` of each row."""

    def __init__(self, pairs: np.ndarray) -> None:
        self.i, self.j = pairs.T

    def residual(self, state: ContactState) -> np.ndarray:
        """Return left minus right sides, shape (m + P,)."""
        x = state.x
        contacts = (x[self.i] * x[self.j]).sum(axis=1) - state.t[0]
        return np.concatenate([contacts, ((x * x).sum(axis=1) - 1) / 2])

    def jacobian(self, x: np.ndarray) -> sparse.csr_matrix:
        """Differentiate by (x, t) at float rows x (P, d): sparse, shape (m + P, P d + 1)."""
        (P, d), m = x.shape, len(self.i)
        inner = np.arange(d)
        pair, row = np.arange(m), m + np.arange(P)
        blocks = (
            (pair, self.i, x[self.j]),
            (pair, self.j, x[self.i]),
            (row, np.arange(P), x),
        )
        data = [values.ravel() for _, _, values in blocks]
        rows = [np.repeat(index, d) for index, _, _ in blocks]
        columns = [(block[:, None] * d + inner).ravel() for _, block, _ in blocks]
        data.append(np.full(m, -1.0))
        rows.append(pair)
        columns.append(np.full(m, P * d))
        entries = np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_matrix(entries, shape=(m + P, P * d + 1))


class OptimumEquations(ContactEquations):
    """Equations of stationarity in each row, then `1 = sum lambda`, then the contact equations.

    In this order, with lengths negated, the derivative is symmetric.
    """

    def residual(self, state: ContactState) -> np.ndarray:
        """Return left minus right sides, shape (P d + 1 + m + P,)."""
        x, weights = state.x, state.contact_multipliers[:, None]
        gradient = -state.length_multipliers[:, None] * x
        np.add.at(gradient, self.i, weights * x[self.j])
        np.add.at(gradient, self.j, weights * x[self.i])
        excess = 1 - state.contact_multipliers.sum(keepdims=True)
        constraints = super().residual(state)
        constraints[len(self.i) :] *= -1
        return np.concatenate([gradient.ravel(), excess, constraints])

    def hessian(
        self, x: np.ndarray, contact_multipliers: np.ndarray, length_multipliers: np.ndarray
    ) -> np.ndarray:
        """Differentiate the residual by (x, t, lambda, nu) at float rows x (P, d).

        The matrix is dense and symmetric, of order P d + 1 + m + P.
        """
        (P, d), m = x.shape, len(self.i)
        weights = np.zeros((P, P))
        weights[self.i, self.j] = weights[self.j, self.i] = contact_multipliers
        weights[np.diag_indices(P)] = -length_multipliers
        size = P * d + 1
        matrix = np.zeros((size + m + P, size + m + P))
        matrix[: P * d, : P * d] = np.kron(weights, np.eye(d))
        sides = self._sides(x)
        matrix[size:, :size] = sides
        matrix[:size, size:] = sides.T
        return matrix

    def multipliers(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Estimate lambda (m,) and nu (P,) at float rows x (P, d) by least squares.

        Lambda is kept nonnegative, by a slower method, if plain least squares makes one negative.

        Returns:
            lambda, nu, and the largest component of the gradient that they leave.
        """
        (P, d), m = x.shape, len(self.i)
        sides = self._sides(x)
        target = np.zeros(P * d + 1)
        target[-1] = -1.0
        solution = np.linalg.lstsq(sides.T, target, rcond=1e-10)[0]
        if solution[:m].min() < -1e-9:
            from scipy.optimize import nnls

            split_sides = np.concatenate([sides[:m], sides[m:], -sides[m:]]).T
            split = nnls(split_sides, target, maxiter=20 * split_sides.shape[1])[0]
            solution = np.concatenate([split[:m], split[m : m + P] - split[m + P :]])
        return solution[:m], solution[m:], float(np.abs(sides.T @ solution - target).max())

    def _sides(self, x: np.ndarray) -> np.ndarray:
        """Return the Jacobian, dense, with lengths negated."""
        sides = np.asarray(self.jacobian(x).toarray())
        sides[len(self.i) :] *= -1.0
        return sides


def exact(x: np.ndarray) -> np.ndarray:
    """Convert floats to FLINT's reals, exactly; an array of objects of the same shape."""
    from flint import arb

    return np.asarray(np.frompyfunc(arb, 1, 1)(x))


def floats(x: np.ndarray) -> np.ndarray:
    """Round FLINT's reals to the nearest float64 numbers, same shape."""
    return np.asarray(np.frompyfunc(lambda v: float(v.mid()), 1, 1)(x), dtype=np.float64)


def scaled(x: np.ndarray) -> tuple[np.ndarray, int]:
    """Split FLINT's reals into floats in [-1, 1], flat, and a common exponent of 2.

    The numbers may be far below 1e-308.
    """
    from flint import arb

    parts = [v.mid().man_exp() for v in x.flat]
    exponent = max((int(e) + int(m).bit_length() for m, e in parts if m), default=0)
    return np.array([float(v.mid() * arb(2) ** -exponent) for v in x.flat]), exponent


def unscaled(x: np.ndarray, exponent: int) -> np.ndarray:
    """Compute `x * 2**exponent` exactly for floats x, same shape."""
    from flint import arb

    return np.asarray(exact(x) * arb(2) ** exponent)


class _NotInFieldError(Exception):
    """No element of the field was found for a number."""


class _NumberField:
    """Field Q(t) for the root t of p (an irreducible `fmpz_poly`) near a ball of FLINT."""

    def __init__(self, p: Any, ball: Any, deadline: Deadline) -> None:
        from flint import arb

        self._tolerance = arb(10) ** -_ELEMENT_DECIMALS
        self._deadline = deadline
        roots = [z.real for z, _ in p.complex_roots() if z.imag == 0]
        roots = [root for root in roots if abs(root - ball) < self._tolerance]
        if len(roots) != 1:
            raise _NotInFieldError
        self._powers = [roots[0] ** k for k in range(p.degree())]
        self._elements: dict[int, Any] = {}

    def element(self, value: Any) -> Any:
        """Find an element, as an `fmpq_poly` in t, whose value agrees with a ball."""
        from flint import fmpq_poly, fmpz_mat

        if self._deadline.expired:
            raise _NotInFieldError
        scaled = [_integer(v * 10**DECIMALS) for v in (*self._powers, value)]
        key = scaled[-1] // 10 ** (DECIMALS - _ELEMENT_DECIMALS)
        if key not in self._elements:
            n = len(scaled)
            lattice = [[*(int(i == k) for i in range(n)), scaled[k]] for k in range(n)]
            *numerators, denominator, _ = map(int, fmpz_mat(lattice).lll().tolist()[0])
            total = sum(c * power for c, power in zip(numerators, self._powers, strict=True))
            if denominator == 0 or not abs(total / denominator + value) < self._tolerance:
                raise _NotInFieldError
            self._elements[key] = fmpq_poly([-c for c in numerators], denominator)
        return self._elements[key]


def is_root(
    points: np.ndarray, contacts: np.ndarray, coefficients: Sequence[int], deadline: Deadline
) -> bool:
    """Return True if a code of the same contacts and this minimal polynomial is proved to exist.

    It is near the given code, and the polynomial is that of its largest cosine.

    Args:
        points: the code, balls of FLINT polished to `DECIMALS` decimals, shape (K, d).
        contacts: its pairs at the largest cosine, shape (m, 2).
        coefficients: those of the polynomial proposed for this cosine, the highest power first.
        deadline: polled at each entry; nothing is proved if it comes first.
    """
    from flint import arb_mat, ctx, fmpq_poly, fmpz_poly

    p = fmpz_poly(list(coefficients[::-1]))
    if [multiplicity for _, multiplicity in p.factor()[1]] != [1]:
        return False
    rows, places = np.unique(contacts, return_inverse=True)
    pairs = places.reshape(-1, 2).tolist()
    with ctx.workdps(DECIMALS + 20):
        x = points[rows]
        rank = int(np.linalg.matrix_rank(floats(x), tol=_RANK_TOLERANCE))
        basis = x[qr(floats(x).T, mode="r", pivoting=True)[1][:rank]]
        gram = basis @ basis.T
        solution = arb_mat(gram.tolist()).solve(arb_mat((basis @ x.T).tolist()))
        coordinates = np.array(solution.tolist(), dtype=object)
        smallest = np.linalg.eigvalsh(floats(gram))[0]
        if smallest < _MIN_EIGENVALUE or np.abs(floats(coordinates)).max() > _MAX_COORDINATE:
            return False
        try:
            field = _NumberField(p, x[pairs[0][0]] @ x[pairs[0][1]], deadline)
            find = np.frompyfunc(field.element, 1, 1)
            with np.errstate(
                all="ignore"
            ):  # the reduction works with floats, and raises NumPy's flags
                g, c = find(gram), find(coordinates)
        except _NotInFieldError:
            return False
    dual = np.frompyfunc(lambda element: element % p, 1, 1)(g @ c)
    one, t = fmpq_poly([1]), fmpq_poly([0, 1])
    for i, j in (*pairs, *([k, k] for k in range(len(rows)))):
        if (c[:, i] @ dual[:, j] - (one if i == j else t)) % p != 0:
            return False
    return not (g != g.T).any()


def _integer(ball: Any) -> int:
    """Round the midpoint of a ball down."""
    return int(ball.mid().floor().unique_fmpz())
