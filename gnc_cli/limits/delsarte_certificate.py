"""Certificates by Delsarte's linear program: a polynomial, checked by Sturm's theorem.

Let f = sum f_i P_i with f_i >= 0 for i >= 1 and f <= 0 on [-1, s], P_i Gegenbauer's polynomials of
R^d with P_i(1) = 1. If all cosines of K points were at most s, then the sum of f over all ordered
pairs would be at least f_0 K^2, and at most K f(1). So f(1) < K f_0 excludes such points.

At sharp codes f(1) = K f_0, and the largest cosine may be s itself. If f(s) = 0, then
F = f / (t - s) is not negative on [-1, s). If F_i >= 0 wherever f_i = 0 (i >= 1), and
F(1) < K F_0, then f + e F = (t - s + e) F proves a largest cosine above s - e, by the first part,
for every small e > 0. So it is at least s.

The icosahedron and the 600-cell attain the bound, with cosines in Q(sqrt(5)). There f is given by
its roots: f = (t - s) F and F = (t + 1) (t - a_1)^2 ... (t - a_m)^2 g, which is not negative on
[-1, s) if g is positive. All numbers are a + b sqrt(5), all polynomials pairs of ones over Q.
For the 600-cell f_12 = 0: harmonics of degree 12 alone, of those up to 19, do not vanish on it
(N. N. Andreev, A minimal code, Math. Notes 66, 1999).
"""

import contextlib
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Self

from gnc_cli.limits.claim import (
    BoundCertificate,
    Rationals,
    RefutedError,
    Surd,
    UnresolvedError,
    enclosure,
    poll,
    surd,
)
from gnc_cli.limits.delsarte import (
    DelsarteLP,
    DelsarteProof,
    gegenbauer_polynomials,
    gegenbauer_sum,
    rational,
)
from gnc_cli.runtime.deadline import Deadline

if TYPE_CHECKING:
    from flint import fmpq, fmpq_poly

_MOST_DEGREE = 128
"""Largest degree that is checked, three times that of our own certificates."""
_MOST_CHARACTERS = 400
"""Largest length of a coefficient or the cosine, characters."""
_MOST_BITS = 100_000
"""Largest product of degree and bits of integer coefficients: a check takes a few seconds."""
_EXCESS_UNIT = 1 << 80
"""Denominator of f_0, which keeps it short."""
_SHARP_DENOMINATOR = 1000
"""Largest denominator of the cosines of sharp codes that are tried."""
_MOST_TOUCHING = 24
"""Largest number of roots and coefficients of a polynomial over Q(sqrt(5))."""
_TOUCH_TOLERANCE = 1e-6
"""Distance below 0 up to which a maximum counts as touching 0, for f_0 = 1."""


_SQRT5_CODES = {
    (3, 12): ("0+1/5*sqrt(5)", ("0-1/5*sqrt(5)",), ("1",)),
    (4, 120): (
        "1/4+1/4*sqrt(5)",
        ("-1/4-1/4*sqrt(5)", "-1/2", "1/4-1/4*sqrt(5)", "0", "-1/4+1/4*sqrt(5)", "1/2"),
        ("9/8", "-1", "-265/242+3/242*sqrt(5)", "1"),
    ),
}
"""Codes in Q(sqrt(5)) that attain the bound, by (d, K): largest cosine, the a_k, coefficients of g.
"""


