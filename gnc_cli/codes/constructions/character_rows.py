"""Rows of additive characters of polynomials over a finite field: K rows cost K rows.

A polynomial f over GF(q), q odd, gives the complex vector exp(2 pi i Tr f(x) / p) / sqrt(q), x in
GF(q). As a real vector it has the dimensions 2 q, and its multiples by 1, i, -1, -i are rows:
their inner products are the real and imaginary parts of sums over x of one character. An odd
polynomial has conjugate values at x and -x: such vectors fill a real space of q dimensions, their
inner products are real sums, and +-1 are all the multiples there are.
"""

from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.construction import Cosine, Rows, Verified
from gnc_cli.codes.constructions.exponential_sums import largest_odd_sum
from gnc_cli.codes.constructions.log_fields import LogField

__all__ = ["CharacterRows", "largest_cosine", "planar"]

_BLOCK_ENTRIES = 1 << 18
"""Numbers made at a time: what stays in cache."""


class CharacterRows(Rows):
    """The first K rows of the characters of all polynomials with the given exponents.

    Coordinates: real parts of the values at 0, 1, g, g^2, .., then imaginary parts; for odd
    exponents only those of one half of the nonzero elements, each times sqrt(2). Polynomials are
    counted with the coefficient of the lowest power fastest; each gives a row for each of its
    multiples. For exponents (1, 2, ..) the standard basis and its multiples come first.

    Args:
        field: GF(q), q odd; a prime field above the exponents where one exceeds 2.
        exponents: (1, 2), (1, 2, 3), or odd ones (1, 3), (1, 3, 5).
        K: how many rows; all by default.

    Raises:
        ValueError: K is below 2 or above all, or no such exponents over this field.

    Example:
        >>> from gnc_cli.codes.constructions.log_fields import log_field
        >>> rows = CharacterRows(log_field(7), (1, 2))
        >>> rows.shape, rows.verify().max_cosine.text
        ((224, 14), '1/sqrt(7)')
    """

    def __init__(self, field: LogField, exponents: tuple[int, ...], K: int | None = None) -> None:
        known = exponents in ((1, 2), (1, 2, 3), (1, 3), (1, 3, 5))
        if field.p == 2 or not known or (exponents[-1] > 2 and field.q <= exponents[-1]):
            raise ValueError(f"no codes of exponents {exponents} over GF({field.q})")
        if exponents[-1] > 2 and field.n > 1:
            raise ValueError(f"exponents {exponents} want a prime field, not GF({field.q})")
        self.field = field
        self.exponents = exponents
        self.odd = exponents[1] != 2
        """The vectors have a real form in q dimensions."""
        self.multiples = 2 if self.odd else 4
        """Rows of a polynomial."""
        self.standard = 0 if self.odd else 4 * field.q
        """Rows of the standard basis: the first so many."""
        whole = self.standard + self.multiples * field.q ** len(exponents)
        K = whole if K is None else K
        if not 2 <= K <= whole:
            raise ValueError(f"K is {K}; these characters give 2 to {whole} rows")
        self.shape = (K, field.q if self.odd else 2 * field.q)
        # Tr(b x^e) at b = g^l, x = g^j is entry l + e j of the traces of the powers of g.
        places = (field.q - 1) // 2 if self.odd else field.q - 1
        self._traces = []
        for e in exponents:
            powers = field.trace[field.exp[np.arange((e + 1) * (field.q - 1)) % (field.q - 1)]]
            window = np.lib.stride_tricks.sliding_window_view(powers, e * (places - 1) + 1)
            self._traces.append(window[: field.q - 1, ::e])
        angles = 2 * np.pi / field.p * (np.arange(len(exponents) * (field.p - 1) + 1) % field.p)
        scale = (2.0 if self.odd else 1.0) ** 0.5 * field.q**-0.5
        self._cosines, self._sines = scale * np.cos(angles), scale * np.sin(angles)

    def first(self, K: int) -> "CharacterRows":
        """The first K rows."""
        if K > len(self):
            raise ValueError(f"the code has {len(self)} rows, fewer than {K}")
        return CharacterRows(self.field, self.exponents, K)

    def unit(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(len(self))
        K, d = max(0, stop - start), self.shape[1]
        out = np.empty((K, d))
        cut = min(max(self.standard - start, 0), K)
        self._basis(out[:cut], start)
        start = max(start - self.standard, 0)
        step = max(1, _BLOCK_ENTRIES // (self.multiples * d))
        end = start + K - cut
        for first in range(start // self.multiples, -(-end // self.multiples), step):
            last = min(first + step, -(-end // self.multiples))
            low, high = first * self.multiples, last * self.multiples
            a, b = max(start, low), min(end, high)
            target = out[cut + a - start : cut + b - start]
            if (a, b) == (low, high):
                self._fill(target.reshape(last - first, self.multiples, d), first)
            elif a < b:
                whole = np.empty((last - first, self.multiples, d))
                self._fill(whole, first)
                target[:] = whole.reshape(-1, d)[a - low : b - low]
        return out

    def _basis(self, out: np.ndarray, start: int) -> None:
        """Write rows of the standard basis: unit vectors times 1, i, -1, -i."""
        out[:] = 0.0
        rows = np.arange(start, start + len(out))
        turns = rows % 4
        out[rows - start, rows // 4 + self.field.q * (turns % 2)] = 1.0 - 2.0 * (turns // 2)

    def _fill(self, out: np.ndarray, first: int) -> None:
        """Write the rows of the polynomials from number `first` on; `out` is (n, multiples, d)."""
        numbers, q = np.arange(first, first + len(out)), self.field.q
        phases: np.ndarray = np.zeros((len(out), self._traces[0].shape[1]), dtype=np.int16)
        for traces in self._traces:
            coefficients = numbers % q
            numbers = numbers // q
            there = np.flatnonzero(coefficients)
            if len(there) == len(out):
                phases += traces[self.field.log[coefficients]]
            else:
                phases[there] += traces[self.field.log[coefficients[there]]]
        half = 1 + phases.shape[1]
        real, imaginary = out[:, 0, 1:half], out[:, 0, half if self.odd else half + 1 :]
        np.take(self._cosines, phases, out=real, mode="clip")
        np.take(self._sines, phases, out=imaginary, mode="clip")
        # f(0) = 0: the value at 0 is 1.
        out[:, 0, 0] = q**-0.5
        if self.odd:
            np.negative(out[:, 0], out=out[:, 1])
            return
        out[:, 0, half] = 0.0
        np.negative(out[:, 0, half:], out=out[:, 1, :half])
        out[:, 1, half:] = out[:, 0, :half]
        np.negative(out[:, :2], out=out[:, 2:])

    def verify(self) -> Verified:
        """Size, distinctness and largest cosine from the sums of all differences of polynomials."""
        K, q = len(self), self.field.q
        polynomials = -(-(K - self.standard) // self.multiples)
        used = next(n for n in range(9) if q**n >= polynomials)
        if K == 2 and self.odd:
            return Verified(K, True, Cosine.of(-1), None, "one pair")
        if used <= self.odd:
            how = "multiples of one orthonormal basis"
            if polynomials <= 0 or self.odd:
                return Verified(K, True, Cosine.of(0), None, how)
            return Verified(K, True, _flat(q), None, "all values have modulus 1/sqrt(q)")
        cosine, number = largest_cosine(q, self.exponents[: max(used, 2)])
        if cosine == _flat(q):
            how = "multiples of one orthonormal basis and of bases that a planar function gives"
            planar(self.field)
        else:
            how = "all character sums of differences, by transforms"
        if K < self.standard + self.multiples * (number + 1):
            how += "; an upper bound for the rows kept"
        return Verified(K, cosine.value < 1, cosine, None, how)


def largest_cosine(q: int, exponents: tuple[int, ...]) -> tuple[Cosine, int]:
    """Largest cosine of the rows of all polynomials, and the number of one that attains it with 0.

    Completing the square, or the cube, makes any sum of degree 2 or 3 one of c x^k + b x times a
    root of unity, so that odd cubics have the same largest sum as all cubics.

    Args:
        q: of the field, prime unless the exponents are (1, 2).
        exponents: as in `CharacterRows`.
    """
    if exponents == (1, 2):
        return _flat(q), 0
    degrees = [e for e in exponents if e > 2]
    peak = max((largest_odd_sum(q, degree) for degree in degrees), key=lambda peak: peak.value)
    held = dict(zip((1, 3, 5), peak.coefficients, strict=False))
    number = sum(held.get(e, 0) * q**i for i, e in enumerate(exponents))
    return Cosine(peak.text, peak.value), number


def planar(field: LogField) -> None:
    """Check that x^2 is planar: (x + h)^2 - x^2 takes each value once, for every h but 0.

    Then the sum over x of a character of a x^2 + b x, a not 0, has modulus sqrt(q): its square is
    the sum over h of a character of b h + a h^2, times the sum over x of one of 2 a h x, which is 0
    unless h = 0. Scaling x by h shows that h = 1 is enough.

    Raises:
        ValueError: it is not.
    """
    squares = field.power(np.arange(field.q), 2)
    differences = field.subtract(squares[field.add(np.arange(field.q), 1)], squares)
    if len(np.unique(differences)) != field.q:
        raise ValueError(f"x^2 is not planar over GF({field.q})")


def _flat(q: int) -> Cosine:
    return Cosine.root(Fraction(1, q))
