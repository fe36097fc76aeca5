"""Shortened and punctured Kerdock, Gold, Delsarte-Goethals and BCH codes, below 2^m dimensions.

That the bounds on their cosines are attained was found by `verify` for every code offered here; the
limits on rows are where a verification takes seconds.
"""

from fractions import Fraction

from gnc_cli.constructions.construction import (
    Construction,
    Cosine,
    Family,
    ParametricFamily,
    Rows,
)
from gnc_cli.constructions.families.binary_codes import QUADRATIC, RIVALLED, SIGN_CODES, SignCode
from gnc_cli.constructions.sign_rows import PuncturedRows, ShortenedRows

_SHORTENED = {code.name: code for code in SIGN_CODES}
_PUNCTURED = {code.name: code for code in QUADRATIC}
_SEARCHED = tuple(code for code in SIGN_CODES if code.name not in RIVALLED)
_MOST_SHORTENED, _MOST_PUNCTURED = 35, 30
"""Codes of up to 2^35 rows are shortened, of up to 2^30 rows punctured."""
_SOURCE = "MacWilliams and Sloane 1977, The Theory of Error-Correcting Codes, chapter 1"


def _shortened(name: str, s: int) -> Construction | None:
    """The code shortened in s places, or None where no more rows are left than an orthoplex has."""
    code = _SHORTENED.get(name)
    if code is None or not 0 < s < code.largest or code.k > _MOST_SHORTENED:
        return None
    if 1 << max(0, code.k - s) <= 2 * (code.d - s):
        return None
    title = f"shortened in {s} place{'s' * (s > 1)}"
    return _changed(code, f"shortened-{s}", title, s, code.k - s, code.largest - s, ShortenedRows)


def _punctured(name: str, p: int) -> Construction | None:
    """The code without p places, or None for more places than a few or another kind of code."""
    code = _PUNCTURED.get(name)
    if code is None or code.k > _MOST_PUNCTURED:
        return None
    if not 0 < p <= code.largest // 2 or code.largest + p >= code.d - p:
        return None
    title = f"without {p} place{'s' * (p > 1)}"
    return _changed(code, f"punctured-{p}", title, p, code.k, code.largest + p, PuncturedRows)


def _changed(
    code: SignCode, change: str, title: str, places: int, k: int, largest: int,
    rows: type[ShortenedRows] | type[PuncturedRows],
) -> Construction:  # fmt: skip
    def build() -> Rows:
        return rows(code.forms(), places)

    d = code.d - places
    return Construction(
        f"{code.name}-{change}", f"{code.title}, {title}", d, 1 << k,
        Cosine.of(Fraction(largest, d)), False, code.reference, build,
    )  # fmt: skip


def _parameters(d: int) -> list[tuple[str, int]]:
    """The codes of the next power of two, as far as they can be cut down to exactly d."""
    length = 1 << d.bit_length()
    return [(code.name, length - d) for code in _SEARCHED if code.d == length]


FAMILIES: tuple[Family, ...] = (
    ParametricFamily(
        "code-shortened-s",
        "the rows that are + in s places, without those; code has largest cosine w/2^m",
        "code = kerdock-m, gold-m, bch3-m, bch-n-k, .., s < w",
        "2^m - s", "2^(k-s) of 2^k", "(w-s)/(2^m-s)", _SOURCE, _shortened, _parameters,
    ),
    ParametricFamily(
        "code-punctured-p", "the rows without p places; code has largest cosine w/2^m",
        "code = kerdock-m, gold-m, bch3-m, delsarte-goethals-m, p <= w/2",
        "2^m - p", "2^k", "(w+p)/(2^m-p)", _SOURCE, _punctured, _parameters,
    ),
)  # fmt: skip
