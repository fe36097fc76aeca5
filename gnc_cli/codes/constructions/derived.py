"""Derived codes: the rows at one cosine from a fixed row, seen along it, in exact integers.

Rows x, y at cosine t from a unit row b have, after projection orthogonal to b and scaling to unit
length, the cosine `(<x, y> - t^2) / (1 - t^2)`: a sharp code gives another one dimension lower
(240, 56, 27, 16, 10; 196560, 4600, 891).
"""

from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.points import IntegerRows, spanned_frame

__all__ = ["derived_code"]


def derived_code(rows: IntegerRows, base_row: int, cosine: Fraction) -> IntegerRows:
    """The rows at `cosine` from row `base_row`, projected orthogonally to it.

    The result keeps the order of the rows, lives in the space they span (at most one dimension
    less) and has coprime coordinates.

    Raises:
        ValueError: no row has this cosine, or it is 1 or -1 (nothing is left of the row).

    Example:
        >>> cube = IntegerRows(np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]]))
        >>> derived_code(cube, 0, Fraction(1, 3)).verify().max_cosine.text
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
    return IntegerRows(vectors, spanned_frame(vectors, int(np.linalg.matrix_rank(vectors))))
