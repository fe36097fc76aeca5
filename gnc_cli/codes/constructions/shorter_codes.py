"""Shortened and punctured Kerdock, Gold, Delsarte-Goethals and BCH codes, for dimensions below 2^m.

Figures are those of `shortening` and `puncturing`. That they are attained was found by `verify` for
every code offered here; the limits on rows are where a verification takes seconds.
"""

import re
from collections.abc import Iterator
from fractions import Fraction

from gnc_cli.codes.constructions import bch, delsarte_goethals, gold, kerdock
from gnc_cli.codes.constructions.construction import Construction, Cosine, Family, Rows
from gnc_cli.codes.constructions.puncturing import PuncturedRows
from gnc_cli.codes.constructions.shortening import ShortenedRows
from gnc_cli.codes.constructions.sign_codes import SignCode

__all__ = ["FAMILIES", "in_dimension", "named", "punctured_code", "shortened_code"]

_QUADRATIC = (*kerdock.SIGN_CODES, *gold.SIGN_CODES, *delsarte_goethals.SIGN_CODES)
_CODES = {code.name: code for code in (*_QUADRATIC, *bch.SIGN_CODES)}
_OFFERED = (*_QUADRATIC, *bch.ALONE)
_MOST_SHORTENED, _MOST_PUNCTURED = 35, 30
"""Codes of up to 2^35 rows are shortened, of up to 2^30 rows punctured."""

FAMILIES = (
    Family(
        name="code-shortened-s",
        title="the rows that are + in s places, without those; code has largest cosine w/2^m",
        range="code = kerdock-m, gold-m, bch3-m, bch-n-k, .., s < w",
        d="2^m - s",
        K="2^(k-s) of 2^k",
        cosine="(w-s)/(2^m-s)",
        reference="MacWilliams and Sloane 1977, The Theory of Error-Correcting Codes, chapter 1",
    ),
    Family(
        name="code-punctured-p",
        title="the rows without p places; code has largest cosine w/2^m",
        range="code = kerdock-m, gold-m, bch3-m, delsarte-goethals-m, p <= w/2",
        d="2^m - p",
        K="2^k",
        cosine="(w+p)/(2^m-p)",
        reference="MacWilliams and Sloane 1977, The Theory of Error-Correcting Codes, chapter 1",
    ),
)


def shortened_code(code: SignCode, s: int) -> Construction | None:
    """The code shortened in s places, or None where no more rows are left than an orthoplex has."""
    d = code.d - s
    enough = code.k <= _MOST_SHORTENED and 1 << max(0, code.k - s) > 2 * d
    if not 0 < s < code.largest or not enough:
        return None

    def build() -> Rows:
        return ShortenedRows(code.forms(), s)

    return Construction(
        name=f"{code.name}-shortened-{s}",
        title=f"{code.title}, shortened in {s} place{'s' * (s > 1)}",
        d=d,
        K=1 << (code.k - s),
        cosine=Cosine.of(Fraction(code.largest - s, d)),
        proven=False,
        reference=code.reference,
        build=build,
    )


def punctured_code(code: SignCode, p: int) -> Construction | None:
    """The code without p places, or None for more places than a few or another kind of code."""
    few = 0 < p <= code.largest // 2 and code.largest + p < code.d - p
    if code not in _QUADRATIC or code.k > _MOST_PUNCTURED or not few:
        return None

    def build() -> Rows:
        return PuncturedRows(code.forms(), p)

    return Construction(
        name=f"{code.name}-punctured-{p}",
        title=f"{code.title}, without {p} place{'s' * (p > 1)}",
        d=code.d - p,
        K=1 << code.k,
        cosine=Cosine.of(Fraction(code.largest + p, code.d - p)),
        proven=False,
        reference=code.reference,
        build=build,
    )


_CHANGES = {"shortened": shortened_code, "punctured": punctured_code}


def named(name: str) -> Construction | None:
    """`gold-9-shortened-5`, `kerdock-6-punctured-1` and their like, or None.

    Example:
        >>> code = named("gold-9-shortened-5")
        >>> code.d, code.K, code.cosine.text
        (507, 16384, '9/169')
    """
    match = re.fullmatch(r"(.+)-(shortened|punctured)-([1-9]\d{0,3})", name)
    if match is None or match[1] not in _CODES:
        return None
    return _CHANGES[match[2]](_CODES[match[1]], int(match[3]))


def in_dimension(d: int) -> Iterator[Construction]:
    """The codes of the next power of two, as far as they can be cut down to exactly d."""
    length = 1 << d.bit_length()
    for code in _OFFERED:
        if code.d == length:
            found = [change(code, length - d) for change in _CHANGES.values()]
            yield from (construction for construction in found if construction is not None)
