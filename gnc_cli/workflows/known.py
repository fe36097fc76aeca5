"""The best code on record for (d, K): theorem 3.3, else the tables, else a construction.

What `compare` holds codes against, and what `solve` prints as `best_known`. Figures alone: nothing
is built, and nothing heavy is loaded.
"""

import os
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import cos, pi

from gnc_cli.io.known_codes import KnownCode, KnownCodes, read_public_table, stored_table
from gnc_cli.results import BestKnown, TableStamp

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
    """By a theorem or an entry of a table; else by a construction, which is no record."""
    stamp: TableStamp | None = None
    """The table that the figure is from; None where it is from none."""

    @property
    def kind(self) -> str:
        """`theorem`, `table` or `construction`."""
        if not self.listed:
            return "construction"
        return "theorem" if self.stamp is None and self.source.startswith("theorem") else "table"

    @property
    def settles(self) -> bool:
        """Whether equality is a tie: a mere construction says nothing of what is best."""
        return self.listed or self.proven is True

    def record(self) -> BestKnown:
        """As results show it."""
        return BestKnown(self.max_cosine, self.source, self.proven is True)


def best_known(
    d: int, K: int, table: Table = None, *, at_hand: float = float("inf")
) -> BestKnown | None:
    """The smallest largest cosine on record for K points in d dimensions.

    Args:
        d, K: at least 2.
        table: a table or the file of one, held beside our copy: the smaller figure counts.
        at_hand: the largest cosine of a code; a mere construction that is worse is not named.

    Raises:
        DataError: the table cannot be read.

    Example:
        >>> best_known(3, 24).source, best_known(3, 5).source
        ('proven optimal', 'theorem 3.3: orthoplex')
    """
    found = reference(d, K, read_table(table))
    if found is None or (not found.settles and found.max_cosine > at_hand + _AGREES):
        return None
    return found.record()


def reference(d: int, K: int, table: KnownCodes) -> Reference | None:
    """As `best_known`, with what a verdict needs: the exact figure and its rounding."""
    theorem = _theorem(d, K)
    if theorem is not None:
        name, cosine, exact = theorem
        return Reference(cosine, exact, 0.0, f"theorem 3.3: {name}", True, listed=True)
    entry = _listed(d, K, table)
    if entry is not None:
        return entry
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


def _listed(d: int, K: int, table: KnownCodes) -> Reference | None:
    """The smaller of the table's entry and our copy's; `source` says where the other stands."""
    given = table.find(d, K)
    copy = _ours() if table.stamp.current else table
    ours = copy.find(d, K)
    if given is None:
        return None if ours is None else _entry(ours, copy, "our copy; --table has no entry")
    if ours is None or ours is given:
        return _entry(given, table)
    apart = given.max_cosine - ours.max_cosine
    if abs(apart) <= _AGREES:
        # One code: of the user's table too we know what is proved, and then the exact figure.
        return _entry(ours if ours.proven else given, table)
    if apart > 0.0:
        return _entry(ours, copy, f"our copy; --table has {given.max_cosine:.12g}")
    proved = f"our copy has {ours.max_cosine:.12g}, proved optimal" if ours.proven else ""
    return _entry(given, table, proved)


def _entry(entry: KnownCode, table: KnownCodes, remark: str = "") -> Reference:
    source = f"{entry.source} ({remark})" if remark else entry.source
    return Reference(
        entry.max_cosine, entry.exact, entry.rounding, source, entry.proven, listed=True,
        stamp=table.stamp,
    )  # fmt: skip


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
