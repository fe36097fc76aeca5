"""Sections of lattices: shortest vectors with fixed inner products with a few others.

Vectors b_1, .., b_m of a lattice are its base. The shortest vectors v with the inner products
<v, b_i> = a_i are a level; projected along the base, they have one length in m dimensions less. A
section is a level, or several, scaled to unit length.

Sources: J. Leech, 1967, Notes on sphere packings; J. H. Conway and N. J. A. Sloane, 1988, Sphere
Packings, Lattices and Groups, chapters 5 and 6.
"""

import re
from collections.abc import Iterable

import numpy as np

from gnc_cli.constructions.integer_rows import UnequalRows


def base_vector(vectors: np.ndarray, text: str) -> np.ndarray:
    """The sum of rows that a text like `12+40-7` names by their numbers; (D,), int64."""
    terms = re.findall(r"([+-]?)(\d+)", text)
    total = np.zeros(vectors.shape[1], dtype=np.int64)
    for sign, number in terms:
        row = vectors[int(number)].astype(np.int64)
        total += -row if sign == "-" else row
    return total


def section(
    vectors: np.ndarray, base: np.ndarray, levels: Iterable[tuple[int, ...]], d: int
) -> UnequalRows:
    """The vectors whose inner products with the base are one of the levels, projected along it.

    Args:
        vectors: integers, (N, D).
        base: independent integer vectors, (m, D).
        levels: inner products with each base vector.
        d: dimension of the space that the projections span.
    """
    from flint import fmpz_mat

    products = np.rint(vectors.astype(np.float32) @ base.T.astype(np.float32)).astype(np.int64)
    gram = fmpz_mat((base @ base.T).tolist())
    parts = []
    for level in levels:
        here = vectors[(products == level).all(axis=1)].astype(np.int64)
        # The centre of the level, in the span of the base: the point with these inner products.
        centre = gram.solve(fmpz_mat([[product] for product in level])).transpose()
        centre = centre * fmpz_mat(base.tolist())
        numerators, denominator = centre.numer_denom()
        part = int(denominator) * here - np.array(numerators.tolist(), dtype=np.int64)
        parts.append(part // np.gcd.reduce(part, axis=None))
    return UnequalRows(np.concatenate(parts), d)
