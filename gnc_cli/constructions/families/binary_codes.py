"""Binary codes as rows of signs: Kerdock, Delsarte-Goethals, Gold, BCH, cyclic, and their parts.

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
  second-order Reed-Muller code, not offered: BCH codes have more rows. (P. Delsarte and
  J.-M. Goethals, Alternating bilinear forms over GF(q), 1975; here as Gray images.)
- Extended BCH codes of length n = 2^m: words are polynomials over GF(2^m) with values in GF(2) and
  degree at most D, which have at most D zeros: the least distance b is at least n - D, with D the
  largest exponent of the trace functions' terms. 2^k words are 2^k rows with largest cosine
  1 - 2 b / n. In every code of the table there is equality, as `verify` finds by Walsh transforms
  of representatives of all words. Two extended cyclic codes have more words than they.
- Codes [n, 10, b] without the word of ones, n not a power of two: coordinates are points of the
  projective space over F_2, whole orbits of multiplication by x in a product of rings F_2[x]/(f).
  Orbits were chosen by simulated annealing; [198, 10, 96] has the weights 96 and 112 alone.
- Sections of DG(m, m/2 - 1): two forms of the set differ by one of rank m - 2 in
  (2^(m-1) - 1)(2^m - 1)/3 of 2^(2m-2) - 1 cases, so that 2^(m-2) times as many rows have the
  largest cosine c with a row. Projected orthogonally to it, their largest cosine is c/(1 + c).
- Shortened and punctured codes of all these, below 2^m dimensions. That the bounds on their cosines
  are attained was found by `verify` for every code offered here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np

from gnc_cli.constructions.boolean_functions import (
    CoordinateSymmetry,
    FormSet,
    Span,
    hadamard,
    normal,
)
from gnc_cli.constructions.construction import (
    CodeRows,
    Construction,
    Cosine,
    Family,
    small_family,
    transitive_code,
)
from gnc_cli.constructions.fields import finite_field
from gnc_cli.constructions.integer_rows import IntegerRows, cross_section
from gnc_cli.constructions.sign_rows import PuncturedRows, ShortenedRows, SignRows

_KERDOCK = (
    "Calderbank, Cameron, Kantor, Seidel 1997, Z4-Kerdock codes, orthogonal spreads, and extremal "
    "Euclidean line-sets"
)
_SDP_PROOF = (
    "Cohn, de Laat, Leijenhorst 2024, Optimality of spherical codes via exact semidefinite "
    "programming bounds"
)
_OPTIMAL_KERDOCK_CODES = (4, 6, 8, 10)
"""Values of m for which Kerdock's code is proved optimal."""
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
_KOHNERT = "Kohnert 2007, Constructing two-weight codes with prescribed groups of automorphisms"
_WALSH_TRANSFORMS = "distance by Walsh transforms of all words"
_CODING_THEORY = "MacWilliams and Sloane 1977, The Theory of Error-Correcting Codes, chapter 1"
_MAX_SHORTENED_BITS, _MAX_PUNCTURED_BITS = 35, 30
"""Binary logarithms of the sizes up to which codes are shortened or punctured: beyond, `verify`
takes more than seconds."""

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
"""BCH codes by (length, k), k <= 40: least distance, and exponents other than 1, by their largest
conjugates."""

CYCLIC: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {
    (64, 19): (20, (3, 31)),
    (64, 21): (18, (5, 21, 31)),
}
"""Cyclic codes in the same form, from a search through all sets of up to four with k <= 24 for n =
64. The same search for n = 32 (k <= 26), 128 (k <= 22) and 256 (k <= 25) gave no code with more
rows than the other families have."""


@dataclass(frozen=True, kw_only=True)
class SignCode(Construction):
    """Rows (+-1)/sqrt(d) from a set of functions, perhaps after the signed standard basis."""

    k: int
    """Binary logarithm of the number of rows of signs, negatives included."""
    largest: int
    """Largest inner product of two rows of signs, in integers."""
    forms: Callable[[], FormSet] = field(repr=False, compare=False)
    """Function that makes the set of functions."""