@dataclass(frozen=True, kw_only=True)
class DelsarteCertificate(BoundCertificate):
    """A polynomial f that is at most 0 on [-1, s], with f(1) <= K f_0."""

    kind: Literal["delsarte"]
    """Method of the proof."""
    coefficients: Rationals
    """Coefficients f_0, f_1, ... of f in the Gegenbauer polynomials of R^d, P_i(1) = 1."""

    def check(self, deadline: Deadline) -> None:
        """Prove the claim as the module describes; see `Claim.check`."""
        if len(self.coefficients) > _MOST_DEGREE + 1:
            raise UnresolvedError(f"its degree is above {_MOST_DEGREE}")
        if max(map(len, (self.cosine, *self.coefficients))) > _MOST_CHARACTERS:
            raise UnresolvedError(f"a number has more than {_MOST_CHARACTERS} characters")
        s = Fraction(self.cosine)
        coefficients = [Fraction(text) for text in self.coefficients]
        if not coefficients:
            raise ValueError("field 'coefficients' is empty")
        if min(coefficients[1:], default=Fraction(0)) < 0:
            raise RefutedError("a coefficient of the polynomial is negative")
        excess = self.K * coefficients[0] - sum(coefficients)
        if excess < 0 or (self.strict and excess == 0):
            raise RefutedError(
                f"f(1) / f_0 is not {'below' if self.strict else 'at most'} {self.K}"
            )
        f = gegenbauer_sum(self.d, coefficients)
        if not nonpositive(f, s, deadline):
            raise RefutedError("the polynomial is positive somewhere on [-1, s]")
        if excess == 0 and not self._attained_at_most(f, s, coefficients):
            raise RefutedError("f(1) = K f_0, and this f does not exclude cosines below s")

    def _attained_at_most(self, f: "fmpq_poly", s: Fraction, coefficients: list[Fraction]) -> bool:
        """Return whether f proves the claim with equality, as the module describes."""
        from flint import fmpq_poly

        F, rest = divmod(f, fmpq_poly([-rational(s), 1]))
        parts = expansion(self.d, F)
        vanishing = [b for a, b in zip(coefficients[1:], parts[1:], strict=False) if a == 0]
        return not rest and min(vanishing, default=0) >= 0 and sum(parts) < self.K * parts[0]

    @classmethod
    def from_bound(
        cls, bound: DelsarteLP, d: int, K: int, deadline: Deadline
    ) -> BoundCertificate | None:
        """Return the simplex, the polynomial of a sharp code, or else the proof of the bound.

        See `BoundCertificate.from_bound`. Sharp codes have cosines in Q or Q(sqrt(5)).
        """
        if (d, K) in _SQRT5_CODES:
            return QuadraticCertificate.from_bound(bound, d, K, deadline)
        if K <= d + 1:
            return cls._build(d, Fraction(-1, K - 1), K, (1, K - 1), strict=False)
        proof = bound.proof(d, K)
        if proof is None:
            return None
        first = 1 - Fraction(math.ceil(proof.excess * _EXCESS_UNIT), _EXCESS_UNIT)
        best = cls._build(d, proof.s, K, (first, *proof.coefficients[1:]), strict=True)
        sharp = cls._sharpen(proof, K)
        for certificate in (sharp, best) if Fraction(sharp.cosine) > proof.s else (best,):
            with contextlib.suppress(RefutedError, UnresolvedError):
                certificate.check(deadline)
                return certificate
        return None

    @classmethod
    def _sharpen(cls, proof: DelsarteProof, K: int) -> Self:
        """Return the polynomial that touches 0 at simple fractions near those of a proof."""
        from flint import fmpq_poly

        s, x = proof.s.limit_denominator(_SHARP_DENOMINATOR), fmpq_poly([0, 1])
        polynomial = gegenbauer_sum(proof.d, proof.coefficients)
        f = x - rational(s)
        if float(polynomial(-1)) > -_TOUCH_TOLERANCE:
            f *= x + 1
        slope: Any = polynomial.derivative().numer()
        for root, _ in slope.complex_roots():
            touching = Fraction(float(root.real)).limit_denominator(_SHARP_DENOMINATOR)
            high = float(polynomial(rational(touching))) > -_TOUCH_TOLERANCE
            if high and root.imag.contains(0) and -1 < touching < s:
                f *= (x - rational(touching)) ** 2
        return cls._build(proof.d, s, K, expansion(proof.d, f), strict=False)

    @classmethod
    def _build(
        cls, d: int, s: Fraction, K: int, coefficients: Iterable[Any], *, strict: bool
    ) -> Self:
        return cls(
            certificate="gnc/1",
            kind="delsarte",
            d=d,
            K=K,
            cosine=str(s),
            strict=strict,
            coefficients=tuple(map(str, coefficients)),
        )


Pair = tuple[Any, Any]
"""A number or polynomial x + y sqrt(5): x and y."""


