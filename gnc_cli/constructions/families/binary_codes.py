"""Binary codes as rows of signs: Kerdock, Delsarte-Goethals, Gold, BCH and other cyclic codes.

All contain the first-order Reed-Muller code, so that a set of functions modulo the affine ones
gives each. Those of the cyclic codes are traces over GF(2^m) of polynomials,
Tr(c_1 x^e_1) + Tr(c_2 x^e_2) + .. Kerdock's and the Delsarte-Goethals codes are Gray images of
Z4-linear codes.

- Kerdock, m even, with the standard basis: d/2 + 1 mutually unbiased bases of R^d. The 2^(m-1)
  functions differ by bent functions, all of whose Walsh coefficients are +-sqrt(d). For m = 4 the
  signs are the Nordstrom-Robinson code. No more than d/2 + 1 such bases exist.
- Gold, m odd, exponent 3: the Walsh coefficients are 0 and +-2^((m+1)/2). Exponents 3 and 5, from
  m = 5 on (for m = 3 the exponent 5 is a conjugate of 3), give the dual three-error-correcting BCH
  code, coefficients up to 2^((m+3)/2). For even m these two families have largest coefficients
  2^(m/2+1) and 2^(m/2+2): Delsarte-Goethals codes of the same cosine have more rows, so they are
  not offered.
- Delsarte-Goethals DG(m, s), m even, 1 <= s < m/2: 2^((m-1)(m/2-s+1)+m+1) words at distances from
  2^(m-1) - 2^(m-1-s), so the largest cosine is 2^-s. DG(m, m/2) is Kerdock's code, DG(m, 1) the
  second-order Reed-Muller code. (P. Delsarte and J.-M. Goethals, Alternating bilinear forms over
  GF(q), 1975; here as Gray images.)
- Extended BCH codes of length n = 2^m: words are polynomials over GF(2^m) with values in GF(2) and
  degree at most D, which have at most D zeros: the least distance b is at least n - D, with D the
  largest exponent of the trace functions' terms. 2^k words are 2^k rows with largest cosine
  1 - 2 b / n. In every code of the table there is equality, as `verify` finds by Walsh transforms
  of representatives of all words. Two extended cyclic codes have more words than they.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial

import numpy as np

from gnc_cli.constructions.boolean_functions import FormSet, Span, Symmetry, normal
from gnc_cli.constructions.construction import Construction, Cosine, Family, ListedFamily
from gnc_cli.constructions.fields import binary_field
from gnc_cli.constructions.sign_rows import SignRows

_KERDOCK = (
    "Calderbank, Cameron, Kantor, Seidel 1997, Z4-Kerdock codes, orthogonal spreads, and extremal "
    "Euclidean line-sets"
)
_PROVED = (
    "Cohn, de Laat, Leijenhorst 2024, Optimality of spherical codes via exact semidefinite "
    "programming bounds"
)
_PROVED_OPTIMAL = (4, 6, 8, 10)
"""m of Kerdock's codes."""
_Z4 = (
    "Hammons, Kumar, Calderbank, Sloane, Sole 1994, The Z4-linearity of Kerdock, Preparata, "
    "Goethals, and related codes"
)
_GOLD = "Gold 1968, Maximal recursive sequences with 3-valued recursive cross-correlation functions"
_THREE_ERROR = (
    "Kasami 1971, The weight enumerators for several classes of subcodes of the second order "
    "binary Reed-Muller codes"
)
_BCH = "Bose, Ray-Chaudhuri 1960; Hocquenghem 1959; Kasami, Lin, Peterson 1967"
_FOUND = "distance by Walsh transforms of all words"
_MOST_K = 40
"""Delsarte-Goethals codes up to 2^40 rows are offered: their verification takes seconds."""

PRIMITIVE: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {
    (8, 7): (2, (3,)),
    (16, 7): (6, (5,)),
    (16, 11): (4, (5, 3)),
    (16, 15): (2, (5, 3, 7)),
    (32, 11): (12, (5,)),
    (32, 16): (8, (5, 3)),
    (32, 21): (6, (5, 3, 11)),
    (32, 26): (4, (5, 3, 11, 7)),
    (64, 10): (28, (9,)),
    (64, 16): (24, (9, 5)),
    (64, 18): (22, (9, 5, 21)),
    (64, 24): (16, (9, 5, 21, 3)),
    (64, 30): (14, (9, 5, 21, 3, 11)),
    (64, 36): (12, (9, 5, 21, 3, 11, 13)),
    (128, 15): (56, (9,)),
    (128, 22): (48, (9, 5)),
    (128, 29): (44, (9, 5, 21)),
    (128, 36): (32, (9, 5, 21, 3)),
    (256, 13): (120, (17,)),
    (256, 21): (112, (17, 9)),
    (256, 29): (96, (17, 9, 5)),
    (256, 37): (92, (17, 9, 5, 37)),
    (512, 19): (240, (17,)),
    (512, 28): (224, (17, 9)),
    (512, 31): (220, (17, 9, 73)),
    (512, 40): (192, (17, 9, 73, 5)),
    (1024, 16): (496, (33,)),
    (1024, 26): (480, (33, 17)),
    (1024, 36): (448, (33, 17, 9)),
    (2048, 23): (992, (33,)),
    (2048, 34): (960, (33, 17)),
}
"""BCH: (length, k) -> (least distance, exponents besides 1, by their largest conjugates);
k <= 40."""

