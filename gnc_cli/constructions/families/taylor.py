"""Taylor's equiangular lines: q^3 + 1 lines in q^2 - q + 1 dimensions with cosine 1/q, q odd.

The isotropic points of the Hermitian plane over GF(q^2) are infinity and the elements of a
Heisenberg group of order q^3: pairs (u, t), u in GF(q^2), t in GF(q), where the form of (u, t) and
(v, s) is, up to squares, N(u - v)^2/4 - e (t - s + [u, v])^2; N is the norm, [ , ] the symplectic
form, e no square. The quadratic character of the form is a regular two-graph with the eigenvalues
q^2 and -q: lines that meet the relative bound.

The two-graph is invariant under the group. Its eigenspace is the sum of one dimension and, for each
c in GF(q) but 0, of the group's q-dimensional representation with central character c: the points'
vectors are one orbit in it, and are made one by one.

Source: D. E. Taylor, 1977, Regular 2-graphs.
"""

from fractions import Fraction
from math import isqrt

import numpy as np

from gnc_cli.constructions.construction import (
    SHARP_CODES,
    CodeRows,
    Construction,
    Cosine,
    Family,
    GroupedRows,
    Verification,
    transitive_code,
)
from gnc_cli.constructions.fields import FiniteField, finite_field, prime_power

_TAYLOR = "Taylor 1977, Regular 2-graphs"
_ORDER_LIMIT = 64
"""Orders q are below this: a code has some q^3 rows and q^2 dimensions."""
_ROUNDING = 1e-11
"""Largest rounding error of products of rows in floats."""


def taylor_signs(field: FiniteField) -> np.ndarray:
    """Return signs of inner products in the group: `signs[a, b, t]` for (u, t), u = a + b sqrt(e).

    The inner product of (u, t) and (v, s) has the sign at (u - v, t - s + [u, v]), with
    [a + b sqrt(e), c + d sqrt(e)] = b c - a d. It is 0 at the identity. All rows have positive
    inner products with that of infinity. Shape (q, q, q), int8.
    """
    elements = np.arange(field.q)
    e = int(field.exp[1])  # a primitive element is not a square
    squares = field.power(elements, 2)
    norms = field.subtract(squares[:, None], field.multiply(e, squares))
    quarter = field.power(field.add(1, 1), 2)
    forms = field.subtract(
        field.power(norms, 2)[:, :, None], field.multiply(field.multiply(quarter, e), squares)
    )
    # Of the two-graph and its complement, the one whose lines are in the smaller space.
    signs: np.ndarray = field.characters[forms]
    return signs if signs.sum(dtype=np.int64) > 0 else -signs


def check_two_graph(field: FiniteField, signs: np.ndarray) -> None:
    """Check that the signs are those of a regular two-graph with the eigenvalues q^2 and -q.

    For S, 0 on the diagonal, 1 in the row and column of infinity and the signs elsewhere, this is
    S^2 = (q^2 - q) S + q^3 I. The group's translations and the maps (u, t) -> (l u, N(l) t) leave S
    as it is, so that one entry of each orbit of pairs is enough: (1, t) for each t, and (0, 1).
    """
    q, elements = field.q, np.arange(field.q)
    if signs[0, 0, 0] or np.count_nonzero(signs) != q**3 - 1 or np.abs(signs).max() != 1:
        raise ValueError("not signs, with a zero at the identity alone")
    mirrored = field.subtract(0, elements)
    e = int(field.exp[1])
    # Each nonzero l is a + sqrt(e) times a power of e, or such a power alone, and
    # (x + y sqrt(e)) (a + b sqrt(e)) = a x + e b y + (b x + a y) sqrt(e).
    images = [signs[mirrored][:, mirrored][:, :, mirrored]]
    for a, b in [(e, 0), *((a, 1) for a in range(q))]:
        eb = field.multiply(e, b)
        first = field.add(field.multiply(a, elements[:, None]), field.multiply(eb, elements))
        second = field.add(field.multiply(b, elements[:, None]), field.multiply(a, elements))
        norm = field.subtract(field.multiply(a, a), field.multiply(e, field.multiply(b, b)))
        images.append(signs[first[:, :, None], second[:, :, None], field.multiply(norm, elements)])
    if not all(np.array_equal(image, signs) for image in images):
        raise ValueError("the signs are not invariant under the group's symmetries")
    total = q * q - q
    if signs.sum(dtype=np.int64) != total:
        raise ValueError("not a regular two-graph: the signs at infinity have another sum")
    group = np.arange(q**3)
    from_identity = signs.reshape(-1).astype(np.int64)
    for element in [1, *(q * q + elements)]:
        products = signs_between(field, signs, np.array([element]), group)[0] @ from_identity
        if 1 + products != total * from_identity[element]:
            raise ValueError("not a regular two-graph: more than two eigenvalues")


