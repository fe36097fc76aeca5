"""Are two codes equal up to rotation, reflection and relabelling? Yes with the rotation, or no.

Rows of A that span its space are sent one after the other to rows of B with the same inner
products. After each the rows of both codes are sorted anew by their inner products with the rows
fixed so far (see `cells`), which shows most wrong guesses at once and names the few possible
images of the next row. Once the cells are single rows, the relabelling is known and the rotation is
the least-squares one (Procrustes): P. H. Schoenemann, A generalized solution of the orthogonal
Procrustes problem, 1966. Individualise-and-refine is due to B. D. McKay, Practical graph
isomorphism, 1981; here labels are real and the tolerance is part of the argument.

No K x K matrix is held. A step costs O(K (d^2 + log K)): codes of 10^5 rows go through.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gnc_cli.codes.cells import Cells, agreement, by_profile, together
from gnc_cli.errors import DataError, UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.sphere import as_points, normalise

__all__ = ["Congruence", "Undecided", "congruence"]

_PAIRS = 1 << 20
"""Inner products that a step may look at one by one."""
_ALL_PAIRS = 6000
"""Up to this many rows a search may begin with a look at every inner product."""
_EFFORT = 2e8
"""Rows times labels that the search may sort: some ten seconds."""
_REFINING = 12
"""Labels that a guess costs which is not refused at once, about."""
_SPANNED = 1e3
"""Rows within this many tolerances of the space fixed so far add nothing to it."""


@dataclass(frozen=True, eq=False)
class Congruence:
    """The proof that two codes are one: `A @ rotation` is B relabelled, up to `deviation`."""

    permutation: np.ndarray
    """Row k of A goes to row `permutation[k]` of B, shape (K,); -1 where row k was left out."""
    rotation: np.ndarray
    """Shape (d of A, d of B); orthogonal where these are equal."""
    deviation: float
    """Largest distance between a row of `A @ rotation` and its partner."""


@dataclass(frozen=True)
class Undecided:
    """The search was given up: nothing is claimed."""

    reason: str
    steps: int
    """Guesses looked at."""


def congruence(
    A: np.ndarray,
    B: np.ndarray,
    *,
    tolerance: float = 1e-7,
    ignore: tuple[np.ndarray, np.ndarray] | None = None,
    effort: float = _EFFORT,
    deadline: Deadline | None = None,
) -> Congruence | Undecided | None:
    """Match the rows of two codes.

    Args:
        A, B: rows that stand for directions, shapes (K, d) and (K', d'); the dimensions may differ
            (a code may lie in a subspace).
        tolerance: largest distance of corresponding rows under the least-squares rotation.
        ignore: rows of A and rows of B to leave out (rattlers), Booleans or indices.
        effort: rows times labels that the search may sort; 1e7 are about a second.
        deadline: polled at each guess.

    Returns:
        The matching; None where there is none (this is proved, up to rounding); `Undecided` where
        the search was cut short, or rows lie too close together to tell apart.

    Raises:
        DataError: not matrices of at least two finite nonzero rows.
        UsageError: the tolerance is not between 0 and 0.01.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> turned = square @ np.array([[0.6, 0.8], [-0.8, 0.6]])
        >>> found = congruence(square, turned[::-1])
        >>> isinstance(found, Congruence) and found.deviation < 1e-12
        True
        >>> congruence(square[:3], np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])) is None
        True
    """
    if not 0.0 < tolerance <= 0.01:
        raise UsageError(f"tolerance {tolerance}: must be above 0 and at most 0.01")
    A, B = normalise(as_points(A, "A")), normalise(as_points(B, "B"))
    rows_a, rows_b = (
        _kept(len(X), None if ignore is None else ignore[i]) for i, X in enumerate((A, B))
    )
    if len(rows_a) != len(rows_b):
        return None
    if len(rows_a) == 0:
        raise DataError("all rows are left out; keep at least one of each code")
    shape = A.shape[1], B.shape[1]
    d = max(shape)
    X = np.pad(A[rows_a], ((0, 0), (0, d - shape[0])))
    Y = np.pad(B[rows_b], ((0, 0), (0, d - shape[1])))
    # Singular values, at most sqrt(K), move by at most the norm of the difference (Weyl).
    squares = [np.linalg.eigvalsh(Z.T @ Z) for Z in (X, Y)]
    if np.abs(squares[0] - squares[1]).max() > 2.0 * agreement(tolerance) * len(X):
        return None
    deadline, search = deadline or Deadline(), _Search(X, Y, tolerance)
    # Most codes that agree are matched by the first guesses; every pair is looked at only if not.
    labels = effort / len(X)
    found = search.run(False, min(labels, 2.0 * _REFINING * (d + 8)), deadline)
    if isinstance(found, Undecided) and not search.too_close:
        found = search.run(len(X) <= _ALL_PAIRS, labels, deadline)
    if not isinstance(found, Congruence):
        return found
    permutation = np.full(len(A), -1)
    permutation[rows_a] = rows_b[found.permutation]
    return Congruence(permutation, found.rotation[: shape[0], : shape[1]], found.deviation)


def _kept(K: int, ignored: np.ndarray | None) -> np.ndarray:
    keep = np.ones(K, dtype=bool)
    if ignored is not None:
        keep[np.asarray(ignored)] = False
    return np.flatnonzero(keep)


@dataclass
class _Level:
    """The state after some guesses."""

    fixed: list[tuple[int, int]]
    """The guesses: a row of X and its image in Y."""
    cells: Cells
    left: np.ndarray
    """Squared distance of each row of X from the space that the fixed ones span, shape (K,)."""
    basis: np.ndarray
    """Orthonormal rows spanning that space, shape (r, d)."""
    row: int = -1
    """The row of X to be fixed next."""
    images: Iterator[int] = iter(())
    """Rows of Y still to be tried as its image."""


class _Search:
    """Depth-first search over the images of a spanning set."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, delta: float) -> None:
        self.X, self.Y, self.delta = X, Y, delta
        self.steps = 0
        self.too_close = False

    def run(
        self, all_pairs: bool, labels: float, deadline: Deadline
    ) -> Congruence | Undecided | None:
        """Search until so many labels were sorted.

        Args:
            all_pairs: begin with a look at every inner product, O(K^2 d).
        """
        K, d = self.X.shape
        self.labels = labels
        cells = by_profile(self.X, self.Y, self.delta) if all_pairs else together(K)
        if cells is not None:
            cells = cells.refine(self.X, self.Y, self.delta, reach=K if all_pairs else 0)
        if cells is None:
            return None
        stack = [_Level([], cells, np.ones(K), np.empty((0, d)))]
        found = self._enter(stack[0])
        while found is None and stack:
            image = next(stack[-1].images, None)
            if image is None:
                stack.pop()
                continue
            if self.labels <= 0.0 or deadline.expired:
                return Undecided("the search for a matching was cut short", self.steps)
            self.steps += 1
            below = self._fix(stack[-1], image)
            if below is not None:
                stack.append(below)
                found = self._enter(below)
        if found is None and self.too_close:
            return Undecided("rows lie too close together to tell apart", self.steps)
        return found

    def _enter(self, level: _Level) -> Congruence | None:
        """Choose the row to fix next; at the end of a branch, the matching it leads to."""
        far = float(level.left.max())
        if level.cells.discrete or far <= (_SPANNED * self.delta) ** 2:
            return self._match(level)
        sizes = level.cells.sizes()[level.cells.a]
        # Well out of the space spanned so far, so that rounding does not grow; few images.
        able = np.flatnonzero(level.left >= 0.8 * far)
        level.row = int(able[np.lexsort((-level.left[able], sizes[able]))[0]])
        level.images = iter(np.flatnonzero(level.cells.b == level.cells.a[level.row]).tolist())
        return None

    def _fix(self, level: _Level, image: int) -> _Level | None:
        """Send `level.row` to `image`; None where the inner products forbid it."""
        X, Y, row = self.X, self.Y, level.row
        self.labels -= 1
        cells = level.cells.split(X @ X[row], Y @ Y[image], agreement(self.delta))
        if cells is not None:
            self.labels -= _REFINING
            cells = cells.refine(X, Y, self.delta, reach=_PAIRS // len(X))
        if cells is None:
            return None
        new = X[row] - (level.basis @ X[row]) @ level.basis
        new -= (level.basis @ new) @ level.basis
        new /= np.linalg.norm(new)
        left = np.maximum(level.left - (X @ new) ** 2, 0.0)
        basis = np.concatenate([level.basis, new[None]])
        return _Level([*level.fixed, (row, image)], cells, left, basis)

    def _match(self, level: _Level) -> Congruence | None:
        """The relabelling that the cells name, and its rotation, if all rows are near enough."""
        cells = level.cells
        partner = np.empty(len(self.X), dtype=np.intp)
        if cells.discrete:
            partner[np.argsort(cells.a)] = np.argsort(cells.b)
        else:
            rows, images = np.array(level.fixed).T
            turned = self.X @ _procrustes(self.X[rows], self.Y[images])
            for cell in range(cells.count):
                mine, theirs = np.flatnonzero(cells.a == cell), np.flatnonzero(cells.b == cell)
                partner[mine] = theirs[_assign(turned[mine], self.Y[theirs])]
        rotation = _procrustes(self.X, self.Y[partner])
        difference = self.X @ rotation - self.Y[partner]
        deviation = float(np.sqrt(np.einsum("kd,kd->k", difference, difference).max()))
        if deviation <= self.delta:
            return Congruence(partner, rotation, deviation)
        self.too_close |= not cells.discrete
        return None


def _procrustes(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The orthogonal matrix Q with the smallest sum of squares of `X Q - Y`, shape (d, d)."""
    left, _, right = np.linalg.svd(X.T @ Y)
    return np.asarray(left @ right)


def _assign(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """For each row of X its own row of Y, all together as near as can be."""
    if len(X) == 1:
        return np.zeros(1, dtype=np.intp)
    from scipy.optimize import linear_sum_assignment

    squares = (X * X).sum(1)[:, None] + (Y * Y).sum(1) - 2.0 * (X @ Y.T)
    return np.asarray(linear_sum_assignment(squares)[1])