CYCLIC: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {
    (64, 19): (20, (3, 31)),
    (64, 21): (18, (5, 21, 31)),
}
"""Likewise; exponents found by trying all sets of up to four with k <= 24 for n = 64. The same
search for n = 32 (k <= 26), 128 (k <= 22) and 256 (k <= 25) found nothing that the other families
here do not have."""


@dataclass(frozen=True)
class SignCode:
    """Rows (+-1)/sqrt(d) from a set of functions, perhaps after the signed standard basis."""

    name: str
    title: str
    m: int
    """d = 2^m."""
    k: int
    """There are 2^k rows of signs, their negatives included."""
    largest: int
    """The largest sum of products of two rows of signs."""
    reference: str
    forms: Callable[[], FormSet] = field(repr=False, compare=False)
    standard: bool = False
    """The signed standard basis comes first."""
    proven: bool = False
    distribution: tuple[tuple[str, int], ...] | None = None

    @property
    def d(self) -> int:
        return 1 << self.m

    def construction(self) -> Construction:
        """All rows."""
        cosine = Cosine.of(Fraction(self.largest, self.d))
        if self.standard and self.largest**2 < self.d:
            cosine = Cosine.root(Fraction(1, self.d))
        return Construction(
            name=self.name,
            title=self.title,
            d=self.d,
            K=(1 << self.k) + 2 * self.d * self.standard,
            cosine=cosine,
            proven=self.proven,
            reference=self.reference,
            build=lambda: SignRows(self.forms(), self.standard),
            distribution=self.distribution,
            # Products with a row of the code, over {+-1} or through the Gray map, are symmetries.
            transitive=not self.standard,
        )


def trace_functions(m: int, e: int) -> np.ndarray:
    """A basis of the functions Tr(c x^e), c in GF(2^m), shape (number of conjugates of e, 2^m)."""
    finite = binary_field(m)
    # The conjugates e, 2 e, 4 e, .. modulo 2^m - 1 are powers of x with the same trace functions.
    if any((e << i) % (finite.q - 1) in (0, 1) for i in range(m)):
        raise ValueError(f"Tr(c x^{e}) is affine over GF(2^{m})")
    x = finite.power(np.arange(finite.q), e)
    functions = finite.trace[finite.multiply(finite.exp[:m, None], x[None, :])].astype(np.uint8)
    return functions[Span(normal(functions)).independent]


def trace_forms(m: int, exponents: Sequence[int]) -> FormSet:
    """The sums of trace functions of these exponents; the first exponents' functions come first.

    With the affine functions they are an extended cyclic code of length 2^m.
    """
    x = np.arange(1 << m)
    shifts = (Symmetry(f"translation by 2^{i}", x ^ (1 << i), 2) for i in range(m))
    return FormSet([trace_functions(m, e) for e in exponents], None, [*shifts, *_field_maps(m)])


def _field_maps(m: int) -> tuple[Symmetry, Symmetry]:
    """x -> a x and x -> x^2 of GF(2^m), a its primitive element."""
    finite = binary_field(m)
    x = np.arange(finite.q)
    return (
        Symmetry("multiplication", finite.multiply(x, finite.exp[1:2]), finite.q - 1),
        Symmetry("Frobenius", finite.power(x, 2), m),
    )


