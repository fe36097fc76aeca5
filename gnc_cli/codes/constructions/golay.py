"""The extended binary Golay code and the Steiner systems in it: where the sporadic codes come from.

Blocks and words are rows of 0 and 1, so that intersections are inner products.

Source: J. H. Conway and N. J. A. Sloane, 1988, Sphere Packings, Lattices and Groups, chapter 11.
"""

from functools import cache

import numpy as np

__all__ = ["golay_code", "octads", "steiner_3_6_22", "steiner_4_7_23"]


@cache
def golay_code() -> np.ndarray:
    """All words of the [24, 12, 8] code, shape (4096, 24), uint8.

    The quadratic residue code modulo 23, spanned by the cyclic shifts of the residues' indicator,
    with a parity bit in the last place. It is its own dual; the weights are 0, 8, 12, 16, 24.
    """
    residues = np.zeros(23, dtype=np.uint8)
    residues[[n * n % 23 for n in range(1, 12)]] = 1
    shifts = np.array([np.roll(residues, s) for s in range(23)])
    basis = _reduced(np.column_stack([shifts, shifts.sum(1) % 2]))
    coefficients = np.arange(2 ** len(basis))[:, None] >> np.arange(len(basis)) & 1
    return _sealed((coefficients @ basis % 2).astype(np.uint8))


@cache
def octads() -> np.ndarray:
    """The 759 words of weight 8: blocks of S(5, 8, 24), any five points in exactly one."""
    words = golay_code()
    return _sealed(words[words.sum(1) == 8])


@cache
def steiner_4_7_23() -> np.ndarray:
    """The octads through the last point, without it: 253 blocks of 7 of 23 points, shape (253, 23).

    Any four points lie in exactly one; two blocks meet in 1 or 3 points.
    """
    return _sealed(_derived(octads()))


@cache
def steiner_3_6_22() -> np.ndarray:
    """The octads through the last two points, without them: 77 blocks of 6 of 22, shape (77, 22).

    Any three points lie in exactly one; two blocks meet in 0 or 2 points.
    """
    return _sealed(_derived(steiner_4_7_23()))


def _derived(blocks: np.ndarray) -> np.ndarray:
    """The blocks through the last point, without that point."""
    through: np.ndarray = blocks[blocks[:, -1] == 1, :-1]
    return through


def _reduced(rows: np.ndarray) -> np.ndarray:
    """Basis of the binary space that the rows span: Gauss and Jordan modulo 2."""
    rows, rank = rows % 2, 0
    for column in range(rows.shape[1]):
        pivots = np.flatnonzero(rows[rank:, column])
        if not len(pivots):
            continue
        rows[[rank, rank + pivots[0]]] = rows[[rank + pivots[0], rank]]
        others = np.flatnonzero(rows[:, column])
        rows[others[others != rank]] ^= rows[rank]
        rank += 1
    return rows[:rank]


def _sealed(rows: np.ndarray) -> np.ndarray:
    """The rows, read-only: they are shared by all who ask."""
    rows = np.ascontiguousarray(rows)
    rows.flags.writeable = False
    return rows
