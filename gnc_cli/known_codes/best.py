"""The one answer to "what is the best known code for (d, K)?".

The smallest largest cosine among theorem 3.3, proved entries of our table, the other entries of the
user's table and of ours, constructions, and numerical codes of ours; of figures within 1e-12 the
earlier in this list counts. A code of more points or in fewer dimensions counts as well: its
first K points, with zeros appended, are a code of (d, K), and so do entries of a table in
orthogonal subspaces. `solve`, `measure`, `bounds` and
`compare` all print this answer. Figures alone: nothing is built, and nothing heavy is loaded.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from gnc_cli.known_codes.table import (
    SUM,
    KnownCode,
    KnownCodes,
    TableStamp,
    numerical_codes,
    our_copy,
    read_public_table,
)
from gnc_cli.records import NOT_IN_JSON

if TYPE_CHECKING:
    from gnc_cli.constructions.construction import Construction, Cosine

Table = KnownCodes | str | os.PathLike[str] | None

SAME = 1e-12
"""Figures this near are one code: the public table rounds in the 12th decimal."""
_DIGITS = 15
"""Decimals of a figure that are shown: those of a double."""


@dataclass(frozen=True, kw_only=True)
class BestKnown:
    """The best known code of (d, K), whichever command prints it."""

    max_cosine: float
    """Largest cosine of two rows of the best known code."""
    figure: str
    """The cosine as in its source: a fraction if it is exact, else decimals, 15 at most."""
    source: str
    """Whom to cite for the code: who found or published it, or the construction; or that this
    project found it."""
    optimality: str | None = None
    """Whom to cite for the proof that it is optimal; None where there is none."""
    proven: bool | None
    """Whether it is proved optimal for this (d, K); None where a table does not say."""
    kind: str
    """`theorem`, `table`, `construction` or `solved` (a numerical code of ours)."""
    d: int
    """Dimension of the code, at most the one asked for."""
    K: int
    """Number of its points, at least the one asked for: it holds a code of that size."""
    date: str | None = None
    """Of the source, or of the search for a numerical code; None where the code is a theorem's or a
    construction."""
    table: str | None = None
    """The table of known codes that it is from, with its date: `our copy of 2026-11`; with
    `--table` also what that table has."""
    how: str | None = None
    """The command that found the code, or writes the stored one, where this project found it."""
    own: bool = field(default=True, metadata=NOT_IN_JSON, repr=False, compare=False)
    """The code has the size that was asked for."""
    exact: Fraction | None = field(default=None, metadata=NOT_IN_JSON, repr=False, compare=False)
    """The cosine with every digit of its table; None where it is from none."""
    rounding: float = field(default=0.0, metadata=NOT_IN_JSON, repr=False, compare=False)
    """Largest difference between the figure and the cosine of the code behind it."""
    stamp: TableStamp | None = field(default=None, metadata=NOT_IN_JSON, repr=False, compare=False)
    """The table that the figure is from; None where it is from none."""
    on_record: bool = field(default=True, metadata=NOT_IN_JSON, repr=False, compare=False)
    """Whether a theorem, a table or our numerical codes have an entry of what was asked: then
    equality is a tie, and a smaller cosine news. Parts of larger codes and constructions are no
    records."""

    @property
    def distance(self) -> float:
        """1 - max_cosine: its one-vs-rest distance, by the bisector theorem."""
        return 1.0 - self.max_cosine

    def gap(self, max_cosine: float) -> float:
        """`max_cosine` less the figure: negative is better, by more than the figure's rounding."""
        apart = max_cosine - self.max_cosine
        return 0.0 if -self.rounding <= apart < 0.0 else apart


def best(d: int, K: int, table: Table = None) -> BestKnown | None:
    """The best known code of K points in d dimensions; None where nothing is known.

    Args:
        d, K: at least 2.
        table: a table or the file of one, held beside our copy: the smaller figure counts. By
            default the file that the environment variable GNC_TABLE names, if it is set.

    Raises:
        DataError: the table cannot be read.

    Example:
        >>> best(3, 24).source, best(3, 5).source
        ('J. Kepler, Harmonices mundi, Linz 1619', 'theorem 3.3: orthoplex')
        >>> best(10, 99).kind, best(10, 99).d, best(10, 99).K
        ('solved', 10, 100)
    """
    theorem = _theorem(d, K)
    if theorem is not None:
        return theorem
    leader: BestKnown | None = None
    on_record = False
    users = read_table(table)
    for candidate in _candidates(d, K, users):
        on_record |= candidate.own and bool(candidate.kind != "construction" or candidate.proven)
        if leader is None or candidate.proven or candidate.max_cosine < leader.max_cosine - SAME:
            leader = candidate
        if candidate.proven:
            break
    if leader is None:
        return None
    entry, beside = users.find(d, K), ""
    if leader.stamp is not users.stamp and users.stamp.current:
        if entry is None:
            beside = f"no entry in {users.stamp.title}"
        elif entry.max_cosine > leader.max_cosine + SAME:
            beside = f"better than the {entry.figure} in {users.stamp.title}"
    origin = ", ".join(filter(None, (leader.table, beside))) or None
    return replace(leader, on_record=on_record, table=origin)