def _sign_code(
    name: str,
    title: str,
    m: int,
    k: int,
    largest: int,
    reference: str,
    forms: Callable[[], FormSet],
    standard: bool = False,
) -> SignCode:
    """Return the code of all rows, d = 2^m, after the signed standard basis if `standard`."""
    d = 1 << m
    cosine = Cosine.rational(Fraction(largest, d))
    if standard and largest**2 < d:
        cosine = Cosine.root(Fraction(1, d))
    return SignCode(
        name,
        title,
        d,
        (1 << k) + 2 * d * standard,
        cosine,
        None,
        reference,
        lambda: SignRows(forms(), standard),
        # Products with a row of the code, over {+-1} or through the Gray map, are symmetries.
        transitive=not standard,
        k=k,
        largest=largest,
        forms=forms,
    )


def trace_functions(m: int, e: int) -> np.ndarray:
    """Return a basis of the functions Tr(c x^e), c in GF(2^m), shape (conjugates of e, 2^m)."""
    finite = finite_field(1 << m)
    x = finite.power(np.arange(finite.q), e)
    functions = finite.trace[finite.multiply(finite.exp[:m, None], x[None, :])].astype(np.uint8)
    return np.asarray(functions[Span(normal(functions)).independent])


def trace_forms(m: int, exponents: Sequence[int]) -> FormSet:
    """Return the sums of trace functions of these exponents; functions of the first come first.

    With the affine functions they are an extended cyclic code of length 2^m.
    """
    x = np.arange(1 << m)
    shifts = (CoordinateSymmetry(x ^ (1 << i), 2) for i in range(m))
    return FormSet([trace_functions(m, e) for e in exponents], None, [*shifts, *_field_maps(m)])


def _field_maps(m: int) -> tuple[CoordinateSymmetry, CoordinateSymmetry]:
    """Return the maps x -> a x and x -> x^2 of GF(2^m), a its primitive element."""
    finite = finite_field(1 << m)
    x = np.arange(finite.q)
    return (
        CoordinateSymmetry(finite.multiply(x, finite.exp[1:2]), finite.q - 1),
        CoordinateSymmetry(finite.power(x, 2), m),
    )


