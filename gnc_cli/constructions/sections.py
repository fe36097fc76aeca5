"""Cross sections: the rows at one cosine from a fixed row, seen along it, in exact integers.

The n_t rows at cosine t from one row of a code with largest cosine c make, projected orthogonally
to that row and scaled to unit length, a code of n_t rows in one dimension less. Cosines become
`(<x, y> - t^2) / (1 - t^2)`: the largest is at most (c - t^2) / (1 - t^2), attained wherever two of
the rows are at cosine c. A sharp code gives another one dimension lower (240, 56, 27, 16, 10;
196560, 4600, 891). (J. H. Conway and N. J. A. Sloane, Sphere Packings, Lattices and Groups, 1988,
chapter 14.)
"""

from fractions import Fraction
from functools import cache, partial

import numpy as np

from gnc_cli.constructions.combine import embedded_rows
from gnc_cli.constructions.construction import Construction, Cosine, Rows
from gnc_cli.constructions.integer_rows import IntegerRows
from gnc_cli.constructions.registry import single_codes


@cache
def cross_sections(d: int) -> tuple[Construction, ...]:
    """Cross sections in exactly d dimensions, with figures known unbuilt.

    They are those of the single codes in d + 1 dimensions that look alike from every row and whose
    cosines are rational.

    Example:
        >>> sorted((c.K, c.cosine.text) for c in cross_sections(7) if "e8" in c.name)
        [(56, '1/3'), (126, '1/2')]
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
            build=partial(_build, code, t, d),
            changes=(f"the {neighbours} rows at cosine {t} from one row",),
        )
        for code in single_codes()
        if code.d == d + 1 and code.transitive and (largest := _rational(code.cosine.text))
        for text, neighbours in code.distribution or ()
        # The sections at t and -t of an antipodal code are one.
        if (t := _rational(text)) is not None and 0 <= t < 1
    )


def _build(code: Construction, t: Fraction, d: int) -> Rows:
    rows = code.build()
    if not isinstance(rows, IntegerRows):
        raise TypeError(f"{code.name} has no integer coordinates")
    return embedded_rows(cross_section(rows, 0, t), d)


def _rational(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except ValueError:
        return None


def cross_section(rows: IntegerRows, base_row: int, cosine: Fraction) -> IntegerRows:
    """The rows at `cosine` from row `base_row`, projected orthogonally to it.

    The result keeps the order of the rows, lives in the space they span (at most one dimension
    less) and has coprime coordinates.

    Example:
        >>> cube = IntegerRows(np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]]))
        >>> cross_section(cube, 0, Fraction(1, 3)).verify().max_cosine.text
        '-1/2'
    """
    if abs(cosine) >= 1:
        raise ValueError(f"rows at cosine {cosine} have no direction left")
    base = rows.vectors[base_row].astype(np.int64)
    products = rows.vectors @ base
    product = cosine * rows.square
    near = rows.vectors[products * product.denominator == product.numerator].astype(np.int64)
    if len(near) == 0:
        raise ValueError(f"no row has cosine {cosine} with row {base_row}")
    vectors = rows.square * near - int(product) * base
    vectors //= np.gcd.reduce(vectors, axis=None)
    return IntegerRows(vectors, int(np.linalg.matrix_rank(vectors)))
