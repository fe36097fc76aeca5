"""The equations that hold a code in place, with float64 derivatives and residuals of many digits.

Two systems, for rows x_i of which pairs p = (i, j) touch at the common cosine t:

    contacts:   <x_i, x_j> = t,   |x_i|^2 = 1
    optimum:    the same, and  sum_j lambda_ij x_j = nu_i x_i,   sum lambda = 1

The first has unknowns (x, t), the second (x, t, lambda, nu): the first-order equations of the
Tammes problem, for codes whose contacts alone leave room to move (a curved optimum).
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gnc_cli.codes.fixed_point import FixedPoint

__all__ = ["ContactEquations", "ContactState", "OptimumEquations"]


@dataclass
class ContactState:
    """Unknowns in fixed point; the multipliers stay empty where contacts alone decide."""

    x: np.ndarray
    """Rows, shape (P, d)."""
    t: np.ndarray
    """Common cosine, shape (1,)."""
    multipliers: np.ndarray
    """Of the contacts, shape (m,) or (0,)."""
    pulls: np.ndarray
    """nu: of the unit lengths, shape (P,) or (0,)."""

    def moved(self, step: np.ndarray) -> "ContactState":
        """All unknowns plus a flat step."""
        parts = self.x.ravel(), self.t, self.multipliers, self.pulls
        ends = np.cumsum([len(part) for part in parts])[:-1]
        x, t, multipliers, pulls = (
            part + change for part, change in zip(parts, np.split(step, ends), strict=True)
        )
        return ContactState(x.reshape(self.x.shape), t, multipliers, pulls)


class ContactEquations:
    """`<x_i, x_j> - t` of every contact, then `(|x_i|^2 - 1) / 2` of every row."""

    def __init__(self, pairs: np.ndarray) -> None:
        self.i, self.j = pairs.T

    def residual(self, state: ContactState, number: FixedPoint) -> np.ndarray:
        """Left minus right sides in fixed point, shape (m + P,)."""
        x = state.x
        contacts = number.dots(x[self.i], x[self.j]) - state.t[0]
        lengths = (number.dots(x, x) - (1 << number.bits)) >> 1
        return np.concatenate([contacts, lengths])

    def jacobian(self, x: np.ndarray) -> sparse.csr_matrix:
        """Derivatives with respect to (x, t) at float rows x, shape (m + P, P d + 1)."""
        (P, d), m = x.shape, len(self.i)
        inner = np.arange(d)
        pair, row = np.arange(m), m + np.arange(P)
        blocks = (
            (pair, self.i, x[self.j]),
            (pair, self.j, x[self.i]),
            (row, np.arange(P), x),
        )
        data = [values.ravel() for _, _, values in blocks]
        rows = [np.repeat(at, d) for at, _, _ in blocks]
        columns = [(block[:, None] * d + inner).ravel() for _, block, _ in blocks]
        data.append(np.full(m, -1.0))
        rows.append(pair)
        columns.append(np.full(m, P * d))
        entries = np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_matrix(entries, shape=(m + P, P * d + 1))


class OptimumEquations(ContactEquations):
    """Stationarity in every row, then `1 - sum lambda`, then the contact equations.

    In this order, with lengths negated, the derivative is symmetric.
    """

    def residual(self, state: ContactState, number: FixedPoint) -> np.ndarray:
        """Shape (P d + 1 + m + P,)."""
        x, lam = state.x, state.multipliers[:, None]
        force = -number.product(state.pulls[:, None], x)
        np.add.at(force, self.i, number.product(lam, x[self.j]))
        np.add.at(force, self.j, number.product(lam, x[self.i]))
        excess = (1 << number.bits) - state.multipliers.sum()
        held = super().residual(state, number)
        held[len(self.i) :] *= -1
        return np.concatenate([force.ravel(), np.array([excess], dtype=object), held])

    def hessian(self, x: np.ndarray, multipliers: np.ndarray, pulls: np.ndarray) -> np.ndarray:
        """Derivative of the residual with respect to (x, t, lambda, nu), dense and symmetric."""
        (P, d), m = x.shape, len(self.i)
        weights = np.zeros((P, P))
        weights[self.i, self.j] = weights[self.j, self.i] = multipliers
        weights[np.diag_indices(P)] = -pulls
        size = P * d + 1
        matrix = np.zeros((size + m + P, size + m + P))
        matrix[: P * d, : P * d] = np.kron(weights, np.eye(d))
        sides = self.jacobian(x).toarray()
        sides[m:] *= -1.0
        matrix[size:, :size] = sides
        matrix[:size, size:] = sides.T
        return matrix

    def estimate(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Multipliers and pulls at float rows x, and the force they leave (largest component).

        Least squares, with signs enforced where plain least squares breaks them.
        """
        (P, d), m = x.shape, len(self.i)
        sides = self.jacobian(x).toarray()
        sides[m:] *= -1.0
        target = np.zeros(P * d + 1)
        target[-1] = -1.0
        found = np.linalg.lstsq(sides.T, target, rcond=1e-10)[0]
        if found[:m].min() < -1e-9:
            from scipy.optimize import nnls

            both = np.concatenate([sides[:m], sides[m:], -sides[m:]]).T
            split = nnls(both, target, maxiter=20 * both.shape[1])[0]
            found = np.concatenate([split[:m], split[m : m + P] - split[m + P :]])
        force = float(np.abs(sides.T @ found - target).max())
        return found[:m], found[m:], force
