"""The best code on record for (d, K): theorem 3.3, else the table, else a construction.

What `compare` holds codes against, and what `solve` prints as `best_known`. Figures alone: nothing
is built, and nothing heavy is loaded.
"""

import os
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import cos, pi

from gnc_cli.io.known_codes import KnownCode, KnownCodes, read_public_table, stored_table
from gnc_cli.results import BestKnown

__all__ = ["Reference", "best_known", "read_table", "reference"]

Table = KnownCodes | str | os.PathLike[str] | None

_AGREES = 1e-12
"""Entries of two tables this near are one code: the public table rounds in the 12th decimal."""


@dataclass(frozen=True)
class Reference:
    """What a code of (d, K) is held against."""

    max_cosine: float
    exact: Fraction | None
    """The figure as the rational number that the table shows; None where there is none."""
    rounding: float
    """How far the figure may be from the cosine of the code behind it."""
    source: str
    proven: bool | None
    """Proved optimal; None where not settled."""
    listed: bool
    """By a theorem or an entry of the table; else by a construction, which is no record."""

    def record(self) -> BestKnown:
        """As results show it."""
        return BestKnown(self.max_cosine, self.source, self.proven is True)


def best_known(d: int, K: int, table: Table = None) -> BestKnown | None:
    """The smallest largest cosine on record for K points in d dimensions.

    Args:
        d, K: at least 2.
        table: a table or the file of one; our copy by default.

    Raises:
        DataError: the table cannot be read.

    Example:
        >>> best_known(3, 24).source, best_known(3, 5).source
        ('proven optimal', 'theorem 3.3: orthoplex')
    """
    found = reference(d, K, read_table(table))
    return None if found is None else found.record()


def reference(d: int, K: int, table: KnownCodes) -> Reference | None:
    """As `best_known`, with what a verdict needs: the exact figure and its rounding."""
    theorem = _theorem(d, K)
    if theorem is not None:
        name, cosine, exact = theorem
        return Reference(cosine, exact, 0.0, f"theorem 3.3: {name}", True, listed=True)
    entry = table.find(d, K)
    if entry is not None:
        return _listed(entry, table)
    from gnc_cli.codes.constructions.search import best_construction

    code = best_construction(d, K)
    if code is None:
        return None
    source = f"construction: {code.origin}"
    return Reference(code.cosine.value, None, 0.0, source, code.proven, listed=False)


def read_table(table: Table = None) -> KnownCodes:
    """The table itself: as it is, from the user's file, or our copy.

    Raises:
        DataError: the file cannot be read, or a line of it is wrong.
    """
    if isinstance(table, KnownCodes):
        return table
    return _ours() if table is None else read_public_table(table)


@lru_cache(maxsize=1)
def _ours() -> KnownCodes:
    return stored_table()


def _listed(entry: KnownCode, table: KnownCodes) -> Reference:
    """An entry; of the user's table too we know what is proved, and then the exact figure."""
    ours = entry if not table.stamp.current else _ours().find(entry.d, entry.K)
    proven = entry.proven
    if ours is not None and ours.proven and abs(entry.max_cosine - ours.max_cosine) <= _AGREES:
        entry, proven = ours, True
    return Reference(
        entry.max_cosine, entry.exact, entry.rounding, entry.source, proven, listed=True
    )


def _theorem(d: int, K: int) -> tuple[str, float, Fraction | None] | None:
    """Name, cosine and, where rational, exact cosine of the code that theorem 3.3 gives."""
    if K <= d + 1:
        return "simplex ETF", -1 / (K - 1), Fraction(-1, K - 1)
    if d == 2:
        quarter = Fraction(0) if K == 4 else None
        return "regular polygon", 0.0 if K == 4 else cos(2 * pi / K), quarter
    if K <= 2 * d:
        return "orthoplex", 0.0, Fraction(0)
    return None
