"""Certificates of local optimality: an exact local optimum lies near a numerical code.

The theorem and its proof are in docs/theory/local-optimality.md. With p the points of the core, w
the weights of its contacts, sigma^2 a lower bound of a matrix N, and eta = eps + delta r + B r^2,
its conditions are

    sigma^2 r^2 - gamma / 4 (|nu| + r^2)^2 > eta^2,   |nu| <= r,

and cosines of at most T - eta - 2 r for all pairs with a point outside the core. They are checked
in whole numbers: coordinates have finitely many decimals, and weights are integers.

That N is at least sigma^2 is shown by a factor: floating point proposes a triangular matrix L of
integers, and the squares of the entries of N - 2 sigma^2 - L L^T add up to at most sigma^4. In
blocks of order d, for different points k and l and for k = l, N has

    gamma <p_k, p_l> I + (w_kl^2 - gamma) p_l p_k^T,   gamma |p_k|^2 I + sum_l w_kl^2 p_l p_l^T.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Annotated, Literal, Self

import numpy as np
from flint import fmpz_mat
from pydantic import FailFast, Field
from scipy.linalg import cho_factor, cho_solve, eigh

from gnc_cli.geometry.active_pairs import ActivePairs, linearise
from gnc_cli.geometry.rounding import UNDERFLOW
from gnc_cli.limits.claim import Claim, Rational, RefutedError, UnresolvedError, poll
from gnc_cli.limits.three_point_certificate import Integers
from gnc_cli.runtime.deadline import Deadline

MOST_COORDINATES = 3000
"""Largest number of coordinates, K d: a check then takes about half a minute."""
_MOST_LETTERS = 60
"""Largest length of the cosine, the radius and sigma, characters."""
_DIGITS = 18
"""Decimals of coordinates."""
_LARGEST_WEIGHT = 10**15
"""Largest weight of a certificate: a relative error of 1e-15 leaves the stress balanced."""
_WIDEST_CONTACT = 1e-6
"""Largest distance of the cosine of a contact from the largest one. Below it contacts end at the
widest gap on a logarithmic scale."""
_ROUNDING = 1e-15
"""Rounding error of a cosine; also the least rigidity, relative to gamma, that doubles can show."""
_MIN_STRESS_SHARE = 1e-8
"""Least weight of a contact that carries a stress, as a share of the largest."""
_NEWTON_STEPS = 60
"""Newton steps for the weights of one set of contacts, at most."""
_WEIGHT_TOLERANCE = 1e-9
"""Largest relative change of a weight in the last Newton step."""
_RIGIDITY_SHARE = 0.4
"""Value of sigma^2 as a share of the least eigenvalue of N: 2 sigma^2 must be below it."""
_BLOCKS = 8
"""Parts of the product of a factor; the deadline is polled between them."""
_ROOT_UNIT = 10**40
"""Denominator to which roots and bounds are rounded."""

Contact = tuple[
    Annotated[int, Field(ge=0)],
    Annotated[int, Field(ge=0)],
    Annotated[int, Field(gt=0, lt=2**63)],
]


@dataclass(frozen=True, kw_only=True)
class LocalOptimum(Claim):
    """Points near a local optimum, with a stress of their contacts."""

    kind: Literal["local-optimum"]
    """Method of the proof."""
    cosine: Rational
    """Bound T of the largest cosine of the local optimum, between -1 and 1."""
    radius: Rational
    """Bound r of the distance of the local optimum from the points, up to rotation and reflection,
    Euclidean in all coordinates."""
    sigma: Rational
    """Root of a lower bound of the rigidity: N - sigma^2 is positive semidefinite."""
    digits: Annotated[int, Field(ge=0, le=_DIGITS)]
    """Decimals: coordinates are the integers divided by 10^digits."""
    points: tuple[Integers, ...]
    """Integer coordinates, K rows of d, nearly of length 10^digits."""
    contacts: Annotated[tuple[Contact, ...], FailFast()]
    """Pairs i < j of points, counted from 0, each with its weight. Their points are the core."""

    def check(self, deadline: Deadline) -> None:
        """Prove the claim as the module describes; see `Claim.check`."""
        if self.K * self.d > MOST_COORDINATES:
            raise UnresolvedError(f"K d is above {MOST_COORDINATES:,}")
        if max(map(len, (self.cosine, self.radius, self.sigma))) > _MOST_LETTERS:
            raise UnresolvedError(f"a number has more than {_MOST_LETTERS} characters")
        pairs = [(i, j) for i, j, _ in self.contacts]
        T, r, sigma = map(Fraction, (self.cosine, self.radius, self.sigma))
        if len(self.points) != self.K or {len(row) for row in self.points} != {self.d}:
            raise ValueError(f"'points' are not {self.K} rows of {self.d} integers")
        if not pairs or len({*pairs}) < len(pairs) or not all(i < j < self.K for i, j in pairs):
            raise ValueError("'contacts' are not different pairs i < j of points")
        stress = self.stress
        eta = stress.excess(T) + stress.imbalance * r + stress.bend * r * r
        rest = stress.gamma / 4 * (stress.deviation + r * r) ** 2
        fits = min(r, sigma) > 0 and sigma**2 * r**2 - rest > eta**2
        if not fits or stress.deviation > r:
            raise RefutedError("the radius does not suit sigma, the stress and the points")
        lower = Fraction(int((T - eta - 2 * r) * _ROOT_UNIT) - 1, _ROOT_UNIT)
        i, j = np.triu_indices(self.K, 1)
        inner = np.isin(i, stress.core) & np.isin(j, stress.core)
        products, squares = stress.gram[i, j], stress.gram.diagonal()
        bounds = np.array([lower * abs(lower), T * abs(T)])[inner.astype(int)]
        allowed = bounds * squares[i] * squares[j]
        if min(squares) == 0 or (products * abs(products) > allowed).any():
            raise RefutedError("two points are nearer than the claim allows, or one is zero")
        if max(abs(squares - 100**self.digits)) > r * 100**self.digits:
            raise RefutedError("a point is not a unit vector within the radius")
        stress.check_rigidity(sigma**2, deadline)

    @cached_property
    def stress(self) -> "Stress":
        """Points and weights, with the quantities of the theorem."""
        return Stress(np.array(self.points, dtype=object), self.contacts, 10**self.digits)

    @classmethod
    def from_code(cls, W: np.ndarray, deadline: Deadline) -> Self:
        """Build the certificate of a code, and check it.

        Args:
            W: unit rows, shape (K, d).
            deadline: polled between steps.

        Raises:
            RefutedError: the contacts do not prove a local optimum; the message has the reason.
            UnresolvedError: the code is too large, or the deadline came first.
        """
        K, d = W.shape
        if K * d > MOST_COORDINATES:
            raise UnresolvedError(f"more than {MOST_COORDINATES:,} coordinates")
        products = W @ W.T + 2.0 * np.diag([-1.0] * K)
        slack = np.sort(np.ravel(products.max() - products))
        slack = np.append(slack[slack < _WIDEST_CONTACT], _WIDEST_CONTACT)
        width = slack[np.diff(np.log(slack + _ROUNDING)).argmax()]
        pairs = ActivePairs(*np.nonzero(np.triu(products >= products.max() - width, 1)))
        pairs, weights = balance(W, pairs, deadline)
        whole = np.rint(weights * (_LARGEST_WEIGHT / weights.max())).astype(np.int64)
        contacts = tuple(zip(pairs.a.tolist(), pairs.b.tolist(), whole.tolist(), strict=True))
        points = [[int(x) for x in row] for row in np.rint(W * 10.0**_DIGITS).tolist()]
        stress = Stress(np.array(points, dtype=object), contacts, 10**_DIGITS)
        T = max(stress.cosine_above(i, j) for i, j, _ in contacts)
        N = stress.floats() / float(stress.unit)
        (rigidity,) = eigh(N, eigvals_only=True, subset_by_index=[0, 0])
        eps, delta = float(stress.excess(T)), float(stress.imbalance)
        sigma = float(np.sqrt(max(_RIGIDITY_SHARE * rigidity, 0.0)))
        if sigma**2 < _ROUNDING * float(stress.gamma) or sigma <= delta:
            raise RefutedError("to first order the contacts that carry a stress allow motions")
        certificate = cls(
            certificate="gnc/1",
            kind="local-optimum",
            d=d,
            K=K,
            cosine=str(T),
            radius=f"1/{int((sigma - delta) / max(2.0 * eps, 10.0**-_DIGITS))}",
            sigma=f"1/{int(1.0 / sigma) + 1}",
            digits=_DIGITS,
            points=tuple(map(tuple, points)),
            contacts=contacts,
        )
        certificate.check(deadline)
        return certificate


class Stress:
    """Points and weights of contacts, as exact numbers, in the notation of the theorem.

    Attributes:
        core: the points with contacts, increasing.
        gram: inner products of all points, integers, shape (K, K).
    """

    def __init__(self, points: np.ndarray, contacts: "tuple[Contact, ...]", scale: int) -> None:
        """Compute the quantities of the theorem.

        Args:
            points: integers, shape (K, d).
            contacts: pairs with weights.
            scale: length 1 in the units of the points.
        """
        self._contacts, self._square = contacts, scale * scale
        self._total = sum(w for _, _, w in contacts)
        self.gram = points @ points.T
        self.core = np.array(sorted({k for i, j, _ in contacts for k in (i, j)}))
        self._points = points[self.core]
        weights = np.zeros(self.gram.shape, dtype=object)
        for i, j, w in contacts:
            weights[i, j] = weights[j, i] = w
        self._weights = weights[np.ix_(self.core, self.core)]
        pulls = self._weights @ self._points
        loads = (pulls * self._points).sum(axis=1)
        lengths = self.gram.diagonal()[self.core]
        residual = ((pulls * self._square - loads[:, None] * self._points) ** 2).sum()
        defects = self._square - lengths
        whole = self._total * self._square
        self.imbalance = _root(Fraction(residual, whole**2 * self._square))
        """Bound of the imbalance of the stress, delta."""
        self.deviation = _root(Fraction((defects**2).sum(), self._square**2))
        """Bound of the deviation of the lengths from 1, |nu|."""
        self.bend = max(
            Fraction(2 * degree * self._square + abs(load), 2 * whole)
            for degree, load in zip(self._weights.sum(axis=1), loads, strict=True)
        )
        """Quadratic coefficient B."""
        self._gamma = max((self._weights**2).sum(axis=1))
        self.gamma = Fraction(self._gamma, self._total**2)
        self._stretch = Fraction(abs(loads * defects).sum(), 2 * whole * self._square)

    def excess(self, T: Fraction) -> Fraction:
        """Return eps, for the cosine T."""
        gaps = [(T * self._square - self.gram[i, j], w) for i, j, w in self._contacts]
        slack = sum((max(gap, Fraction(0)) * w for gap, w in gaps), Fraction(0))
        return 2 * slack / (self._total * self._square) + self._stretch

    def cosine_above(self, i: int, j: int) -> Fraction:
        """Return the cosine of two points, rounded up to few decimals."""
        p, lengths = self.gram[i, j], self.gram[i, i] * self.gram[j, j]
        root = isqrt(p * p * 10 ** (2 * _DIGITS) // lengths)
        return Fraction(root + 1 if p > 0 else -root, 10**_DIGITS)

    def rows(self, k: int) -> np.ndarray:
        """Return the rows of N of a core point, integers in units of `unit`, shape (d, n d)."""
        P, squares = self._points, self._weights[k] ** 2
        n, d = P.shape
        blocks = ((squares - self._gamma)[:, None] * P)[:, :, None] * P[k]
        blocks[k] = (P * squares[:, None]).T @ P
        inner = P @ P[k] * self._gamma
        blocks[:, range(d), range(d)] += inner[:, None]
        return np.asarray(blocks.transpose(1, 0, 2).reshape(d, n * d))

    @property
    def unit(self) -> int:
        """Integer of `rows` that stands for an entry 1 of the matrix N."""
        return self._total**2 * self._square

    def check_rigidity(self, bound: Fraction, deadline: Deadline) -> None:
        """Prove that N - bound is positive semidefinite.

        Raises:
            RefutedError: the factor that floating point proposes does not show it.
            UnresolvedError: the deadline came first.
        """
        n, d = self._points.shape
        shift = -int(-bound * self.unit // 1)
        try:
            factor = np.linalg.cholesky(self.floats() - 2.0 * shift * np.eye(n * d))
        except np.linalg.LinAlgError:
            raise RefutedError("the rigidity is not shown to be sigma: no factor") from None
        halvings = max(0, int(np.frexp(factor.max())[1]) - 60)
        whole = np.rint(np.ldexp(factor, -halvings)).astype(np.int64)
        squares = 0
        for points in np.array_split(np.arange(n), min(n, _BLOCKS)):
            poll(deadline)
            start, stop = points[0] * d, (points[-1] + 1) * d
            product = fmpz_mat(whole[start:stop].tolist()) * fmpz_mat(whole[:stop].T.tolist())
            exact = np.concatenate([self.rows(k)[:, :stop] for k in points])
            exact[range(stop - start), range(start, stop)] -= 2 * shift
            rest = fmpz_mat(exact.tolist()) - product * 4**halvings
            # N is symmetric: the entries to the right of the block equal those below it.
            squares += 2 * sum(int(entry) ** 2 for entry in rest.entries())
        if squares > shift**2:
            raise RefutedError("the rigidity is not shown to be sigma: its factor is not accurate")

    def floats(self) -> np.ndarray:
        """Return N in the units of `rows`, rounded to doubles, shape (n d, n d)."""
        return np.concatenate([self.rows(k).astype(np.float64) for k in range(len(self.core))])


def _root(x: Fraction) -> Fraction:
    """Return the square root of x, rounded up."""
    return Fraction(isqrt(int(x * _ROOT_UNIT**2)) + 1, _ROOT_UNIT)


def balance(
    W: np.ndarray, pairs: ActivePairs, deadline: Deadline
) -> tuple[ActivePairs, np.ndarray]:
    """Return the contacts that carry a stress, and the weights with the largest product.

    Newton steps minimise sum(w - log w) under J^T w = 0. The weight of a contact without stress
    falls to 0.

    Args:
        W: unit rows, shape (K, d).
        pairs: the contacts.
        deadline: polled at each step.

    Returns:
        The m remaining contacts, and their weights, shape (m,).

    Raises:
        UnresolvedError: the deadline came first.
    """
    carrying = np.zeros(len(pairs), dtype=bool)
    while not carrying.all():
        J = linearise(pairs, W, np.isin(np.arange(len(W)), [pairs.a, pairs.b])).jacobian()
        w = np.ones(len(pairs))
        for _ in range(_NEWTON_STEPS):
            poll(deadline)
            scaled = J.multiply(w[:, None]).tocsr()
            normal = (scaled.T @ scaled).toarray()
            normal[np.diag_indices_from(normal)] += 1e-14 * normal.trace() + UNDERFLOW
            y = cho_solve(cho_factor(normal, overwrite_a=True), J.T @ (2.0 * w - w * w))
            change = 1.0 - w - w * (J @ y)
            w *= 1.0 + change * min(1.0, 0.9 / max(-change.min(), UNDERFLOW))
            if np.abs(change).max() < _WEIGHT_TOLERANCE:
                break
        carrying = w > _MIN_STRESS_SHARE * w.max()
        pairs, w = pairs.take(carrying), w[carrying]
    return pairs, w
