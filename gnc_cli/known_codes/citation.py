"""Sources of figures in short, as a sheet has them."""

import re
from itertools import takewhile

from gnc_cli.figures import MAX_REMARK

PROVEN = {
    True: "proved optimal",
    False: "not proved optimal",
    None: "optimality not settled",
}
"""What is known of a code's optimality, in words."""
_YEAR = r"(?<!/)\b(?:1[6-9]|20)\d\d\b(?!\.\d)"
_CITED = re.compile(rf"[^:;]*?{_YEAR}(, [^:;,]*{_YEAR})*")
"""Names and a year, and further ones after a comma."""
_AUTHOR = re.compile(r"(?:[A-Z]\.[ -]?)+(?P<name>[^.,]+)( et al\.)?")
"""Initials and a name."""
_PART = re.compile(r"[^;]*?\(\d+, \d+\): ")
"""What a code is that holds the one asked for."""


def standing(proven: bool | None, optimality: str | None, *, whole: bool = False) -> str:
    """Return whether a code is proved optimal, and by whom.

    Args:
        whole: the sources in full.

    >>> standing(True, "R. A. Rankin, The closest packing of spherical caps, 1955; Danzer 1963")
    'proved optimal (Rankin 1955, Danzer 1963)'
    """
    by = optimality if whole else ", ".join(map(cited, (optimality or "").split("; ")))
    return PROVEN[proven] + (f" ({by})" if by else "")


def cited(source: str, d: int = 0, K: int = 0) -> str:
    """A source in short: itself, else authors and year, else its beginning.

    Args:
        d, K: what was asked; a code of another size, which holds such a code, keeps its own.

    >>> cited("R. M. Robinson, Arrangement of 24 points on a sphere, Math. Ann. 144 (1961) 17-48")
    'Robinson 1961'
    >>> cited("first 98 points of (6, 128): found by gnc, not compared with a published value")
    'first 98 points of (6, 128): found by gnc'
    >>> cited("H. Cohn, Table of spherical codes, hdl.handle.net/1721.1/153543, fetched 2026")
    'Cohn 2026'
    >>> cited("Rankin 1955, The closest packing of spherical caps in n dimensions")
    'Rankin 1955'
    """
    source = re.sub(r"^(numerical|known|optimal) code ", "", source)
    source = source.removeprefix(f"({d}, {K})").lstrip(": ")
    part = _PART.match(source)
    if part is not None:
        return part[0] + cited(source[part.end() :])
    stated, _, rest = source.partition(": ")
    if stated.endswith(" in orthogonal subspaces"):
        return stated
    if _AUTHOR.match(rest) and not _AUTHOR.match(stated):
        source = rest
    year = re.search(_YEAR, source)
    authors = map(_AUTHOR.match, source.partition("; ")[0].split(", "))
    names = [author["name"] + (author[2] or "") for author in takewhile(bool, authors) if author]
    if names:
        who = " and ".join(names) if len(names) <= 2 else f"{names[0]} et al."
        return f"{who} {year[0]}" if year else who
    if len(source) <= MAX_REMARK:
        return source
    citation = _CITED.search(source)
    if citation and len(citation[0].strip()) <= MAX_REMARK:
        return citation[0].strip()
    return re.split(r"(?<!\d), | \((?!\d)", source)[0]
