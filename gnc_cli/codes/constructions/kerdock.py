"""Kerdock codes with the standard basis: d/2 + 1 mutually unbiased bases of R^d, d = 4, 16, 64, ...

The 2^(m-1) functions of Kerdock's set differ by bent functions, all of whose Walsh coefficients are
+-sqrt(d), so that any two bases are mutually unbiased. For m = 4 the signs are the
Nordstrom-Robinson code. No more than d/2 + 1 such bases exist.
"""

from functools import partial

from gnc_cli.codes.constructions.construction import Construction, Family
from gnc_cli.codes.constructions.sign_codes import SignCode
from gnc_cli.codes.constructions.z4_forms import z4_forms

__all__ = ["FAMILIES", "SIGN_CODES", "in_dimension", "named"]

_KERDOCK = (
    "Calderbank, Cameron, Kantor, Seidel 1997, Z4-Kerdock codes, orthogonal spreads, and extremal "
    "Euclidean line-sets"
)
_PROVEN = "Cohn, de Laat, Leijenhorst 2024, Optimality of spherical codes via exact semidefinite "
_PROVEN += "programming bounds"
_PROVED_OPTIMAL = (4, 6, 8, 10)
_RANGE = range(4, 13, 2)


def _kerdock(m: int) -> SignCode:
    d, root = 2**m, 2 ** (m // 2)
    meet = d * d // 2
    return SignCode(
        name=f"kerdock-{m}",
        title=f"{d // 2 + 1} mutually unbiased bases, signed",
        m=m,
        k=2 * m,
        largest=root,
        reference=_PROVEN if m in _PROVED_OPTIMAL else _KERDOCK,
        forms=partial(z4_forms, m, 0),
        standard=True,
        proven=m in _PROVED_OPTIMAL,
        distribution=(
            (f"1/{root}", meet),
            ("0", 2 * d - 2),
            (f"-1/{root}", meet),
            ("-1", 1),
        ),
    )


SIGN_CODES = tuple(_kerdock(m) for m in _RANGE)

FAMILIES = (
    Family(
        name="kerdock-m",
        title="2^(m-1) + 1 mutually unbiased bases, signed",
        range="m = 4, 6, .., 12",
        d="2^m",
        K="4^m + 2^(m+1)",
        cosine="2^(-m/2)",
        reference=_KERDOCK,
    ),
)


def named(name: str) -> Construction | None:
    """`kerdock-8` and its like, or None."""
    return next((code.construction() for code in SIGN_CODES if code.name == name), None)


def in_dimension(d: int) -> tuple[Construction, ...]:
    """The Kerdock code of length d, if there is one."""
    return tuple(code.construction() for code in SIGN_CODES if code.d == d)
