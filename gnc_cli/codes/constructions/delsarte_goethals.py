"""Delsarte-Goethals codes DG(m, s): more rows than Kerdock's at larger cosines, m even.

For even m and 1 <= s < m/2 they have 2^((m-1)(m/2-s+1)+m+1) words at distances from
2^(m-1) - 2^(m-1-s): rows with largest cosine 2^-s. DG(m, m/2) is Kerdock's code, DG(m, 1) the
second-order Reed-Muller code. (P. Delsarte and J.-M. Goethals, Alternating bilinear forms over
GF(q), 1975; here as Gray images.)
"""

from collections.abc import Iterator
from functools import partial

from gnc_cli.codes.constructions.construction import Construction, Family
from gnc_cli.codes.constructions.sign_codes import SignCode
from gnc_cli.codes.constructions.z4_forms import z4_forms

__all__ = ["FAMILIES", "SIGN_CODES", "in_dimension", "named"]

_REFERENCE = (
    "Hammons, Kumar, Calderbank, Sloane, Sole 1994, The Z4-linearity of Kerdock, Preparata, "
    "Goethals, and related codes"
)
_MOST_K = 40
"""Codes up to 2^40 rows are offered: their verification takes seconds."""


def _codes() -> Iterator[SignCode]:
    for m in range(4, 13, 2):
        for s in range(m // 2 - 1, 0, -1):
            r = m // 2 - s
            k = (m - 1) * (r + 1) + m + 1
            if k > _MOST_K:
                break
            yield SignCode(
                # The one next to Kerdock's needs no second parameter.
                name=f"delsarte-goethals-{m}" if r == 1 else f"delsarte-goethals-{m}-{s}",
                title=f"Delsarte-Goethals code DG({m}, {s})",
                m=m,
                k=k,
                largest=2 ** (m - s),
                reference=_REFERENCE,
                forms=partial(z4_forms, m, r),
            )


SIGN_CODES = tuple(_codes())

FAMILIES = (
    Family(
        name="delsarte-goethals-m",
        title="Delsarte-Goethals code DG(m, m/2 - 1)",
        range="m = 4, 6, .., 12",
        d="2^m",
        K="2^(3m-1)",
        cosine="2^(1-m/2)",
        reference=_REFERENCE,
    ),
    Family(
        name="delsarte-goethals-m-s",
        title="Delsarte-Goethals code DG(m, s)",
        range="m-s = 6-1, 8-2, 8-1, 10-3",
        d="2^m",
        K="2^((m-1)(m/2-s+1)+m+1)",
        cosine="2^-s",
        reference=_REFERENCE,
    ),
)


def named(name: str) -> Construction | None:
    """`delsarte-goethals-6` and its like, or None."""
    return next((code.construction() for code in SIGN_CODES if code.name == name), None)


def in_dimension(d: int) -> tuple[Construction, ...]:
    """The Delsarte-Goethals codes of length d."""
    return tuple(code.construction() for code in SIGN_CODES if code.d == d)