def signs_between(
    field: FiniteField, signs: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Return signs between elements of the group by number, shape (n_first, n_second), int64."""
    q = field.q
    a, b, t = (x[:, None] for x in (first // (q * q), first // q % q, first % q))
    c, d, s = second // (q * q), second // q % q, second % q
    bracket = field.subtract(field.multiply(b, c), field.multiply(a, d))
    shift = field.add(field.subtract(t, s), bracket)
    return np.asarray(signs[field.subtract(a, c), field.subtract(b, d), shift], dtype=np.int64)


class TaylorRows(GroupedRows):
    """Unit vectors of the lines, each followed by its negative: infinity, then the group.

    Element n of the group has the digits a, b, t to the base q, t the fastest; u = a + b sqrt(e).
    Coordinates: 1/q (1 for infinity), then, for each y in GF(q) and each c in one half of the
    nonzero elements, cosines of the angles of Tr(c (t + 2 b y - a b)) times w_c(y - a), then sines.
    The unit vectors w_c are such that their orbit has the right inner products. q is odd.
    """

    group = 2

    def __init__(self, field: FiniteField) -> None:
        self.field = field
        q = field.q
        self.shape = (2 * (q**3 + 1), q * q - q + 1)
        self._central = field.exp[: (q - 1) // 2]
        """One element of each pair c, -c, shape ((q - 1)/2,)."""
        elements = np.arange(q)
        traces = field.trace[field.multiply(self._central, elements[:, None])]  # Tr(c z) by z and c
        self._products = field.multiply(elements[:, None], elements)
        self._sums = field.add(elements[:, None], elements)
        self._reach = field.subtract(field.add(elements, elements), elements[:, None])
        """Elements 2 y - a, by a and y, shape (q, q)."""
        angles = 2 * np.pi / field.p * np.arange(field.p)
        self._cosines, self._sines = np.cos(angles)[traces], np.sin(angles)[traces]
        self._fiducials = self._orbits_starts(taylor_signs(field))
        scale = (2 * (q + 1)) ** 0.5 / q
        self._shifted = scale * self._fiducials[field.subtract(elements, elements[:, None])]
        """Scaled values w_c(y - a), by a, y and c."""

    def _fill(self, out: np.ndarray, first: int) -> None:
        q = self.field.q
        lines, vectors = np.arange(first, first + len(out)), out[:, 0]
        numbers = np.maximum(lines - 1, 0)
        a, b, t = numbers // (q * q), numbers // q % q, numbers % q
        z = self._sums[t[:, None], self._products[b[:, None], self._reach[a]]]
        shifted, half = self._shifted[a], 1 + q * len(self._central)
        vectors[:, 1:half] = (self._cosines[z] * shifted).reshape(len(out), -1)
        vectors[:, half:] = (self._sines[z] * shifted).reshape(len(out), -1)
        vectors[:, 0] = 1 / q
        vectors[lines == 0] = 0.0
        vectors[lines == 0, 0] = 1.0
        np.negative(vectors, out=out[:, 1])

    def _orbits_starts(self, signs: np.ndarray) -> np.ndarray:
        """Return w_c by y and c, shape (q, (q - 1)/2).

        The projection on w_c is the sum of the group's operators, each times its inner product: it
        is real and symmetric, so that each of its nonzero columns is a multiple of w_c.
        """
        field, q = self.field, self.field.q
        products = self._targets(signs)
        elements = np.arange(q)
        doubled = field.add(elements, elements)
        starts = np.empty((q, len(self._central)))
        for i in range(len(self._central)):
            # On the diagonal a = 0, the operator multiplies by the character of 2 c b y.
            diagonal = self._cosines[self._products[doubled], i] @ products[0, :, i]
            column = int(diagonal.argmax())
            a = field.subtract(elements, column)
            places = self._products[field.add(elements, column)]
            vector = np.einsum("yb,yb->y", products[a, :, i], self._cosines[places, i])
            starts[:, i] = vector / np.linalg.norm(vector)
        return starts

    def _targets(self, signs: np.ndarray) -> np.ndarray:
        """Return inner products of w_c with its images under (a, b, 0), by a, b and c.

        They are transforms of the signs, shape (q, q, (q - 1)/2).
        """
        q = self.field.q
        transforms = signs.astype(np.float64) @ self._cosines
        transforms[0, 0] += q
        return np.asarray(transforms / (q + 1))

    def verify(self) -> Verification:
        """Check S^2 = (q^2 - q) S + q^3 I in integers, and the Gram matrix I + S/q of the rows."""
        field, q = self.field, self.field.q
        signs = taylor_signs(field)
        check_two_graph(field, signs)
        worst = self._deviation(signs)
        if worst > _ROUNDING:
            raise ValueError(f"the rows miss the two-graph's inner products by {worst:.1e}")
        cosine, pairs = Cosine.rational(Fraction(1, q)), q**3 * (q**3 + 1)
        distribution = ((cosine, pairs), (-cosine, pairs), (Cosine.rational(-1), q**3 + 1))
        return Verification(len(self), True, cosine, distribution)

    def _deviation(self, signs: np.ndarray) -> float:
        """Return the largest error of the inner products of each w_c with its images.

        The operators of (a, b, t) are a representation, so that no other inner products occur. Some
        of the rows that `unit` returns are compared with the signs as well.
        """
        field, q = self.field, self.field.q
        elements = np.arange(q)
        targets = self._targets(signs)
        places = self._products[field.add(elements, elements)[:, None], elements]
        worst = 0.0
        for i in range(len(self._central)):
            w = self._fiducials[:, i]
            # By y and a; the operator shifts by a and multiplies by the character of 2 b y - a b.
            overlaps = w[:, None] * w[field.subtract(elements[:, None], elements)]
            waves = self._cosines[places, i] + 1j * self._sines[places, i]
            images = waves.T @ overlaps
            back = self._cosines[self._products, i] - 1j * self._sines[self._products, i]
            worst = max(worst, float(np.abs(images * back - targets[:, :, i].T).max()))
        numbers = np.random.default_rng(0).integers(0, q**3, 48)
        lines = np.append(0, 1 + numbers)
        rows = np.concatenate([self.unit(2 * line, 2 * line + 1) for line in lines.tolist()])
        expected = np.ones((49, 49))
        expected[1:, 1:] = signs_between(field, signs, numbers, numbers)
        expected[lines[:, None] == lines] = q
        return max(worst, float(np.abs(rows @ rows.T - expected / q).max()))


class TaylorSection(CodeRows):
    """Rows at cosine 1/q from that of infinity, projected along it: the elements of the group.

    Inner products 1/q and -1/q become (1/q - 1/q^2)/(1 - 1/q^2) = 1/(q + 1) and -1/(q - 1).
    """

    def __init__(self, whole: TaylorRows) -> None:
        self.whole = whole
        self.q = q = whole.field.q
        self.shape = (q**3, q * q - q)

    def _unit(self, start: int, stop: int) -> np.ndarray:
        rows = self.whole.unit(2 + 2 * start, 2 + 2 * stop)
        return np.asarray(rows[::2, 1:] / (1 - self.q**-2) ** 0.5)

    def verify(self) -> Verification:
        """Verify all rows; their first coordinate is the product with that of infinity."""
        self.whole.verify()
        q = self.q
        if abs(np.linalg.norm(self.unit(0, 2), axis=1) - 1).max() > _ROUNDING:
            raise ValueError("the first coordinate is not 1/q")
        largest, smallest = (Cosine.rational(Fraction(*t)) for t in ((1, q + 1), (-1, q - 1)))
        pairs = q**3 * (q**3 - 1 + q * q - q) // 4
        rest = q**3 * (q**3 - 1) // 2 - pairs
        return Verification(q**3, True, largest, ((largest, pairs), (smallest, rest)))


def _odd_order(q: int) -> bool:
    return q % 2 == 1 and prime_power(q) is not None and q < _ORDER_LIMIT


def _lines(q: int) -> Construction | None:
    if not _odd_order(q):
        return None
    return transitive_code(
        f"unitary-{q}",
        f"{q**3 + 1} equiangular lines, both unit vectors of each",
        q * q - q + 1,
        _TAYLOR,
        lambda: TaylorRows(finite_field(q)),
        (Fraction(1, q), q**3),
        (Fraction(-1, q), q**3),
        (-1, 1),
        optimality=SHARP_CODES if q == 3 else None,
    )


def _section(q: int) -> Construction | None:
    if not _odd_order(q):
        return None
    neighbours = (q**3 - 1 + q * q - q) // 2
    return transitive_code(
        f"unitary-{q}-section",
        f"{q**3} vectors of equiangular lines at one cosine with one of them, projected along it",
        q * q - q,
        _TAYLOR,
        lambda: TaylorSection(TaylorRows(finite_field(q))),
        (Fraction(1, q + 1), neighbours),
        (Fraction(-1, q - 1), q**3 - 1 - neighbours),
        optimality=SHARP_CODES if q == 3 else None,
    )


def _orders(d: int) -> list[tuple[int]]:
    """Return the only q for which q^2 - q or q^2 - q + 1 may be d."""
    return [((1 + isqrt(4 * d + 1)) // 2,)]


FAMILIES: tuple[Family, ...] = (
    Family(
        "unitary-q",
        "equiangular lines of Taylor's unitary two-graph, both unit vectors of each",
        "q = 3, 5, 7, 9, .., 61 a power of an odd prime",
        "q^2 - q + 1",
        "2 (q^3 + 1)",
        "1/q",
        _TAYLOR,
        _lines,
        _orders,
    ),
    Family(
        "unitary-q-section",
        "the vectors at cosine 1/q with one of them, projected along it",
        "as unitary-q",
        "q^2 - q",
        "q^3",
        "1/(q + 1)",
        _TAYLOR,
        _section,
        _orders,
    ),
)
