"""Additive characters of polynomials over a finite field: unbiased bases, cubics, odd polynomials.

A polynomial f over GF(q), q odd, gives the complex vector exp(2 pi i Tr f(x) / p) / sqrt(q), x in
GF(q). As a real vector it has the dimensions 2 q, and its multiples by 1, i, -1, -i are rows:
their inner products are the real and imaginary parts of sums over x of one character. An odd
polynomial has conjugate values at x and -x: such vectors fill a real space of q dimensions, their
inner products are real sums, and +-1 are all the multiples there are.

| exponents | d | K | largest cosine |
|---|---|---|---|
| 1, 2 | 2 q | 4 q (q + 1) | 1/sqrt(q) |
| 1, 3 (odd) | p | 2 p^2 | below 2/sqrt(p) |
| 1, 2, 3 | 2 p | 4 p (p^2 + 1) | below 2/sqrt(p) |
| 1, 3, 5 (odd) | p | 2 p^3 | below 4/sqrt(p) |

The bounds are Weil's (A. Weil, 1948, On some exponential sums): |sum of exp(2 pi i f(x) / p)| is at
most (deg f - 1) sqrt(p). The exact maxima are found by transforms.
"""

import re
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from math import gcd, pi

import numpy as np

from gnc_cli.constructions.construction import (
    Construction,
    Cosine,
    Family,
    GroupedRows,
    Verification,
)
from gnc_cli.constructions.fields import FiniteField, finite_field, prime_power

_MUB = "Wootters and Fields 1989, Optimal state-determination by mutually unbiased measurements"
_ALLTOP = "Alltop 1980, Complex sequences with low periodic correlations"
_WEIL = "Weil 1948, On some exponential sums"
_KINDS = {
    "quadratic": ((1, 2), 2048, _MUB),
    "cubic": ((1, 2, 3), 2048, _ALLTOP),
    "odd-cubic": ((1, 3), 2048, _WEIL),
    "odd-quintic": ((1, 3, 5), 128, _WEIL),
}
"""Exponents of the polynomials, largest order of the fields, and source. Codes of odd quintics over
fields of more than 128 elements have millions of rows."""
_TIE = 1e-9
"""Relative difference of sums up to which they are conjugates of the largest, in floats."""