def z4_forms(m: int, r: int) -> FormSet:
    """The forms of Kerdock's set (r = 0) and the Delsarte-Goethals codes, of a Z4-linear code.

    With n = m - 1 odd, the words T(l X) + 2 tr(c_1 x^3) + .. + 2 tr(c_r x^(1 + 2^r)) + e, l in
    GR(4, n), e in Z4, X the Teichmueller lift of x in GF(2^n), T the ring's trace and tr the
    field's, are a Z4-linear code of length 2^n. The Gray map 0, 1, 2, 3 -> 00, 01, 11, 10 takes Lee
    distances to Hamming distances at length 2^m. Modulo affine functions l may be 0 or a
    Teichmueller unit, and the functions tr(c_j x^(1 + 2^j)) do not depend on the new coordinate.
    (A. R. Hammons, P. V. Kumar, A. R. Calderbank, N. J. A. Sloane, P. Sole, The Z4-linearity of
    Kerdock, Preparata, Goethals, and related codes, 1994.)

    Coordinate x + 2^(m-1) e is place e of the Gray image of coordinate x.

    Example:
        >>> len(z4_forms(4, 0)), len(z4_forms(6, 1))
        (8, 1024)
    """
    if m % 2 or not 4 <= m <= 12 or not 0 <= r <= (m - 2) // 2:
        raise ValueError(f"no Z4-linear forms for m = {m}, r = {r}")
    finite = binary_field(m - 1)
    x = np.arange(finite.q)
    words = ring_trace(m - 1)[finite.multiply(x[:, None], x[None, :])]
    core = np.concatenate([words >> 1, (words >> 1) ^ (words & 1)], axis=1).astype(np.uint8)
    # The last coefficient's functions come last, so that each code begins with the smaller ones.
    layers = [np.tile(trace_functions(m - 1, 1 + 2**j), 2) for j in range(1, r + 1)]
    on_both_halves = [
        Symmetry(s.name, np.append(s.permutation, s.permutation + finite.q), s.order)
        for s in _field_maps(m - 1)
    ]
    return FormSet(layers, core, on_both_halves)


@cache
def ring_trace(m: int) -> np.ndarray:
    """The trace of GR(4, m) on the Teichmueller set, shape (2^m,), values 0 to 3, int8.

    Entry x is T(X) = X + X^2 + X^4 + .. modulo 4, where X in {0, 1, z, z^2, ..} reduces to the
    field element x. (Hammons et al. 1994, section III.)
    """
    finite = binary_field(m)
    order = finite.q - 1
    polynomial = _hensel_lift(finite.q | int(finite.exp[m]), m)
    powers = np.zeros((order, m), dtype=np.int64)
    powers[0, 0] = 1
    for t in range(1, order):
        powers[t, 1:] = powers[t - 1, :-1]
        powers[t] -= powers[t - 1, -1] * polynomial[:m]
        powers[t] %= 4
    if not ((powers % 2) @ (1 << np.arange(m)) == finite.exp).all():
        raise ValueError("the lifted polynomial does not reduce to the primitive one")
    conjugates = np.arange(order) * 2 ** np.arange(m)[:, None] % order
    traces = powers[conjugates].sum(axis=0) % 4
    if traces[:, 1:].any():
        raise ValueError("a trace lies outside of Z4: the lifted polynomial is wrong")
    table = np.zeros(finite.q, dtype=np.int8)
    table[finite.exp] = traces[:, 0]
    return table


def _hensel_lift(polynomial: int, m: int) -> np.ndarray:
    """Coefficients modulo 4 of the divisor of x^(2^m - 1) - 1 above a primitive polynomial.

    Graeffe's method: with p = even(x) - odd(x), the lift h has h(x^2) = +-(even^2 - odd^2).
    """
    bits = np.array([polynomial >> i & 1 for i in range(m + 1)], dtype=np.int64)
    even, odd = bits.copy(), bits.copy()
    even[1::2], odd[0::2] = 0, 0
    squared = (np.convolve(even, even) - np.convolve(odd, odd))[::2] % 4
    return np.asarray(squared * squared[m] % 4)


