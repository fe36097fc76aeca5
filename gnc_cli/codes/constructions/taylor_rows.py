"""Rows of Taylor's equiangular lines, made one by one: an orbit of a Heisenberg group.

The two-graph is invariant under the group, of order q^3. Its eigenspace is the sum of one dimension
and, for each c in GF(q) but 0, of the group's q-dimensional representation with central character
c: the points' vectors are one orbit in it.

Source: D. E. Taylor, 1977, Regular 2-graphs.
"""

from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.construction import Cosine, Rows, Verified
from gnc_cli.codes.constructions.log_fields import LogField
from gnc_cli.codes.constructions.taylor import check_two_graph, signs_between, taylor_signs

__all__ = ["TaylorRows", "TaylorSection"]

_BLOCK_ENTRIES = 1 << 18
_ROUNDING = 1e-11


class TaylorRows(Rows):
    """Unit vectors of the lines, each followed by its negative: infinity, then the group.

    Element n of the group has the digits a, b, t to the base q, t the fastest; u = a + b sqrt(e).
    Coordinates: 1/q (1 for infinity), then, for each y in GF(q) and each c in one half of the
    nonzero elements, cosines of the angles of Tr(c (t + 2 b y - a b)) times w_c(y - a), then sines.
    The unit vectors w_c are such that their orbit has the right inner products.

    Args:
        field: GF(q).

    Raises:
        ValueError: q is even.
    """

    def __init__(self, field: LogField) -> None:
        if field.p == 2:
            raise ValueError(f"q is {field.q}, even: the two-graph wants squares and non-squares")
        self.field = field
        q = field.q
        self.shape = (2 * (q**3 + 1), q * q - q + 1)
        self._central = field.exp[: (q - 1) // 2]
        """One of each pair c, -c."""
        every = np.arange(q)
        self._turned = field.trace[field.multiply(self._central, every[:, None])]
        """Tr(c z) by z and c."""
        self._products = field.multiply(every[:, None], every)
        self._sums = field.add(every[:, None], every)
        self._reach = field.subtract(field.add(every, every), every[:, None])
        """2 y - a by a and y."""
        angles = 2 * np.pi / field.p * np.arange(field.p)
        self._cosines, self._sines = np.cos(angles)[self._turned], np.sin(angles)[self._turned]
        self._fiducials = self._orbits_starts(taylor_signs(field))
        scale = (2 * (q + 1)) ** 0.5 / q
        self._shifted = scale * self._fiducials[field.subtract(every, every[:, None])]
        """w_c(y - a), scaled, by a, y and c."""

    def unit(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(len(self))
        out = np.empty((max(0, stop - start), self.shape[1]))
        step = 2 * max(1, _BLOCK_ENTRIES // self.shape[1])
        for i in range(start, stop, step):
            j = min(i + step, stop)
            signed = np.repeat(self._lines(np.arange(i // 2, -(-j // 2))), 2, axis=0)
            np.negative(signed[1::2], out=signed[1::2])
            out[i - start : j - start] = signed[i % 2 :][: j - i]
        return out

    def _lines(self, lines: np.ndarray) -> np.ndarray:
        """One unit vector of each line; line 0 is infinity."""
        q = self.field.q
        out = np.empty((len(lines), self.shape[1]))
        numbers = np.maximum(lines - 1, 0)
        a, b, t = numbers // (q * q), numbers // q % q, numbers % q
        z = self._sums[t[:, None], self._products[b[:, None], self._reach[a]]]
        waves = out[:, 1:].reshape(len(lines), 2, q, -1)
        np.multiply(self._cosines[z], self._shifted[a], out=waves[:, 0])
        np.multiply(self._sines[z], self._shifted[a], out=waves[:, 1])
        out[:, 0] = 1 / q
        out[lines == 0] = 0.0
        out[lines == 0, 0] = 1.0
        return out

    def _orbits_starts(self, signs: np.ndarray) -> np.ndarray:
        """w_c by y and c, shape (q, (q - 1)/2).

        The projection on w_c is the sum of the group's operators, each times the inner product that
        it shall have: real and symmetric here, so any column of it that is not 0 is a multiple.
        """
        field, q = self.field, self.field.q
        products = self._targets(signs)
        every = np.arange(q)
        starts = np.empty((q, len(self._central)))
        for i in range(len(self._central)):
            # On the diagonal a = 0, the operator multiplies by the character of 2 c b y.
            doubled = field.add(every, every)
            diagonal = self._cosines[self._products[doubled], i] @ products[0, :, i]
            column = int(diagonal.argmax())
            a = field.subtract(every, column)
            places = self._products[field.add(every, column)]
            vector = np.einsum("yb,yb->y", products[a, :, i], self._cosines[places, i])
            starts[:, i] = vector / np.linalg.norm(vector)
        return starts

    def _targets(self, signs: np.ndarray) -> np.ndarray:
        """Inner product of w_c with its image under (a, b, 0), by a, b and c: the signs'
        transforms."""
        q = self.field.q
        transforms = signs.astype(np.float64) @ self._cosines
        transforms[0, 0] += q
        return np.asarray(transforms / (q + 1))

    def verify(self) -> Verified:
        """S^2 = (q^2 - q) S + q^3 I in integers, and the rows' Gram matrix is I + S/q.

        Raises:
            ValueError: either fails.
        """
        field, q = self.field, self.field.q
        signs = taylor_signs(field)
        check_two_graph(field, signs)
        worst = self._deviation(signs)
        if worst > _ROUNDING:
            raise ValueError(f"the rows miss the two-graph's inner products by {worst:.1e}")
        near = Cosine.of(Fraction(1, q))
        pairs = q**3 * (q**3 + 1)
        return Verified(
            K=len(self),
            distinct=True,
            max_cosine=near,
            distribution=(
                (near, pairs),
                (Cosine.of(Fraction(-1, q)), pairs),
                (Cosine.of(-1), q**3 + 1),
            ),
            how="a regular two-graph in integers, rows in an eigenspace",
        )

    def _deviation(self, signs: np.ndarray) -> float:
        """Largest error of the inner products of an orbit's start with its images.

        The operators of (a, b, t) are a representation, so these are all the inner products there
        are. Some rows as they are made are held against the signs as well.
        """
        field, q = self.field, self.field.q
        every = np.arange(q)
        targets = self._targets(signs)
        places = self._products[field.add(every, every)[:, None], every]
        worst = 0.0
        for i, c in enumerate(self._central):
            w = self._fiducials[:, i]
            # By y and a; the operator shifts by a and multiplies by the character of 2 b y - a b.
            overlaps = w[:, None] * w[field.subtract(every[:, None], every)]
            waves = self._cosines[places, i] + 1j * self._sines[places, i]
            found = waves.T @ overlaps
            back = self._cosines[self._products, i] - 1j * self._sines[self._products, i]
            worst = max(worst, float(np.abs(found * back - targets[:, :, i].T).max()))
            if not np.array_equal(self._turned[:, i], field.trace[field.multiply(int(c), every)]):
                return 1.0
        some = np.random.default_rng(0).integers(0, q**3, 48)
        rows = self._lines(np.append(0, 1 + some))
        expected = np.ones((49, 49))
        expected[1:, 1:] = signs_between(field, signs, some, some)
        expected[np.append(-1, some)[:, None] == np.append(-1, some)] = q
        return max(worst, float(np.abs(rows @ rows.T - expected / q).max()))


class TaylorSection(Rows):
    """The rows with positive product with infinity's, seen along it: the group's elements.

    Inner products 1/q and -1/q become (1/q - 1/q^2)/(1 - 1/q^2) = 1/(q + 1) and -1/(q - 1).
    """

    def __init__(self, whole: TaylorRows) -> None:
        self.whole = whole
        self.q = q = whole.field.q
        self.shape = (q**3, q * q - q)

    def unit(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(len(self))
        rows = self.whole.unit(2 + 2 * start, max(2 + 2 * start, 2 * stop + 1))
        return np.asarray(rows[::2, 1:] / (1 - self.q**-2) ** 0.5)

    def verify(self) -> Verified:
        """As for all rows; the first coordinate is the product with infinity's."""
        found, q = self.whole.verify(), self.q
        some = self.unit(0, 2)
        near = Cosine.of(Fraction(1, q + 1))
        if len(some) and abs(np.linalg.norm(some, axis=1) - 1).max() > _ROUNDING:
            raise ValueError("the first coordinate is not 1/q")
        pairs = q**3 * (q**3 - 1 + q * q - q) // 4
        rest = q**3 * (q**3 - 1) // 2 - pairs
        far = Cosine.of(Fraction(-1, q - 1))
        return Verified(q**3, True, near, ((near, pairs), (far, rest)), found.how)
