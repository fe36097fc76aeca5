"""New constructions from old: fewer rows, more dimensions, orthogonal sums. Figures before rows.

| operation | size | largest cosine |
|---|---|---|
| `first_rows(c, K)` | K | at most that of c |
| `embedded(c, d)` | as c | as c |
| `orthogonal_sum(c1, c2, ...)` | the sizes add up | the largest of theirs, at least 0 |
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from gnc_cli.constructions.construction import Construction, Cosine, Rows, Verified


def first_rows(construction: Construction, K: int) -> Construction:
    """The first K rows of a construction.

    Raises:
        ValueError: it has fewer rows.
    """
    if K > construction.K:
        raise ValueError(f"{construction.name} has {construction.K} rows, fewer than {K}")
    if construction.K == K:
        return construction
    return replace(
        construction,
        K=K,
        proven=False,
        build=lambda: construction.build().first(K),
        distribution=None,
        transitive=False,
        changes=(*construction.changes, f"first {K} of {construction.K} rows"),
    )


def embedded(construction: Construction, d: int) -> Construction:
    """The same rows in d dimensions, the new coordinates zero.

    Raises:
        ValueError: it has more dimensions.
    """
    if d < construction.d:
        raise ValueError(f"{construction.name} has {construction.d} dimensions, more than {d}")
    if construction.d == d:
        return construction
    return replace(
        construction,
        d=d,
        proven=False,
        build=lambda: embedded_rows(construction.build(), d),
        changes=(*construction.changes, f"embedded from {construction.d} dimensions"),
    )


def embedded_rows(rows: Rows, d: int) -> Rows:
    """Rows with zeros appended up to d coordinates."""
    return rows if rows.shape[1] == d else _Sum([rows], d)


def orthogonal_sum(parts: Sequence[Construction], d: int) -> Construction:
    """Constructions in orthogonal subspaces of R^d: rows of different parts are orthogonal.

    Raises:
        ValueError: their dimensions add up to more than d.
    """
    if sum(part.d for part in parts) > d:
        raise ValueError(f"the parts have more than {d} dimensions")
    if len(parts) == 1:
        return embedded(parts[0], d)
    names = [part.name for part in parts]
    counted = [f"{names.count(n)} x {n}" if names.count(n) > 1 else n for n in dict.fromkeys(names)]

    def build() -> Rows:
        builders = {part.name: cache(part.build) for part in parts}  # equal parts are built once
        return _Sum([builders[name]() for name in names], d)

    return Construction(
        name=" + ".join(counted),
        title="in orthogonal subspaces",
        d=d,
        K=sum(part.K for part in parts),
        cosine=max([Cosine.of(0), *(part.cosine for part in parts)], key=lambda c: c.value),
        proven=False,
        reference="; ".join(dict.fromkeys(part.reference for part in parts)),
        build=build,
    )


class _Sum(Rows):
    """Rows of several codes, each in coordinates of its own, zero elsewhere."""

    def __init__(self, parts: Sequence[Rows], d: int) -> None:
        self.parts = parts
        self.shape = (sum(len(part) for part in parts), d)

    def _unit(self, start: int, stop: int) -> np.ndarray:
        out = np.zeros((stop - start, self.shape[1]))
        first = column = 0
        for part in self.parts:
            a, b = max(start, first), min(stop, first + len(part))
            if a < b:
                columns = slice(column, column + part.shape[1])
                out[a - start : b - start, columns] = part.unit(a - first, b - first)
            first, column = first + len(part), column + part.shape[1]
        return out

    def verify(self) -> Verified:
        """Each part for itself; rows of different parts are orthogonal by their coordinates."""
        found = [part.verify() for part in {id(part): part for part in self.parts}.values()]
        across = [Cosine.of(0)] if len(self.parts) > 1 else []
        return Verified(
            K=self.shape[0],
            distinct=all(f.distinct for f in found),
            max_cosine=max(across + [f.max_cosine for f in found], key=lambda c: c.value),
            distribution=found[0].distribution if len(self.parts) == 1 else None,
            how="; ".join(dict.fromkeys(f.how for f in found)),
        )
