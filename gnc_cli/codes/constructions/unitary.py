"""Taylor's equiangular lines: q^3 + 1 lines in q^2 - q + 1 dimensions with cosine 1/q, q odd.

The isotropic points of the Hermitian plane over GF(q^2) are the points of a regular two-graph with
the eigenvalues q^2 and -q: lines that meet the relative bound.

Source: D. E. Taylor, 1977, Regular 2-graphs.
"""

import re
from fractions import Fraction
from functools import lru_cache, partial
from math import isqrt

from gnc_cli.codes.constructions.construction import Construction, Cosine, Family
from gnc_cli.codes.constructions.log_fields import log_field, prime_power
from gnc_cli.codes.constructions.taylor_rows import TaylorRows, TaylorSection

__all__ = ["FAMILIES", "in_dimension", "named"]

_TAYLOR = "Taylor 1977, Regular 2-graphs"
_SHARP = "Cohn and Kumar 2007, Universally optimal distribution of points on spheres, Table 1"
_MOST = 64

FAMILIES = (
    Family(
        name="unitary-q",
        title="equiangular lines of Taylor's unitary two-graph, both unit vectors of each",
        range="q = 3, 5, 7, 9, .., 61 a power of an odd prime",
        d="q^2 - q + 1",
        K="2 (q^3 + 1)",
        cosine="1/q",
        reference=_TAYLOR,
    ),
    Family(
        name="unitary-q-section",
        title="the vectors at cosine 1/q from one of them, as it sees them",
        range="as unitary-q",
        d="q^2 - q",
        K="q^3",
        cosine="1/(q + 1)",
        reference=_TAYLOR,
    ),
)


def named(name: str) -> Construction | None:
    """`unitary-5`, `unitary-5-section` and their like, or None.

    Example:
        >>> named("unitary-5").d, named("unitary-5").K, named("unitary-4")
        (21, 252, None)
    """
    match = re.fullmatch(r"unitary-([1-9]\d?)(-section)?", name)
    found = _codes(int(match[1])) if match else ()
    return next((code for code in found if code.name == name), None)


def in_dimension(d: int) -> tuple[Construction, ...]:
    """The members of the families in exactly d dimensions."""
    q = (1 + isqrt(4 * d + 1)) // 2
    return tuple(code for code in _codes(q) if code.d == d)


@lru_cache(maxsize=64)
def _codes(q: int) -> tuple[Construction, ...]:
    found = prime_power(q)
    if found is None or found[0] == 2 or q > _MOST:
        return ()
    lines = Construction(
        name=f"unitary-{q}",
        title=f"{q**3 + 1} equiangular lines, both unit vectors of each",
        d=q * q - q + 1,
        K=2 * (q**3 + 1),
        cosine=Cosine.of(Fraction(1, q)),
        proven=q == 3,
        reference=_SHARP if q == 3 else _TAYLOR,
        build=partial(_rows, q),
        distribution=((f"1/{q}", q**3), (f"-1/{q}", q**3), ("-1", 1)),
        transitive=True,
    )
    near = (q**3 - 1 + q * q - q) // 2
    section = Construction(
        name=f"unitary-{q}-section",
        title=f"{q**3} vectors of equiangular lines at one cosine from one, as it sees them",
        d=q * q - q,
        K=q**3,
        cosine=Cosine.of(Fraction(1, q + 1)),
        proven=q == 3,
        reference=_SHARP if q == 3 else _TAYLOR,
        build=lambda: TaylorSection(_rows(q)),
        distribution=((f"1/{q + 1}", near), (str(Fraction(-1, q - 1)), q**3 - 1 - near)),
        transitive=True,
    )
    return lines, section


def _rows(q: int) -> TaylorRows:
    return TaylorRows(log_field(q))
