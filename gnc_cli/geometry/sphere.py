"""Rows of a matrix as points: norms, and on the unit sphere chords, angles, random points.

Angles are measured through chords, `2 arcsin(chord / 2)`, which keep all digits where the arc
cosine of an inner product loses half of them (two rows 1e-9 rad apart have cosine 1 to the last
bit).
"""

import math

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.geometry.rounding import UNDERFLOW, gamma

_BLOCK_BYTES = 64 << 20
"""Working memory for differences of pairs, in bytes."""


def as_points(W: np.ndarray, name: str = "W") -> np.ndarray:
    """Validate points: `W` as a contiguous, finite float64 array of rows, (K, d), K >= 2.

    Raises:
        DataError: not a matrix of at least two rows, or an entry is NaN or infinite.
    """
    W = np.ascontiguousarray(W, dtype=np.float64)
    if W.ndim != 2 or W.shape[0] < 2 or W.shape[1] < 1:
        raise DataError(f"{name} has shape {W.shape}; expected (K, d), one point per row, K >= 2")
    if not np.isfinite(W).all():
        k = int(np.flatnonzero(~np.isfinite(W).all(axis=1))[0])
        raise DataError(f"{name} holds NaN or infinity, first in row {k}")
    return W


def as_unit_points(W: np.ndarray) -> np.ndarray:
    """Validate unit points (K, d) as `as_points` does; norms must be 1 to within 1e-8.

    Raises:
        DataError: also when a row is not of unit norm; `normalise` makes it so.
    """
    W = as_points(W)
    errors = np.abs(np.einsum("kd,kd->k", W, W) - 1.0)
    k = int(errors.argmax())
    if not errors[k] <= 2e-8:
        norm = float(np.linalg.norm(W[k]))
        raise DataError(f"row {k} of W has norm {norm:.9g}, not 1; normalise the rows first")
    return W


def row_norms(X: np.ndarray) -> np.ndarray:
    """Compute Euclidean norms of float64 rows (N, d), shape (N,), without overflow or underflow.

    The norm of a row with NaN or infinity is NaN or infinite.

    Example:
        >>> row_norms(np.array([[3e200, 4e200], [0.0, 0.0]])) / 1e200
        array([5., 0.])
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = np.einsum("nd,nd->n", X, X)
        norms = np.sqrt(squares)
        extreme = np.flatnonzero(~((squares > 1e-280) & (squares < 1e300)))
        if extreme.size:
            largest = np.abs(X[extreme]).max(axis=1)
            scaled = X[extreme] / np.where(largest > 0.0, largest, 1.0)[:, None]
            norms[extreme] = largest * np.sqrt(np.einsum("nd,nd->n", scaled, scaled))
    return np.asarray(norms)


def normalise(W: np.ndarray) -> np.ndarray:
    """Scale rows to norm 1 in float64; any leading shape, `(..., d)`.

    Safe for rows as small as 1e-300 or as large as 1e300.

    Raises:
        DataError: a row is zero, or holds NaN or infinity.

    Example:
        >>> normalise(np.array([[3.0, 4.0]]))
        array([[0.6, 0.8]])
    """
    W = np.asarray(W, dtype=np.float64)
    largest = np.abs(W).max(axis=-1, keepdims=True)
    faulty = ~(np.isfinite(largest) & (largest > 0.0))[..., 0]
    if faulty.any():
        row = tuple(int(i) for i in np.argwhere(faulty)[0])
        reason = "zero" if largest[row][0] == 0.0 else "not finite"
        place = ", ".join(map(str, row))
        raise DataError(f"row {place} is {reason}: it has no direction (rows are points)")
    scaled = W / largest
    return np.asarray(scaled / np.linalg.norm(scaled, axis=-1, keepdims=True))


def unit_or_zero(rows: np.ndarray) -> np.ndarray:
    """Scale rows (m, d) to unit norm, float64; rows too short to have a direction become zero.

    Example:
        >>> unit_or_zero(np.array([[3.0, 4.0], [0.0, 0.0]]))
        array([[0.6, 0.8],
               [0. , 0. ]])
    """
    rows = np.asarray(rows, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, norms, out=np.zeros_like(rows), where=~(norms <= 1e-150)))


def antipodes(W: np.ndarray) -> np.ndarray:
    """Return each row of W (K, d) followed by its opposite, shape (2 K, d).

    Example:
        >>> antipodes(np.array([[1.0, 0.5]]))
        array([[ 1. ,  0.5],
               [-1. , -0.5]])
    """
    return np.stack([W, -W], axis=1).reshape(-1, W.shape[1])


def one_per_line(rows: np.ndarray) -> np.ndarray:
    """Return the rows (K, d) of an antipodal code (2 K, d) whose first nonzero is positive."""
    first = np.argmax(np.abs(rows) > 1e-9, axis=1)
    return rows[np.take_along_axis(rows, first[:, None], axis=1)[:, 0] > 0.0]


def chord(cosine: float) -> float:
    """Return the distance of unit vectors of a cosine, `sqrt(2 - 2 cosine)`; 0 above cosine 1.

    `1 - cosine` is exact for cosines above 1/2, so nothing is lost beyond the cosine's own digits.

    Example:
        >>> chord(-1.0)
        2.0
    """
    return math.sqrt(2.0 * max(1.0 - float(cosine), 0.0))


def angle_from_chord(chord: float) -> float:
    """Return the angle of a chord of the unit sphere, `2 arcsin(chord / 2)`, in radians.

    Example:
        >>> math.degrees(angle_from_chord(1.0))
        60.00000000000001
    """
    return 2.0 * math.asin(min(chord / 2.0, 1.0))


def pair_chords(W: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Compute chords `norm(W[i] - W[j])` of index pairs (m,) of rows (K, d), shape (m,).

    They are accurate to a few units of the last digit.
    """
    return np.asarray(np.sqrt(_squares(W, i, j)))


def pair_chord_bounds(W: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Bound `norm(W[i] - W[j])` from above, 0 for equal rows; shapes as `pair_chords`."""
    chords = pair_chords(W, i, j)
    bounds = chords * (1.0 + gamma(W.shape[1] + 4)) + UNDERFLOW
    equal = np.flatnonzero(chords == 0.0)
    equal = equal[(W[i[equal]] == W[j[equal]]).all(axis=1)]
    bounds[equal] = 0.0
    return bounds


def pair_cosines(W: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Compute cosines `1 - chord**2 / 2` of index pairs (m,) of unit rows (K, d), shape (m,)."""
    return 1.0 - _squares(W, i, j) / 2.0


def _squares(W: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    squares = np.empty(len(i))
    step = max(1, _BLOCK_BYTES // (3 * 8 * W.shape[1]))
    for s in range(0, len(i), step):
        difference = W[i[s : s + step]] - W[j[s : s + step]]
        squares[s : s + step] = np.einsum("md,md->m", difference, difference)
    return squares


def random_points(rng: np.random.Generator, K: int, d: int) -> np.ndarray:
    """Draw K points uniformly from the unit sphere in R^d, shape (K, d), float64."""
    return normalise(rng.standard_normal((K, d)))