@dataclass(frozen=True, kw_only=True)
class QuadraticCertificate(BoundCertificate):
    """A polynomial over Q(sqrt(5)), by its roots, whose f(1) is K f_0."""

    kind: Literal["delsarte-sqrt5"]
    """Method of the proof."""
    cosine: Surd
    """s, between -1 and 1: every code of K points in R^d has two points with a cosine of at
    least this."""
    strict: Literal[False]
    """False: sharp codes attain the bound."""
    touching: tuple[Surd, ...]
    """Double roots a_1, ..., a_m."""
    factor: tuple[Surd, ...]
    """Coefficients of g, the constant first."""

    @classmethod
    def from_bound(cls, bound: Any, d: int, K: int, deadline: Deadline) -> Self:
        """Return the certificate of one of `_SQRT5_CODES`; see `BoundCertificate.from_bound`."""
        s, touching, factor = _SQRT5_CODES[d, K]
        return cls(
            certificate="gnc/1",
            kind="delsarte-sqrt5",
            d=d,
            K=K,
            cosine=s,
            strict=False,
            touching=touching,
            factor=factor,
        )

    def check(self, deadline: Deadline) -> None:
        """Prove the claim as the module describes; see `Claim.check`."""
        from flint import fmpq_poly

        if len(self.touching) + len(self.factor) > _MOST_TOUCHING:
            raise UnresolvedError(f"it has more than {_MOST_TOUCHING} roots and coefficients")
        if max(map(len, (self.cosine, *self.touching, *self.factor))) > _MOST_CHARACTERS:
            raise UnresolvedError(f"a number has more than {_MOST_CHARACTERS} characters")
        x, y = (fmpq_poly([rational(surd(c)[k]) for c in self.factor]) for k in (0, 1))
        root, root_above = (rational(end) for end in enclosure("0+1*sqrt(5)"))
        spread = (root_above - root) * sum(abs(c) for c in y.coeffs())
        if not nonpositive(spread - x - root * y, enclosure(self.cosine)[1], deadline):
            raise RefutedError("the factor is not shown to be positive on [-1, s]")
        F: Pair = (x, y)
        for a in ("-1", *self.touching, *self.touching):
            poll(deadline)
            F = _times_root(F, a)
        f = _times_root(F, self.cosine)
        f_i, F_i = (
            [*itertools.zip_longest(*(expansion(self.d, part) for part in pair), fillvalue=0)]
            for pair in (f, F)
        )
        if any(_sign(*c) < 0 for c in f_i[1:]):
            raise RefutedError("a coefficient of the polynomial is negative")
        if any(sum(part) != self.K * part[0] for part in zip(*f_i, strict=True)):
            raise RefutedError(f"f(1) / f_0 is not {self.K}")
        if any(_sign(*C) < 0 for c, C in zip(f_i[1:], F_i[1:], strict=False) if not any(c)) or (
            _sign(*(sum(part) - self.K * part[0] for part in zip(*F_i, strict=True))) >= 0
        ):
            raise RefutedError("f(1) = K f_0, and this f does not exclude cosines below s")


def _times_root(pair: Pair, text: str) -> Pair:
    """Multiply a polynomial over Q(sqrt(5)) by t minus a number."""
    from flint import fmpq_poly

    t, (a, b), (x, y) = fmpq_poly([0, 1]), map(rational, surd(text)), pair
    return x * (t - a) - 5 * b * y, y * (t - a) - b * x


def _sign(a: Any, b: Any) -> int:
    """Return the sign of a + b sqrt(5)."""
    square = a * abs(a) + 5 * b * abs(b)
    return int(square > 0) - int(square < 0)


def expansion(d: int, f: "fmpq_poly") -> "list[fmpq]":
    """Return the coefficients of f in the Gegenbauer polynomials of R^d, the constant first."""
    coefficients = []
    for P in [*itertools.islice(gegenbauer_polynomials(d), f.degree() + 1)][::-1]:
        coefficients.append(f[P.degree()] / P.leading_coefficient())
        f -= coefficients[-1] * P
    return coefficients[::-1]


def nonpositive(f: "fmpq_poly", high: Fraction, deadline: Deadline) -> bool:
    """Return whether f <= 0 on [-1, high] and f is not 0, by Sturm's theorem, in integers.

    The sign of f changes at its roots of odd multiplicity. Let p be the product of (x - r) over
    them. If Sturm's sequence of p counts no root in the interval, f has no change of sign there.

    Raises:
        UnresolvedError: the coefficients are too large, or the deadline came first.
    """
    from flint import fmpq_poly, fmpz_poly

    whole = f.numer()
    if whole.degree() * whole.height_bits() > _MOST_BITS:
        raise UnresolvedError(
            f"its degree, times the bits of a coefficient, is above {_MOST_BITS:,}"
        )
    low, end = rational(Fraction(-1)), rational(high)
    if f(low) > 0 or f(end) > 0:
        return False
    sign, factors = whole.factor_squarefree()
    p = fmpz_poly([1])
    for factor, multiplicity in factors:
        p *= factor ** (multiplicity % 2)
    chain = [fmpq_poly(p), fmpq_poly(p.derivative())]
    while chain[-1].degree() > 0:
        poll(deadline)
        rest = -(chain[-2] % chain[-1]).numer()
        chain.append(fmpq_poly(rest) / rest.content())
    at_low, at_end = (_sign_changes([q(x) for q in chain]) for x in (low, end))
    changes = at_low - at_end - (p(end) == 0)
    return changes <= 0 and sign * p((low + end) / 2) < 0


def _sign_changes(values: "list[fmpq]") -> int:
    signs = [value > 0 for value in values if value != 0]
    return sum(a is not b for a, b in itertools.pairwise(signs))