class CharacterRows(GroupedRows):
    """Rows of the characters of all polynomials over GF(q), q odd, with the given exponents.

    Coordinates: real parts of the values at 0, 1, g, g^2, .., then imaginary parts; for odd
    exponents only those of one half of the nonzero elements, each times sqrt(2). Polynomials are
    counted with the coefficient of the lowest power fastest; each gives a row for each of its
    multiples. For exponents (1, 2, ..) the standard basis and its multiples come first. Where an
    exponent exceeds 2, the field is prime and larger than it.
    """

    verifies_parts = True

    def __init__(self, field: FiniteField, exponents: tuple[int, ...]) -> None:
        self.field = field
        self.exponents = exponents
        self.odd = exponents[1] != 2
        """True if the vectors have a real form in q dimensions."""
        self.group = 2 if self.odd else 4
        self.standard = 0 if self.odd else 4 * field.q
        K = self.standard + self.group * field.q ** len(exponents)
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

    def _basis(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return columns and signs of unit vectors times 1, i, -1, -i, each shape (n,)."""
        turns = numbers % 4
        return numbers // 4 + self.field.q * (turns % 2), 1 - 2 * (turns // 2)

    def _fill(self, out: np.ndarray, first: int) -> None:
        numbers, q = np.arange(first, first + len(out)), self.field.q
        phases: np.ndarray = np.zeros((len(out), self._traces[0].shape[1]), dtype=np.int16)
        for traces in self._traces:
            coefficients = numbers % q
            numbers = numbers // q
            nonzero = np.flatnonzero(coefficients)
            if len(nonzero) == len(out):
                phases += traces[self.field.log[coefficients]]
            else:
                phases[nonzero] += traces[self.field.log[coefficients[nonzero]]]
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

    def verify(self) -> Verification:
        """Compute size, distinctness and largest cosine by sums of differences of polynomials."""
        K, q = len(self), self.field.q
        polynomials = -(-(K - self.standard) // self.group)
        count = next(n for n in range(9) if q**n >= polynomials)
        if K == 2 and self.odd:
            return Verification(K, True, Cosine.rational(-1))
        if count <= self.odd:  # multiples of one orthonormal basis; then one vector of modulus 1
            return Verification(
                K, True, Cosine.rational(0) if polynomials <= 0 or self.odd else _flat(q)
            )
        cosine, position = largest_cosine(q, self.exponents[: max(count, 2)])
        if cosine == _flat(q):
            check_planar(self.field)
        attained = K >= self.standard + self.group * (position + 1)
        return Verification(K, cosine.value < 1, cosine, attained=attained)


def largest_cosine(q: int, exponents: tuple[int, ...]) -> tuple[Cosine, int]:
    """Return the largest cosine, and the number of a polynomial that attains it with 0.

    Completing the square, or the cube, makes any sum of degree 2 or 3 one of c x^k + b x times a
    root of unity, so that odd cubics have the same largest sum as all cubics.
    """
    if exponents == (1, 2):
        return _flat(q), 0
    degrees = [e for e in exponents if e > 2]
    peaks = (largest_odd_sum(q, degree) for degree in degrees)
    peak, coefficients = max(peaks, key=lambda peak: peak[0].value)
    return peak, sum(coefficients.get(e, 0) * q**i for i, e in enumerate(exponents))


def _flat(q: int) -> Cosine:
    return Cosine.root(Fraction(1, q))


def check_planar(field: FiniteField) -> None:
    """Check that x^2 is planar: (x + h)^2 - x^2 takes each value once, for every h but 0.

    Then the sum over x of a character of a x^2 + b x, a not 0, has modulus sqrt(q): its square is
    the sum over h of a character of b h + a h^2, times the sum over x of one of 2 a h x, which is 0
    unless h = 0. Scaling x by h shows that h = 1 is enough.
    """
    squares = field.power(np.arange(field.q), 2)
    differences = field.subtract(squares[field.add(np.arange(field.q), 1)], squares)
    if len(np.unique(differences)) != field.q:
        raise ValueError(f"x^2 is not planar over GF({field.q})")


@lru_cache(maxsize=2048)
def largest_odd_sum(p: int, degree: int) -> tuple[Cosine, dict[int, int]]:
    """Maximise |sum over x mod p of exp(2 pi i f(x) / p)| / p over odd f of exactly this degree.

    f(x) = c x + .. + a x^degree has odd powers only, so the sum is real. The maximum is over all
    sums: the transform runs through all c, and one a of each class modulo k-th powers is enough,
    since x -> s x takes a to a s^k. That is p^((degree - 3) / 2) transforms for each class of a.

    Returns:
        The value, right to a few ulp, with its formula; and an f that attains it, the coefficients
        by their exponents.
    """
    x = np.arange((p + 1) // 2)
    square = x * x % p
    angles = 2 * pi / p * np.arange(p)
    waves = np.empty(p, dtype=np.complex128)
    waves.real, waves.imag = np.cos(angles), np.sin(angles)
    # Coefficients from the highest power down; c, of x, is the transform's variable.
    heads = list(product(_classes(p, degree), *[range(p)] * ((degree - 3) // 2)))
    f = np.zeros((len(heads), len(x)), dtype=np.int64)
    for column in np.array(heads).T:
        f = (f * square + column[:, None]) % p
    sums = np.abs(np.fft.hfft(waves[f * (square * x % p) % p], p))
    row, c = divmod(int(np.argmax(sums >= sums.max() * (1 - _TIE))), p)
    f_max = dict(zip(range(1, degree + 1, 2), (-c % p, *reversed(heads[row])), strict=True))
    terms = (f"{a}*x^{e}" for e, a in reversed(f_max.items()) if a)
    polynomial = re.sub(r"\b1\*|\^1\b", "", "+".join(terms))
    text = f"|sum(cos(2*pi*({polynomial})/{p}), x=0..{p - 1})|/{p}"
    return Cosine(text, float(sums.max()) / p), f_max


def _classes(p: int, k: int) -> list[int]:
    """Return the least element of each class of nonzero residues modulo k-th powers."""
    number = gcd(k, p - 1)
    representatives: dict[int, int] = {}
    for a in range(1, p):
        representatives.setdefault(pow(a, (p - 1) // number, p), a)
        if len(representatives) == number:
            break
    return list(representatives.values())


def _member(kind: str, q: int) -> Construction | None:
    exponents, max_order, reference = _KINDS[kind]
    order = prime_power(q)
    if order is None or order[0] == 2 or q > max_order:
        return None
    if kind != "quadratic" and (order[1] > 1 or q <= exponents[-1]):
        return None
    size = q ** len(exponents)
    odd = exponents[1] != 2
    title = next(family.title for family in FAMILIES if family.name[:-2] == kind)
    if kind == "quadratic":
        title = f"{q + 1} mutually unbiased bases of C^{q}, times 1, i, -1, -i"
    return Construction(
        f"{kind}-{q}",
        title,
        q if odd else 2 * q,
        2 * size if odd else 4 * (size + q),
        largest_cosine(q, exponents)[0],
        None,
        reference,
        lambda: CharacterRows(finite_field(q), exponents),
    )


FAMILIES: tuple[Family, ...] = (
    Family(
        "quadratic-q",
        "q + 1 mutually unbiased bases of C^q, times 1, i, -1, -i",
        "q < 2048 a power of an odd prime",
        "2 q",
        "4 q (q + 1)",
        "1/sqrt(q)",
        _MUB,
        partial(_member, "quadratic"),
        lambda d: [(d // 2,)],
    ),
    Family(
        "cubic-p",
        "characters of cubic polynomials with the standard basis of C^p, times 1, i, -1, -i",
        "p = 5, 7, .. a prime below 2048",
        "2 p",
        "4 p (p^2 + 1)",
        "at most 2/sqrt(p)",
        _ALLTOP,
        partial(_member, "cubic"),
        lambda d: [(d // 2,)],
    ),
    Family(
        "odd-cubic-p",
        "characters of odd cubic polynomials, signed",
        "p = 5, 7, .. a prime below 2048",
        "p",
        "2 p^2",
        "at most 2/sqrt(p)",
        _WEIL,
        partial(_member, "odd-cubic"),
        lambda d: [(d,)],
    ),
    Family(
        "odd-quintic-p",
        "characters of odd quintic polynomials, signed",
        "p = 7, 11, .., 127",
        "p",
        "2 p^3",
        "at most 4/sqrt(p)",
        _WEIL,
        partial(_member, "odd-quintic"),
        lambda d: [(d,)],
    ),
)
