"""Best known code of (d, K): one answer, which `solve`, `measure`, `bounds` and `compare` print.

It is the smallest largest cosine among theorem 3.3, proved entries of our table, the other entries
of the user's table and of ours, constructions, and numerical codes of ours. Among values within
1e-12 the earlier in this list counts. A code of more points or in fewer dimensions counts as well:
its first K points, with zeros appended, are a code of (d, K). So do entries of a table in
orthogonal subspaces. Only values are compared: no rows are built, and nothing heavy is loaded.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from gnc_cli.known_codes.table import (
    STATUS_SUM,
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

TIE_TOLERANCE = 1e-12
"""Largest difference of cosines that tie: the public table rounds in the 12th decimal."""
_MAX_DECIMALS = 15
"""Largest number of decimals that are shown: those of a double."""


@dataclass(frozen=True, kw_only=True)
class BestKnown:
    """Best known code of (d, K)."""

    max_cosine: float
    """Largest cosine of two rows of the best known code."""
    figure: str
    """Cosine as in its source: a fraction if it is exact, else decimals, 15 at most."""
    source: str
    """Source of the code: authors and publication, or the construction, or this project."""
    optimality: str | None = None
    """Source of the proof that it is optimal; None if there is none."""
    proven: bool | None
    """True if it is proved optimal for this (d, K); None if its table does not say."""
    kind: str
    """Kind of source: `theorem`, `table`, `construction` or `solved` (a numerical code of ours)."""
    d: int
    """Dimension of the code, at most the requested one."""
    K: int
    """Number of its points, at least the requested one: it contains a code of that size."""
    date: str | None = None
    """Date of the source, or of the search for a numerical code; None for theorems and
    constructions."""
    table: str | None = None
    """Table of known codes that contains it, with its date: `our copy of 2026-11`; with `--table`
    also the comparison with that table."""
    how: str | None = None
    """Command that found the code, or writes the stored one, if this project found it."""
    same_size: bool = field(default=True, metadata=NOT_IN_JSON, repr=False, compare=False)
    """True if the code has the requested size."""
    exact: Fraction | None = field(default=None, metadata=NOT_IN_JSON, repr=False, compare=False)
    """Cosine with every digit of its table; None if it is from no table."""
    rounding: float = field(default=0.0, metadata=NOT_IN_JSON, repr=False, compare=False)
    """Largest difference between the printed cosine and that of the code."""
    stamp: TableStamp | None = field(default=None, metadata=NOT_IN_JSON, repr=False, compare=False)
    """Table that contains the code; None if it is from no table."""
    on_record: bool = field(default=True, metadata=NOT_IN_JSON, repr=False, compare=False)
    """True if a theorem, a table or our numerical codes have an entry of the requested size: then
    equality is a tie, and a smaller cosine an improvement. Parts of larger codes and constructions
    are not records."""

    @property
    def distance(self) -> float:
        """One-vs-rest distance, 1 - max_cosine by the bisector theorem."""
        return 1.0 - self.max_cosine

    def gap(self, max_cosine: float) -> float:
        """Return `max_cosine` less this code's: negative is better; 0 within the rounding below."""
        difference = max_cosine - self.max_cosine
        return 0.0 if -self.rounding <= difference < 0.0 else difference


def best(d: int, K: int, table: Table = None) -> BestKnown | None:
    """Return the best known code of K points in d dimensions; None if nothing is known.

    Args:
        d: dimension, at least 2.
        K: number of points, at least 2.
        table: a table or its file, in addition to our copy: the smaller cosine counts. By default
            the file that the environment variable GNC_TABLE names, if it is set.

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
        on_record |= candidate.same_size and bool(
            candidate.kind != "construction" or candidate.proven
        )
        if (
            leader is None
            or candidate.proven
            or candidate.max_cosine < leader.max_cosine - TIE_TOLERANCE
        ):
            leader = candidate
        if candidate.proven:
            break
    if leader is None:
        return None
    entry, comparison = users.find(d, K), ""
    if leader.stamp is not users.stamp and users.stamp.current:
        if entry is None:
            comparison = f"no entry in {users.stamp.title}"
        elif entry.max_cosine > leader.max_cosine + TIE_TOLERANCE:
            comparison = f"better than the {entry.figure} in {users.stamp.title}"
    return replace(
        leader,
        on_record=on_record,
        table=", ".join(filter(None, (leader.table, comparison))) or None,
    )


def _candidates(d: int, K: int, table: KnownCodes) -> Iterator[BestKnown]:
    """Yield the known codes, in the order that decides ties."""
    entry = our_copy().find(d, K)
    if entry is not None and entry.proven:
        yield _entry(entry, our_copy().stamp, d, K)
    for codes in {id(t): t for t in (table, our_copy())}.values():
        for code in (codes.find(d, K), codes.covering(d, K), codes.summed(d, K)):
            if code is not None:
                yield _entry(code, codes.stamp, d, K)
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
    """Return the best construction of K points in d dimensions, or None."""
    from gnc_cli.constructions.registry import best_construction

    return best_construction(d, K)


def read_table(table: Table) -> KnownCodes:
    """Return the table: as given, from the user's file or the one in GNC_TABLE, else our copy.

    Raises:
        DataError: the file cannot be read, or a line of it is wrong.
    """
    if isinstance(table, KnownCodes):
        return table
    path = os.fspath(table or os.environ.get("GNC_TABLE") or "")
    mtime_ns = os.stat(path).st_mtime_ns if os.path.isfile(path) else 0
    return _read(path, mtime_ns) if path else our_copy()


@lru_cache(maxsize=4)
def _read(path: str, mtime_ns: int) -> KnownCodes:
    return read_public_table(path)


def _entry(entry: KnownCode, stamp: TableStamp | None, d: int, K: int) -> BestKnown:
    same_size = (entry.d, entry.K) == (d, K)
    points = "all" if entry.K == K else f"first {K:,}"
    part = "" if same_size else f"{points} points of ({entry.d}, {entry.K}): "
    same_size = same_size and entry.status != STATUS_SUM
    return BestKnown(
        max_cosine=entry.max_cosine,
        figure=_shorten(entry.figure),
        source=part + entry.source,
        optimality=entry.optimality if same_size else None,
        proven=entry.proven if same_size else False,
        kind="table" if stamp else "solved",
        d=entry.d,
        K=entry.K,
        date=entry.date,
        table=stamp.title if stamp else None,
        how=entry.command,
        same_size=same_size,
        exact=entry.exact if stamp else None,
        rounding=entry.rounding,
        stamp=stamp,
    )


def _theorem(d: int, K: int) -> BestKnown | None:
    """Return the code of theorem 3.3, if it has this size."""
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
    """Format an exact cosine: a fraction, or the decimals of an irrational one."""
    low, high = cosine.enclosure
    return str(low) if low == high else f"{cosine.value:.15f}"


def _shorten(figure: str) -> str:
    """Shorten a decimal text to at most 15 decimals; fractions are unchanged.

    >>> _shorten("1/3"), _shorten("0.75"), _shorten("0.72307846833350853703")
    ('1/3', '0.75', '0.723078468333509')
    """
    return (
        figure
        if len(figure.partition(".")[2]) <= _MAX_DECIMALS
        else f"{float(figure):.{_MAX_DECIMALS}f}"
    )
