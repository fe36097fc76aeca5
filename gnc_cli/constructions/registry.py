"""All constructions: by name, by dimension, and the best for (d, K).

A module in `families/` offers single codes as `CODES`, a tuple of `Construction`, and codes with a
parameter as `FAMILIES`, a tuple of `Family`. It is imported where a code of its dimensions is
looked for; nothing is built.

The search for the best compares stated values alone. Candidates are all constructions in up to d
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
"""Modules in `families/`, with the fewest and most dimensions of their codes."""
MAX_DIMENSION = 4096
"""Most dimensions of a construction that is neither a simplex nor an orthoplex; sums have more."""
_MODULES_OF_SINGLE_CODES = ("graphs", "leech", "polytopes")
"""Modules with codes that have no parameters."""


@cache
def single_codes() -> tuple[Construction, ...]:
    """Return the codes without parameters."""
    return tuple(code for module in _MODULES_OF_SINGLE_CODES for code in _imported(module).CODES)


@cache
def families(d: int | None = None) -> tuple[Family, ...]:
    """Return the families with parameters by name: all, or those with codes in d dimensions."""
    modules = [m for m, (min_d, max_d) in _DIMENSIONS.items() if d is None or min_d <= d <= max_d]
    candidates = [
        family for module in modules for family in getattr(_imported(module), "FAMILIES", ())
    ]
    return tuple(sorted(candidates, key=lambda family: family.name))


def in_dimension(d: int) -> Iterator[Construction]:
    """Yield every construction in exactly d dimensions; none is built."""
    yield from (code for code in single_codes() if code.d == d)
    for family in families(d):
        yield from family.in_dimension(d)


def find(name: str) -> Construction | None:
    """Return the construction called `name`, or None."""
    single = next((code for code in single_codes() if code.name == name), None)
    if single is not None:
        return single
    members = (family.find(name) for family in families())
    return next((code for code in members if code is not None), None)


def names() -> list[str]:
    """Return the names of single codes and the patterns of families."""
    return [*(code.name for code in single_codes()), *(family.name for family in families())]


def _imported(module: str) -> Any:
    return import_module(f"gnc_cli.constructions.families.{module}")


@cache
def cross_sections(d: int) -> tuple[Construction, ...]:
    """Return the cross sections in exactly d dimensions, none of which is built.

    They are those of the single codes in d + 1 dimensions whose symmetries take each row to each
    other, and whose cosines are rational.
    """
    return tuple(
        Construction(
            name=code.name,
            title=code.title,
            d=d,
            K=neighbours,
            cosine=Cosine.rational((largest - t * t) / (1 - t * t)),
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
    """Return the first K rows of the construction called `name`, in d dimensions.

    A zero stands for its own number of rows or dimensions.

    Raises:
        UsageError: no construction has this name, or it does not fit d and K.
    """
    whole = find(name)
    if whole is None:
        raise UsageError(
            f"{spelled('construction')} {name!r} is not known{_suggestion(name)}; "
            f"see {spelled('list_constructions')}"
        )
    if d and d < whole.d:
        raise UsageError(
            f"construction {name} needs {whole.d} dimensions; {spelled('d', d)} is too few"
        )
    if K > whole.K:
        raise UsageError(f"construction {name} has {whole.K} rows; {spelled('K', K)} is too many")
    return embedded(first_rows(whole, K or whole.K), d or whole.d)


def _suggestion(name: str) -> str:
    """Suggest names or parameter ranges similar to an unknown name."""
    stem = name.rpartition("-")[0]
    ranges = [f.range for f in families() if stem and f.name.rpartition("-")[0] == stem]
    if ranges:
        return f": {stem}-.. takes {ranges[0]}"
    extensions = [full for full in names() if full.startswith(name)][:3]
    close_names = extensions or get_close_matches(name, names(), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close_names)}?" if close_names else ""


def best_construction(d: int, K: int) -> Construction | None:
    """Return the construction of K rows in d dimensions with the smallest largest cosine, or None.

    Ties go to fewer unused dimensions, then to fewer dropped rows; none is built. Codes of theorem
    3.3 (K <= 2 d, d = 2) come from `closed_form` and are not considered.

    Example:
        >>> best_construction(512, 500000).cosine.text
        '1/16'
    """
    whole = [c for c in (*_up_to(d), *_sections_up_to(d)) if c.K >= K]
    single = min(whole, key=lambda c: (c.cosine.value, d - c.d, c.K), default=None)
    sums = _summands(min(d, MAX_DIMENSION))
    cosine = sums.least_cosine(d, K, 1.0 if single is None else single.cosine.value)
    if cosine is not None:
        return first_rows(_sum(sums.fullest(d, cosine)[1], d), K)
    return None if single is None else embedded(first_rows(single, K), d)


def largest_construction(d: int, cosine: float) -> Construction | None:
    """Return the construction with the most rows in d dimensions and at most this cosine.

    Ties go to the smaller cosine, then to fewer unused dimensions. The result is None if no
    construction has more than the 2 d rows of theorem 3.3.

    Example:
        >>> largest_construction(25, 0.5).origin
        'leech + pair'
    """
    if cosine < 0.0:
        return None
    whole = [c for c in (*_up_to(d), *_sections_up_to(d)) if c.cosine.value <= cosine]
    single = max(whole, key=lambda c: (c.K, -c.cosine.value, -c.d), default=None)
    rows, parts = _summands(min(d, MAX_DIMENSION)).fullest(d, cosine)
    if max(rows, single.K if single is not None else 0) <= 2 * d:
        return None
    if single is None or single.K < rows:
        return _sum(parts, d)
    return embedded(single, d)


@lru_cache(maxsize=16)
def _up_to(d: int) -> tuple[Construction, ...]:
    """Return all constructions in at most d dimensions except simplices and orthoplexes."""
    return tuple(c for e in range(2, min(d, MAX_DIMENSION) + 1) for c in _exactly(e))


@cache
def _exactly(d: int) -> tuple[Construction, ...]:
    return tuple(c for c in in_dimension(d) if c.K > 2 * d)


@lru_cache(maxsize=16)
def antipodal(d: int) -> tuple[Construction, ...]:
    """Return the constructions in at most d dimensions whose rows have opposites."""
    return tuple(c for c in _up_to(d) if "-1" in dict(c.distribution or ()))


@lru_cache(maxsize=16)
def _sections_up_to(d: int) -> tuple[Construction, ...]:
    """Return all cross sections in at most d dimensions."""
    return tuple(c for e in range(2, min(d, MAX_DIMENSION) + 1) for c in cross_sections(e))


@lru_cache(maxsize=16)
def _summands(d: int) -> Summands[Construction]:
    """Return the parts of sums in d dimensions, by largest cosine."""
    parts = sorted(_up_to(d), key=lambda code: code.cosine.value)
    return Summands(parts, [code.cosine.value for code in parts])


def _sum(parts: list[Construction], d: int) -> Construction:
    """Return a sum of constructions with the signed standard basis of the unused dimensions."""
    idle = d - sum(part.d for part in parts)
    rest = [_PAIR if idle == 1 else orthoplex(idle)] if idle else []
    return orthogonal_sum(parts + rest, d)


def least_dimension(K: int, cosine: float, max_dimension: int) -> int | None:
    """Return the fewest dimensions in which a construction has K rows at this cosine.

    The result is None if that takes more than `max_dimension` dimensions.
    """
    whole = (*_up_to(MAX_DIMENSION), *_sections_up_to(MAX_DIMENSION))
    dimensions = [c.d for c in whole if c.K >= K and c.cosine.value <= cosine]
    summed = _summands(MAX_DIMENSION).dimension(K, cosine, max_dimension) if cosine >= 0.0 else None
    return min(
        [d for d in (*dimensions, summed) if d is not None and d <= max_dimension], default=None
    )


_PAIR = Construction(
    "pair",
    "two opposite points",
    1,
    2,
    Cosine.rational(-1),
    "elementary",
    "elementary",
    build=lambda: IntegerRows(np.array([[1], [-1]])),
)
