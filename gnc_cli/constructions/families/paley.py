"""Paley's matrices from quadratic characters: equiangular lines, and Hadamard matrices.

For a prime power q let C have zero diagonal, first row 1, and chi(y - x) elsewhere, x and y in
GF(q), chi the quadratic character; C C^T = q I.

- Equiangular lines, q = 1 mod 4: C is symmetric and C^2 = q I, so that I + C/sqrt(q) is twice the
  projection on half the space: the Gram matrix of q + 1 unit vectors in (q + 1)/2 dimensions. Both
  vectors of each line are rows. The eigenvectors of C are additive characters, so rows are made one
  by one.
- Hadamard matrices, from C of a prime field, doubled by Sylvester's matrices: the signs of nets.

Sources: R. E. A. C. Paley, 1933, On orthogonal matrices; J. J. Sylvester, 1867; J. H. van Lint and
J. J. Seidel, 1966, Equilateral point sets in elliptic geometry.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np

from gnc_cli.constructions.construction import (
    Construction,
    Cosine,
    Family,
    GroupedRows,
    Verification,
)
from gnc_cli.constructions.fields import FiniteField, finite_field, prime_power

_LINES = "van Lint and Seidel 1966, Equilateral point sets in elliptic geometry"
_TOTH = "Fejes Tóth 1943, Über eine Abschätzung des kürzesten Abstandes zweier Punkte"
_BLOCK = 512
"""Rows of a matrix that are in memory at a time: 2 million entries for q = 4096."""
_ROUNDING = 1e-11
"""Largest rounding error of products of rows in floats."""


def paley_matrix(field: FiniteField, start: int, stop: int) -> np.ndarray:
    """Return rows `start` to `stop` (exclusive) of C, shape (stop - start, q + 1), int8."""
    rows = np.arange(field.q + 1)[start:stop]
    C = np.ones((len(rows), field.q + 1), dtype=np.int8)
    elements = np.maximum(rows - 1, 0)[:, None]
    C[:, 1:] = field.characters[field.subtract(np.arange(field.q), elements)]
    C[rows == 0] = 1
    C[rows == 0, 0] = 0
    return C


def has_hadamard_matrix(d: int) -> bool:
    """Check if `hadamard_matrix(d)` exists.

    It does for d = 2^t, 2^t (q + 1) with q = 3 mod 4, and 2^(t + 1) (q + 1) with q = 1 mod 4, q
    prime and below 8192.
    """
    return _seed(d) is not None


def hadamard_matrix(d: int) -> np.ndarray:
    """Return a Hadamard matrix, entries +-1 and orthogonal rows, shape (d, d), int8."""
    from gnc_cli.constructions.boolean_functions import hadamard

    seed = _seed(d)
    assert seed is not None, f"no Hadamard matrix of order {d} from a prime field"
    doublings, q = seed
    matrix = _from_prime(q) if q else np.ones((1, 1), dtype=np.int8)
    return np.asarray(np.kron(hadamard(doublings), matrix))


@lru_cache(maxsize=1 << 14)
def _seed(d: int) -> tuple[int, int] | None:
    """Return doublings and the prime of Paley's matrix (0 for the matrix of order 1), or None."""
    if d & (d - 1) == 0:
        return d.bit_length() - 1, 0
    doublings = 0
    while d > 2 and d % 2 == 0:
        for q in (d - 1, d // 2 - 1):
            if d % 4 == 0 and (q == d - 1 or q % 4 == 1) and prime_power(q) == (q, 1):
                return doublings, q
        d, doublings = d // 2, doublings + 1
    return None


def _from_prime(q: int) -> np.ndarray:
    """Return Paley's matrix, of order q + 1 for q = 3 mod 4, 2 q + 2 for q = 1 mod 4; int8."""
    conference, unit = paley_matrix(finite_field(q), 0, q + 1), np.eye(q + 1, dtype=np.int8)
    if q % 4 == 3:
        conference[1:, 0] = -1
        return np.asarray(conference + unit)
    side = np.array([[1, 1], [1, -1]], dtype=np.int8)
    diagonal_block = np.array([[1, -1], [-1, -1]], dtype=np.int8)
    return np.asarray(np.kron(conference, side) + np.kron(unit, diagonal_block))


class PaleyRows(GroupedRows):
    """Unit vectors of the lines, each followed by its negative: first infinity, then GF(q).

    Coordinates of x: 1/sqrt(q), then 2/sqrt(q) times cosine and sine of the angle of Tr(b x), for
    half of the squares b: the characters whose sum is chi. q = 1 mod 4.
    """

    group = 2

    def __init__(self, field: FiniteField) -> None:
        self.field = field
        q = field.q
        self.shape = (2 * (q + 1), (q + 1) // 2)
        angles = 2 * np.pi / field.p * np.arange(field.p)
        self._cosines, self._sines = (2 * q**-0.5 * f(angles) for f in (np.cos, np.sin))
        # The character of b x is an eigenvector: of chi(b) times Gauss's sum, which is sqrt(q) or,
        # for some q that are not prime, -sqrt(q); then b is not a square.
        gauss = float(field.characters @ np.cos(angles)[field.trace])
        shift = 0 if gauss > 0 else 1
        # -1 = g^((q - 1)/2) is a square: of g^0, g^2, .. those before it are one of each pair
        # b, -b. At x = g^l their traces are every second one from g^l on.
        powers = field.trace[field.exp[np.arange(2 * (q - 1)) % (q - 1)]]
        window = np.lib.stride_tricks.sliding_window_view(powers, (q - 1) // 2 - 1)
        self._traces = window[shift : shift + q - 1, ::2]

    def _fill(self, out: np.ndarray, first: int) -> None:
        lines, vectors = np.arange(first, first + len(out)), out[:, 0]
        vectors[:, 0] = self.field.q**-0.5
        angles = self._traces[self.field.log[np.maximum(lines - 1, 0)]]
        np.take(self._cosines, angles, out=vectors[:, 1::2], mode="clip")
        np.take(self._sines, angles, out=vectors[:, 2::2], mode="clip")
        vectors[lines == 0] = 0.0
        vectors[lines == 0, 0] = 1.0
        vectors[lines == 1, 1::2], vectors[lines == 1, 2::2] = self._cosines[0], 0.0
        np.negative(vectors, out=out[:, 1])

    def verify(self) -> Verification:
        """Check C C^T = q I in integers, and the Gram matrix I + C/sqrt(q) of the rows."""
        q, d = self.field.q, self.shape[1]
        _check_signs(self.field.characters, self.field)
        # Where W^T W = 2 I and C W = sqrt(q) W, half of W W^T is the projection on the eigenspace.
        # Deviations show up in random directions, almost surely.
        directions = np.random.default_rng(0).standard_normal((d, 4))
        W, square, worst = np.empty((q + 1, 4)), np.zeros((d, 4)), 0.0
        for i in range(0, q + 1, _BLOCK):
            rows = self.unit(2 * i, 2 * (i + _BLOCK))
            worst = max(worst, float(np.abs(rows[::2] + rows[1::2]).max()))
            W[i : i + _BLOCK] = rows[::2] @ directions
            square += rows[::2].T @ W[i : i + _BLOCK]
        worst = max(worst, float(np.abs(square - 2 * directions).max()))
        first = paley_matrix(self.field, 1, 2)[0].astype(np.float64)
        for i in range(0, q + 1, _BLOCK):
            C = paley_matrix(self.field, i, i + _BLOCK).astype(np.float64)
            worst = max(worst, float(np.abs(C @ W / q**0.5 - W[i : i + _BLOCK]).max()))
            # Entries of C are characters of differences: row 1 of C C^T holds what there is.
            products = C @ first
            if i == 0:
                products[1] -= q
            if products.any():
                raise ValueError("not a conference matrix: two rows are not orthogonal")
        if worst > _ROUNDING:
            raise ValueError(f"the rows miss the eigenspace by {worst:.1e}")
        cosine, pairs = Cosine.root(Fraction(1, q)), q * (q + 1)
        distribution = ((cosine, pairs), (-cosine, pairs), (Cosine.rational(-1), q + 1))
        return Verification(len(self), True, cosine, distribution)


def _check_signs(characters: np.ndarray, field: FiniteField) -> None:
    negatives = field.subtract(0, np.arange(field.q))
    signs = characters[0] == 0 and (np.abs(characters[1:]) == 1).all()
    if not (signs and np.array_equal(characters, characters[negatives])):
        raise ValueError("not a symmetric matrix of signs with zeros on the diagonal")


def _lines(q: int) -> Construction | None:
    """Return q + 1 lines if q is a prime power and 1 mod 4, otherwise None."""
    if q % 4 != 1 or prime_power(q) is None:
        return None
    cosine = Cosine.root(Fraction(1, q))
    return Construction(
        f"paley-{q}",
        f"{q + 1} equiangular lines, both unit vectors of each",
        (q + 1) // 2,
        2 * (q + 1),
        cosine,
        _TOTH if q == 5 else None,
        _LINES,
        lambda: PaleyRows(finite_field(q)),
        ((cosine.text, q), ((-cosine).text, q), ("-1", 1)),
        transitive=True,
    )


FAMILIES: tuple[Family, ...] = (
    Family(
        "paley-q",
        "equiangular lines of Paley's conference matrix, both unit vectors of each",
        "q = 5, 9, 13, .. a prime power below 8192, q = 1 mod 4",
        "(q + 1)/2",
        "2 (q + 1)",
        "1/sqrt(q)",
        _LINES,
        _lines,
        lambda d: [(2 * d - 1,)],
    ),
)
