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
from functools import cache, partial

import numpy as np

from gnc_cli.constructions.construction import Construction, Cosine, Rows, Verified
from gnc_cli.constructions.integer_rows import IntegerRows
from gnc_cli.constructions.registry import single_codes


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
        changes=(*construction.changes, f"first {K:,} of {construction.K:,} rows"),
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
        build=lambda: _Sum([construction.build()], d),
        changes=(*construction.changes, f"embedded from {construction.d} dimensions"),
    )


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
            attained=all(f.attained for f in found),
        )


@cache
def cross_sections(d: int) -> tuple[Construction, ...]:
    """Cross sections in exactly d dimensions, with figures known unbuilt.

    They are those of the single codes in d + 1 dimensions that look alike from every row and whose
    cosines are rational.
    """
    return tuple(
        Construction(
            name=code.name,
            title=code.title,
            d=d,
            K=neighbours,
            cosine=Cosine.of((largest - t * t) / (1 - t * t)),
            proven=False,
            reference=code.reference,
            build=partial(_section, code, t, d),
            changes=(f"the {neighbours} rows at cosine {t} from one row",),
        )
        for code in single_codes()
        if code.d == d + 1 and code.transitive and (largest := _rational(code.cosine.text))
        for text, neighbours in code.distribution or ()
        # The sections at t and -t of an antipodal code are one.
        if (t := _rational(text)) is not None and 0 <= t < 1
    )


def _rational(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except ValueError:
        return None


def _section(code: Construction, t: Fraction, d: int) -> Rows:
    rows = code.build()
    assert isinstance(rows, IntegerRows), f"{code.name} has no integer coordinates"
    section = cross_section(rows, 0, t)
    return section if section.shape[1] == d else _Sum([section], d)


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
