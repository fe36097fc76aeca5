"""Pairs of a minimax problem on spheres: inner products of unit rows, with two derivatives.

A pair has a first row a, a second row b and, in HardMax, a third row e:
`c = <z_a, z_b>` or `c = <z_a, z_b - z_e>`. Derivatives are in tangent coordinates: row z moves to
`normalise(z + B x)` with B an orthonormal basis (d, d-1) of the tangent space at z, so that the
second derivative carries the sphere's curvature, `-<z, grad c> I` for each row.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gnc_cli.geometry.linear_program import solve_linear_program
from gnc_cli.runtime.deadline import Deadline

_BLOCK_ENTRIES = 1 << 20
"""Coordinates, or entries of a normal matrix, that are gathered at a time (8 MB in float64): all
pairs of K rows would take K^2 d of the first and K^2 d^2 of the second."""


@dataclass(frozen=True)
class ActivePairs:
    """A list of m pairs by the indices of their rows."""

    a: np.ndarray
    """First rows, integers, shape (m,)."""
    b: np.ndarray
    """Second rows, integers, shape (m,)."""
    e: np.ndarray | None = None
    """Third rows, integers, shape (m,); None without third rows."""

    def __len__(self) -> int:
        return len(self.a)

    def values(self, points: np.ndarray) -> np.ndarray:
        """Return the value c of each pair, shape (m,), at rows (P, d).

        Differences are taken first, which keeps all digits.
        """
        values = np.empty(len(self))
        block = max(1, _BLOCK_ENTRIES // points.shape[1])
        for start in range(0, len(self), block):
            part = self.take(slice(start, start + block))
            values[start : start + block] = np.einsum(
                "md,md->m", points[part.a], part.slope(points)
            )
        return values

    def slope(self, points: np.ndarray) -> np.ndarray:
        """Return the gradients with respect to rows a, `z_b` or `z_b - z_e`, shape (m, d)."""
        return np.asarray(points[self.b] if self.e is None else points[self.b] - points[self.e])

    def largest(self, points: np.ndarray) -> float:
        """Return the largest value at rows (P, d)."""
        return float(self.values(points).max())

    def missing_in(self, other: "ActivePairs") -> "ActivePairs":
        """Return the pairs of this list that `other` lacks."""
        return self.take(~np.isin(self._keys(), other._keys()))

    def joined(self, other: "ActivePairs") -> "ActivePairs":
        """Concatenate two lists."""
        e = None
        if self.e is not None and other.e is not None:
            e = np.concatenate([self.e, other.e])
        return ActivePairs(np.concatenate([self.a, other.a]), np.concatenate([self.b, other.b]), e)

    def take(self, selection: np.ndarray | slice) -> "ActivePairs":
        """Return a part of the list, by mask (m,), indices or slice."""
        return ActivePairs(
            self.a[selection], self.b[selection], None if self.e is None else self.e[selection]
        )

    def _keys(self) -> np.ndarray:
        return np.asarray(self.a.astype(np.int64) * 2**31 + self.b)


def retracted(points: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Scale the free rows (a mask, (P,)) of points (P, d) to unit length; the others stay exact."""
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    return np.where(free[:, None], points / norms, points)


def tangent_bases(points: np.ndarray) -> np.ndarray:
    """Return orthonormal bases of the tangent spaces at unit rows (P, d), shape (P, d, d-1).

    They are columns of Householder reflections.
    """
    count, d = points.shape
    v = points.copy()
    v[:, 0] += np.where(points[:, 0] >= 0.0, 1.0, -1.0)
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    reflections = np.broadcast_to(np.eye(d), (count, d, d)) - 2.0 * v[:, :, None] * v[:, None, :]
    return np.ascontiguousarray(reflections[:, :, 1:])