def _kerdock(m: int) -> SignCode:
    d, root = 2**m, 2 ** (m // 2)
    proven, half = m in _PROVED_OPTIMAL, d * d // 2
    return SignCode(
        f"kerdock-{m}", f"{d // 2 + 1} mutually unbiased bases, signed", m, 2 * m, root,
        _PROVED if proven else _KERDOCK, partial(z4_forms, m, 0), standard=True, proven=proven,
        distribution=((f"1/{root}", half), ("0", 2 * d - 2), (f"-1/{root}", half), ("-1", 1)),
    )  # fmt: skip


def _gold(m: int) -> SignCode:
    return SignCode(
        f"gold-{m}", "Gold functions with the signed standard basis", m, 2 * m + 1,
        2 ** ((m + 1) // 2), _GOLD, partial(trace_forms, m, (3,)), standard=True,
    )  # fmt: skip


def _three_error(m: int) -> SignCode:
    return SignCode(
        f"bch3-{m}", "dual three-error-correcting BCH code, extended", m, 3 * m + 1,
        2 ** ((m + 3) // 2), _THREE_ERROR, partial(trace_forms, m, (3, 5)),
    )  # fmt: skip


def _delsarte_goethals(m: int, s: int) -> SignCode:
    r = m // 2 - s
    # The one next to Kerdock's needs no second parameter.
    name = f"delsarte-goethals-{m}" if r == 1 else f"delsarte-goethals-{m}-{s}"
    return SignCode(
        name, f"Delsarte-Goethals code DG({m}, {s})", m, (m - 1) * (r + 1) + m + 1, 2 ** (m - s),
        _Z4, partial(z4_forms, m, r),
    )  # fmt: skip


def _cyclic(name: str, n: int, k: int, b: int, exponents: tuple[int, ...], why: str) -> SignCode:
    m = n.bit_length() - 1
    title = f"extended {'BCH' if name == 'bch' else name} code [{n},{k},{b}]"
    forms = partial(trace_forms, m, exponents)
    return SignCode(f"{name}-{n}-{k}", title, m, k, n - 2 * b, why, forms)


_KERDOCK_CODES = tuple(_kerdock(m) for m in range(4, 13, 2))
_GOLD_CODES = tuple(_gold(m) for m in range(3, 12, 2))
_THREE_ERROR_CODES = tuple(_three_error(m) for m in range(5, 12, 2))
_NEXT_CODES = tuple(_delsarte_goethals(m, m // 2 - 1) for m in range(4, 13, 2))
_FURTHER_CODES = tuple(
    code
    for m in range(6, 13, 2)
    for s in range(m // 2 - 2, 0, -1)
    if (code := _delsarte_goethals(m, s)).k <= _MOST_K
)
_BCH_CODES = tuple(_cyclic("bch", n, k, b, e, _BCH) for (n, k), (b, e) in PRIMITIVE.items())
_CYCLIC_CODES = tuple(_cyclic("cyclic", n, k, b, e, _FOUND) for (n, k), (b, e) in CYCLIC.items())

QUADRATIC = (
    *_KERDOCK_CODES, *_GOLD_CODES, *_THREE_ERROR_CODES, *_NEXT_CODES, *_FURTHER_CODES
)  # fmt: skip
"""Codes of quadratic functions."""
RIVALLED = frozenset(
    code.name
    for code in (*_BCH_CODES, *_CYCLIC_CODES)
    if any(r.m == code.m and r.k >= code.k and r.largest <= code.largest for r in QUADRATIC)
)
"""Cyclic codes than which another family has as many rows at their cosine: no search finds them."""
SIGN_CODES = (*QUADRATIC, *_BCH_CODES, *_CYCLIC_CODES)
"""All."""


def _all(codes: tuple[SignCode, ...]) -> Callable[[], Iterable[Construction]]:
    return lambda: (code.construction() for code in codes)


FAMILIES: tuple[Family, ...] = (
    ListedFamily(
        "kerdock-m", "2^(m-1) + 1 mutually unbiased bases, signed",
        "m = 4, 6, .., 12", "2^m", "4^m + 2^(m+1)", "2^(-m/2)", _KERDOCK, _all(_KERDOCK_CODES),
    ),
    ListedFamily(
        "gold-m", "Gold functions with the signed standard basis",
        "m = 3, 5, .., 11", "2^m", "2 4^m + 2^(m+1)", "2^((1-m)/2)", _GOLD, _all(_GOLD_CODES),
    ),
    ListedFamily(
        "bch3-m", "dual three-error-correcting BCH code, extended",
        "m = 5, 7, 9, 11", "2^m", "2 8^m", "2^((3-m)/2)", _THREE_ERROR, _all(_THREE_ERROR_CODES),
    ),
    ListedFamily(
        "delsarte-goethals-m", "Delsarte-Goethals code DG(m, m/2 - 1)",
        "m = 4, 6, .., 12", "2^m", "2^(3m-1)", "2^(1-m/2)", _Z4, _all(_NEXT_CODES),
    ),
    ListedFamily(
        "delsarte-goethals-m-s", "Delsarte-Goethals code DG(m, s)",
        "m-s = 6-1, 8-2, 8-1, 10-3", "2^m", "2^((m-1)(m/2-s+1)+m+1)", "2^-s", _Z4,
        _all(_FURTHER_CODES),
    ),
    ListedFamily(
        "bch-n-k", "extended BCH code [n,k,b], b its least distance",
        "n = 8, 16, .., 2048 with its k up to 40, say 64-18 (b = 22) or 512-31 (b = 220)",
        "n", "2^k", "1 - 2b/n", _BCH, _all(_BCH_CODES), RIVALLED,
    ),
    ListedFamily(
        "cyclic-n-k", "extended cyclic code [n,k,b], b its least distance",
        "n-k = 64-19, 64-21", "n", "2^k", "1 - 2b/n", _FOUND, _all(_CYCLIC_CODES), RIVALLED,
    ),
)  # fmt: skip
