"""Known lines through the origin: the public table of packings, and equiangular lines.

`data/known_codes/lines.csv` has the largest known squared sine of the angle between two of K lines,
`data/known_codes/equiangular.csv` the number of equiangular lines in R^d, and their squared cosine.
The coherence of lines, the largest absolute cosine of two, takes the place of the largest cosine in
these records. No search uses them.
"""

import csv
from decimal import Decimal
from fractions import Fraction
from functools import cache
from hashlib import sha256
from math import isqrt

from gnc_cli.known_codes.table import KnownCode, KnownCodes, TableStamp, data_folder

_DATE = "2026-10-08"
_TABLE = (
    "Table of Grassmannian packings, J. H. Conway, R. H. Hardin, N. J. A. Sloane and others 1997, "
    "continued by H. Cohn"
)
_ROUNDING = Decimal("1e-12")
"""Accuracy of squared sines of fifteen decimals."""


@cache
def known_lines() -> KnownCodes:
    """Return the table of lines, K >= 2 in d dimensions each, with coherences for cosines."""
    text = (data_folder() / "lines.csv").read_text(encoding="utf-8")
    entries = {}
    for row in csv.DictReader(text.splitlines()):
        d, K, squared = int(row["d"]), int(row["K"]), Decimal(row["squared_sine"])
        coherence = (1 - squared).sqrt()
        error = max(_ROUNDING, Decimal(1).scaleb(-len(row["squared_sine"].partition(".")[2]))) / (
            2 * coherence
        )
        entries[d, K] = _entry(d, K, f"{coherence:.14f}", _TABLE, float(error))
    for d, K, _, square, source in equiangular():
        root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
        packing = entries.get((d, K))
        if root**2 == square and (packing is None or root <= packing.interval[1]):
            entries[d, K] = _entry(d, K, str(root), source, 0.0)
    return KnownCodes(
        TableStamp(len(entries), _DATE, sha256(text.encode()).hexdigest(), current=False), entries
    )


def _entry(d: int, K: int, figure: str, source: str, rounding: float) -> KnownCode:
    return KnownCode(d, K, figure, "best-known", None, None, source, _DATE, "", rounding)


@cache
def equiangular() -> list[tuple[int, int, int, Fraction, str]]:
    """List d, number of known equiangular lines in R^d, its bound, squared cosine, source."""
    text = (data_folder() / "equiangular.csv").read_text(encoding="utf-8")
    return [
        (int(r["d"]), int(r["lines"]), int(r["most"]), Fraction(r["squared_cosine"]), r["source"])
        for r in csv.DictReader(text.splitlines())
    ]
