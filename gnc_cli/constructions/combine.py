"""New constructions from old, figures before rows: parts, embeddings, sums and cross sections.

| operation | size | largest cosine |
|---|---|---|
| `first_rows(c, K)` | K | at most that of c |
| `embedded(c, d)` | as c | as c |
| `orthogonal_sum(c1, c2, ...)` | the sizes add up | the largest of theirs, at least 0 |
| `cross_sections(d)` | the n_t rows at cosine t from one row | at most (c - t^2) / (1 - t^2) |

A cross section holds the rows at cosine t from a fixed row, projected orthogonally to that row and
scaled to unit length, in one dimension less. Cosines become `(<x, y> - t^2) / (1 - t^2)`; the bound
is attained wherever two of the rows are at the code's largest cosine c. A sharp code gives another
one dimension lower (240, 56, 27, 16, 10; 196560, 4600, 891). (J. H. Conway and N. J. A. Sloane,
Sphere Packings, Lattices and Groups, 1988, chapter 14.)
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np

from gnc_cli.constructions.construction import Construction, Cosine, Rows, Verified
from gnc_cli.constructions.integer_rows import IntegerRows


def first_rows(construction: Construction, K: int) -> Construction:
    """The first K rows of a construction, 2 to all of them."""
    if construction.K == K:
        return construction
    return replace(
        construction,
        K=K,
        proven=False,
        build=lambda: construction.build().first(K),
        distribution=None,
        transitive=False,
        changes=(*construction.changes, f"first {K:,} of {construction.K:,} rows"),
    )


def embedded(construction: Construction, d: int) -> Construction:
    """The same rows in d dimensions, not fewer than they have, the new coordinates zero."""
    if construction.d == d:
        return construction
    return replace(
        construction,
        d=d,
        proven=False,
        build=lambda: _Sum([construction.build()], d),
        changes=(*construction.changes, f"embedded from {construction.d} dimensions"),
    )


def orthogonal_sum(parts: Sequence[Construction], d: int) -> Construction:
    """Constructions in orthogonal subspaces of R^d: rows of different parts are orthogonal.

    Their dimensions add up to d at most.
    """
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
        parts = [part.verify() for part in {id(part): part for part in self.parts}.values()]
        across = [Cosine.of(0)] if len(self.parts) > 1 else []
        return Verified(
            K=self.shape[0],
            distinct=all(part.distinct for part in parts),
            max_cosine=max(across + [part.max_cosine for part in parts], key=lambda c: c.value),
            distribution=parts[0].distribution if len(self.parts) == 1 else None,
            attained=all(part.attained for part in parts),
        )


def cross_section(rows: IntegerRows, base_row: int, cosine: Fraction) -> IntegerRows:
    """The rows at `cosine` from row `base_row`, projected orthogonally to it.

    The result keeps the order of the rows, lives in the space they span (at most one dimension
    less) and has coprime coordinates.
    """
    base = rows.vectors[base_row].astype(np.int64)
    product = cosine * rows.square
    products = rows.vectors @ base
    near = rows.vectors[products * product.denominator == product.numerator].astype(np.int64)
    vectors = rows.square * near - int(product) * base
    vectors //= np.gcd.reduce(vectors, axis=None)
    return IntegerRows(vectors, int(np.linalg.matrix_rank(vectors)))


def section(code: Construction, t: Fraction, d: int) -> Rows:
    rows = code.build()
    assert isinstance(rows, IntegerRows), f"{code.name} has no integer coordinates"
    part = cross_section(rows, 0, t)
    return part if part.shape[1] == d else _Sum([part], d)
