"""The one answer to "what is the best known code for (d, K)?".

The smallest largest cosine among theorem 3.3, proved entries of the tables, their other entries,
constructions, and codes that this project solved; of figures within 1e-12 the earlier in this list
counts. A code of more points or in fewer dimensions counts as well: its first K points, with zeros
appended, are a code of (d, K). `solve`, `measure`, `bounds` and `compare` all print this answer.
Figures alone: nothing is built, and nothing heavy is loaded.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from gnc_cli.known_codes.table import (
    KnownCode,
    KnownCodes,
    read_public_table,
    stored_margins,
    stored_table,
)
from gnc_cli.records import BestKnown, TableStamp

if TYPE_CHECKING:
    from gnc_cli.constructions.construction import Construction

Table = KnownCodes | str | os.PathLike[str] | None

_AGREES = 1e-12
"""Figures this near are one code: the public table rounds in the 12th decimal."""
_SOLVED_DIGITS = 1e-12
"""What the figures of our solved codes are rounded to."""
SEARCHED = 4096
"""Dimensions up to which constructions are searched, in tenths of a second; beyond, a code of so
many dimensions counts."""


@dataclass(frozen=True)
class Reference:
    """The best known code of some (d, K)."""

    max_cosine: float
    kind: str
    """`theorem`, `table`, `construction` or `solved`."""
    d: int
    """Dimension and size of the code itself; those asked for, or a code that holds one of them."""
    K: int
    source: str
    own: bool
    """The code has the size that was asked for."""
    proven: bool | None = False
    """Proved optimal for what was asked; None where not settled."""
    exact: Fraction | None = None
    """The figure as the rational number that the table shows; None where there is none."""
    rounding: float = 0.0
    """How far the figure may be from the cosine of the code behind it."""
    date: str | None = None
    """Of the table or of the solve."""
    stamp: TableStamp | None = None
    """The table that the figure is from; None where it is from none."""
    how: str | None = None
    """The command that found the code, where this project did."""
    on_record: bool = True
    """Whether a theorem, a table or our solved codes have an entry of what was asked: then equality
    is a tie, and a smaller cosine news. Parts of larger codes and constructions are no records."""

    def record(self) -> BestKnown:
        """As results show it."""
        return BestKnown(
            self.max_cosine, self.source, self.proven is True, self.kind, self.d, self.K, self.date,
            self.how,
        )

    def gap(self, max_cosine: float) -> float:
        """`max_cosine` less the figure: negative is better, by more than the figure's rounding."""
        apart = max_cosine - self.max_cosine
        return 0.0 if -self.rounding <= apart < 0.0 else apart


def best(d: int, K: int, table: Table = None) -> Reference | None:
    """The best known code of K points in d dimensions; None where nothing is known.

    Args:
        d, K: at least 2.
        table: a table or the file of one, held beside our copy: the smaller figure counts.

    Raises:
        DataError: the table cannot be read.

    Example:
        >>> best(3, 24).source, best(3, 5).source
        ('proven optimal', 'theorem 3.3: orthoplex')
        >>> best(10, 99).kind, best(10, 99).d, best(10, 99).K
        ('solved', 10, 100)
    """
    theorem = _theorem(d, K)
    if theorem is not None:
        return theorem
    found: Reference | None = None
    on_record = False
    for candidate in _candidates(d, K, read_table(table)):
        if candidate.proven:
            return candidate
        on_record |= candidate.own and candidate.kind != "construction"
        if found is None or candidate.max_cosine < found.max_cosine - _AGREES:
            found = candidate
    return None if found is None else replace(found, on_record=on_record)


def _candidates(d: int, K: int, table: KnownCodes) -> Iterator[Reference]:
    entry = _listed(d, K, table)
    if entry is not None:
        yield entry
    for some in {id(t): t for t in (table, _ours())}.values():
        larger = some.covering(d, K)
        if larger is not None and (larger.d, larger.K) != (d, K):
            yield _entry(larger, some, _part(larger.d, larger.K, K) + larger.source, own=False)
    code = constructed(min(d, SEARCHED), K)
    if code is not None:
        yield Reference(
            code.cosine.value, "construction", d, K, f"construction: {code.origin}", own=True,
            proven=code.proven,
        )  # fmt: skip
    solved = stored_margins().covering(d, K)
    if solved is not None:
        # A Tammes code, whose largest cosine is 1 - rho.
        own = (solved.d, solved.K) == (d, K)
        part = "" if own else _part(solved.d, solved.K, K)
        yield Reference(
            1.0 - solved.rho, "solved", solved.d, solved.K, part + solved.source, own=own,
            rounding=_SOLVED_DIGITS, date=stored_margins().date, how=solved.command,
        )  # fmt: skip


@lru_cache(maxsize=4096)
def constructed(d: int, K: int) -> "Construction | None":
    """The best construction of K points in d dimensions, or None."""
    from gnc_cli.constructions.finder import best_construction

    return best_construction(d, K)


def read_table(table: Table = None) -> KnownCodes:
    """The table itself: as it is, from the user's file, or our copy.

    Raises:
        DataError: the file cannot be read, or a line of it is wrong.
    """
    if isinstance(table, KnownCodes):
        return table
    return _ours() if table is None else read_public_table(table)


def _part(d: int, K: int, wanted_K: int) -> str:
    """How a code of (d, K) is one of the size wanted: the first words of a source."""
    some = "all" if wanted_K == K else f"first {wanted_K:,}"
    return f"{some} points of ({d}, {K}): "


@lru_cache(maxsize=1)
def _ours() -> KnownCodes:
    return stored_table()


def _listed(d: int, K: int, table: KnownCodes) -> Reference | None:
    """The smaller of the table's entry and our copy's; `source` says where the other stands."""
    given = table.find(d, K)
    copy = _ours() if table.stamp.current else table
    ours = copy.find(d, K)
    if given is None:
        if ours is None:
            return None
        return _entry(ours, copy, f"{ours.source} (our copy; --table has no entry)")
    if ours is None or ours is given:
        return _entry(given, table)
    apart = given.max_cosine - ours.max_cosine
    if abs(apart) <= _AGREES:
        # One code: of the user's table too we know what is proved, and then the exact figure.
        return _entry(ours if ours.proven else given, table)
    if apart > 0.0:
        said = f"{ours.source} (our copy; --table has {given.max_cosine:.12g})"
        return _entry(ours, copy, said)
    if not ours.proven:
        return _entry(given, table)
    said = f"{given.source} (our copy has {ours.max_cosine:.12g}, proved optimal)"
    return _entry(given, table, said)


def _entry(
    entry: KnownCode, table: KnownCodes, source: str | None = None, *, own: bool = True
) -> Reference:
    return Reference(
        entry.max_cosine, "table", entry.d, entry.K, source or entry.source, own,
        proven=entry.proven if own else False, exact=entry.exact, rounding=entry.rounding,
        date=table.stamp.date, stamp=table.stamp,
    )  # fmt: skip


def _theorem(d: int, K: int) -> Reference | None:
    """The code that theorem 3.3 gives."""
    from gnc_cli.constructions.families.theorem_3_3 import closed_form

    form = closed_form(d, K)
    if form is None:
        return None
    cosine = form.cosine
    exact = None if "cos" in cosine.text else Fraction(cosine.text)
    return Reference(
        cosine.value, "theorem", d, K, f"theorem 3.3: {form.name}", own=True, proven=True,
        exact=exact,
    )  # fmt: skip