@dataclass(frozen=True)
class Linearisation:
    """First and second derivatives of m values in the tangent coordinates of the free rows.

    Row r of the configuration has the q = d - 1 coordinates from `place[r] * q` on; fixed rows have
    none. Nothing of size m x n is formed.
    """

    rows: tuple[np.ndarray, ...]
    """Row of each pair, shape (m,), one array per slot (a, b and, in HardMax, e)."""
    gradients: tuple[np.ndarray, ...]
    """Derivative of each value in its row's coordinates, (m, q), per slot; 0 at fixed rows."""
    bends: tuple[np.ndarray, ...]
    """Second derivative of each value along its own row, a multiple of I, (m,), per slot."""
    bases: np.ndarray
    """Tangent bases, shape (P, d, q)."""
    place: np.ndarray
    """Position of each row among the free ones, -1 for the others, shape (P,)."""
    size: int
    """Number n of coordinates."""

    def moves(self, x: np.ndarray) -> np.ndarray:
        """Convert coordinates x (n,) to tangent vectors of all rows, (P, d); 0 at fixed rows."""
        steps = np.zeros(self.bases.shape[:2])
        free = self.place >= 0
        steps[free] = np.einsum("kdq,kq->kd", self.bases[free], x.reshape(-1, self.bases.shape[2]))
        return steps

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Multiply coordinates x (n,) by the Jacobian: the change of each value, shape (m,)."""
        q = self.bases.shape[2]
        padded = np.concatenate([x.reshape(-1, q), np.zeros((1, q))])
        return np.asarray(
            sum(
                np.einsum("mq,mq->m", g, padded[self.place[r]])
                for r, g in zip(self.rows, self.gradients, strict=True)
            )
        )

    def adjoint(self, weights: np.ndarray) -> np.ndarray:
        """Multiply weights (m,) by the transposed Jacobian, shape (n,)."""
        q = self.bases.shape[2]
        total = np.zeros((int(self.place.max(initial=-1)) + 2, q))
        for r, g in zip(self.rows, self.gradients, strict=True):
            for c in range(q):
                total[:, c] += np.bincount(
                    self.place[r] + 1, weights * g[:, c], minlength=len(total)
                )
        return total[1:].ravel()

    def curvature(self, multipliers: np.ndarray) -> np.ndarray:
        """Return `d^2 (sum multipliers c)` along each row, shape (P,), for multipliers (m,)."""
        return np.asarray(
            sum(
                np.bincount(r, multipliers * b, minlength=len(self.place))
                for r, b in zip(self.rows, self.bends, strict=True)
            )
        )

    def normal(self, multipliers: np.ndarray, ratios: np.ndarray) -> np.ndarray:
        """Return `H + J^T diag(ratios) J`, H the Hessian of `sum multipliers c`, dense (n, n).

        Multipliers and ratios have shape (m,).
        """
        q, n = self.bases.shape[2], self.size
        inner = np.arange(q)
        half = np.zeros((n, n))
        flat = half.reshape(-1)
        step = max(1, _BLOCK_ENTRIES // (q * q))
        for s in range(len(self.rows)):
            for t in range(s, len(self.rows)):
                free_pairs = np.flatnonzero(
                    (self.place[self.rows[s]] >= 0) & (self.place[self.rows[t]] >= 0)
                )
                for part in np.split(free_pairs, range(step, len(free_pairs), step)):
                    i, j = self.rows[s][part], self.rows[t][part]
                    gs, gt = self.gradients[s][part], self.gradients[t][part]
                    block = (ratios[part, None] * gs)[:, :, None] * gt[:, None, :]
                    if s == 0 and t > 0:  # c is bilinear in row a and rows b, e
                        sign = 1.0 if t == 1 else -1.0
                        lam = (sign * multipliers[part])[:, None, None]
                        block += lam * (self.bases[i].transpose(0, 2, 1) @ self.bases[j])
                    corner = self.place[i] * q * n + self.place[j] * q
                    index = corner[:, None, None] + inner[:, None] * n + inner
                    np.add.at(flat, index.ravel(), (block if s < t else 0.5 * block).ravel())
        matrix = half + half.T
        bend = self.curvature(multipliers)[self.place >= 0]
        matrix[np.diag_indices(n)] += np.repeat(bend, q)
        return matrix

    def jacobian(self) -> sparse.csr_matrix:
        """Return the Jacobian, sparse (m, n), for a linear program."""
        q, m = self.bases.shape[2], len(self.rows[0])
        data, row, column = [], [], []
        for r, g in zip(self.rows, self.gradients, strict=True):
            movable = self.place[r] >= 0
            data.append(g[movable].ravel())
            row.append(np.repeat(np.flatnonzero(movable), q))
            column.append((self.place[r[movable], None] * q + np.arange(q)).ravel())
        entries = (np.concatenate(data), (np.concatenate(row), np.concatenate(column)))
        return sparse.csr_matrix(entries, shape=(m, self.size))

    def best_move(
        self, values: np.ndarray, reach: float, deadline: Deadline, *, unit: float = 1.0
    ) -> np.ndarray | None:
        """Return the coordinates u (n,), at most `reach` each, that minimise `max(values + J u)`.

        A linear program finds them. Its values (m,) are in units of `unit`, to which the solver's
        tolerance of 1e-7 is relative. None if it was not solved before the deadline.
        """
        m, n = len(values), self.size
        # Unknowns (u, s): minimise s with values - max + J u <= s.
        matrix = sparse.hstack([self.jacobian(), -np.ones((m, 1))], format="csr")
        cost = np.zeros(n + 1)
        cost[-1] = 1.0
        box = [(-reach / unit, reach / unit)] * n + [(None, None)]
        slack = (values.max() - values) / unit
        solution = solve_linear_program(cost, matrix, slack, box, deadline, method="highs-ipm")
        solved = solution is not None and solution.status == 0
        return unit * solution.x[:-1] if solved else None


def linearise(pairs: ActivePairs, points: np.ndarray, free: np.ndarray) -> Linearisation:
    """Differentiate the values of pairs at unit rows.

    Args:
        pairs: m pairs.
        points: unit rows, shape (P, d).
        free: mask of the rows that may move, shape (P,), bool.
    """
    bases = tangent_bases(points)
    place = np.full(len(points), -1)
    place[free] = np.arange(int(free.sum()))
    first = points[pairs.a]
    slots = [(pairs.a, pairs.slope(points)), (pairs.b, first)]
    if pairs.e is not None:
        slots.append((pairs.e, -first))
    gradients, bends = [], []
    for rows, outer in slots:
        moves = (place[rows] >= 0)[:, None]
        gradients.append((outer[:, None, :] @ bases[rows])[:, 0] * moves)
        bends.append(-np.einsum("md,md->m", points[rows], outer))
    return Linearisation(
        rows=tuple(rows for rows, _ in slots),
        gradients=tuple(gradients),
        bends=tuple(bends),
        bases=bases,
        place=place,
        size=int(free.sum()) * (points.shape[1] - 1),
    )
