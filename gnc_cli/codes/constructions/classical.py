"""The families of theorem 3.3 (arXiv 2310.05351): simplices, orthoplexes, regular polygons.

Their rows are those of `closed_form`; here they have names, and a check in exact integers.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

from gnc_cli.codes.closed_forms import ClosedForm, closed_form
from gnc_cli.codes.constructions.construction import Construction, Cosine, Family, Rows, Verified
from gnc_cli.codes.constructions.formulas import turn_cosine
from gnc_cli.codes.constructions.points import IntegerRows

__all__ = ["FAMILIES", "PolygonRows", "in_dimension", "named"]

_RANKIN = "Rankin 1955, The closest packing of spherical caps in n dimensions"
_COUNTED = 4096
"""Up to this many corners all pairs of a polygon are counted."""


class PolygonRows(Rows):
    """Corners of the regular K-gon at angles 2 pi turn / K.

    Args:
        K: of the polygon.
        turns: integers, one a row; 0 .. K - 1 where None.

    Raises:
        ValueError: K is below 3.
    """

    def __init__(self, K: int, turns: np.ndarray | None = None) -> None:
        if K < 3:
            raise ValueError(f"a polygon has 3 corners or more, not {K}")
        self.corners = K
        self.turns = (np.arange(K) if turns is None else turns) % K
        self.shape = (len(self.turns), 2)

    def unit(self, start: int, stop: int) -> np.ndarray:
        return np.asarray(self._weights[self.turns[start:stop]])

    def verify(self) -> Verified:
        """By the turns: the smallest gap of the sorted ones has the largest cosine."""
        K, rows = self.corners, np.sort(self.turns)
        nearest = int(np.diff(rows, append=rows[0] + K).min())
        distribution = None
        if len(rows) <= _COUNTED:
            apart = np.concatenate([rows[i + 1 :] - rows[i] for i in range(len(rows))])
            pairs = np.bincount(np.minimum(apart, K - apart))
            distribution = tuple(
                (turn_cosine(m, K), int(pairs[m])) for m in range(len(pairs)) if pairs[m]
            )
        return Verified(
            K=len(rows),
            distinct=nearest > 0,
            max_cosine=turn_cosine(nearest, K),
            distribution=distribution,
            how="exact angles, sorted",
        )

    @cached_property
    def _weights(self) -> np.ndarray:
        return _form(2, self.corners).weights


def named(name: str) -> Construction | None:
    """`simplex-7`, `orthoplex-7`, `polygon-7`, or None for any other name.

    Example:
        >>> named("simplex-7").K, named("polygon-7").cosine.text, named("simplex-1")
        (8, 'cos(2*pi/7)', None)
    """
    match = re.fullmatch(r"(simplex|orthoplex|polygon)-([1-9]\d{0,8})", name)
    if match is None:
        return None
    kind, n = match[1], int(match[2])
    if kind == "polygon":
        return _polygon(n) if n >= 3 else None
    if n < 2:
        return None
    return _simplex(n) if kind == "simplex" else _orthoplex(n)


def in_dimension(d: int) -> Iterator[Construction]:
    """The simplex and the orthoplex.

    Polygons are endless in the plane and go by name only; `closed_form` serves every K there.
    """
    if d >= 2:
        yield _simplex(d)
        yield _orthoplex(d)


def _simplex(d: int) -> Construction:
    cosine = Cosine.of(Fraction(-1, d))
    return Construction(
        name=f"simplex-{d}",
        title=f"regular simplex in {d} dimensions",
        d=d,
        K=d + 1,
        cosine=cosine,
        proven=True,
        reference=_RANKIN,
        build=partial(_simplex_rows, d),
        distribution=((cosine.text, d),),
        transitive=True,
    )


def _orthoplex(d: int) -> Construction:
    return Construction(
        name=f"orthoplex-{d}",
        title=f"orthoplex in {d} dimensions: +- a basis",
        d=d,
        K=2 * d,
        cosine=Cosine.of(0),
        proven=True,
        reference=_RANKIN,
        build=partial(_orthoplex_rows, d),
        distribution=(("0", 2 * d - 2), ("-1", 1)),
        transitive=True,
    )


def _polygon(K: int) -> Construction:
    return Construction(
        name=f"polygon-{K}",
        title=f"regular {K}-gon",
        d=2,
        K=K,
        cosine=turn_cosine(1, K),
        proven=True,
        reference="two neighbours are at most a K-th of a turn apart; theorem 3.3",
        build=partial(PolygonRows, K),
        transitive=True,
    )


def _simplex_rows(d: int) -> IntegerRows:
    """K e_k - (1, .., 1) in K = d + 1 coordinates, embedded as the closed form's rows."""
    K = d + 1
    vectors = K * np.eye(K, dtype=np.int32) - 1
    # The rows W sum to zero and W W^T = (K/d) (I - J/K): W scaled so is a frame of that space,
    # and the vectors times it are again W, K sqrt(d/K) times.
    return IntegerRows(vectors, _form(d, K).weights * np.sqrt(d / K))


def _orthoplex_rows(d: int) -> IntegerRows:
    # In the plane the closed form is a polygon, right to rounding.
    return IntegerRows(np.rint(_form(d, 2 * d).weights).astype(np.int8))


def _form(d: int, K: int) -> ClosedForm:
    form = closed_form(d, K)
    if form is None:
        raise ValueError(f"theorem 3.3 is silent on ({d}, {K})")
    return form


FAMILIES = (
    Family("simplex-d", "regular simplex", "d = 2, 3, ..", "d", "d+1", "-1/d", _RANKIN),
    Family("orthoplex-d", "+- a basis", "d = 2, 3, ..", "d", "2*d", "0", _RANKIN),
    Family("polygon-K", "regular polygon", "K = 3, 4, ..", "2", "K", "cos(2*pi/K)", "theorem 3.3"),
)
"""Optimal, all of them."""
