"""Families from additive characters: mutually unbiased bases, cubic and odd polynomials.

| exponents | d | K | largest cosine |
|---|---|---|---|
| 1, 2 | 2 q | 4 q (q + 1) | 1/sqrt(q) |
| 1, 3 (odd) | p | 2 p^2 | below 2/sqrt(p) |
| 1, 2, 3 | 2 p | 4 p (p^2 + 1) | below 2/sqrt(p) |
| 1, 3, 5 (odd) | p | 2 p^3 | below 4/sqrt(p) |

The exact maxima are those of `largest_odd_sum`; the bounds are Weil's.
"""

import re
from collections.abc import Iterator
from functools import lru_cache, partial

from gnc_cli.codes.constructions.character_rows import CharacterRows, largest_cosine
from gnc_cli.codes.constructions.construction import Construction, Family
from gnc_cli.codes.constructions.log_fields import log_field, prime_power

__all__ = ["FAMILIES", "in_dimension", "named"]

_MUB = "Wootters and Fields 1989, Optimal state-determination by mutually unbiased measurements"
_ALLTOP = "Alltop 1980, Complex sequences with low periodic correlations"
_WEIL = "Weil 1948, On some exponential sums"

_KINDS = {"quadratic": (1, 2), "cubic": (1, 2, 3), "odd-cubic": (1, 3), "odd-quintic": (1, 3, 5)}
"""Exponents of the polynomials."""
_MOST = {"quadratic": 2048, "cubic": 2048, "odd-cubic": 2048, "odd-quintic": 128}
"""Orders of the fields; beyond 128 codes of odd quintics outgrow any use."""

FAMILIES = (
    Family(
        name="quadratic-q",
        title="q + 1 mutually unbiased bases of C^q, times 1, i, -1, -i",
        range="q < 2048 a power of an odd prime",
        d="2 q",
        K="4 q (q + 1)",
        cosine="1/sqrt(q)",
        reference=_MUB,
    ),
    Family(
        name="cubic-p",
        title="characters of cubic polynomials with the standard basis of C^p, times 1, i, -1, -i",
        range="p = 5, 7, .. a prime below 2048",
        d="2 p",
        K="4 p (p^2 + 1)",
        cosine="at most 2/sqrt(p)",
        reference=_ALLTOP,
    ),
    Family(
        name="odd-cubic-p",
        title="characters of odd cubic polynomials, signed",
        range="p = 5, 7, .. a prime below 2048",
        d="p",
        K="2 p^2",
        cosine="at most 2/sqrt(p)",
        reference=_WEIL,
    ),
    Family(
        name="odd-quintic-p",
        title="characters of odd quintic polynomials, signed",
        range="p = 7, 11, .., 127",
        d="p",
        K="2 p^3",
        cosine="at most 4/sqrt(p)",
        reference=_WEIL,
    ),
)


def named(name: str) -> Construction | None:
    """`quadratic-9`, `cubic-7` and their like, or None."""
    match = re.fullmatch(r"([a-z-]+)-([1-9]\d{0,3})", name)
    return _code(match[1], int(match[2])) if match else None


def in_dimension(d: int) -> Iterator[Construction]:
    """The members of the families in exactly d dimensions."""
    if d % 2 == 0:
        kinds, q = ("quadratic", "cubic"), d // 2
    else:
        kinds, q = ("odd-cubic", "odd-quintic"), d
    found = prime_power(q)
    if found is not None:
        codes = (_code(kind, q) for kind in kinds)
        yield from (code for code in codes if code is not None)


@lru_cache(maxsize=4096)
def _code(kind: str, q: int) -> Construction | None:
    """A member of a family, or None where there is none."""
    found = prime_power(q)
    if kind not in _KINDS or found is None or found[0] == 2 or q > _MOST[kind]:
        return None
    exponents = _KINDS[kind]
    if exponents != (1, 2) and (found[1] > 1 or q <= exponents[-1]):
        return None
    family = next(family for family in FAMILIES if family.name[:-2] == kind)
    complex_ = exponents[1] == 2
    size = q ** len(exponents)
    return Construction(
        name=f"{kind}-{q}",
        title=family.title if exponents != (1, 2) else _bases(q),
        d=2 * q if complex_ else q,
        K=4 * (size + q) if complex_ else 2 * size,
        cosine=largest_cosine(q, exponents)[0],
        proven=False,
        reference=family.reference,
        build=partial(_rows, q, exponents),
    )


def _bases(q: int) -> str:
    return f"{q + 1} mutually unbiased bases of C^{q}, times 1, i, -1, -i"


def _rows(q: int, exponents: tuple[int, ...]) -> CharacterRows:
    return CharacterRows(log_field(q), exponents)
