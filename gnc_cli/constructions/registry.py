"""All constructions: by name, by dimension, and the best for (d, K).

A module in `families/` offers single codes as `CODES`, a tuple of `Construction`, and codes with a
parameter as `FAMILIES`, a tuple of `Family`. It is imported where a code of its dimensions is
looked for; nothing is built.

The search for the best is over figures alone. Candidates are all constructions in up to d
dimensions with K rows or more, of which the first K are kept; their cross sections and shortened or
punctured relatives; and sums in orthogonal subspaces.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from fractions import Fraction
from functools import cache, lru_cache, partial
from importlib import import_module
from math import inf
from typing import Any

import numpy as np

from gnc_cli.constructions.construction import (
    Construction,
    Cosine,
    Family,
    embedded,
    first_rows,
    orthogonal_sum,
)
from gnc_cli.constructions.families.theorem_3_3 import orthoplex
from gnc_cli.constructions.integer_rows import IntegerRows, section
from gnc_cli.constructions.sums import Summands
from gnc_cli.errors import UsageError
from gnc_cli.parameters import spelled

_DIMENSIONS: dict[str, tuple[int, float]] = {
    "binary_codes": (5, inf),
    "characters": (5, inf),
    "graphs": (6, 657),
    "lattice_sections": (6, 24),
    "leech": (17, 24),
    "paley": (3, inf),
    "polytopes": (3, 16),
    "quadrics": (4, inf),
    "signed_nets": (6, inf),
    "taylor": (6, 3661),
    "theorem_3_3": (2, inf),
}
"""The modules in `families/`, with the fewest and most dimensions of their codes."""
LARGEST = 4096
"""Most dimensions of a construction that is neither a simplex nor an orthoplex; sums have more."""
_SINGLE = ("graphs", "leech", "polytopes")
"""Those that have single codes."""


@cache
def single_codes() -> tuple[Construction, ...]:
    """The codes that stand alone."""
    return tuple(code for module in _SINGLE for code in _imported(module).CODES)


@cache
def families(d: int | None = None) -> tuple[Family, ...]:
    """The families with a parameter, by name: all, or those that may have d dimensions."""
    some = [m for m, (least, most) in _DIMENSIONS.items() if d is None or least <= d <= most]
    candidates = [
        family for module in some for family in getattr(_imported(module), "FAMILIES", ())
    ]
    return tuple(sorted(candidates, key=lambda family: family.name))


def in_dimension(d: int) -> Iterator[Construction]:
    """Every construction in exactly d dimensions, largest cosine and size known, none built."""
    yield from (code for code in single_codes() if code.d == d)
    for family in families(d):
        yield from family.in_dimension(d)


def find(name: str) -> Construction | None:
    """The construction called `name`, or None."""
    single = next((code for code in single_codes() if code.name == name), None)
    if single is not None:
        return single
    members = (family.named(name) for family in families())
    return next((code for code in members if code is not None), None)


def names() -> list[str]:
    """What there is to choose from: names of single codes and patterns of families."""
    return [*(code.name for code in single_codes()), *(family.name for family in families())]


def _imported(module: str) -> Any:
    return import_module(f"gnc_cli.constructions.families.{module}")


@cache
def cross_sections(d: int) -> tuple[Construction, ...]:
    """Cross sections in exactly d dimensions, with figures known unbuilt.

    They are those of the single codes in d + 1 dimensions whose symmetries take each row to each
    other, and whose cosines are rational.
    """
    return tuple(
        Construction(
            name=code.name,
            title=code.title,
            d=d,
            K=neighbours,
            cosine=Cosine.of((largest - t * t) / (1 - t * t)),
            optimality=None,
            reference=code.reference,
            build=partial(section, code, t, d),
            changes=(f"the {neighbours} rows at cosine {t} from one row",),
        )
        for code in single_codes()
        if code.d == d + 1 and code.transitive and (largest := _rational(code.cosine.text))
        for text, neighbours in code.distribution or ()
        # The sections at t and -t of an antipodal code are one.
        if (t := _rational(text)) is not None and 0 <= t < 1
    )


def _rational(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except ValueError:
        return None


def named_construction(name: str, d: int, K: int) -> Construction:
    """The first K rows of the construction called `name`, in d dimensions; 0 for its own size.

    Raises:
        UsageError: there is none of this name, or it does not fit d and K.
    """
    whole = find(name)
    if whole is None:
        raise UsageError(
            f"{spelled('construction')} {name!r} is not known{_hint(name)}; "
            f"see {spelled('list_constructions')}"
        )
    if d and d < whole.d:
        raise UsageError(
            f"construction {name} needs {whole.d} dimensions; {spelled('d', d)} is too few"
        )
    if K > whole.K:
        raise UsageError(f"construction {name} has {whole.K} rows; {spelled('K', K)} is too many")
    return embedded(first_rows(whole, K or whole.K), d or whole.d)


def _hint(name: str) -> str:
    """What somebody who wrote `name` may have meant."""
    stem = name.rpartition("-")[0]
    ranges = [f.range for f in families() if stem and f.name.rpartition("-")[0] == stem]
    if ranges:
        return f": {stem}-.. takes {ranges[0]}"
    near = [full for full in names() if full.startswith(name)][:3]
    near = near or get_close_matches(name, names(), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def best_construction(d: int, K: int) -> Construction | None:
    """The construction of K rows in d dimensions with the smallest largest cosine, or None.

    Ties go to fewer dimensions left idle, then to fewer rows dropped; none is built. Codes of
    theorem 3.3 (K <= 2 d, d = 2) are `closed_form`'s, not looked for here.

    Example:
        >>> best_construction(512, 500000).cosine.text
        '1/16'
    """
    whole = [c for c in (*_up_to(d), *_sections_up_to(d)) if c.K >= K]
    single = min(whole, key=lambda c: (c.cosine.value, d - c.d, c.K), default=None)
    sums = _summands(min(d, LARGEST))
    least = sums.least(d, K, 1.0 if single is None else single.cosine.value)
    if least is not None:
        return first_rows(_sum(sums.fullest(d, least)[1], d), K)
    return None if single is None else embedded(first_rows(single, K), d)


def largest_construction(d: int, cosine: float) -> Construction | None:
    """The construction with the most rows in d dimensions among those of at most this cosine.

    Ties go to the smaller cosine, then to fewer dimensions left idle. None where no construction
    has more than the 2 d rows of theorem 3.3.

    Example:
        >>> largest_construction(25, 0.5).origin
        'leech + pair'
    """
    if cosine < 0.0:
        return None
    whole = [c for c in (*_up_to(d), *_sections_up_to(d)) if c.cosine.value <= cosine]
    single = max(whole, key=lambda c: (c.K, -c.cosine.value, -c.d), default=None)
    rows, parts = _summands(min(d, LARGEST)).fullest(d, cosine)
    if max(rows, single.K if single is not None else 0) <= 2 * d:
        return None
    if single is None or single.K < rows:
        return _sum(parts, d)
    return embedded(single, d)


@lru_cache(maxsize=16)
def _up_to(d: int) -> tuple[Construction, ...]:
    """All constructions in at most d dimensions, but for simplices and orthoplexes."""
    return tuple(c for e in range(2, min(d, LARGEST) + 1) for c in _exactly(e))


@cache
def _exactly(d: int) -> tuple[Construction, ...]:
    return tuple(c for c in in_dimension(d) if c.K > 2 * d)


@lru_cache(maxsize=16)
def antipodal(d: int) -> tuple[Construction, ...]:
    """The constructions in at most d dimensions whose distribution has opposite rows."""
    return tuple(c for c in _up_to(d) if "-1" in dict(c.distribution or ()))


@lru_cache(maxsize=16)
def _sections_up_to(d: int) -> tuple[Construction, ...]:
    """All cross sections in at most d dimensions."""
    return tuple(c for e in range(2, min(d, LARGEST) + 1) for c in cross_sections(e))


@lru_cache(maxsize=16)
def _summands(d: int) -> Summands[Construction]:
    """What sums in d dimensions are made of."""
    parts = sorted(_up_to(d), key=lambda code: code.cosine.value)
    return Summands(parts, [code.cosine.value for code in parts])


def _sum(parts: list[Construction], d: int) -> Construction:
    """Constructions in orthogonal subspaces, and the signed standard basis of what they leave."""
    idle = d - sum(part.d for part in parts)
    rest = [_PAIR if idle == 1 else orthoplex(idle)] if idle else []
    return orthogonal_sum(parts + rest, d)


def least_dimension(K: int, cosine: float, most: int) -> int | None:
    """Return the fewest dimensions, `most` at most, in which a construction has K rows at this
    cosine; None where there is none.
    """
    whole = (*_up_to(LARGEST), *_sections_up_to(LARGEST))
    found = [c.d for c in whole if c.K >= K and c.cosine.value <= cosine]
    summed = _summands(LARGEST).dimension(K, cosine, most) if cosine >= 0.0 else None
    return min([d for d in (*found, summed) if d is not None and d <= most], default=None)


_PAIR = Construction(
    "pair",
    "two opposite points",
    1,
    2,
    Cosine.of(-1),
    "elementary",
    "elementary",
    build=lambda: IntegerRows(np.array([[1], [-1]])),
)
