"""Gold's and the dual three-error-correcting BCH codes: trace functions of x, x^3 and x^5, m odd.

Over GF(2^m), m odd, the functions Tr(b x^3) have the Walsh coefficients 0 and +-2^((m+1)/2), and
Tr(b x^3 + e x^5), from m = 5 on, coefficients up to 2^((m+3)/2); for m = 3 the exponent 5 is a
conjugate of 3. For even m the two families exist with largest coefficients 2^(m/2+1) and
2^(m/2+2): Delsarte-Goethals codes of the same cosine have more rows, so they are not offered.
"""

from functools import partial

from gnc_cli.codes.constructions.construction import Construction, Family
from gnc_cli.codes.constructions.sign_codes import SignCode
from gnc_cli.codes.constructions.trace_codes import trace_forms

__all__ = ["FAMILIES", "SIGN_CODES", "in_dimension", "named"]

_GOLD = "Gold 1968, Maximal recursive sequences with 3-valued recursive cross-correlation functions"
_BCH = (
    "Kasami 1971, The weight enumerators for several classes of subcodes of the second order "
    "binary Reed-Muller codes"
)


def _gold(m: int) -> SignCode:
    return SignCode(
        name=f"gold-{m}",
        title="Gold functions with the signed standard basis",
        m=m,
        k=2 * m + 1,
        largest=2 ** ((m + 1) // 2),
        reference=_GOLD,
        forms=partial(trace_forms, m, (3,)),
        standard=True,
    )


def _three_error(m: int) -> SignCode:
    return SignCode(
        name=f"bch3-{m}",
        title="dual three-error-correcting BCH code, extended",
        m=m,
        k=3 * m + 1,
        largest=2 ** ((m + 3) // 2),
        reference=_BCH,
        forms=partial(trace_forms, m, (3, 5)),
    )


SIGN_CODES = (
    *(_gold(m) for m in range(3, 12, 2)),
    *(_three_error(m) for m in range(5, 12, 2)),
)

FAMILIES = (
    Family(
        name="gold-m",
        title="Gold functions with the signed standard basis",
        range="m = 3, 5, .., 11",
        d="2^m",
        K="2 4^m + 2^(m+1)",
        cosine="2^((1-m)/2)",
        reference=_GOLD,
    ),
    Family(
        name="bch3-m",
        title="dual three-error-correcting BCH code, extended",
        range="m = 5, 7, 9, 11",
        d="2^m",
        K="2 8^m",
        cosine="2^((3-m)/2)",
        reference=_BCH,
    ),
)


def named(name: str) -> Construction | None:
    """`gold-9`, `bch3-7` and their like, or None."""
    return next((code.construction() for code in SIGN_CODES if code.name == name), None)


def in_dimension(d: int) -> tuple[Construction, ...]:
    """The codes of length d."""
    return tuple(code.construction() for code in SIGN_CODES if code.d == d)