def _candidates(d: int, K: int, table: KnownCodes) -> Iterator[BestKnown]:
    """In the order in which ties are decided."""
    ours = our_copy().find(d, K)
    if ours is not None and ours.proven:
        yield _entry(ours, our_copy().stamp, d, K)
    for some in {id(t): t for t in (table, our_copy())}.values():
        for code in (some.find(d, K), some.covering(d, K), some.summed(d, K)):
            if code is not None:
                yield _entry(code, some.stamp, d, K)
    built = constructed(d, K)
    if built is not None:
        yield BestKnown(
            max_cosine=built.cosine.value,
            figure=_exact_text(built.cosine),
            source=f"construction: {built.origin}",
            optimality=built.optimality,
            proven=built.proven,
            kind="construction",
            d=d,
            K=K,
        )
    numerical = numerical_codes().covering(d, K)
    if numerical is not None:
        yield _entry(numerical, None, d, K)


@lru_cache(maxsize=4096)
def constructed(d: int, K: int) -> "Construction | None":
    """The best construction of K points in d dimensions, or None."""
    from gnc_cli.constructions.registry import best_construction

    return best_construction(d, K)


def read_table(table: Table) -> KnownCodes:
    """The table itself: as it is, from the user's file or the one in GNC_TABLE, else our copy.

    Raises:
        DataError: the file cannot be read, or a line of it is wrong.
    """
    if isinstance(table, KnownCodes):
        return table
    path = os.fspath(table or os.environ.get("GNC_TABLE") or "")
    if not path:
        return our_copy()
    return _read(path, os.stat(path).st_mtime_ns if os.path.isfile(path) else 0)


@lru_cache(maxsize=4)
def _read(path: str, changed: int) -> KnownCodes:
    return read_public_table(path)


def _entry(entry: KnownCode, stamp: TableStamp | None, d: int, K: int) -> BestKnown:
    own = (entry.d, entry.K) == (d, K)
    some = "all" if entry.K == K else f"first {K:,}"
    part = "" if own else f"{some} points of ({entry.d}, {entry.K}): "
    own = own and entry.status != SUM
    return BestKnown(
        max_cosine=entry.max_cosine,
        figure=_shown(entry.figure),
        source=part + entry.source,
        optimality=entry.optimality if own else None,
        proven=entry.proven if own else False,
        kind="table" if stamp else "solved",
        d=entry.d,
        K=entry.K,
        date=entry.date,
        table=stamp.title if stamp else None,
        how=entry.command,
        own=own,
        exact=entry.exact if stamp else None,
        rounding=entry.rounding,
        stamp=stamp,
    )


def _theorem(d: int, K: int) -> BestKnown | None:
    """The code that theorem 3.3 gives."""
    from gnc_cli.constructions.families.theorem_3_3 import closed_form

    form = closed_form(d, K)
    if form is None:
        return None
    return BestKnown(
        max_cosine=form.cosine.value,
        figure=_exact_text(form.cosine),
        source=f"theorem 3.3: {form.name}",
        optimality=form.optimality,
        proven=True,
        kind="theorem",
        d=d,
        K=K,
    )


def _exact_text(cosine: "Cosine") -> str:
    """The fraction that an exact cosine is, or the decimals of an irrational one."""
    low, high = cosine.between
    return str(low) if low == high else f"{cosine.value:.15f}"


def _shown(figure: str) -> str:
    """A figure of at most 15 decimals, fractions as they are.

    >>> _shown("1/3"), _shown("0.75"), _shown("0.72307846833350853703")
    ('1/3', '0.75', '0.723078468333509')
    """
    return figure if len(figure.partition(".")[2]) <= _DIGITS else f"{float(figure):.{_DIGITS}f}"
