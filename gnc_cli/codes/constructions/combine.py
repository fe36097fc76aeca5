"""New constructions from old: fewer rows, more dimensions, orthogonal sums. Figures before rows.

| operation | size | largest cosine |
|---|---|---|
| `first_rows(c, K)` | K | at most that of c |
| `embedded(c, d)` | as c | as c |
| `orthogonal_sum(c1, c2, ...)` | the sizes add up | the largest of theirs, at least 0 |
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Cosine, Rows, Verified

__all__ = ["embedded", "embedded_rows", "first_rows", "orthogonal_sum"]

def first_rows(construction: Construction, K: int) -> Construction:
    """The first K rows of a construction.

    Raises:
        ValueError: it has fewer rows.
    """
    if K > construction.K:
        raise ValueError(f"{construction.name} has {construction.K} rows, fewer than {K}")
    if construction.K == K:
        return construction
    return _changed(
        construction,
        f"first {K} of {construction.K} rows",
        construction.d,
        K,
        lambda rows: rows.first(K),
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
    wide = _changed(
        construction,
        f"embedded from {construction.d} dimensions",
        d,
        construction.K,
        lambda rows: embedded_rows(rows, d),
    )
    same = construction.distribution, construction.transitive
    return replace(wide, distribution=same[0], transitive=same[1])


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
    zero = Cosine("0", 0.0)
    names = [part.name for part in parts]
    counted = [f"{names.count(n)} x {n}" if names.count(n) > 1 else n for n in dict.fromkeys(names)]
    return Construction(
        name=" + ".join(counted),
        title="in orthogonal subspaces",
        d=d,
        K=sum(part.K for part in parts),
        cosine=max([zero, *(part.cosine for part in parts)], key=lambda c: c.value),
        proven=False,
        reference="; ".join(dict.fromkeys(part.reference for part in parts)),
        build=lambda: _Sum([build() for build in _shared(parts)], d),
    )


def _shared(parts: Sequence[Construction]) -> list[Callable[[], Rows]]:
    """The parts' builders, equal parts built once."""
    builders = {part.name: cache(part.build) for part in parts}
    return [builders[part.name] for part in parts]


def _changed(
    construction: Construction, what: str, d: int, K: int, change: Callable[[Rows], Rows]
) -> Construction:
    return Construction(
        name=construction.name,
        title=construction.title,
        d=d,
        K=K,
        cosine=construction.cosine,
        proven=False,
        reference=construction.reference,
        build=partial(_build_changed, construction, change),
        changes=(*construction.changes, what),
    )


def _build_changed(construction: Construction, change: Callable[[Rows], Rows]) -> Rows:
    return change(construction.build())


class _Sum(Rows):
    """Rows of several codes, each in coordinates of its own, zero elsewhere."""

    def __init__(self, parts: Sequence[Rows], d: int) -> None:
        self.parts = list(parts)
        self.shape = (sum(len(part) for part in parts), d)

    def unit(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(self.shape[0])
        out = np.zeros((max(0, stop - start), self.shape[1]))
        first = column = 0
        for part in self.parts:
            a, b = max(start, first), min(stop, first + len(part))
            if a < b:
                width = part.shape[1]
                out[a - start : b - start, column : column + width] = part.unit(
                    a - first, b - first
                )
            first, column = first + len(part), column + part.shape[1]
        return out

    def verify(self) -> Verified:
        """Each part for itself; rows of different parts are orthogonal by their coordinates."""
        checked: dict[int, Verified] = {}
        for part in self.parts:
            if id(part) not in checked:
                checked[id(part)] = part.verify()
        found = list(checked.values())
        across = [Cosine("0", 0.0)] if len(self.parts) > 1 else []
        return Verified(
            K=self.shape[0],
            distinct=all(f.distinct for f in found),
            max_cosine=max(across + [f.max_cosine for f in found], key=lambda c: c.value),
            distribution=found[0].distribution if len(self.parts) == 1 else None,
            how="; ".join(dict.fromkeys(f.how for f in found)),
        )
