"""Bounds that come from codes: known ones, numerical ones, constructions, and proved optima.

A code of more points or in fewer dimensions counts too: its first K points, with zeros appended,
are a code of (d, K). The other way round, no code of (d, K) is better than a proved optimum of
fewer points or in more dimensions. Values are rounded to the side on which they are true.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from gnc_cli.constructions.construction import Construction, Cosine
from gnc_cli.constructions.registry import find, largest_construction, single_codes
from gnc_cli.geometry.rounding import rounded_down, rounded_up
from gnc_cli.known_codes.best import SEARCHED, constructed, our_copy, stored_cosine
from gnc_cli.known_codes.table import KnownCode, KnownCodes, numerical_codes
from gnc_cli.limits.limit import Count, Finding, Limit, reaches

_ONE_CODE = 1e-11
"""Entries and constructions whose cosines are this near are one code, rounded in its 12th digit."""
_KNOWN = "gnc solve --d {d} --K {K} --construction known"
"""Reads the coordinates that this version ships."""
_ULPS = Fraction(1, 10**15)
"""The double of an irrational cosine is nearer than this to it."""


def code_limits(table: KnownCodes | None = None) -> list[Limit]:
    """The bounds that codes give: three that say what exists, one that excludes.

    Args:
        table: of the user, held beside our copy: the smaller figure counts. What it says of
            optimality is not looked at.
    """
    ours = our_copy()
    solved = [
        _Code(
            code.d,
            code.K,
            float(1 - code.exact),
            f"numerical code ({code.d}, {code.K}): found by gnc, certified",
            partial(_solved, code.d, code.K, code.command),
        )
        for code in numerical_codes().entries.values()
    ]
    return [
        CodeList("known-code", "table of known codes", known_codes(ours, table)),
        CodeList("solved-code", "numerical codes found by gnc", solved, of_rho=True),
        ConstructionLimit(),
        ProvedOptimumLimit(ours),
    ]


@dataclass(frozen=True)
class _Code:
    d: int
    K: int
    value: float
    """Of codes that exist, at least so much; of optima, no more."""
    source: str
    command: Callable[[int, int], str | None] = lambda d, K: None
    """What builds K of its points in d dimensions, or all of them."""


class CodeList(Limit):
    """The best of a list of codes with K points or more in d dimensions or fewer."""

    exists = True
    listed = True

    def __init__(
        self,
        name: str,
        source: str,
        codes: list[_Code],
        *,
        of_rho: bool = False,
        proved: bool = True,
    ) -> None:
        self.name, self.source, self.of_rho, self.proved = name, source, of_rho, proved
        self._best_first = sorted(codes, key=lambda code: -code.value)

    def at(self, d: int, K: int) -> Finding | None:
        code = next((c for c in self._best_first if c.d <= d and c.K >= K), None)
        if code is None:
            return None
        return Finding(code.value, source=code.source, how=code.command(d, K))

    def points(self, d: int, target: Fraction) -> Count | None:
        reached = [c for c in self._best_first if c.d <= d and reaches(c.value, target)]
        code = max(reached, key=lambda c: c.K, default=None)
        return None if code is None else Count.of(code.K, code.source, code.command(d, code.K))

    def last_d(self, K: int) -> int | None:
        """The last dimension of the list: beyond it no code is better."""
        return max((code.d for code in self._best_first), default=0)


def known_codes(ours: KnownCodes, given: KnownCodes | None = None) -> list[_Code]:
    """The entries of our copy, and those of the user's table that are better.

    All exist: published, or made by this project. There is a command where theorem 3.3 or a
    construction gives the same code, or its coordinates are stored.
    """
    merged = ours if given is None else ours.merged(given)
    return [_listed(e, f"known code ({d}, {K})") for (d, K), e in merged.entries.items()]


def claimed_codes(table: KnownCodes) -> CodeList:
    """What our copy and the user's table say that somebody claims."""
    claims = dict.fromkeys((*our_copy().claims, *table.claims))
    codes = [_listed(claim, f"claimed, not vetted: ({claim.d}, {claim.K})") for claim in claims]
    return CodeList("claimed-code", "claims that nobody has vetted", codes, proved=False)


def _listed(entry: KnownCode, name: str) -> _Code:
    value = rounded_down(1 - entry.between[1])
    return _Code(entry.d, entry.K, value, f"{name}: {entry.source}", partial(_same, entry))


