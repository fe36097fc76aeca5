"""Equiangular lines from Paley's conference matrices: q + 1 lines in (q + 1)/2 dimensions.

For a prime power q = 1 mod 4 let C have zero diagonal, first row and column 1, and chi(x - y)
elsewhere, x and y in GF(q), chi the quadratic character. C is symmetric and C^2 = q I, so that
I + C/sqrt(q) is twice the projection on half the space: the Gram matrix of q + 1 unit vectors.
Both vectors of each line are rows. The eigenvectors of C are additive characters, so rows are made
one by one.

Sources: R. E. A. C. Paley, 1933, On orthogonal matrices; J. H. van Lint and J. J. Seidel, 1966,
Equilateral point sets in elliptic geometry.
"""

import re
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Cosine, Family, Rows, Verified
from gnc_cli.codes.constructions.log_fields import LogField, log_field, prime_power

__all__ = ["FAMILIES", "PaleyRows", "in_dimension", "named", "paley_matrix"]

_REFERENCE = "van Lint and Seidel 1966, Equilateral point sets in elliptic geometry"
_TOTH = "Fejes Toth 1943, Ueber eine Abschaetzung des kuerzesten Abstandes zweier Punkte"
_BLOCK = 512
"""Rows of C that are held at a time."""
_ROUNDING = 1e-11

FAMILIES = (
    Family(
        name="paley-q",
        title="equiangular lines of Paley's conference matrix, both unit vectors of each",
        range="q = 5, 9, 13, .. a prime power below 8192, q = 1 mod 4",
        d="(q + 1)/2",
        K="2 (q + 1)",
        cosine="1/sqrt(q)",
        reference=_REFERENCE,
    ),
)


class PaleyRows(Rows):
    """Unit vectors of the lines, each followed by its negative: first infinity, then GF(q).

    Coordinates of x: 1/sqrt(q), then 2/sqrt(q) times cosine and sine of the angle of Tr(b x), for
    half of the squares b: the characters whose sum chi is made of.

    Args:
        field: GF(q).

    Raises:
        ValueError: q is not 1 mod 4.
    """

    def __init__(self, field: LogField) -> None:
        if field.q % 4 != 1:
            raise ValueError(f"q is {field.q}, not 1 mod 4: Paley's matrix is not symmetric")
        self.field = field
        q = field.q
        self.shape = (2 * (q + 1), (q + 1) // 2)
        angles = 2 * np.pi / field.p * np.arange(field.p)
        self._cosines, self._sines = (2 * q**-0.5 * f(angles) for f in (np.cos, np.sin))
        # The character of b x is an eigenvector: of chi(b) times Gauss's sum, which is sqrt(q) or,
        # for some q that are no primes, -sqrt(q); then b is no square.
        gauss = float(field.characters @ np.cos(angles)[field.trace])
        shift = 0 if gauss > 0 else 1
        # -1 = g^((q - 1)/2) is a square: of g^0, g^2, .. those before it are one of each pair
        # b, -b. At x = g^l their traces are every second one from g^l on.
        powers = field.trace[field.exp[np.arange(2 * (q - 1)) % (q - 1)]]
        window = np.lib.stride_tricks.sliding_window_view(powers, (q - 1) // 2 - 1)
        self._traces = window[shift : shift + q - 1, ::2]

    def unit(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(len(self))
        if start >= stop:
            return np.zeros((0, self.shape[1]))
        signed = np.repeat(self._lines(np.arange(start // 2, -(-stop // 2))), 2, axis=0)
        np.negative(signed[1::2], out=signed[1::2])
        return signed[start % 2 :][: stop - start]

    def _lines(self, lines: np.ndarray) -> np.ndarray:
        """One unit vector of each line; line 0 is infinity, line 1 + x is x."""
        out = np.empty((len(lines), self.shape[1]))
        out[:, 0] = np.where(lines == 0, 1.0, self.field.q**-0.5)
        angles = self._traces[self.field.log[np.maximum(lines - 1, 0)]]
        np.take(self._cosines, angles, out=out[:, 1::2], mode="clip")
        np.take(self._sines, angles, out=out[:, 2::2], mode="clip")
        out[lines == 0, 1:] = 0.0
        out[lines == 1, 1::2], out[lines == 1, 2::2] = self._cosines[0], 0.0
        return out

    def verify(self) -> Verified:
        """C C^T = q I in integers, and the rows' Gram matrix is I + C/sqrt(q).

        Raises:
            ValueError: either fails.
        """
        q, d = self.field.q, self.shape[1]
        _check_signs(self.field.characters, self.field)
        # Where W^T W = 2 I and C W = sqrt(q) W, half of W W^T is the projection on the eigenspace.
        # What fails of it is seen in random directions.
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
        cosine = Cosine.root(Fraction(1, q))
        pairs = q * (q + 1)
        opposite = Cosine(f"-{cosine.text}", -cosine.value)
        return Verified(
            K=len(self),
            distinct=True,
            max_cosine=cosine,
            distribution=((cosine, pairs), (opposite, pairs), (Cosine.of(-1), q + 1)),
            how="C C^T = q I in integers, rows in an eigenspace of C",
        )


def paley_matrix(field: LogField, start: int, stop: int) -> np.ndarray:
    """Rows `start` to `stop` (exclusive) of C, shape (stop - start, q + 1), int8."""
    rows = np.arange(field.q + 1)[start:stop]
    C = np.ones((len(rows), field.q + 1), dtype=np.int8)
    elements = np.maximum(rows - 1, 0)[:, None]
    C[:, 1:] = field.characters[field.subtract(np.arange(field.q), elements)]
    C[rows == 0] = 1
    C[rows == 0, 0] = 0
    return C


def _check_signs(characters: np.ndarray, field: LogField) -> None:
    negatives = field.subtract(0, np.arange(field.q))
    signs = characters[0] == 0 and (np.abs(characters[1:]) == 1).all()
    if not (signs and np.array_equal(characters, characters[negatives])):
        raise ValueError("not a symmetric matrix of signs with zeros on the diagonal")


def named(name: str) -> Construction | None:
    """`paley-13` and its like, or None.

    Example:
        >>> named("paley-13").d, named("paley-13").K, named("paley-7")
        (7, 28, None)
    """
    match = re.fullmatch(r"paley-([1-9]\d{0,3})", name)
    return _code(int(match[1])) if match else None


def in_dimension(d: int) -> tuple[Construction, ...]:
    """The member of the family in exactly d dimensions, if there is one."""
    code = _code(2 * d - 1)
    return () if code is None else (code,)


@lru_cache(maxsize=4096)
def _code(q: int) -> Construction | None:
    """q + 1 lines, where q is a prime power and 1 mod 4."""
    if q % 4 != 1 or prime_power(q) is None:
        return None
    cosine = Cosine.root(Fraction(1, q))
    return Construction(
        name=f"paley-{q}",
        title=f"{q + 1} equiangular lines, both unit vectors of each",
        d=(q + 1) // 2,
        K=2 * (q + 1),
        cosine=cosine,
        proven=q == 5,
        reference=_TOTH if q == 5 else _REFERENCE,
        build=partial(_rows, q),
        distribution=((cosine.text, q), (f"-{cosine.text}", q), ("-1", 1)),
        transitive=True,
    )


def _rows(q: int) -> PaleyRows:
    return PaleyRows(log_field(q))
