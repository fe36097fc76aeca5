"""Signed nets: points of an affine plane on r classes of parallel lines, times rows of signs.

In the plane over GF(q) take r of the q + 1 classes of parallel lines: r q lines, the coordinates.
A point lies on one line of each class, and gives the vectors that are (+-1)/sqrt(r) there, for as
many patterns of signs as have inner products of at most 1 in size. Two points share one line or
none: all cosines of different lines of vectors are 0 or +-1/r. With r = q + 1 and a Hadamard matrix
of order q + 2 this is Steiner's equiangular frame.

Source: M. Fickus, D. G. Mixon, J. C. Tremain, 2012, Steiner equiangular tight frames.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Cosine, Family, Rows, Verified
from gnc_cli.codes.constructions.hadamard_matrices import hadamard_matrix, has_hadamard_matrix
from gnc_cli.codes.constructions.log_fields import log_field, prime_power, prime_powers

__all__ = ["FAMILIES", "NetRows", "in_dimension", "named", "net_lines", "sign_patterns"]

_REFERENCE = "Fickus, Mixon, Tremain 2012, Steiner equiangular tight frames"
_MOST = 4096
"""Dimensions up to which nets are offered in a search."""

FAMILIES = (
    Family(
        name="net-q-r",
        title="points of an affine plane on r classes of parallel lines, with signs",
        range="q a power of a prime, 3 <= r <= q + 1, r not 2 mod 4, r q <= 4096",
        d="r q",
        K="2 q^2 h; h = r, r + 1, r - 1 for r = 0, 3, 1 mod 4",
        cosine="1/r",
        reference=_REFERENCE,
    ),
)


class NetRows(Rows):
    """Row 2 (h n + i) is point n with pattern i, each row followed by its negative.

    Args:
        lines: the lines on which each point lies, shape (points, r), numbers from 0 to d - 1.
        patterns: entries +-1, shape (h, r).

    Example:
        >>> rows = NetRows(net_lines(3, 3), sign_patterns(3))
        >>> rows.shape, rows.verify().max_cosine.text
        ((72, 9), '1/3')
    """

    def __init__(self, lines: np.ndarray, patterns: np.ndarray) -> None:
        self.lines = lines
        self.patterns = patterns
        self.shape = (2 * len(lines) * len(patterns), int(lines.max()) + 1)

    def unit(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(len(self))
        numbers = np.arange(start, max(start, stop))
        signs = np.empty((2, *self.patterns.shape))
        signs[0] = self.patterns * self.patterns.shape[1] ** -0.5
        signs[1] = -signs[0]
        out = np.zeros((len(numbers), self.shape[1]))
        points, patterns = np.divmod(numbers // 2, len(self.patterns))
        np.put_along_axis(out, self.lines[points], signs[numbers % 2, patterns], axis=1)
        return out

    def verify(self) -> Verified:
        """Two points share a line at most, two patterns have an inner product of -1, 0 or 1.

        Raises:
            ValueError: not so.
        """
        points, r = self.lines.shape
        h = len(self.patterns)
        signs = self.patterns.astype(np.int64)
        products = signs @ signs.T - r * np.eye(h, dtype=np.int64)
        if (np.abs(signs) != 1).any() or np.abs(products).max() > 1:
            raise ValueError("not patterns of signs with inner products -1, 0 and 1")
        sharing = _sharing_pairs(self.lines)
        near, far = Cosine.of(Fraction(1, r)), Cosine.of(Fraction(-1, r))
        # Rows of two points that share a line: half of the products are positive. Patterns of one
        # point: each pair gives four pairs of rows.
        sharp = 2 * h * h * sharing + points * int(np.abs(products).sum())
        level = 4 * h * h * (points * (points - 1) // 2 - sharing)
        level += 2 * points * int((products == 0).sum() - h)
        found = ((near, sharp), (Cosine.of(0), level), (far, sharp), (Cosine.of(-1), points * h))
        return Verified(
            K=len(self),
            distinct=True,
            max_cosine=near,
            distribution=tuple((cosine, pairs) for cosine, pairs in found if pairs),
            how="all pairs of points on each line, all pairs of patterns, exact integers",
        )


def _sharing_pairs(lines: np.ndarray) -> int:
    """Number of pairs of points on a common line.

    Raises:
        ValueError: two points share two lines, or two classes a line.
    """
    points, r = lines.shape
    if len(np.unique(lines)) != sum(len(np.unique(column)) for column in lines.T):
        raise ValueError("two classes have a line in common")
    size = int(lines.max()) + 1
    for i in range(r):
        for j in range(i):
            if len(np.unique(lines[:, i] * size + lines[:, j])) != points:
                raise ValueError(f"two points share their lines of the classes {j} and {i}")
    on_line = np.bincount(lines.ravel())
    return int((on_line * (on_line - 1) // 2).sum())


def net_lines(q: int, r: int) -> np.ndarray:
    """The lines of the points (m, c) of the plane, class by class; shape (q^2, r).

    Class i < q has the lines y = c + m x_i, numbered q i + y; class q those of equal m.

    Raises:
        ValueError: q is not a power of a prime, or r is above q + 1.
    """
    if not 1 <= r <= q + 1:
        raise ValueError(f"a plane over GF({q}) has {q + 1} classes of lines, not {r}")
    field = log_field(q)
    m, c = np.repeat(np.arange(q), q)[:, None], np.tile(np.arange(q), q)[:, None]
    classes = np.arange(min(r, q))
    lines = q * classes + field.add(c, field.multiply(m, classes))
    return np.asarray(lines if r <= q else np.hstack([lines, q * q + m]))


def sign_patterns(r: int) -> np.ndarray:
    """Rows of signs with inner products of at most 1 in size, shape (h, r), int8.

    From Hadamard matrices: of order r; of order r + 1 less a column; of order r - 1 and a 1.

    Raises:
        ValueError: r is 2 mod 4, or the matrix is not known here.
    """
    if r % 4 == 3:
        return hadamard_matrix(r + 1)[:, :-1]
    if r % 4 == 1:
        matrix = hadamard_matrix(r - 1)
        return np.hstack([matrix, np.ones((r - 1, 1), dtype=np.int8)])
    return hadamard_matrix(r)


def _patterns(r: int) -> int:
    """How many rows `sign_patterns` has, 0 where it has none."""
    h = {0: r, 1: r - 1, 3: r + 1}.get(r % 4, 0)
    return h if h > 2 and has_hadamard_matrix(h) else 0


def named(name: str) -> Construction | None:
    """`net-31-32` and its like, or None.

    Example:
        >>> code = named("net-31-32")
        >>> code.d, code.K, code.cosine.text
        (992, 61504, '1/32')
    """
    match = re.fullmatch(r"net-([1-9]\d{0,3})-([1-9]\d{0,3})", name)
    return _code(int(match[1]), int(match[2])) if match else None


def in_dimension(d: int) -> Iterator[Construction]:
    """The nets in exactly d dimensions that are not too far from a whole plane."""
    yield from _by_dimension().get(d, ())


@cache
def _by_dimension() -> dict[int, list[Construction]]:
    found: dict[int, list[Construction]] = {}
    for q in prime_powers():
        # With fewer classes than q / 2 there are better codes with as many rows.
        for r in range(max(3, q // 2), min(q + 1, _MOST // q) + 1):
            code = _code(q, r)
            if code is not None:
                found.setdefault(code.d, []).append(code)
        if q * q // 2 > _MOST:
            return found
    return found


def _code(q: int, r: int) -> Construction | None:
    h = _patterns(r)
    if prime_power(q) is None or not 3 <= r <= q + 1 or h == 0 or r * q > _MOST:
        return None
    return Construction(
        name=f"net-{q}-{r}",
        title=f"points of the affine plane over GF({q}) on {r} classes of lines, with signs",
        d=r * q,
        K=2 * q * q * h,
        cosine=Cosine.of(Fraction(1, r)),
        proven=False,
        reference=_REFERENCE,
        build=partial(_rows, q, r),
    )


def _rows(q: int, r: int) -> NetRows:
    return NetRows(net_lines(q, r), sign_patterns(r))
