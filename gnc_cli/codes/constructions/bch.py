"""Extended BCH codes of length 2^m, and two extended cyclic codes that have more words than they.

All contain the first-order Reed-Muller code, so that a code of 2^k words with least distance b is
2^k rows (+-1)/sqrt(n) with largest cosine 1 - 2 b / n. The words of the BCH code are polynomials
over GF(2^m) with values in GF(2) and degree at most D, which have at most D zeros: b >= n - D, with
D the largest exponent of the trace functions' terms. In every code of the table there is equality,
as `verify` finds by Walsh transforms of representatives of all words.
"""

from functools import partial

from gnc_cli.codes.constructions import delsarte_goethals, gold, kerdock
from gnc_cli.codes.constructions.construction import Construction, Family
from gnc_cli.codes.constructions.sign_codes import SignCode
from gnc_cli.codes.constructions.trace_codes import trace_forms

__all__ = ["ALONE", "CYCLIC", "FAMILIES", "PRIMITIVE", "SIGN_CODES", "in_dimension", "named"]

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
"""(length, k) -> (least distance, exponents besides 1, by their largest conjugates); k <= 40."""

CYCLIC: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {
    (64, 19): (20, (3, 31)),
    (64, 21): (18, (5, 21, 31)),
}
"""Likewise; exponents found by trying all sets of up to four with k <= 24 for n = 64. The same
search for n = 32 (k <= 26), 128 (k <= 22) and 256 (k <= 25) found nothing that the other families
here do not have."""

_BCH = "Bose, Ray-Chaudhuri 1960; Hocquenghem 1959; Kasami, Lin, Peterson 1967"
_FOUND = "distance by Walsh transforms of all words"


def _code(name: str, n: int, k: int, b: int, exponents: tuple[int, ...], why: str) -> SignCode:
    m = n.bit_length() - 1
    return SignCode(
        name=f"{name}-{n}-{k}",
        title=f"extended {'BCH' if name == 'bch' else name} code [{n},{k},{b}]",
        m=m,
        k=k,
        largest=n - 2 * b,
        reference=why,
        forms=partial(trace_forms, m, exponents),
    )


SIGN_CODES = (
    *(_code("bch", n, k, b, e, _BCH) for (n, k), (b, e) in PRIMITIVE.items()),
    *(_code("cyclic", n, k, b, e, _FOUND) for (n, k), (b, e) in CYCLIC.items()),
)

_RIVALS = (*kerdock.SIGN_CODES, *gold.SIGN_CODES, *delsarte_goethals.SIGN_CODES)
ALONE = tuple(
    code
    for code in SIGN_CODES
    if not any(r.m == code.m and r.k >= code.k and r.largest <= code.largest for r in _RIVALS)
)
"""Codes of which no code of the other families has as many rows at their cosine."""

FAMILIES = (
    Family(
        name="bch-n-k",
        title="extended BCH code [n,k,b], b its least distance",
        range="n = 8, 16, .., 2048 with its k up to 40, say 64-18 (b = 22) or 512-31 (b = 220)",
        d="n",
        K="2^k",
        cosine="1 - 2b/n",
        reference=_BCH,
    ),
    Family(
        name="cyclic-n-k",
        title="extended cyclic code [n,k,b], b its least distance",
        range="n-k = 64-19, 64-21",
        d="n",
        K="2^k",
        cosine="1 - 2b/n",
        reference=_FOUND,
    ),
)


def named(name: str) -> Construction | None:
    """`bch-64-18` and its like, or None."""
    return next((code.construction() for code in SIGN_CODES if code.name == name), None)


def in_dimension(d: int) -> tuple[Construction, ...]:
    """The codes of length d of which other families have no rival; the others go by name only."""
    return tuple(code.construction() for code in ALONE if code.d == d)
