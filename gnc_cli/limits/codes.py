"""Bounds that come from lists of codes: known ones, numerical ones, constructions.

A code of more points or in fewer dimensions counts too: its first K points, with zeros appended,
are a code of (d, K). Values are rounded to the side on which they are true.
"""

from fractions import Fraction
from functools import cached_property

from gnc_cli.constructions.construction import Construction
from gnc_cli.constructions.registry import find, largest_construction, least_dimension
from gnc_cli.geometry.rounding import rounded_down, rounded_up
from gnc_cli.known_codes.best import constructed
from gnc_cli.known_codes.stored import stored_entry
from gnc_cli.known_codes.table import (
    CLAIMED,
    SOLVED,
    KnownCode,
    KnownCodes,
    our_copy,
)
from gnc_cli.limits.limit import LARGEST_D, Count, Dimension, Ending, Finding, Limit

_ONE_CODE = 1e-11
"""Entries and constructions whose cosines are this near are one code, rounded in its 12th digit."""


def claimed_codes(table: KnownCodes) -> "CodeList":
    """What our copy and the user's table say that somebody claims."""
    distinct = dict.fromkeys((*our_copy().claims, *table.claims))
    # Of two claims on one pair the better one counts.
    claims = sorted(distinct, key=lambda claim: -claim.exact)
    codes = KnownCodes(table.stamp, {(claim.d, claim.K): claim for claim in claims})
    return CodeList("claimed-code", "claims that nobody has vetted", codes, proved=False)


class CodeList(Limit):
    """The best of a list of codes with K points or more in d dimensions or fewer."""

    exists = True
    listed = True

    def __init__(
        self,
        name: str,
        source: str,
        codes: KnownCodes,
        *,
        of_rho: bool = False,
        proved: bool = True,
    ) -> None:
        self.name, self.source, self.of_rho, self.proved = name, source, of_rho, proved
        self._codes = codes
        self._sums = proved and not of_rho
        """Whether entries may be put into orthogonal subspaces."""

    @cached_property
    def _clearances(self) -> list[tuple[KnownCode, float]]:
        """Every code with its clearance, the best first."""
        return [(code, _clearance(code)) for code in self._codes.best_first]

    def at(self, d: int, K: int) -> Finding | None:
        code = self._codes.summed(d, K) if self._sums else None
        code = code or self._codes.covering(d, K)
        if code is None:
            return None
        return Finding(_clearance(code), source=_entry_source(code), how=_entry_command(code, d, K))

    def points(self, d: int, target: Fraction) -> Count | None:
        least = rounded_up(target)
        reached = [code for code, value in self._clearances if code.d <= d and value >= least]
        if self._sums and (code := self._codes.fullest(d, rounded_down(1 - target))) is not None:
            reached.append(code)
        code = max(reached, key=lambda code: code.K, default=None)
        if code is None:
            return None
        return Count.of(code.K, _entry_source(code), _entry_command(code, d, code.K))

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """Of the codes that are large and good enough, that of fewest dimensions."""
        least = rounded_up(target)
        found = [code.d for code, value in self._clearances if code.K >= K and value >= least]
        if self._sums:
            most = min(found, default=LARGEST_D)
            d = self._codes.summands.dimension(K, rounded_down(1 - target), most)
            found += [] if d is None else [d]
        return Dimension(min(found)) if found else Dimension(None, Ending.NEVER)


def _clearance(entry: KnownCode) -> float:
    """Certainly had; of a numerical code as its certificate says."""
    if entry.status == SOLVED:
        return float(1 - entry.exact)
    return rounded_down(1 - entry.between[1])


def _entry_source(entry: KnownCode) -> str:
    pair = f"({entry.d}, {entry.K})"
    if entry.status == SOLVED:
        return f"numerical code {pair}: found by gnc, certified"
    kind = "claimed, not vetted:" if entry.status == CLAIMED else "known code"
    return f"{kind} {pair}: {entry.source}"


def _entry_command(entry: KnownCode, d: int, K: int) -> str | None:
    """What gives K points in d dimensions of the entry's code: theorem 3.3, a construction, stored
    coordinates, or the search that found it."""
    if entry.K <= 2 * entry.d:
        return f"gnc solve --d {d} --K {K}"
    code = None if entry.status == SOLVED else constructed(entry.d, entry.K)
    if code is not None and abs(code.cosine.value - entry.max_cosine) <= _ONE_CODE:
        return _command(code, d, K)
    stored = stored_entry(entry.d, entry.K)
    if stored is not None and abs(stored.max_cosine - entry.max_cosine) <= _ONE_CODE:
        return f"gnc solve --d {entry.d} --K {entry.K} --construction known"
    return entry.command


class ConstructionLimit(Limit):
    """The best construction: whole or in part, cross sections, orthogonal sums.

    Silent where theorem 3.3 rules (K <= 2 d).
    """

    name = "construction"
    source = "constructions, see gnc solve --list-constructions"
    exists = True
    listed = True

    def at(self, d: int, K: int) -> Finding | None:
        code = constructed(d, K) if K > 2 * d else None
        if code is None:
            return None
        value = rounded_down(1 - code.cosine.between[1])
        return Finding(value, source=f"{code.origin}: {code.reference}", how=_command(code, d, K))

    def points(self, d: int, target: Fraction) -> Count | None:
        code = largest_construction(d, float(1 - target))
        if code is None or code.K <= 2 * d:
            return None
        return Count.of(code.K, f"{code.origin}: {code.reference}", _command(code, d, code.K))

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """Theorem 3.3 rules from K/2 dimensions on."""
        most = min((K - 1) // 2, LARGEST_D)
        d = least_dimension(K, rounded_down(1 - target), most)
        return Dimension(d) if d is not None else Dimension(None, Ending.NEVER)


def _command(code: Construction, d: int, K: int) -> str:
    """What builds K points in d dimensions that are at least as good as the construction.

    Sums and cross sections have no name: `solve` takes the best construction by itself, and may
    search beside it.
    """
    whole = find(code.name)
    if whole is not None and whole.d <= d and whole.K >= K and whole.cosine == code.cosine:
        return f"gnc solve --d {d} --K {K} --construction {code.name}"
    return f"gnc solve --d {code.d} --K {code.K}"
