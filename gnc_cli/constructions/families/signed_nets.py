"""Signed nets: points of an affine plane on r classes of parallel lines, times rows of signs.

In the plane over GF(q) take r of the q + 1 classes of parallel lines: r q lines, the coordinates.
A point lies on one line of each class, and gives the vectors that are (+-1)/sqrt(r) there, for as
many patterns of signs as have inner products of at most 1 in size. Two points share one line or
none: all cosines of different lines of vectors are 0 or +-1/r. With r = q + 1 and a Hadamard matrix
of order q + 2 this is Steiner's equiangular frame. If q is a power of two and r <= q, each class of
lines gets the basis of Sylvester's matrix, and the signed standard basis is added: its cosines with
the other rows are 0 or +-1/sqrt(r q), at most 1/r.

Signed polynomials: a polynomial of degree below k over GF(q), at n points, chooses in each of n
blocks of m coordinates one of the 2 m signed unit vectors; q = 2 m or 2 m - 1. Two polynomials
agree at k - 1 points at most, and rows are orthogonal or opposite in the other blocks: the largest
cosine is (k - 1)/n. This is a Reed-Solomon code with a biorthogonal inner code.

Signed quadruples: blocks of four points, two of which share two points at most, are the coordinates
of (+-1)^4 / 2; with the signed standard basis no cosine is above 1/2. As many blocks as there can
be give construction A of constant-weight codes A(d, 4, 4). In d = 10 and 14 they are Steiner
systems S(3, 4, d); without a point, the largest in d = 9 and 13. The others were found by a search
for cliques of orbits of blocks under a permutation of order 3.

Sources: M. Fickus, D. G. Mixon, J. C. Tremain, 2012, Steiner equiangular tight frames; J. Leech and
N. J. A. Sloane, 1971, Sphere packings and error-correcting codes; I. S. Reed and G. Solomon, 1960,
Polynomial codes over certain finite fields; G. D. Forney, 1966, Concatenated codes.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial, reduce
from math import isqrt

import numpy as np

from gnc_cli.constructions.construction import (
    Construction,
    Cosine,
    Family,
    GroupedRows,
    Verification,
    small_family,
)
from gnc_cli.constructions.families.paley import hadamard_matrix, has_hadamard_matrix
from gnc_cli.constructions.fields import FiniteField, finite_field, prime_power
from gnc_cli.constructions.integer_rows import IntegerRows

_REFERENCE = "Fickus, Mixon, Tremain 2012, Steiner equiangular tight frames"
_CONSTRUCTION_A = "Leech and Sloane 1971, Sphere packings and error-correcting codes"
_REED_SOLOMON = (
    "Reed and Solomon 1960, Polynomial codes over certain finite fields; Forney 1966, Concatenated "
    "codes"
)
_MAX_DIMENSION = 4096
"""Largest dimension of nets and signed polynomials."""
_MAX_POLYNOMIALS = 1 << 40
"""Largest number of rows of signed polynomials: their numbers fit in 64 bits."""


class NetRows(GroupedRows):
    """Rows of a signed net: row 2 (h n + i) is point n with pattern i, before its negative.

    The lines through each point, by number, have shape (points, r), patterns of signs (h, r). With
    a Hadamard matrix `basis`, shape (q, q), line q j + i is its row i in the j-th q
    coordinates, and the signed standard basis comes first.
    """

    def __init__(
        self, lines: np.ndarray, patterns: np.ndarray, basis: np.ndarray | None = None
    ) -> None:
        self.lines = lines
        self.patterns = patterns
        self.basis = basis
        self.group = 2 * len(patterns)
        d = int(lines.max()) + 1
        self.standard = 0 if basis is None else 2 * d
        self.shape = (self.standard + self.group * len(lines), d)

    def _fill(self, out: np.ndarray, first: int) -> None:
        h, r = self.patterns.shape
        signed = np.stack([self.patterns, -self.patterns], axis=1).reshape(2 * h, r) * r**-0.5
        lines = self.lines[first : first + len(out)]
        if self.basis is not None:
            q = len(self.basis)
            vectors = self.basis[lines % q] * q**-0.5
            np.multiply(signed[:, :, None], vectors[:, None], out=out.reshape(-1, 2 * h, r, q))
            return
        out[:] = 0.0
        out[np.arange(len(out))[:, None, None], np.arange(2 * h)[:, None], lines[:, None]] = signed

    def verify(self) -> Verification:
        """Check that points share at most a line and patterns have products -1, 0 or 1; count."""
        points, r = self.lines.shape
        h, d = len(self.patterns), self.shape[1]
        signs = self.patterns.astype(np.int64)
        products = signs @ signs.T - r * np.eye(h, dtype=np.int64)
        if (np.abs(signs) != 1).any() or np.abs(products).max() > 1:
            raise ValueError("not patterns of signs with inner products -1, 0 and 1")
        sharing = _sharing_pairs(self.lines)
        positive, basis_cosine = Cosine.rational(Fraction(1, r)), Cosine.root(Fraction(1, d))
        # Rows of two points that share a line: half of the products are positive. Patterns of one
        # point: each pair gives four pairs of rows.
        positive_pairs = 2 * h * h * sharing + points * int(np.abs(products).sum())
        orthogonal_pairs = 4 * h * h * (points * (points - 1) // 2 - sharing)
        orthogonal_pairs += 2 * points * int((products == 0).sum() - h)
        counts = Counter(
            {
                positive: positive_pairs,
                -positive: positive_pairs,
                Cosine.rational(0): orthogonal_pairs,
                Cosine.rational(-1): points * h,
            }
        )
        if self.basis is not None:
            basis = self.basis.astype(np.int64)
            if not np.array_equal(basis @ basis.T, len(basis) * np.eye(len(basis), dtype=np.int64)):
                raise ValueError("the rows of the basis are not orthogonal")
            # Each coordinate of a row of a point is +-1/sqrt(d).
            mixed_pairs = 2 * d * points * h
            counts += Counter(
                {
                    basis_cosine: mixed_pairs,
                    -basis_cosine: mixed_pairs,
                    Cosine.rational(0): 2 * d * (d - 1),
                    Cosine.rational(-1): d,
                }
            )
        distribution = tuple(sorted((+counts).items(), key=lambda pair: -pair[0].value))
        return Verification(len(self), True, positive, distribution)


def _sharing_pairs(lines: np.ndarray) -> int:
    """Count the pairs of points on a common line; `lines` has shape (points, r)."""
    points, r = lines.shape
    incidence = np.zeros((points, int(lines.max()) + 1), dtype=np.float32)
    np.put_along_axis(incidence, lines, 1, axis=1)
    shared = incidence @ incidence.T
    if shared.trace() != points * r or (shared - r * np.eye(points)).max() > 1:
        raise ValueError("a point lies twice on a line, or two points share two lines")
    return int(np.count_nonzero(shared) - points) // 2


class PolynomialRows(GroupedRows):
    """Rows of signed unit vectors: the values of polynomials of degree below k at n points.

    Polynomials are counted with the constant coefficient fastest; a group differs in that alone.
    Element 2 j of the field is unit vector j of a block, 2 j + 1 its negative.
    """

    def __init__(self, field: FiniteField, n: int, k: int) -> None:
        self.field, self.n, self.k = field, n, k
        self.group = field.q
        self.shape = (field.q**k, n * ((field.q + 1) // 2))

    def _fill(self, out: np.ndarray, first: int) -> None:
        field, points = self.field, np.arange(self.n)
        numbers, values = np.arange(first, first + len(out)), np.zeros(1, dtype=np.int64)
        for power in range(self.k - 2, -1, -1):
            coefficients = numbers // field.q**power % field.q
            values = field.multiply(field.add(values, coefficients[:, None]), points)
        symbols = field.add(values[:, None], np.arange(field.q)[:, None])
        out[:] = 0.0
        places = (field.q + 1) // 2 * points + symbols // 2
        np.put_along_axis(out, places, (1 - 2 * (symbols % 2)) * self.n**-0.5, axis=2)

    def verify(self) -> Verification:
        """Bound the cosine: polynomials of degree below k agree at k - 1 points at most.

        The bound is attained by 0, the positive axis of each block, and a polynomial with k - 1
        zeros that is nowhere 1, the negative axis.
        """
        field, zeros = self.field, np.arange(self.k - 1)[:, None]
        factors = field.subtract(np.arange(self.n), zeros)
        values = reduce(field.multiply, factors, np.arange(1, field.q)[:, None])
        agreements = np.count_nonzero(values == 0, axis=1) - np.count_nonzero(values == 1, axis=1)
        cosine = Cosine.rational(Fraction(self.k - 1, self.n))
        attained = bool(agreements.max() == self.k - 1)
        return Verification(len(self), self.k <= self.n <= field.q, cosine, attained=attained)


def net_lines(q: int, r: int) -> np.ndarray:
    """Return the lines of the points (m, c) of the plane, class by class; shape (q^2, r).

    Class i < q has the lines y = c + m x_i, numbered q i + y; class q those of equal m.
    """
    field = finite_field(q)
    m, c = np.repeat(np.arange(q), q)[:, None], np.tile(np.arange(q), q)[:, None]
    classes = np.arange(min(r, q))
    lines = q * classes + field.add(c, field.multiply(m, classes))
    return np.asarray(lines if r <= q else np.hstack([lines, q * q + m]))


def sign_patterns(r: int) -> np.ndarray:
    """Return rows of signs with inner products of at most 1 in size, shape (h, r), int8.

    They come from Hadamard matrices of order r, of order r + 1 without a column, or of order r - 1
    with a column of ones.
    """
    if r % 4 == 3:
        return hadamard_matrix(r + 1)[:, :-1]
    if r % 4 == 1:
        matrix = hadamard_matrix(r - 1)
        return np.hstack([matrix, np.ones((r - 1, 1), dtype=np.int8)])
    return hadamard_matrix(r)


def _number_of_patterns(r: int) -> int:
    """Return the number of rows of `sign_patterns(r)`, 0 if it has none."""
    h = {0: r, 1: r - 1, 3: r + 1}.get(r % 4, 0)
    return h if h > 2 and has_hadamard_matrix(h) else 0


def _net(q: int, r: int) -> Construction | None:
    h, based = _number_of_patterns(r), r <= q and q & (q - 1) == 0
    if prime_power(q) is None or not 3 <= r <= q + 1 or h == 0 or r * q > _MAX_DIMENSION:
        return None
    return Construction(
        f"net-{q}-{r}",
        f"points of the affine plane over GF({q}) on {r} classes of lines, with signs",
        r * q,
        2 * q * (q * h + r * based),
        Cosine.rational(Fraction(1, r)),
        None,
        _REFERENCE,
        lambda: NetRows(net_lines(q, r), sign_patterns(r), hadamard_matrix(q) if based else None),
    )


def _nets(d: int) -> Iterator[tuple[int, int]]:
    """Yield q and r of nets in d dimensions with at least q / 2 classes of lines.

    For fewer classes there are better codes with as many rows.
    """
    for r in range(max(3, isqrt(d // 2) - 1), isqrt(d) + 2):
        q = d // r
        if q * r == d and q // 2 <= r:
            yield q, r


def _reed_solomon(q: int, n: int, k: int) -> Construction | None:
    m = (q + 1) // 2
    if prime_power(q) is None or n * m > _MAX_DIMENSION or q**k > _MAX_POLYNOMIALS:
        return None
    if not 3 <= k <= (n + 1) // 2 or n > q:
        return None
    return Construction(
        f"reed-solomon-{q}-{n}-{k}",
        f"polynomials of degree below {k} over GF({q}) at {n} points, values as signed axes",
        n * m,
        q**k,
        Cosine.rational(Fraction(k - 1, n)),
        None,
        _REED_SOLOMON,
        lambda: PolynomialRows(finite_field(q), n, k),
    )


def _polynomials(d: int) -> Iterator[tuple[int, int, int]]:
    """Yield q, n and k >= 4 of codes at half of the field's points or more.

    Nets or binary codes have more rows than the others.
    """
    for n in range(isqrt(d), isqrt(2 * d) + 1):
        for q in (2 * d // n, 2 * d // n - 1) if d % n == 0 else ():
            for k in range(4, (n + 1) // 2 + 1):
                yield q, n, k


_BLOCKS = {
    10: ("bcdefghija", "aceh abcg abde"),
    11: (
        "bcaefdhigjk",
        "afgi abdk abeg ahjk abfj defk abhi deij adeh dgik ghij adgj aeik",
    ),
    12: (
        "bcaefdhigklj",
        "abdk aegj abef aehi dhik aekl afgk ghkl abgl abij afil adfh ahjk adgi degk dehj adjl",
    ),
    14: ("bcdefgaijklmnh acegbdfhjlnikm", "abce aijl hijm abfj abhi abkl abmn"),
}
"""Images of the points a, b, .. under permutations, and blocks of all orbits, by dimension."""
_BLOCK_NUMBERS = {9: 18, 10: 30, 11: 35, 12: 51, 13: 65, 14: 91}
"""Largest number of blocks, A(d, 4, 4), by dimension."""


def quadruples(d: int) -> np.ndarray:
    """Return a largest set of blocks of four of d points, d = 9 .. 14, as rows of 0 and 1.

    The shape is (A(d, 4, 4), d).
    """
    whole = d if d in _BLOCKS else d + 1
    images, first = _BLOCKS[whole]
    blocks, new_blocks = set[str](), set(first.split())
    while new_blocks:
        blocks |= new_blocks
        maps = [str.maketrans("abcdefghijklmn"[:whole], image) for image in images.split()]
        new_blocks = {
            "".join(sorted(block.translate(m))) for block in new_blocks for m in maps
        } - blocks
    rows = np.zeros((len(blocks), whole), dtype=np.int64)
    for row, block in zip(rows, sorted(blocks), strict=True):
        row[[ord(point) - ord("a") for point in block]] = 1
    return np.asarray(rows[~rows[:, d:].any(axis=1), :d])


def _signed_quadruples(d: int) -> IntegerRows:
    """Return the signed standard basis, doubled, and the blocks with all signs."""
    bits = np.arange(16)[:, None] >> np.arange(4) & 1
    places = np.nonzero(quadruples(d))[1].reshape(-1, 4)
    signed = np.zeros((len(places), 16, d), dtype=np.int64)
    np.put_along_axis(signed, places[:, None], (1 - 2 * bits)[None], axis=2)
    double = 2 * np.eye(d, dtype=np.int64)
    return IntegerRows(np.concatenate([double, -double, signed.reshape(-1, d)]))


_QUADRUPLES: dict[tuple[int, ...], Construction] = {
    (d,): Construction(
        f"signed-quadruples-{d}",
        f"blocks of four of {d} points with all signs, and the signed standard basis",
        d,
        16 * number + 2 * d,
        Cosine.rational(Fraction(1, 2)),
        None,
        _CONSTRUCTION_A,
        partial(_signed_quadruples, d),
    )
    for d, number in _BLOCK_NUMBERS.items()
}


FAMILIES: tuple[Family, ...] = (
    Family(
        "net-q-r",
        "points of an affine plane on r classes of parallel lines, with signs",
        "q a power of a prime, 3 <= r <= q + 1, r not 2 mod 4, r q <= 4096",
        "r q",
        "2 q^2 h; h = r, r + 1, r - 1 for r = 0, 3, 1 mod 4; 2 r q more for r <= q = 2^t",
        "1/r",
        _REFERENCE,
        _net,
        _nets,
    ),
    Family(
        "reed-solomon-q-n-k",
        "polynomials of degree below k over GF(q) at n points, values as signed axes",
        "q a power of a prime, 3 <= k <= (n + 1)/2, n <= q, d <= 4096, K <= 2^40",
        "n ceil(q/2)",
        "q^k",
        "(k-1)/n",
        _REED_SOLOMON,
        _reed_solomon,
        _polynomials,
    ),
    small_family(
        "signed-quadruples-d",
        "blocks of four points with all signs, and the signed standard basis",
        "d = 9, 10, .., 14",
        "d",
        "306, 500, 582, 840, 1066, 1484",
        "1/2",
        _CONSTRUCTION_A,
        codes=_QUADRUPLES,
    ),
)
