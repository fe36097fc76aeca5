"""Sources of values in short, as tables have them."""

import re
from itertools import takewhile

from gnc_cli.figures import MAX_REMARK

_OPTIMALITY = {
    True: "proved optimal",
    False: "not proved optimal",
    None: "optimality not settled",
}
"""Words for a code's optimality."""
_YEAR = r"(?<!/)\b(?:1[6-9]|20)\d\d\b(?!\.\d)"
_CITATION = re.compile(rf"[^:;]*?{_YEAR}(, [^:;,]*{_YEAR})*")
"""Names and a year, and further ones after a comma."""
_AUTHOR = re.compile(r"(?:[A-Z]\.[ -]?)+(?P<name>[^.,]+)( et al\.)?")
"""Initials and a name."""
_PART = re.compile(r"[^;]*?\(\d+, \d+\): ")
"""Words for a larger code that contains the requested one."""


def standing(proven: bool | None, optimality: str | None, *, whole: bool = False) -> str:
    """Return the words for a code's optimality, with the sources of the proof.

    Args:
        proven: True if the code is proved optimal; None if that is not settled.
        optimality: sources of the proof.
        whole: give the sources in full.

    >>> standing(True, "R. A. Rankin, The closest packing of spherical caps, 1955; Danzer 1963")
    'proved optimal (Rankin 1955, Danzer 1963)'
    """
    sources = optimality if whole else ", ".join(map(cite, (optimality or "").split("; ")))
    return _OPTIMALITY[proven] + (f" ({sources})" if sources else "")


def cite(source: str, d: int = 0, K: int = 0) -> str:
    """Shorten a source: authors and year, else the source if it is short, else its beginning.

    Args:
        source: the source in full.
        d: requested dimension; the words for a code of another size are kept.
        K: requested number of points.

    >>> cite("R. M. Robinson, Arrangement of 24 points on a sphere, Math. Ann. 144 (1961) 17-48")
    'Robinson 1961'
    >>> cite("first 98 points of (6, 128): found by gnc, not compared with a published value")
    'first 98 points of (6, 128): found by gnc'
    >>> cite("H. Cohn, Table of spherical codes, hdl.handle.net/1721.1/153543, fetched 2026")
    'Cohn 2026'
    >>> cite("Rankin 1955, The closest packing of spherical caps in n dimensions")
    'Rankin 1955'
    """
    source = re.sub(r"^(numerical|known|optimal) code ", "", source)
    source = source.removeprefix(f"({d}, {K})").lstrip(": ")
    part = _PART.match(source)
    if part is not None:
        return part[0] + cite(source[part.end() :])
    stated, _, rest = source.partition(": ")
    if stated.endswith(" in orthogonal subspaces"):
        return stated
    if _AUTHOR.match(rest) and not _AUTHOR.match(stated):
        source = rest
    year = re.search(_YEAR, source)
    authors = map(_AUTHOR.match, source.partition("; ")[0].split(", "))
    names = [author["name"] + (author[2] or "") for author in takewhile(bool, authors) if author]
    if names:
        author_text = " and ".join(names) if len(names) <= 2 else f"{names[0]} et al."
        return f"{author_text} {year[0]}" if year else author_text
    if len(source) <= MAX_REMARK:
        return source
    citation = _CITATION.search(source)
    if citation and len(citation[0].strip()) <= MAX_REMARK:
        return citation[0].strip()
    return re.split(r"(?<!\d), | \((?!\d)", source)[0]