def z4_forms(m: int, r: int) -> FormSet:
    """Return the forms of Kerdock's set (r = 0) or a Delsarte-Goethals code, from a Z4-linear code.

    With n = m - 1 odd, the words T(l X) + 2 tr(c_1 x^3) + .. + 2 tr(c_r x^(1 + 2^r)) + e, l in
    GR(4, n), e in Z4, X the Teichmueller lift of x in GF(2^n), T the ring's trace and tr the
    field's, are a Z4-linear code of length 2^n. The Gray map 0, 1, 2, 3 -> 00, 01, 11, 10 takes Lee
    distances to Hamming distances at length 2^m. Modulo affine functions l may be 0 or a
    Teichmueller unit, and the functions tr(c_j x^(1 + 2^j)) do not depend on the new coordinate.
    (Hammons et al. 1994.)

    Coordinate x + 2^(m-1) e is place e of the Gray image of coordinate x.
    """
    finite = finite_field(1 << (m - 1))
    x = np.arange(finite.q)
    # T(X) = tr(x) + 2 (tr(x^3) + tr(x^5) + .. + tr(x^(1 + 2^((n-1)/2)))) modulo 4.
    digit = sum(finite.trace[finite.power(x, 1 + 2**j)] for j in range(1, m // 2)) % 2
    product = finite.multiply(x[:, None], x)
    low, high = finite.trace[product], np.asarray(digit)[product]
    core = np.concatenate([high, high ^ low], axis=1).astype(np.uint8)
    # The last coefficient's functions come last, so that each code begins with the smaller ones.
    layers = [np.tile(trace_functions(m - 1, 1 + 2**j), 2) for j in range(1, r + 1)]
    on_both_halves = [
        CoordinateSymmetry(np.append(s.permutation, s.permutation + finite.q), s.order)
        for s in _field_maps(m - 1)
    ]
    return FormSet(layers, core, on_both_halves)


def _kerdock(m: int) -> SignCode:
    d, root = 2**m, 2 ** (m // 2)
    half = d * d // 2
    return replace(
        _sign_code(
            f"kerdock-{m}",
            f"{d // 2 + 1} mutually unbiased bases, signed",
            m,
            2 * m,
            root,
            _KERDOCK,
            partial(z4_forms, m, 0),
            standard=True,
        ),
        optimality=_SDP_PROOF if m in _OPTIMAL_KERDOCK_CODES else None,
        distribution=((f"1/{root}", half), ("0", 2 * d - 2), (f"-1/{root}", half), ("-1", 1)),
    )


def _gold(m: int) -> SignCode:
    return _sign_code(
        f"gold-{m}",
        "Gold functions with the signed standard basis",
        m,
        2 * m + 1,
        2 ** ((m + 1) // 2),
        _GOLD,
        partial(trace_forms, m, (3,)),
        standard=True,
    )


def _three_error(m: int) -> SignCode:
    return _sign_code(
        f"bch3-{m}",
        "dual three-error-correcting BCH code, extended",
        m,
        3 * m + 1,
        2 ** ((m + 3) // 2),
        _THREE_ERROR,
        partial(trace_forms, m, (3, 5)),
    )


def _delsarte_goethals(m: int, s: int) -> SignCode:
    r = m // 2 - s
    # The one next to Kerdock's needs no second parameter.
    name = f"delsarte-goethals-{m}" if r == 1 else f"delsarte-goethals-{m}-{s}"
    return _sign_code(
        name,
        f"Delsarte-Goethals code DG({m}, {s})",
        m,
        (m - 1) * (r + 1) + m + 1,
        2 ** (m - s),
        _Z4,
        partial(z4_forms, m, r),
    )


def _cyclic(
    name: str, n: int, k: int, b: int, exponents: tuple[int, ...], reference: str
) -> SignCode:
    m = n.bit_length() - 1
    title = f"extended {'BCH' if name == 'bch' else name} code [{n},{k},{b}]"
    forms = partial(trace_forms, m, exponents)
    return _sign_code(f"{name}-{n}-{k}", title, m, k, n - 2 * b, reference, forms)


def _section(m: int) -> Construction:
    code = _delsarte_goethals(m, m // 2 - 1)
    root = 2 ** (m // 2 - 1)

    def build() -> CodeRows:
        rows = IntegerRows(SignRows(code.forms()).signs(0, code.K).astype(np.int32))
        return cross_section(rows, 0, Fraction(1, root))

    return Construction(
        f"{code.name}-section",
        f"the rows of {code.title} at cosine 1/{root} with one row, projected along it",
        code.d - 1,
        2 ** (m - 2) * (2 ** (m - 1) - 1) * (2**m - 1) // 3,
        Cosine.rational(Fraction(1, root + 1)),
        None,
        _Z4,
        build,
    )


ORBITS = {
    (119, 10): (
        (7, 11, 13, 7),
        (4, 32, 57, 293, 300, 303, 318),
        {7: 645, -9: 308, -25: 63, -41: 7},
    ),
    (198, 10): (
        (25, 7, 31),
        (16, 17, 80, 86, 89, 93, 193, 198, 210, 215, 339, 340, 345, 346),
        {6: 825, -26: 198},
    ),
}
"""Codes by (n, k): polynomials f, with the constant coefficient as lowest bit; a point of each
orbit, the coefficients modulo each f from the lowest bit on; inner products of rows of signs, with
their neighbours."""


def orbit_points(moduli: Sequence[int], points: Iterable[int]) -> list[int]:
    """Return the points and all their images under multiplication by x modulo each polynomial."""
    images: list[int] = []
    for point in points:
        while point not in images:
            images.append(point)
            rest, point, low = point, 0, 0
            for f in moduli:
                degree = f.bit_length() - 1
                shifted = (rest & (1 << degree) - 1) << 1
                point |= min(shifted, shifted ^ f) << low
                rest, low = rest >> degree, low + degree
    return images


def _orbits(n: int, k: int) -> Construction:
    moduli, points, products = ORBITS[n, k]
    return transitive_code(
        f"orbits-{n}-{k}",
        f"linear code [{n},{k},{(n - max(products)) // 2}] of orbits of points",
        n,
        _KOHNERT,
        lambda: IntegerRows(hadamard(k)[:, orbit_points(moduli, points)]),
        *((Fraction(product, n), neighbours) for product, neighbours in products.items()),
    )


_Codes = Mapping[tuple[int, ...], SignCode]
_KERDOCK_CODES: _Codes = {(m,): _kerdock(m) for m in range(4, 13, 2)}
_GOLD_CODES: _Codes = {(m,): _gold(m) for m in range(3, 12, 2)}
_THREE_ERROR_CODES: _Codes = {(m,): _three_error(m) for m in range(5, 12, 2)}
_NEXT_CODES: _Codes = {(m,): _delsarte_goethals(m, m // 2 - 1) for m in range(4, 13, 2)}
_FURTHER_CODES: _Codes = {(m, s): _delsarte_goethals(m, s) for m, s in ((8, 2), (10, 3))}
_BCH_CODES: _Codes = {
    (n, k): _cyclic("bch", n, k, b, e, _BCH) for (n, k), (b, e) in PRIMITIVE.items()
}
_CYCLIC_CODES: _Codes = {
    (n, k): _cyclic("cyclic", n, k, b, e, _WALSH_TRANSFORMS) for (n, k), (b, e) in CYCLIC.items()
}
QUADRATIC = {
    code.name: code
    for codes in (_KERDOCK_CODES, _GOLD_CODES, _THREE_ERROR_CODES, _NEXT_CODES, _FURTHER_CODES)
    for code in codes.values()
}
"""Codes of quadratic functions, by name."""
RIVALLED = frozenset(
    code.name
    for code in (*_BCH_CODES.values(), *_CYCLIC_CODES.values())
    for rival in QUADRATIC.values()
    if rival.d == code.d and rival.k >= code.k and rival.largest <= code.largest
)
"""Names of cyclic codes that another family matches in rows and cosine: searches skip them."""
SIGN_CODES = QUADRATIC | {c.name: c for c in (*_BCH_CODES.values(), *_CYCLIC_CODES.values())}
"""Codes of all rows of a set of functions, by name."""


def _shortened(name: str, s: int) -> Construction | None:
    """Return the code shortened in s places, or None if an orthoplex has as many rows."""
    code = SIGN_CODES.get(name)
    if code is None or not 0 < s < code.largest or code.k > _MAX_SHORTENED_BITS:
        return None
    if 1 << max(0, code.k - s) <= 2 * (code.d - s):
        return None
    title = f"shortened in {s} place{'s' * (s > 1)}"
    return _changed(code, f"shortened-{s}", title, s, code.k - s, code.largest - s, ShortenedRows)


def _punctured(name: str, p: int) -> Construction | None:
    """Return the code without p places, or None for too many places or another kind of code."""
    code = QUADRATIC.get(name)
    if code is None or code.k > _MAX_PUNCTURED_BITS:
        return None
    if not 0 < p <= code.largest // 2 or code.largest + p >= code.d - p:
        return None
    title = f"without {p} place{'s' * (p > 1)}"
    return _changed(code, f"punctured-{p}", title, p, code.k, code.largest + p, PuncturedRows)


def _changed(
    code: SignCode,
    change: str,
    title: str,
    places: int,
    k: int,
    largest: int,
    rows: Callable[[FormSet, int], CodeRows],
) -> Construction:
    d = code.d - places
    return Construction(
        f"{code.name}-{change}",
        f"{code.title}, {title}",
        d,
        1 << k,
        Cosine.rational(Fraction(largest, d)),
        None,
        code.reference,
        lambda: rows(code.forms(), places),
    )


def _longer(d: int) -> Iterable[tuple[str, int]]:
    """Return the codes of the next power of two, with the number of places beyond d."""
    length = 1 << d.bit_length()
    codes = (code for code in SIGN_CODES.values() if code.name not in RIVALLED)
    return [(code.name, length - d) for code in codes if code.d == length]


FAMILIES: tuple[Family, ...] = (
    small_family(
        "kerdock-m",
        "2^(m-1) + 1 mutually unbiased bases, signed",
        "m = 4, 6, .., 12",
        "2^m",
        "4^m + 2^(m+1)",
        "2^(-m/2)",
        _KERDOCK,
        codes=_KERDOCK_CODES,
    ),
    small_family(
        "gold-m",
        "Gold functions with the signed standard basis",
        "m = 3, 5, .., 11",
        "2^m",
        "2 4^m + 2^(m+1)",
        "2^((1-m)/2)",
        _GOLD,
        codes=_GOLD_CODES,
    ),
    small_family(
        "bch3-m",
        "dual three-error-correcting BCH code, extended",
        "m = 5, 7, 9, 11",
        "2^m",
        "2 8^m",
        "2^((3-m)/2)",
        _THREE_ERROR,
        codes=_THREE_ERROR_CODES,
    ),
    small_family(
        "delsarte-goethals-m",
        "Delsarte-Goethals code DG(m, m/2 - 1)",
        "m = 4, 6, .., 12",
        "2^m",
        "2^(3m-1)",
        "2^(1-m/2)",
        _Z4,
        codes=_NEXT_CODES,
    ),
    small_family(
        "delsarte-goethals-m-s",
        "Delsarte-Goethals code DG(m, s)",
        "m-s = 8-2, 10-3",
        "2^m",
        "2^((m-1)(m/2-s+1)+m+1)",
        "2^-s",
        _Z4,
        codes=_FURTHER_CODES,
    ),
    small_family(
        "delsarte-goethals-m-section",
        "the rows of DG(m, m/2 - 1) at its largest cosine with one row, projected along it",
        "m = 4, 6",
        "2^m - 1",
        "2^(m-2) (2^(m-1) - 1)(2^m - 1)/3",
        "1/(2^(m/2-1) + 1)",
        _Z4,
        codes={(m,): _section(m) for m in (4, 6)},
    ),
    small_family(
        "orbits-n-k",
        "linear code whose coordinates are orbits of projective points",
        "n-k = 119-10, 198-10",
        "n",
        "2^k",
        "1 - 2b/n",
        _KOHNERT,
        codes={shape: _orbits(*shape) for shape in ORBITS},
    ),
    small_family(
        "bch-n-k",
        "extended BCH code [n,k,b], b its least distance",
        "n = 8, 16, .., 2048 with its k up to 40, say 64-18 (b = 22) or 512-31 (b = 220)",
        "n",
        "2^k",
        "1 - 2b/n",
        _BCH,
        codes=_BCH_CODES,
        hidden=RIVALLED,
    ),
    small_family(
        "cyclic-n-k",
        "extended cyclic code [n,k,b], b its least distance",
        "n-k = 64-19, 64-21",
        "n",
        "2^k",
        "1 - 2b/n",
        _WALSH_TRANSFORMS,
        codes=_CYCLIC_CODES,
        hidden=RIVALLED,
    ),
    Family(
        "code-shortened-s",
        "the rows that are + in s places, without those; code has largest cosine w/2^m",
        "code = kerdock-m, gold-m, bch3-m, bch-n-k, .., s < w",
        "2^m - s",
        "2^(k-s) of 2^k",
        "(w-s)/(2^m-s)",
        _CODING_THEORY,
        _shortened,
        _longer,
    ),
    Family(
        "code-punctured-p",
        "the rows without p places; code has largest cosine w/2^m",
        "code = kerdock-m, gold-m, bch3-m, delsarte-goethals-m, p <= w/2",
        "2^m - p",
        "2^k",
        "(w+p)/(2^m-p)",
        _CODING_THEORY,
        _punctured,
        _longer,
    ),
)