class ConstructionLimit(Limit):
    """The best construction: whole or in part, cross sections, orthogonal sums.

    Silent where theorem 3.3 rules (K <= 2 d). Beyond 4096 dimensions a construction in 4096 counts.
    """

    name = "construction"
    source = "constructions, see gnc solve --list-constructions"
    exists = True
    listed = True

    def at(self, d: int, K: int) -> Finding | None:
        code = constructed(min(d, SEARCHED), K) if K > 2 * d else None
        if code is None:
            return None
        value = rounded_down(1 - _ends(code.cosine)[1])
        return Finding(value, source=_built(code), how=_command(code, d, K))

    def points(self, d: int, target: Fraction) -> Count | None:
        code = largest_construction(min(d, SEARCHED), float(1 - target))
        if code is None or code.K <= 2 * d:
            return None
        return Count.of(code.K, _built(code), _command(code, d, code.K))

    def last_d(self, K: int) -> int | None:
        """Theorem 3.3 rules from K/2 dimensions on; beyond 4096 no code is better."""
        return min(SEARCHED, (K - 1) // 2)


class ProvedOptimumLimit(Limit):
    """The best of the codes proved optimal that have K points or fewer in d dimensions or more.

    The single constructions that are proved, and the entries of our table that are.
    """

    name = "proved-optimum"
    source = "codes proved optimal"
    exists = False
    listed = True

    def __init__(self, table: KnownCodes) -> None:
        self._optima = sorted(_optima(table), key=lambda o: (o.value, o.K, o.d))

    def at(self, d: int, K: int) -> Finding | None:
        best = next((o for o in self._optima if o.d >= d and o.K <= K), None)
        return None if best is None else Finding(best.value, source=best.source)

    def points(self, d: int, target: Fraction) -> Count | None:
        missing = [o for o in self._optima if o.d >= d and not reaches(o.value, target)]
        least = min(missing, key=lambda o: o.K, default=None)
        return None if least is None else Count.of(least.K - 1, least.source)


def _optima(table: KnownCodes) -> Iterator[_Code]:
    single = {(code.d, code.K): code for code in single_codes() if code.proven}
    for (d, K), code in single.items():
        cited = f"optimal code ({d}, {K}): {code.name}, {code.reference}"
        yield _Code(d, K, rounded_up(1 - _ends(code.cosine)[0]), cited)
    for entry in table.select(proven=True):
        if (entry.d, entry.K) not in single:
            cited = f"optimal code ({entry.d}, {entry.K}): {entry.source}"
            yield _Code(entry.d, entry.K, rounded_up(1 - entry.between[0]), cited)


def _built(code: Construction) -> str:
    return f"{code.origin}: {code.reference}"


def _solved(own_d: int, own_K: int, command: str | None, d: int, K: int) -> str | None:
    """The command for a numerical code, which reads its coordinates or repeats its search."""
    return command if stored_cosine(own_d, own_K) is None else _KNOWN.format(d=own_d, K=own_K)


def _same(entry: KnownCode, d: int, K: int) -> str | None:
    """The command for K points in d dimensions of the entry's code, where there is one."""
    if entry.K <= 2 * entry.d:
        return f"gnc solve --d {d} --K {K}"  # by theorem 3.3
    code = constructed(entry.d, entry.K)
    if code is not None and abs(code.cosine.value - entry.max_cosine) <= _ONE_CODE:
        return _command(code, d, K)
    cosine = stored_cosine(entry.d, entry.K)
    if cosine is not None and abs(cosine - entry.max_cosine) <= _ONE_CODE:
        return _KNOWN.format(d=entry.d, K=entry.K)
    return None


def _command(code: Construction, d: int, K: int) -> str:
    """What builds K points in d dimensions that are at least as good as the construction.

    Sums and cross sections have no name: `solve` takes the best construction by itself, and may
    search beside it.
    """
    whole = find(code.name)
    if whole is not None and whole.d <= d and whole.K >= K and whole.cosine == code.cosine:
        return f"gnc solve --d {d} --K {K} --construction {code.name}"
    return f"gnc solve --d {code.d} --K {code.K}"


def _ends(cosine: Cosine) -> tuple[Fraction, Fraction]:
    """Ends of an exact cosine, of which a double is kept where it is irrational."""
    try:
        exact = Fraction(cosine.text)
    except ValueError:
        near = Fraction(cosine.value)
        return near - _ULPS, near + _ULPS
    return exact, exact
